package wire

import (
	"context"
	"encoding/json"
	"strconv"
	"strings"
	"time"

	"github.com/spangrove/spangrove/pkg/event"
	"github.com/spangrove/spangrove/pkg/fault"
	"github.com/spangrove/spangrove/pkg/query"
	"github.com/spangrove/spangrove/pkg/rawjson"
	"github.com/spangrove/spangrove/pkg/run"
)

// defaultSessions is how many sessions a page has if nothing is said, MaxSessions the most.
const (
	defaultSessions = 50
	MaxSessions     = 200
)

// sessionSearchFields are the fields of a search of sessions.
var sessionSearchFields = []string{"filters", "event_filters", "dateRange", "sort", "order", "limit", "cursor", "total"}

// SessionSearch is a decoded search of sessions.
type SessionSearch struct {
	Search query.SessionSearch
	query  string // a hash of what is searched for and how it is ordered, which a cursor repeats
}

// DecodeSessionSearch reads the body of a search of sessions; now is what relative ranges count from. All fields are
// optional, null is absent, and unknown fields are refused. Errors are fault.Invalid naming the field.
//
//	{"filters": […], "event_filters": […], "dateRange": "7d", "sort": "cost", "order": "desc", "limit": 50, "cursor": "…", "total": "exact"}
func DecodeSessionSearch(body []byte, now time.Time) (*SessionSearch, error) {
	object, _, err := DecodeObject(body)
	if err != nil {
		return nil, err
	}
	if err := knownFields(object, sessionSearchFields); err != nil {
		return nil, err
	}
	fields := map[string]json.RawMessage{}
	for key, raw := range rawjson.Object(object) {
		if !rawjson.Null(raw) {
			fields[key] = raw
		}
	}
	var r SessionSearch
	q := &r.Search
	if q.Filters, err = query.ParseSessionFilters(fields["filters"], "filters"); err != nil {
		return nil, err
	}
	if q.EventFilters, err = query.ParseFilters(fields["event_filters"], "event_filters"); err != nil {
		return nil, err
	}
	if len(q.EventFilters) == 0 {
		q.EventFilters = nil
	}
	if q.From, q.To, err = query.ParseRange(fields["dateRange"], "dateRange", now); err != nil {
		return nil, err
	}
	if q.Limit, _, err = (query.PageRule{Default: defaultSessions, Max: MaxSessions}).Parse(fields["limit"], nil); err != nil {
		return nil, err
	}
	sort, err := oneOf(fields, "sort", string(query.SortStart), query.SessionSorts())
	if err != nil {
		return nil, err
	}
	order, err := oneOf(fields, "order", "desc", []string{"desc", "asc"})
	if err != nil {
		return nil, err
	}
	total, err := oneOf(fields, "total", "none", []string{"none", "exact"})
	if err != nil {
		return nil, err
	}
	q.Sort, q.Ascending, q.Counted = query.SessionSort(sort), order == "asc", total == "exact"
	r.query = hashOf(fields["filters"], fields["event_filters"], fields["dateRange"], []byte(sort), []byte(order))
	if raw := fields["cursor"]; raw != nil {
		if q.After, err = readCursor(r.query, raw); err != nil {
			return nil, fault.In("cursor", err)
		}
	}
	return &r, nil
}

// oneOf reads a field whose value is one of a list of words.
func oneOf[T ~string](fields map[string]json.RawMessage, name, missing string, words []T) (string, error) {
	raw := fields[name]
	if raw == nil {
		return missing, nil
	}
	text, err := readText(raw)
	if err != nil {
		return "", fault.In(name, err)
	}
	list := make([]string, len(words))
	for i, w := range words {
		if list[i] = string(w); list[i] == text {
			return text, nil
		}
	}
	return "", fault.InvalidField(name, "must be one of %s, not %.40q", strings.Join(list, ", "), text)
}

// WriteSessions streams a page of sessions: {"sessions": […], "next_cursor": "…" or null, "total": n or null}.
func WriteSessions(ctx context.Context, s *Stream, set *event.SessionSet, r *SessionSearch) error {
	s.text(`{"sessions":[`)
	n := 0
	for i := range set.Events {
		e, err := s.load(ctx, &set.Set, i)
		if err != nil {
			return err
		}
		if set.IsGone(i) {
			continue
		}
		if n++; n > 1 {
			s.text(",")
		}
		s.buf = append(s.buf, sessionRow(&e, &set.Totals[i])...)
		if err := s.flushFull(); err != nil {
			return err
		}
	}
	s.text(`],"next_cursor":`)
	if set.HasMore && len(set.Events) > 0 {
		last := query.Place{Value: set.Last, ID: set.Events[len(set.Events)-1].ID}
		s.buf = rawjson.AppendString(s.buf, cursorAfter(r.query, last))
	} else {
		s.text("null")
	}
	s.text(`,"total":`)
	if set.IsCounted {
		s.buf = strconv.AppendInt(s.buf, int64(set.Total), 10)
	} else {
		s.text("null")
	}
	s.text("}")
	return s.flushFull()
}

// maxRowMetadata bounds the metadata that a row of the list shows, in bytes: a session may have more, which the session itself shows.
const maxRowMetadata = 4 << 10

// sessionRow returns a session as a list shows it.
func sessionRow(e *event.Event, t *event.SessionTotals) []byte {
	var b, tokens rawjson.Builder
	b.Raw("session_id", appendID(nil, e.ID))
	b.String("session_name", cut(e.Name, maxRowName))
	b.String("source", cut(e.Source, maxRowName))
	b.Number("start_time", e.Start)
	b.Number("end_time", e.End)
	b.Number("duration", e.Duration)
	b.String("state", query.StateOf(t))
	b.Int("num_events", t.Events)
	b.Int("num_model_events", t.ModelEvents)
	b.Int("num_tool_events", t.ToolEvents)
	b.Int("num_errors", t.Errors)
	tokens.Number("prompt", t.Prompt)
	tokens.Number("completion", t.Completion)
	tokens.Number("total", t.Tokens)
	b.Raw("tokens", tokens.Bytes())
	if t.HasCost {
		b.Number("cost", t.Cost)
	}
	b.Bool("has_feedback", t.Feedback > 0)
	if e.Error != nil && *e.Error != "" {
		b.String("error", cut(*e.Error, maxRowError))
	}
	if id, ok := rawjson.Text(rawjson.Get(e.UserProperties, "user_id")); ok && id != "" {
		b.String("user_id", cut(id, maxRowName))
	}
	if id, ok := rawjson.Text(rawjson.Get(e.Metadata, "run_id")); ok && id != "" {
		b.String("run_id", run.FoldID(cut(id, maxRowName)))
	}
	for _, f := range []struct {
		name string
		raw  json.RawMessage
	}{{"metrics", e.Metrics}, {"feedback", e.Feedback}, {"metadata", e.Metadata}} {
		if !rawjson.Empty(f.raw) && len(f.raw) <= maxRowMetadata {
			b.Raw(f.name, f.raw)
		}
	}
	if text := PreviewInput(e.Inputs); text != "" {
		b.String("input", text)
	}
	if text := PreviewOutput(e.Outputs); text != "" {
		b.String("output", text)
	}
	return b.Bytes()
}
