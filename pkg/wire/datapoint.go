package wire

import (
	"encoding/json"
	"time"

	"github.com/google/uuid"

	"github.com/spangrove/spangrove/pkg/dataset"
	"github.com/spangrove/spangrove/pkg/fault"
	"github.com/spangrove/spangrove/pkg/project"
	"github.com/spangrove/spangrove/pkg/query"
	"github.com/spangrove/spangrove/pkg/rawjson"
)

// DecodeDatapoint reads the body of a datapoint's creation, complete and checked. Unknown fields
// are ignored, among them the project older clients send.
func DecodeDatapoint(body []byte) (dataset.Datapoint, error) {
	u, err := DecodeDatapointUpdate(body, "")
	if err != nil {
		return dataset.Datapoint{}, err
	}
	var p dataset.Datapoint
	p.Apply(&u)
	p.Complete()
	return p, p.Validate()
}

// DecodeDatapointUpdate reads the body of an update of the datapoint with an id.
func DecodeDatapointUpdate(body []byte, id string) (dataset.PointUpdate, error) {
	u := dataset.PointUpdate{ID: id}
	err := eachMember(body, func(key string, raw []byte) (err error) {
		switch key {
		case "inputs":
			u.Inputs, err = readObject(raw)
		case "history":
			u.History, err = readObjects(raw)
		case "ground_truth":
			u.GroundTruth, err = readObject(raw)
		case "metadata":
			u.Metadata, err = readObject(raw)
		case "linked_event":
			err = setTextPointer(&u.LinkedEvent, raw)
		case "linked_evals":
			u.LinkedEvals, err = readStrings(raw)
		case "linked_datasets":
			u.LinkedDatasets, err = readTexts(raw, dataset.MaxLinks)
		case "saved":
			err = setBoolPointer(&u.Saved, raw)
		case "type":
			err = setTextPointer(&u.Type, raw)
		case "if_version":
			n, ok := rawjson.Number(raw)
			if u.IfVersion = int64(n); !ok || n < 1 || float64(u.IfVersion) != n {
				err = fault.New(fault.Invalid, "must be a whole number, 1 or more")
			}
		}
		return err
	})
	return u, err
}

// AppendDatapoint appends a datapoint as answers show it. Clients of V1 need linked_event, also if it is null.
func AppendDatapoint(dst []byte, d *dataset.Datapoint, p *project.Project, dialect Dialect) []byte {
	b := itemOf(d.ID, dialect)
	if dialect == V0 {
		b.String("tenant", p.OrgID)
		b.String("project_id", p.PublicID)
	}
	b.Raw("inputs", d.Inputs)
	b.Raw("history", d.History)
	b.Raw("ground_truth", d.GroundTruth)
	b.Raw("metadata", d.Metadata)
	switch {
	case d.LinkedEvent != "":
		b.String("linked_event", d.LinkedEvent)
	case dialect == V1:
		b.Raw("linked_event", []byte("null"))
	}
	if d.LinkedEvals != nil {
		b.Raw("linked_evals", d.LinkedEvals)
	}
	b.Raw("linked_datasets", rawjson.AppendStrings(nil, d.LinkedDatasets))
	if d.Saved != nil {
		b.Bool("saved", *d.Saved)
	}
	if d.Type != nil {
		b.String("type", *d.Type)
	}
	if d.Deleted {
		b.Bool("deleted", true)
	}
	addTimes(b, d.Created, d.Updated, dialect)
	return append(dst, b.Bytes()...)
}

// DatapointBatch asks for datapoints to be made of events.
type DatapointBatch struct {
	Events   []uuid.UUID        // to be taken one by one, each once
	All      bool               // or all that Search finds, but for Except
	Search   query.Search       // its filters and bounds of time
	Except   map[uuid.UUID]bool // that are not to be taken
	Mapping  dataset.Mapping
	Datasets []string // to which the datapoints are added: one or none
}

// DecodeDatapointBatch reads the body of a batch of datapoints. With selectAll, filters and
// dateRange choose the events, all but those that checkState has false; without, they are those
// of events and those that checkState has true. now is what relative ranges count from.
//
//	{"events": ["<id>"], "mapping": {"inputs": ["question"]}, "dataset_id": "d1"}
//	{"selectAll": true, "checkState": {"<id>": false}, "filters": […], "dateRange": {…}, "mapping": {…}}
func DecodeDatapointBatch(body []byte, now time.Time) (*DatapointBatch, error) {
	b := &DatapointBatch{Except: map[uuid.UUID]bool{}}
	var checked []uuid.UUID
	object, _, err := DecodeObject(body)
	if err != nil {
		return nil, err
	}
	err = eachOf(object, func(key string, raw []byte) (err error) {
		switch key {
		case "events":
			b.Events, err = readEventIDs(raw, dataset.MaxRows)
		case "checkState":
			checked, err = b.readCheckState(raw)
		case "selectAll":
			b.All, err = readBool(raw)
		case "mapping":
			b.Mapping, err = decodeEventMapping(raw)
		case "dataset_id":
			var id string
			if id, err = readText(raw); err == nil && id != "" {
				b.Datasets = []string{id}
			}
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	if b.Search.Filters, err = query.ParseFilters(rawjson.Get(object, "filters"), "filters"); err != nil {
		return nil, err
	}
	if b.Search.From, b.Search.To, err = query.ParseRange(dollarKeys(rawjson.Get(object, "dateRange")), "dateRange", now); err != nil {
		return nil, err
	}
	if b.All {
		b.Events = nil
		return b, nil
	}
	b.Events = uniqueIDs(append(b.Events, checked...))
	if len(b.Events) > dataset.MaxRows {
		return nil, fault.InvalidField("events", "must be at most %d events", dataset.MaxRows)
	}
	return b, nil
}

// dollarKeys returns a range with its bounds gte and lte renamed to $gte and $lte: the Python client
// loses the dollar.
func dollarKeys(raw json.RawMessage) json.RawMessage {
	var b rawjson.Builder
	for key, v := range rawjson.Object(raw) {
		if key == "gte" || key == "lte" {
			key = "$" + key
		}
		b.Raw(key, v)
	}
	if b.Len() == 0 {
		return raw
	}
	return b.Bytes()
}

// readCheckState returns the ids that are true, in their order, and records the others: {"<id>": true, "<id>": false}.
func (b *DatapointBatch) readCheckState(raw json.RawMessage) (checked []uuid.UUID, err error) {
	if _, err := readObject(raw); err != nil {
		return nil, err
	}
	err = eachOf(raw, func(key string, raw []byte) error {
		id, err := ParseID(key)
		if err != nil {
			return err
		}
		on, err := readBool(raw)
		switch {
		case err != nil:
		case len(checked)+len(b.Except) == dataset.MaxRows:
			err = fault.New(fault.Invalid, "at most %d ids may be listed", dataset.MaxRows)
		case on:
			checked = append(checked, id)
		default:
			b.Except[id] = true
		}
		return err
	})
	return checked, err
}
