// Package queue holds annotation queues: events that wait for people to look at them and to give
// them the scores of HUMAN metrics. It knows a queue's rules, who may have which item, what the
// scores of several annotators come to, and how far annotators agree. It does no I/O.
package queue

import (
	"encoding/json"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/spangrove/spangrove/pkg/fault"
	"github.com/spangrove/spangrove/pkg/rawjson"
)

// Bounds of a queue.
const (
	MaxName        = 200     // characters, also of an annotator's name
	MaxDescription = 10_000  // characters
	MaxFilters     = 1 << 20 // bytes
	MaxMetrics     = 100     // that a queue names, and that one annotation has scores of
	MaxAnnotators  = 10      // that an item may need
	MaxEvents      = 1000    // that one request adds or removes
	MaxWaiting     = 10_000  // items that wait: past it none are added, and filters add no more for the time being
	// MaxLease is a week in seconds: who has not answered by then will not.
	MaxLease = 7 * 24 * 60 * 60
)

// What a new queue has that was not told otherwise.
const (
	DefaultAnnotators = 2
	DefaultLease      = 15 * 60 // seconds
)

// Queue is an annotation queue. ID, Created, Updated and Counts are the store's.
type Queue struct {
	ID          string
	Name        string `doc:"name"`
	Description string `doc:"description"`
	// Filters is the object {"filterArray": […]}, as it was sent; events that match all of them
	// enter the queue. An empty array chooses none: such a queue is filled by hand.
	Filters json.RawMessage `doc:"filters"`
	// Enabled says that events go on to enter by Filters. A queue that is not takes those that
	// started up to Until, when it was last switched off.
	Enabled    bool     `doc:"enabled"`
	Until      int64    `doc:"until"`      // Unix milliseconds; 0 if Enabled
	Annotators int      `doc:"annotators"` // how many people an item needs that enters from now on
	Lease      int64    `doc:"lease"`      // how long a claim lasts, in seconds
	Metrics    []string `doc:"metrics"`    // names of the metrics that each annotation must have scores of; none: any
	Created    int64    // Unix milliseconds
	Updated    int64    // of the last change, Unix milliseconds; 0: there was none
	Counts     Counts
}

var fields = rawjson.FieldsOf[Queue]()

// Counts says how many items of a queue are in each state, as Item.Shown has it; removed ones are not counted. Held ones are those that lack
// annotations, Disputed ones among them, and that somebody has claimed.
type Counts struct{ Waiting, Done, Disputed, Held int }

// Progress says how far a person is with a queue.
type Progress struct {
	Annotated, Skipped int
	Open               int // items that wait and that this person may have, also the one that the person has claimed
	Held               int // items that the person could have if others had not claimed them
}

// AnnotatorCounts says what a person has done in a queue.
type AnnotatorCounts struct {
	Annotator          string
	Annotated, Skipped int
	Held               int   // items that the person has claimed
	Last               int64 // when the person last annotated, Unix milliseconds; 0: never
}

// Update changes the fields that are set.
type Update struct {
	Name, Description *string
	Filters           json.RawMessage
	Enabled           *bool
	Annotators        *int
	Lease             *int64
	Metrics           []string // nil is not set
}

// New makes a queue of what it was given at a time in Unix milliseconds.
func New(u *Update, now int64) Queue {
	q := Queue{Enabled: true, Annotators: DefaultAnnotators, Lease: DefaultLease, Filters: json.RawMessage(`{"filterArray":[]}`)}
	q.Apply(u, now)
	return q
}

// Apply changes the queue at a time in Unix milliseconds.
func (q *Queue) Apply(u *Update, now int64) {
	set(&q.Name, u.Name)
	set(&q.Description, u.Description)
	set(&q.Annotators, u.Annotators)
	set(&q.Lease, u.Lease)
	if u.Filters != nil {
		q.Filters = u.Filters
	}
	if u.Metrics != nil {
		q.Metrics = u.Metrics
	}
	if u.Enabled != nil && *u.Enabled != q.Enabled {
		q.Enabled, q.Until = *u.Enabled, 0
		if !q.Enabled {
			q.Until = now
		}
	}
}

func set[T any](to *T, from *T) {
	if from != nil {
		*to = *from
	}
}

// Validate reports the first broken rule as a fault.Invalid that names the field.
func (q *Queue) Validate() error {
	switch {
	case strings.TrimSpace(q.Name) == "":
		return fault.InvalidField("name", "is required")
	case utf8.RuneCountInString(q.Name) > MaxName:
		return fault.InvalidField("name", "must have at most %d characters", MaxName)
	case utf8.RuneCountInString(q.Description) > MaxDescription:
		return fault.InvalidField("description", "must have at most %d characters", MaxDescription)
	case len(q.Filters) > MaxFilters:
		return fault.InvalidField("filters", "must have at most %d bytes", MaxFilters)
	case q.Annotators < 1 || q.Annotators > MaxAnnotators:
		return fault.InvalidField("annotators_per_item", "must be from 1 to %d", MaxAnnotators)
	case q.Lease < 1 || q.Lease > MaxLease:
		return fault.InvalidField("lease_seconds", "must be from 1 to %d", MaxLease)
	case len(q.Metrics) > MaxMetrics:
		return fault.InvalidField("metrics", "must have at most %d elements", MaxMetrics)
	}
	seen := map[string]bool{}
	for i, name := range q.Metrics {
		if seen[name] {
			return fault.InvalidField(fmt.Sprintf("metrics[%d]", i), "is listed twice")
		}
		seen[name] = true
	}
	return nil
}

// Doc writes down the queue except what the store keeps in columns.
func (q *Queue) Doc() json.RawMessage { return fields.Object(q) }

// FromDoc reads what Doc wrote.
func FromDoc(doc json.RawMessage) (q Queue) {
	fields.Read(doc, &q)
	return q
}
