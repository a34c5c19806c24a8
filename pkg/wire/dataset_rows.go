package wire

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/spangrove/spangrove/pkg/dataset"
	"github.com/spangrove/spangrove/pkg/fault"
	"github.com/spangrove/spangrove/pkg/project"
	"github.com/spangrove/spangrove/pkg/query"
	"github.com/spangrove/spangrove/pkg/rawjson"
)

// RowCursor returns the cursor of the page of a dataset's datapoints after a position in a version of it, among those that a filter chooses.
func RowCursor(f *dataset.RowFilter, version, position int64) string {
	text := fmt.Sprintf("%s %d %d", questionOf(f), version, position)
	return base64.RawURLEncoding.EncodeToString([]byte(text))
}

// ReadRowCursor reads a cursor, which must be of the same filter.
func ReadRowCursor(f *dataset.RowFilter, cursor string) (version, position int64, err error) {
	var question string
	text, err := base64.RawURLEncoding.DecodeString(cursor)
	if err == nil {
		_, err = fmt.Sscanf(string(text), "%s %d %d", &question, &version, &position)
	}
	if err != nil || question != questionOf(f) || version < 1 || position < 0 {
		return 0, 0, fault.InvalidField("cursor", "is not a cursor of this list: a cursor goes with the same text, field and value")
	}
	return version, position, nil
}

func questionOf(f *dataset.RowFilter) string {
	return hashOf([]byte(f.Text), []byte(f.Field), []byte(f.Value))
}

// AppendRow appends a datapoint as the list of a dataset's datapoints shows it.
func AppendRow(dst []byte, d *dataset.Datapoint, p *project.Project, dialect Dialect) []byte {
	var b rawjson.Builder
	b.Int("position", d.Position)
	b.Int("datapoint_version", d.Version)
	b.Raw("datapoint", AppendDatapoint(nil, d, p, dialect))
	return append(dst, b.Bytes()...)
}

// AppendDiffRow appends a datapoint that differs between two versions of a dataset.
func AppendDiffRow(dst []byte, r *dataset.DiffRow, p *project.Project, dialect Dialect) []byte {
	var b rawjson.Builder
	b.String("change", r.Kind())
	b.String("datapoint_id", r.ID)
	if r.Kind() == dataset.Changed {
		b.Raw("fields", rawjson.AppendStrings(nil, dataset.ChangedFields(r.Before, r.After)))
	}
	if r.Before != nil {
		b.Raw("before", appendContents(r.Before))
	}
	if r.After != nil {
		b.Raw("after", appendContents(r.After))
	}
	return append(dst, b.Bytes()...)
}

// appendContents returns what a datapoint says.
func appendContents(d *dataset.Datapoint) json.RawMessage {
	var b rawjson.Builder
	b.Raw("inputs", d.Inputs)
	b.Raw("history", d.History)
	b.Raw("ground_truth", d.GroundTruth)
	b.Raw("metadata", d.Metadata)
	if d.LinkedEvent != "" {
		b.String("linked_event", d.LinkedEvent)
	}
	if d.Deleted {
		b.Bool("deleted", true)
	}
	return b.Bytes()
}

// AppendContents appends what datapoints say that are not stored.
func AppendContents(dst []byte, list []dataset.Datapoint) []byte {
	contents := make([]json.RawMessage, len(list))
	for i := range list {
		contents[i] = appendContents(&list[i])
	}
	return rawjson.AppendArray(dst, contents)
}

// AppendSplits appends how many datapoints of a dataset have which values.
func AppendSplits(dst []byte, s *dataset.Splits, version int64) []byte {
	fields := make([]json.RawMessage, len(s.Fields))
	for i, f := range s.Fields {
		list, more := f.Values()
		values := make([]json.RawMessage, len(list))
		for i, v := range list {
			var b rawjson.Builder
			b.String("value", v.Value)
			b.Int("count", int64(v.Count))
			values[i] = b.Bytes()
		}
		var b rawjson.Builder
		b.String("field", f.Name)
		b.Int("with_value", int64(f.With))
		b.Raw("values", rawjson.AppendArray(nil, values))
		b.Int("more_values", int64(more))
		b.Bool("others", f.Many)
		fields[i] = b.Bytes()
	}
	var b rawjson.Builder
	b.Int("version", version)
	b.Int("total", int64(s.Total))
	b.Raw("fields", rawjson.AppendArray(nil, fields))
	b.Int("more_fields", int64(s.More))
	return append(dst, b.Bytes()...)
}

// DatasetTarget says where datapoints go that are made of something: into a dataset that is there, or into a new one.
type DatasetTarget struct {
	ID  string // "": a new one
	New dataset.Dataset
	Dry bool // nothing is stored
}

// targetFields are the fields of a body that say so.
var targetFields = []string{"dataset_id", "name", "dry"}

// read reads one of these fields.
func (t *DatasetTarget) read(key string, raw []byte) (err error) {
	switch key {
	case "dataset_id":
		t.ID, err = readText(raw)
	case "name":
		t.New.Name, err = readText(raw)
	case "dry":
		t.Dry, err = readBool(raw)
	}
	return err
}

// check refuses a body that says nothing of where datapoints go, or two things.
func (t *DatasetTarget) check() error {
	switch {
	case t.ID != "" && t.New.Name != "":
		return fault.InvalidField("name", "is that of a new dataset: not together with dataset_id")
	case dataset.External(t.ID):
		return fault.In("dataset_id", fault.New(fault.NotFound, "no dataset %.60q: its rows are with a client", t.ID))
	case t.ID != "" || t.Dry && t.New.Name == "":
		return nil
	case t.New.Name == "":
		return fault.InvalidField("dataset_id", "is required, or the name of a new dataset")
	}
	t.New.Complete()
	return t.New.Validate()
}

// DatasetImport is a file that is to be stored as datapoints.
type DatasetImport struct {
	DatasetTarget
	Format, Text string
	Columns      []dataset.Column
}

// DecodeDatasetImport reads the body of an import:
//
//	{"name": "questions", "format": "csv", "text": "q,a\n1+1,2\n", "columns": [{"name": "q", "to": "inputs.question"}]}
func DecodeDatasetImport(body []byte) (in DatasetImport, err error) {
	unknown := ""
	err = eachMember(body, func(key string, raw []byte) (err error) {
		switch key {
		case "format":
			in.Format, err = readText(raw)
		case "text":
			in.Text, err = readText(raw)
		case "columns":
			in.Columns, err = readColumns(raw)
		case "dataset_id", "name", "dry":
			err = in.read(key, raw)
		default:
			unknown = key
		}
		return err
	})
	switch {
	case err != nil:
		return in, err
	case unknown != "":
		return in, notKnown("field", unknown, append([]string{"format", "text", "columns"}, targetFields...))
	case in.Format == "":
		return in, fault.InvalidField("format", "is required: csv or jsonl")
	}
	return in, in.check()
}

func readColumns(raw json.RawMessage) (list []dataset.Column, err error) {
	if rawjson.KindOf(raw) != '[' {
		return nil, wrong("an array of objects", raw)
	}
	for i, one := range rawjson.Array(raw) {
		if i == dataset.MaxColumns {
			return nil, fault.New(fault.Invalid, "must have at most %d elements", dataset.MaxColumns)
		}
		if _, err := readObject(one); err != nil {
			return nil, fault.In(indexed("", i), err)
		}
		var c dataset.Column
		err := eachOf(one, func(key string, raw []byte) (err error) {
			switch key {
			case "name":
				c.Name, err = readText(raw)
			case "to":
				c.To, err = readText(raw)
			default:
				err = fault.New(fault.Invalid, "is not known; a column has name and to")
			}
			return err
		})
		if err != nil {
			return nil, fault.In(indexed("", i), err)
		}
		list = append(list, c)
	}
	return list, nil
}

// AppendImport appends what a file would become: {"rows", "bad", "columns", "errors", "preview"}.
func AppendImport(dst []byte, m *dataset.Import, preview int) []byte {
	var b rawjson.Builder
	b.Int("rows", int64(m.Rows))
	b.Int("bad", int64(m.Bad))
	columns := make([]json.RawMessage, len(m.Columns))
	for i, c := range m.Columns {
		var b rawjson.Builder
		b.String("name", c.Name)
		b.String("to", c.To)
		columns[i] = b.Bytes()
	}
	b.Raw("columns", rawjson.AppendArray(nil, columns))
	errors := make([]json.RawMessage, len(m.Errors))
	for i, e := range m.Errors {
		var b rawjson.Builder
		b.Int("row", int64(e.Row))
		b.Int("line", int64(e.Line))
		if e.Field != "" {
			b.String("column", e.Field)
		}
		b.String("message", e.Text)
		errors[i] = b.Bytes()
	}
	b.Raw("errors", rawjson.AppendArray(nil, errors))
	b.Raw("preview", AppendContents(nil, m.Points[:min(preview, len(m.Points))]))
	return append(dst, b.Bytes()...)
}

// DatasetSearch asks for a dataset to be made of what a search finds, or to be extended by it.
type DatasetSearch struct {
	DatasetTarget
	Events   *query.Search        // either
	Sessions *query.SessionSearch // or
	Mapping  dataset.Mapping
}

// DecodeDatasetSearch reads the body of such a request. Filters and range are those of a search of events or of sessions; now is what relative
// ranges count from.
//
//	{"name": "slow", "events": {"filters": […], "dateRange": "7d"}, "mapping": {"inputs": ["inputs.question"]}, "dry": true}
func DecodeDatasetSearch(body []byte, now time.Time) (in DatasetSearch, err error) {
	unknown := ""
	err = eachMember(body, func(key string, raw []byte) error {
		switch key {
		case "events":
			object, err := readObject(raw)
			if err != nil {
				return err
			}
			r, err := DecodeSearch(object, query.PageRule{Default: 1, Max: query.MaxLimit, Ordered: true}, now)
			if err == nil {
				in.Events = &query.Search{Filters: r.Search.Filters, From: r.Search.From, To: r.Search.To, RunID: r.Search.RunID}
			}
			return err
		case "sessions":
			r, err := DecodeSessionSearch(raw, now)
			if err == nil {
				in.Sessions = &query.SessionSearch{Filters: r.Search.Filters, EventFilters: r.Search.EventFilters, From: r.Search.From, To: r.Search.To}
			}
			return err
		case "mapping":
			in.Mapping, err = decodeEventMapping(raw)
			return err
		case "dataset_id", "name", "dry":
			return in.read(key, raw)
		}
		unknown = key
		return nil
	})
	switch {
	case err != nil:
		return in, err
	case unknown != "":
		return in, notKnown("field", unknown, append([]string{"events", "sessions", "mapping"}, targetFields...))
	case (in.Events == nil) == (in.Sessions == nil):
		return in, fault.InvalidField("events", "either events or sessions is required: what to search for")
	}
	if in.Sessions != nil {
		in.New.PipelineType = "session"
	}
	return in, in.check()
}

// IsDownload returns the value of Content-Disposition by which browsers save an answer under a name.
func IsDownload(name string) string {
	return `attachment; filename="` + strings.Map(func(r rune) rune {
		if r == '"' || r == '\\' || r < ' ' || r > '~' {
			return '-'
		}
		return r
	}, name) + `"`
}
