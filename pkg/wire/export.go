package wire

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spangrove/spangrove/pkg/event"
	"github.com/spangrove/spangrove/pkg/fault"
	"github.com/spangrove/spangrove/pkg/project"
	"github.com/spangrove/spangrove/pkg/query"
	"github.com/spangrove/spangrove/pkg/rawjson"
	"github.com/spangrove/spangrove/pkg/run"
)

// Formats of exports.
const (
	ExportJSONL = "jsonl"
	ExportCSV   = "csv"
)

// Rows of a page of an export: of one by start, which an index has in order, and of one in another order, for each page of which all that match may
// have to be looked at.
const (
	exportPage       = 1000
	exportSortedPage = 5000
)

// exportFields are the fields of an export besides those of its search.
var exportFields = []string{"format", "columns"}

// ExportFile is the file that an export writes.
type ExportFile struct {
	Format  string
	columns []exportColumn
}

// exportColumn is a column: a path of a row, such as metadata.cost.
type exportColumn struct {
	name string
	path []string
}

// EventExport is a decoded export of events.
type EventExport struct {
	ExportFile
	Events query.Search // its After moves with each page
	want   query.Projection
}

// SessionExport is a decoded export of sessions.
type SessionExport struct {
	ExportFile
	Sessions query.SessionSearch // its After moves with each page
}

// eventColumns are the columns of a file of events that names none, sessionColumns those of sessions; these are all the fields that sessions have.
var (
	eventColumns = []string{"event_id", "session_id", "event_type", "event_name", "source", "start_time", "duration", "error", "inputs", "outputs", "config",
		"metadata", "metrics", "feedback", "user_properties"}
	sessionColumns = []string{"session_id", "session_name", "source", "start_time", "end_time", "duration", "state", "user_id", "run_id", "num_events", "num_model_events",
		"num_tool_events", "num_errors", "tokens", "cost", "has_feedback", "error", "input", "output", "metrics", "feedback", "metadata", "inputs", "outputs", "user_properties"}
	defaultSessionColumns = sessionColumns[:22]
	// sessionObjects are those fields of sessions that have fields inside.
	sessionObjects = []string{"tokens", "metrics", "feedback", "metadata", "inputs", "outputs", "user_properties"}
)

// DecodeEventExport reads the body of an export of events; now is what relative ranges count from. Without columns, JSON lines have whole events.
// Unknown fields are refused. Errors are fault.Invalid naming the field.
//
//	{"filters": […], "dateRange": "7d", "sort": "cost", "format": "csv", "columns": ["event_name", "metadata.cost"]}
func DecodeEventExport(object json.RawMessage, now time.Time) (*EventExport, error) {
	search, fields, err := splitExport(object, []string{"filters", "dateRange", "evaluation_id", "sort", "order"})
	if err != nil {
		return nil, err
	}
	r, err := DecodeSearch(search, query.OrderedPages, now)
	if err != nil {
		return nil, err
	}
	x := &EventExport{Events: r.Search}
	names, err := x.read(fields)
	if err != nil {
		return nil, err
	}
	if names == nil && x.Format == ExportCSV {
		names = eventColumns
	}
	if x.want, err = query.ParseProjection(names); err != nil {
		return nil, inColumns(err)
	}
	x.setColumns(names)
	q := &x.Events
	q.Continued, q.Uncounted, q.HeadOnly, q.Limit = true, true, !x.want.NeedPayload(), exportPage
	if q.Sort == "" {
		q.Sort = query.EventsByStart
	}
	if q.Sort != query.EventsByStart {
		q.Limit = exportSortedPage
	}
	return x, nil
}

// inColumns has an error about projections speak of columns.
func inColumns(err error) error {
	var f *fault.Error
	if errors.As(err, &f) {
		f.Field = strings.Replace(f.Field, "projections", "columns", 1)
	}
	return err
}

// DecodeSessionExport is DecodeEventExport for sessions. The fields of a session are those of a search of sessions, none of them cut, and inputs, outputs and
// user_properties.
func DecodeSessionExport(body []byte, now time.Time) (*SessionExport, error) {
	object, _, err := DecodeObject(body)
	if err != nil {
		return nil, err
	}
	search, fields, err := splitExport(object, []string{"filters", "event_filters", "dateRange", "sort", "order"})
	if err != nil {
		return nil, err
	}
	r, err := DecodeSessionSearch(search, now)
	if err != nil {
		return nil, err
	}
	x := &SessionExport{Sessions: r.Search}
	names, err := x.read(fields)
	if err != nil {
		return nil, err
	}
	if names == nil {
		names = defaultSessionColumns
	}
	for i, name := range names {
		root, _, dotted := strings.Cut(name, ".")
		at := "columns[" + strconv.Itoa(i) + "]"
		switch {
		case len(name) > query.MaxFieldBytes:
			return nil, fault.InvalidField(at, "must be at most %d bytes", query.MaxFieldBytes)
		case !slices.Contains(sessionColumns, root):
			return nil, fault.InvalidField(at, "must be one of %s, not %.100q", strings.Join(sessionColumns, ", "), root)
		case dotted && !slices.Contains(sessionObjects, root):
			return nil, fault.InvalidField(at, "%s has no fields inside", root)
		}
	}
	x.setColumns(names)
	x.Sessions.Limit = exportPage
	if x.Sessions.Sort != query.SortStart {
		x.Sessions.Limit = exportSortedPage
	}
	return x, nil
}

// splitExport takes the fields of an export apart from those of its search.
func splitExport(object json.RawMessage, search []string) (of json.RawMessage, fields map[string]json.RawMessage, err error) {
	if err := knownFields(object, slices.Concat(search, exportFields)); err != nil {
		return nil, nil, err
	}
	var b rawjson.Builder
	fields = map[string]json.RawMessage{}
	for key, raw := range rawjson.Object(object) {
		switch {
		case rawjson.Null(raw):
		case slices.Contains(exportFields, key):
			fields[key] = raw
		case slices.Contains(search, key):
			b.Raw(key, raw)
		}
	}
	return b.Bytes(), fields, nil
}

// read reads format and columns, nil if there are none.
func (x *ExportFile) read(fields map[string]json.RawMessage) (names []string, err error) {
	if x.Format, err = oneOf(fields, "format", ExportJSONL, []string{ExportJSONL, ExportCSV}); err != nil {
		return nil, err
	}
	if names, err = readNames(fields["columns"]); err != nil {
		return nil, fault.In("columns", err)
	}
	if fields["columns"] != nil && len(names) == 0 {
		return nil, fault.InvalidField("columns", "must have at least one name; without it there are all")
	}
	return names, nil
}

func (x *ExportFile) setColumns(names []string) {
	for _, name := range names {
		x.columns = append(x.columns, exportColumn{name, strings.Split(name, ".")})
	}
}

// Begin writes what stands before the rows.
func (x *ExportFile) Begin(s *Stream) {
	if x.Format != ExportCSV {
		s.ContentType = "application/x-ndjson"
		return
	}
	s.ContentType = "text/csv; charset=utf-8"
	for i, c := range x.columns {
		if i > 0 {
			s.text(",")
		}
		s.buf = rawjson.AppendCSVText(s.buf, c.name)
	}
	s.text("\r\n")
}

// appendRow appends a row, which has at least what the columns name: a member or a cell for each of them.
func (x *ExportFile) appendRow(dst []byte, row json.RawMessage) []byte {
	if x.Format == ExportCSV {
		for i, c := range x.columns {
			if i > 0 {
				dst = append(dst, ',')
			}
			dst = rawjson.AppendCSV(dst, rawjson.Lookup(row, c.path...))
		}
		return append(dst, "\r\n"...)
	}
	if x.columns == nil {
		return append(append(dst, row...), '\n')
	}
	var b rawjson.Builder
	for _, c := range x.columns {
		if v := rawjson.Lookup(row, c.path...); v != nil {
			b.Raw(c.name, v)
		}
	}
	return append(append(dst, b.Bytes()...), '\n')
}

// WriteEvents writes the rows of a page, and moves the search behind it. It reports whether there are more.
func (x *EventExport) WriteEvents(ctx context.Context, s *Stream, set *event.Set, p *project.Project) (more bool, err error) {
	var row []byte
	for i := range set.Events {
		e, err := s.load(ctx, set, i)
		if err != nil {
			return false, err
		}
		if set.IsGone(i) {
			continue
		}
		row = AppendProjected(row[:0], &e, p, x.want)
		s.buf = x.appendRow(s.buf, row)
		if err := s.flushFull(); err != nil {
			return false, err
		}
	}
	if n := len(set.Events); set.HasMore && n > 0 {
		x.Events.After = &query.Place{Value: set.Last, ID: set.Events[n-1].ID}
		return true, nil
	}
	return false, nil
}

// WriteSessions is WriteEvents for sessions.
func (x *SessionExport) WriteSessions(ctx context.Context, s *Stream, set *event.SessionSet) (more bool, err error) {
	for i := range set.Events {
		e, err := s.load(ctx, &set.Set, i)
		if err != nil {
			return false, err
		}
		if set.IsGone(i) {
			continue
		}
		s.buf = x.appendRow(s.buf, x.sessionFile(&e, &set.Totals[i]))
		if err := s.flushFull(); err != nil {
			return false, err
		}
	}
	if n := len(set.Events); set.HasMore && n > 0 {
		x.Sessions.After = &query.Place{Value: set.Last, ID: set.Events[n-1].ID}
		return true, nil
	}
	return false, nil
}

// sessionFile returns a session as a file has it: as a list shows it (sessionRow), but with nothing cut, and with what its session event has.
func (x *SessionExport) sessionFile(e *event.Event, t *event.SessionTotals) json.RawMessage {
	var b rawjson.Builder
	b.String("session_name", e.Name)
	b.String("source", e.Source)
	if e.Error != nil && *e.Error != "" {
		b.String("error", *e.Error)
	}
	if id, ok := rawjson.Text(rawjson.Get(e.UserProperties, "user_id")); ok && id != "" {
		b.String("user_id", id)
	}
	if id, ok := rawjson.Text(rawjson.Get(e.Metadata, "run_id")); ok && id != "" {
		b.String("run_id", run.FoldID(id))
	}
	for _, f := range []struct {
		name string
		raw  json.RawMessage
	}{{"metrics", e.Metrics}, {"feedback", e.Feedback}, {"metadata", e.Metadata}, {"inputs", e.Inputs}, {"outputs", e.Outputs}, {"user_properties", e.UserProperties}} {
		if !rawjson.Empty(f.raw) {
			b.Raw(f.name, f.raw)
		}
	}
	whole := b.Bytes()
	var row rawjson.Builder
	for key, v := range rawjson.Object(sessionRow(e, t)) {
		if rawjson.Get(whole, key) == nil {
			row.Raw(key, v)
		}
	}
	return rawjson.Concat(row.Bytes(), whole)
}
