// Package dataset holds datasets and their datapoints: their rules, how updates change them, how
// rows of other shapes become datapoints, and how they are written down. It does no I/O.
//
// A datapoint is one example, by itself or in any number of datasets. A dataset is an ordered set
// of datapoints with a name. Each change of a dataset makes a new version of it: of its fields, of
// which datapoints it has, and of what these say.
package dataset

import (
	"encoding/json"
	"iter"
	"strings"
	"unicode/utf8"

	"github.com/spangrove/spangrove/pkg/fault"
	"github.com/spangrove/spangrove/pkg/rawjson"
)

// Bounds.
const (
	MaxName       = 200     // characters
	MaxBytes      = 1 << 20 // of a dataset's description, of its metadata, and of linked_evals
	MaxRows       = 10_000  // datapoints made by one request
	MaxDatapoints = 100_000 // in one dataset
	MaxLinks      = 100     // datasets of one datapoint
	MaxBatchBytes = 20 << 20
)

// defaultName is that of a dataset that was given none.
const defaultName = "Untitled Dataset"

// Dataset is the head of one: all but its datapoints. ID, Version, Created and Updated are the
// store's to set.
type Dataset struct {
	ID           string
	Name         string          `doc:"name"`
	Description  *string         `doc:"description,omitzero"`
	Type         string          `doc:"type"`                  // evaluation or fine-tuning
	PipelineType string          `doc:"pipeline_type"`         // event or session: what its datapoints were made of
	LinkedEvals  json.RawMessage `doc:"linked_evals,omitzero"` // an array of strings, or nil
	Saved        *bool           `doc:"saved,omitzero"`
	Metadata     json.RawMessage `doc:"metadata,omitzero"` // an object, or nil
	Version      int64           // from 1, one more with each change
	Created      int64           // Unix milliseconds
	Updated      int64           // of the last change, Unix milliseconds; 0: there was none
}

var fields = rawjson.FieldsOf[Dataset]()

// Fields returns the names and values of all that callers set, as JSON and in the order in which they are
// written; those that are absent are nil.
func (d *Dataset) Fields() iter.Seq2[string, json.RawMessage] { return fields.All(d) }

// Complete fills in what a new dataset was not given.
func (d *Dataset) Complete() {
	for _, field := range []struct {
		to      *string
		missing string
	}{{&d.Type, "evaluation"}, {&d.PipelineType, "event"}} {
		if *field.to == "" {
			*field.to = field.missing
		}
	}
}

// Validate reports the first broken rule as a fault.Invalid that names the field.
func (d *Dataset) Validate() error {
	switch {
	case d.Name == "":
		return fault.InvalidField("name", "must not be empty")
	case utf8.RuneCountInString(d.Name) > MaxName:
		return fault.InvalidField("name", "must be at most %d characters", MaxName)
	case d.Type != "evaluation" && d.Type != "fine-tuning":
		return fault.InvalidField("type", "must be one of evaluation, fine-tuning, not %.40q", d.Type)
	case d.PipelineType != "event" && d.PipelineType != "session":
		return fault.InvalidField("pipeline_type", "must be one of event, session, not %.40q", d.PipelineType)
	case d.Description != nil && len(*d.Description) > MaxBytes:
		return fault.InvalidField("description", "must be at most %d bytes", MaxBytes)
	case len(d.Metadata) > MaxBytes:
		return fault.InvalidField("metadata", "must be at most %d bytes", MaxBytes)
	case len(d.LinkedEvals) > MaxBytes:
		return fault.InvalidField("linked_evals", "must be at most %d bytes", MaxBytes)
	}
	return nil
}

// Update changes the fields that are set.
type Update struct {
	ID           string          `doc:"dataset_id"`
	Name         *string         `doc:"name"`
	Description  *string         `doc:"description"`
	Type         *string         `doc:"type"`
	PipelineType *string         `doc:"pipeline_type"`
	LinkedEvals  json.RawMessage `doc:"linked_evals"`
	Saved        *bool           `doc:"saved"`
	Metadata     json.RawMessage `doc:"metadata"`
	Datapoints   []string        `doc:"datapoints"` // the ids of all datapoints from now on, in order; nil: not set
	Add          []string        // ids of datapoints to be put behind the others; those that are there stay where they are
	Remove       []string        // ids of datapoints to be taken out; those that are not there are none
}

// Rows returns the ids of all datapoints that a dataset is to have which has these now, nil if the update says nothing of them.
func (u *Update) Rows(now []string) []string {
	if u.Datapoints != nil || u.Add == nil && u.Remove == nil {
		return u.Datapoints
	}
	gone := make(map[string]bool, len(u.Remove))
	for _, id := range u.Remove {
		gone[id] = true
	}
	list := []string{} // a list also if it is empty
	for _, id := range now {
		if !gone[id] {
			list = append(list, id)
		}
	}
	return Unique(append(list, u.Add...))
}

var updateFields = rawjson.FieldsOf[Update]()

// Field returns a pointer to the field that callers set by a name, nil if there is none.
func (u *Update) Field(name string) any { return updateFields.Pointer(u, name) }

// New returns the dataset that an update of nothing makes.
func New(u *Update) Dataset {
	d := Dataset{Name: defaultName}
	d.Apply(u)
	d.Complete()
	return d
}

// Apply changes a dataset's head by an update.
func (d *Dataset) Apply(u *Update) {
	for _, field := range []struct{ to, from *string }{{&d.Name, u.Name}, {&d.Type, u.Type}, {&d.PipelineType, u.PipelineType}} {
		if field.from != nil {
			*field.to = *field.from
		}
	}
	if u.Description != nil {
		d.Description = u.Description
	}
	if u.LinkedEvals != nil {
		d.LinkedEvals = u.LinkedEvals
	}
	if u.Saved != nil {
		d.Saved = u.Saved
	}
	if u.Metadata != nil {
		d.Metadata = u.Metadata
	}
}

// Query asks for a page of datasets.
type Query struct {
	ID    string // "": any
	Name  string // exactly; "": any
	Type  string // "": any
	Limit int
	Page  int // from 1
}

// External reports whether an id is that of a dataset or datapoint that only a client has.
func External(id string) bool { return strings.HasPrefix(id, "EXT-") }

// Doc writes down all but what the store sets.
func (d *Dataset) Doc() json.RawMessage { return fields.Object(d) }

// FromDoc reads what Doc wrote.
func FromDoc(doc json.RawMessage) (d Dataset) {
	fields.Read(doc, &d)
	return d
}
