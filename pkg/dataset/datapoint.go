package dataset

import (
	"encoding/json"
	"slices"

	"github.com/spangrove/spangrove/pkg/fault"
	"github.com/spangrove/spangrove/pkg/rawjson"
)

// Datapoint is one example. ID, Created, Updated, Version and Position are the store's to set.
type Datapoint struct {
	ID          string
	Inputs      json.RawMessage `doc:"inputs"`                // an object
	History     json.RawMessage `doc:"history"`               // an array of objects
	GroundTruth json.RawMessage `doc:"ground_truth"`          // an object
	Metadata    json.RawMessage `doc:"metadata"`              // an object
	LinkedEvent string          `doc:"linked_event,omitzero"` // id of the event it was made of, ""
	LinkedEvals json.RawMessage `doc:"linked_evals,omitzero"` // an array of strings, or nil
	Saved       *bool           `doc:"saved,omitzero"`
	Type        *string         `doc:"type,omitzero"`
	// LinkedDatasets are the datasets that have it, by id; the link is the dataset's as well.
	// External ids stand behind the others.
	LinkedDatasets []string `doc:"external_datasets,omitzero"`
	Deleted        bool     // in an old version of a dataset: only its id is left
	Created        int64    // Unix milliseconds
	Updated        int64    // of the last change, Unix milliseconds; 0: there was none
	Version        int64    // of its contents, one more with each change of them
	Position       int64    // in the version of a dataset that it was read from; 0: it was not read from one
}

var pointFields = rawjson.FieldsOf[Datapoint]()

// Complete fills in what a new datapoint was not given.
func (p *Datapoint) Complete() {
	for _, field := range []struct {
		to      *json.RawMessage
		missing string
	}{{&p.Inputs, "{}"}, {&p.History, "[]"}, {&p.GroundTruth, "{}"}, {&p.Metadata, "{}"}} {
		if *field.to == nil {
			*field.to = json.RawMessage(field.missing)
		}
	}
}

// Size returns about how many bytes it takes.
func (p *Datapoint) Size() int {
	return len(p.Inputs) + len(p.History) + len(p.GroundTruth) + len(p.Metadata) + len(p.LinkedEvals) + 100
}

// Validate reports the first broken rule as a fault.Invalid that names the field.
func (p *Datapoint) Validate() error {
	if len(p.LinkedDatasets) > MaxLinks {
		return fault.InvalidField("linked_datasets", "must be at most %d datasets", MaxLinks)
	}
	if len(p.LinkedEvent) > MaxName { // it has an index, which bounds it in PostgreSQL
		return fault.InvalidField("linked_event", "must be at most %d bytes", MaxName)
	}
	return nil
}

// PointUpdate changes the fields of a datapoint that are set. Each replaces what was there.
type PointUpdate struct {
	ID                                     string
	Inputs, History, GroundTruth, Metadata json.RawMessage
	LinkedEvent                            *string
	LinkedEvals                            json.RawMessage
	Saved                                  *bool
	Type                                   *string
	LinkedDatasets                         []string // all from now on; nil: not set
	IfVersion                              int64    // the change is refused if its contents are in another version; 0: they may be in any
}

// Apply changes a datapoint by an update.
func (p *Datapoint) Apply(u *PointUpdate) {
	for _, field := range []struct {
		to   *json.RawMessage
		from json.RawMessage
	}{{&p.Inputs, u.Inputs}, {&p.History, u.History}, {&p.GroundTruth, u.GroundTruth}, {&p.Metadata, u.Metadata}, {&p.LinkedEvals, u.LinkedEvals}} {
		if field.from != nil {
			*field.to = field.from
		}
	}
	if u.LinkedEvent != nil {
		p.LinkedEvent = *u.LinkedEvent
	}
	if u.Saved != nil {
		p.Saved = u.Saved
	}
	if u.Type != nil {
		p.Type = u.Type
	}
	if u.LinkedDatasets != nil {
		p.LinkedDatasets = Unique(u.LinkedDatasets)
	}
}

// Unique drops repetitions and keeps the order.
func Unique(ids []string) []string {
	seen := make(map[string]bool, len(ids))
	return slices.DeleteFunc(slices.Clone(ids), func(id string) bool {
		again := seen[id]
		seen[id] = true
		return again
	})
}

// PointQuery asks for a page of datapoints that meet all of its conditions.
type PointQuery struct {
	IDs     []string // nil: any
	Dataset string   // name of a dataset that has them; "": any
	Limit   int
	Page    int // from 1
}

// Doc writes down all but what the store sets, and of the links only the external ones: the
// others are rows of the store.
func (p *Datapoint) Doc() json.RawMessage {
	stored := *p
	stored.LinkedDatasets = p.Links(true)
	return pointFields.Object(&stored)
}

// Links returns the datasets it is linked with that are external, or those that are not.
func (p *Datapoint) Links(external bool) []string {
	return slices.DeleteFunc(slices.Clone(p.LinkedDatasets), func(id string) bool { return External(id) != external })
}

// PointFromDoc reads what Doc wrote.
func PointFromDoc(doc json.RawMessage) (p Datapoint) {
	pointFields.Read(doc, &p)
	return p
}
