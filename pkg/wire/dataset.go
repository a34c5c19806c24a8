package wire

import (
	"encoding/json"

	"github.com/spangrove/spangrove/pkg/dataset"
	"github.com/spangrove/spangrove/pkg/fault"
	"github.com/spangrove/spangrove/pkg/project"
	"github.com/spangrove/spangrove/pkg/query"
	"github.com/spangrove/spangrove/pkg/rawjson"
)

// DecodeDataset reads the body of a dataset's creation: the dataset, complete and checked, and
// the ids of its datapoints. Unknown fields are ignored, among them the project older clients send.
func DecodeDataset(body []byte) (dataset.Dataset, []string, error) {
	u, err := DecodeDatasetUpdate(body)
	if err != nil {
		return dataset.Dataset{}, nil, err
	}
	d := dataset.New(&u)
	return d, u.Rows(nil), d.Validate()
}

// DecodeDatasetUpdate reads the body of a dataset's update. ID is its dataset_id, if any.
func DecodeDatasetUpdate(body []byte) (u dataset.Update, err error) {
	err = eachMember(body, func(key string, raw []byte) (err error) {
		switch key {
		case "linked_evals":
			u.LinkedEvals, err = readStrings(raw)
		case "metadata":
			u.Metadata, err = readObject(raw)
		case "datapoints":
			u.Datapoints, err = readTexts(raw, dataset.MaxDatapoints)
		case "add_datapoints":
			u.Add, err = readTexts(raw, dataset.MaxDatapoints)
		case "remove_datapoints":
			u.Remove, err = readTexts(raw, dataset.MaxDatapoints)
		default:
			err = setField(u.Field(key), raw)
		}
		return err
	})
	if err == nil && u.Datapoints != nil && (u.Add != nil || u.Remove != nil) {
		err = fault.InvalidField("datapoints", "are all from now on: not together with add_datapoints or remove_datapoints")
	}
	return u, err
}

// DecodeRows reads the rows that are added to a dataset, and makes datapoints of them by the
// mapping next to them: {"data": [{"q": "1+1?", "a": "2"}], "mapping": {"inputs": ["q"], "ground_truth": ["a"]}}. All
// rows are checked before the first datapoint is made.
func DecodeRows(body []byte) ([]dataset.Datapoint, error) {
	var data, mapping json.RawMessage
	err := eachMember(body, func(key string, raw []byte) (err error) {
		switch key {
		case "data":
			data = raw
			if rawjson.KindOf(raw) != '[' {
				err = wrong("an array of objects", raw)
			}
		case "mapping":
			mapping = raw
		}
		return err
	})
	switch {
	case err != nil:
		return nil, err
	case data == nil:
		return nil, fault.InvalidField("data", "is required")
	case mapping == nil:
		return nil, fault.InvalidField("mapping", "is required")
	}
	m, err := decodeMapping(mapping)
	if err != nil {
		return nil, fault.In("mapping", err)
	}
	rows := 0
	for i, row := range rawjson.Array(data) {
		if i == dataset.MaxRows {
			return nil, fault.InvalidField("data", "must have at most %d rows", dataset.MaxRows)
		}
		if rawjson.KindOf(row) != '{' {
			return nil, fault.In(indexed("data", i), wrong("an object", row))
		}
		rows++
	}
	if rows == 0 {
		return nil, fault.InvalidField("data", "must have at least one row")
	}
	list, datapoint := make([]dataset.Datapoint, 0, rows), m.Rows()
	for _, row := range rawjson.Array(data) {
		list = append(list, datapoint(row))
	}
	return list, nil
}

// maxMapped bounds the entries of one part of a mapping.
const maxMapped = 1000

// decodeMapping reads which columns of rows go to which part of a datapoint. A part that is unknown is refused: what it names would
// silently go elsewhere.
func decodeMapping(object json.RawMessage) (m dataset.Mapping, err error) {
	if object, err = readObject(object); err != nil {
		return m, err
	}
	var older []string // the name of older clients, some of which send both
	err = eachOf(object, func(key string, raw []byte) (err error) {
		switch key {
		case "inputs":
			m.Inputs, err = readTexts(raw, maxMapped)
		case "history":
			m.History, err = readTexts(raw, maxMapped)
		case "ground_truth":
			m.GroundTruth, err = readTexts(raw, maxMapped)
		case "groundTruth":
			older, err = readTexts(raw, maxMapped)
		default:
			err = notKnown("part", key, []string{"inputs", "history", "ground_truth"})
		}
		return err
	})
	if len(m.GroundTruth) == 0 {
		m.GroundTruth = older
	}
	return m, err
}

// decodeEventMapping reads which parts of events go to which part of a datapoint.
func decodeEventMapping(object json.RawMessage) (m dataset.Mapping, err error) {
	if m, err = decodeMapping(object); err != nil {
		return m, err
	}
	if err := m.CheckPaths(); err != nil {
		return m, err
	}
	for _, part := range []struct {
		name  string
		paths []string
	}{{"inputs", m.Inputs}, {"history", m.History}, {"ground_truth", m.GroundTruth}} {
		for i, path := range part.paths {
			if err := query.CheckPath(path); err != nil {
				return m, fault.In(indexed(part.name, i), err)
			}
		}
	}
	return m, nil
}

// BeginDataset appends a dataset with n datapoints as answers show it, but for what follows the ids of its
// datapoints: included datapoints, if they were asked for, and the closing brace. The ids are left out if they are nil.
func BeginDataset(dst []byte, d *dataset.Dataset, n int, points []string, p *project.Project, dialect Dialect) []byte {
	b := itemOf(d.ID, dialect)
	if dialect == V0 {
		b.String("project", p.Name)
	}
	addFields(b, d.Fields(), dialect, "description")
	b.Int("version", d.Version)
	addTimes(b, d.Created, d.Updated, dialect)
	b.Int("num_points", int64(n))
	if points != nil {
		b.Raw("datapoints", rawjson.AppendStrings(make([]byte, 0, 2+27*len(points)), points))
	}
	whole := b.Bytes()
	return append(dst, whole[:len(whole)-1]...)
}
