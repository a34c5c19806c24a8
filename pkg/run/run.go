// Package run holds experiment runs: which sessions an experiment made, over which datapoints,
// and what their scores say, alone and against another run. It knows the rules and does the
// arithmetic; it does no I/O.
package run

import (
	"cmp"
	"encoding/json"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/google/uuid"

	"github.com/spangrove/spangrove/pkg/fault"
	"github.com/spangrove/spangrove/pkg/rawjson"
)

// Bounds of a run.
const (
	MaxName     = 200     // characters
	MaxSessions = 100_000 // in EventIDs, SessionIDs, and in DatapointIDs
	MaxBytes    = 4 << 20 // of each of the JSON fields
)

// The states of a run.
const (
	Pending   = "pending"
	Running   = "running"
	Completed = "completed"
	Failed    = "failed"
	Cancelled = "cancelled"
)

var states = []string{Pending, Running, Completed, Failed, Cancelled}

// CheckStatus refuses what is not the state of a run; field is what the error calls it.
func CheckStatus(status, field string) error {
	if !slices.Contains(states, status) {
		return fault.InvalidField(field, "must be one of %s, not %.40q", strings.Join(states, ", "), status)
	}
	return nil
}

// Run is an experiment run. ID is a UUID in lower case, chosen by the client or made here.
// Created, Updated and DatasetVersion are the store's to set. The JSON fields are as they came;
// nil is absent, which reads as {} ([] for Evaluators).
type Run struct {
	ID             string
	Name           string          `doc:"name"`
	Description    *string         `doc:"description,omitzero"`
	Status         string          `doc:"status"`
	DatasetID      string          `doc:"dataset_id"`      // "" for none; "EXT-…" names a dataset that is not stored here
	DatasetVersion int64           `doc:"dataset_version"` // the stored dataset's version when the run began; 0 for none
	EventIDs       []string        `doc:"event_ids"`
	SessionIDs     []string        `doc:"session_ids"`
	DatapointIDs   []string        `doc:"datapoint_ids"`
	Metadata       json.RawMessage `doc:"metadata,omitzero"`
	Results        json.RawMessage `doc:"results,omitzero"`
	Configuration  json.RawMessage `doc:"configuration,omitzero"`
	PassingRanges  json.RawMessage `doc:"passing_ranges,omitzero"` // by metric: {"min": number, "max": number}, either of them
	Evaluators     json.RawMessage `doc:"evaluators,omitzero"`
	Created        int64           // Unix milliseconds
	Updated        int64           // of the last change; 0: there was none
}

var fields = rawjson.FieldsOf[Run]()

// FoldID returns a run's id as it is stored, of one as callers write it: a UUID in either case. What is
// none stays as it is: events may name such a run, though none can be made.
func FoldID(id string) string {
	if len(id) == 36 && uuid.Validate(id) == nil {
		return strings.ToLower(id)
	}
	return id
}

// Update changes the fields that are set; Metadata is merged, key by key.
type Update struct {
	ID            string
	Name          *string
	Description   *string
	Status        *string
	DatasetID     *string
	EventIDs      []string // nil: as it is
	SessionIDs    []string
	DatapointIDs  []string
	Metadata      json.RawMessage
	Results       json.RawMessage
	Configuration json.RawMessage
	PassingRanges json.RawMessage
	Evaluators    json.RawMessage
}

// Apply changes a run.
func (r *Run) Apply(u *Update) {
	text := func(to *string, v *string) {
		if v != nil {
			*to = *v
		}
	}
	text(&r.Name, u.Name)
	text(&r.Status, u.Status)
	text(&r.DatasetID, u.DatasetID)
	if u.Description != nil {
		r.Description = u.Description
	}
	for _, f := range []struct {
		to *[]string
		v  []string
	}{{&r.EventIDs, u.EventIDs}, {&r.SessionIDs, u.SessionIDs}, {&r.DatapointIDs, u.DatapointIDs}} {
		if f.v != nil {
			*f.to = f.v
		}
	}
	if u.Metadata != nil {
		r.Metadata = rawjson.Merge(r.Metadata, u.Metadata)
	}
	for _, f := range []struct {
		to *json.RawMessage
		v  json.RawMessage
	}{{&r.Results, u.Results}, {&r.Configuration, u.Configuration}, {&r.PassingRanges, u.PassingRanges}, {&r.Evaluators, u.Evaluators}} {
		if f.v != nil {
			*f.to = f.v
		}
	}
}

// Complete fills in what a new run was not given.
func (r *Run) Complete() {
	if r.ID == "" {
		r.ID = uuid.NewString()
	}
	if r.Status == "" {
		r.Status = Pending
	}
}

// Validate reports the first broken rule as a fault.Invalid that names the field.
func (r *Run) Validate() error {
	id, err := uuid.Parse(r.ID)
	switch {
	case err != nil || len(r.ID) != 36:
		return fault.InvalidField("run_id", "%.60q is not a UUID", r.ID)
	case utf8.RuneCountInString(r.Name) > MaxName:
		return fault.InvalidField("name", "must be at most %d characters", MaxName)
	case r.Description != nil && len(*r.Description) > MaxBytes:
		return fault.InvalidField("description", "must be at most %d bytes", MaxBytes)
	case !slices.Contains(states, r.Status):
		return fault.InvalidField("status", "must be one of pending, running, completed, failed, cancelled, not %.40q", r.Status)
	case len(r.DatasetID) > MaxName:
		return fault.InvalidField("dataset_id", "must be at most %d bytes", MaxName)
	}
	r.ID = id.String()
	for _, f := range []struct {
		name string
		raw  json.RawMessage
	}{
		{"metadata", r.Metadata}, {"results", r.Results}, {"configuration", r.Configuration},
		{"passing_ranges", r.PassingRanges}, {"evaluators", r.Evaluators},
	} {
		if len(f.raw) > MaxBytes {
			return fault.InvalidField(f.name, "must be at most %d bytes", MaxBytes)
		}
	}
	return r.checkRanges()
}

func (r *Run) checkRanges() error {
	for name, raw := range rawjson.Object(r.PassingRanges) {
		if rawjson.KindOf(raw) != '{' {
			return fault.InvalidField("passing_ranges."+name, "must be an object with min and max")
		}
		for _, bound := range []string{"min", "max"} {
			v := rawjson.Get(raw, bound)
			if _, ok := rawjson.Number(v); !ok && !rawjson.Null(v) {
				return fault.InvalidField("passing_ranges."+name+"."+bound, "must be a number")
			}
		}
		low, hasLow := rawjson.Number(rawjson.Get(raw, "min"))
		if high, ok := rawjson.Number(rawjson.Get(raw, "max")); ok && hasLow && low > high {
			return fault.InvalidField("passing_ranges."+name+".min", "must not be more than max")
		}
	}
	return nil
}

// Dataset returns the id of the dataset that the run is over, "" for none. Of data that only a client has, the Python client
// writes the id into the metadata.
func (r *Run) Dataset() string {
	offline, _ := rawjson.Text(rawjson.Get(r.Metadata, "offline_dataset_id"))
	if len(offline) > MaxName {
		offline = ""
	}
	return cmp.Or(r.DatasetID, offline)
}

// Ranges returns the run's own passing ranges, by metric.
func (r *Run) Ranges() map[string]Range {
	ranges := map[string]Range{}
	for name, raw := range rawjson.Object(r.PassingRanges) {
		var x Range
		if v, ok := rawjson.Number(rawjson.Get(raw, "min")); ok {
			x.Min = &v
		}
		if v, ok := rawjson.Number(rawjson.Get(raw, "max")); ok {
			x.Max = &v
		}
		if x.Min != nil || x.Max != nil {
			ranges[name] = x
		}
	}
	return ranges
}

// Range is where the values of a metric pass, both ends included; nil is open.
type Range struct{ Min, Max *float64 }

// Holds reports whether v lies within.
func (r Range) Holds(v float64) bool {
	return (r.Min == nil || v >= *r.Min) && (r.Max == nil || v <= *r.Max)
}

// LowerIsBetter reports whether only an upper end is given.
func (r Range) LowerIsBetter() bool { return r.Min == nil && r.Max != nil }

// Doc writes down all but what the store sets.
func (r *Run) Doc() json.RawMessage { return fields.Object(r) }

// FromDoc reads what Doc wrote.
func FromDoc(id string, doc json.RawMessage) Run {
	r := Run{ID: id}
	fields.Read(doc, &r)
	return r
}

// Sessions returns the ids in EventIDs and SessionIDs that are UUIDs, each once.
func (r *Run) Sessions() []uuid.UUID {
	seen := map[uuid.UUID]bool{}
	var ids []uuid.UUID
	for _, list := range [][]string{r.EventIDs, r.SessionIDs} {
		for _, s := range list {
			if id, err := uuid.Parse(s); err == nil && !seen[id] {
				seen[id] = true
				ids = append(ids, id)
			}
		}
	}
	return ids
}

// Query asks for a page of runs.
type Query struct {
	DatasetID   string // as Run.Dataset has it
	Name        string // a part of it
	Status      string
	IDs         []string // only these; nil: all
	From, To    *float64 // bounds of the creation, Unix milliseconds
	SortBy      string   // created_at, updated_at, name or status
	Ascending   bool
	Limit, Page int
}

// SortFields are what runs can be sorted by.
var SortFields = []string{"created_at", "updated_at", "name", "status"}
