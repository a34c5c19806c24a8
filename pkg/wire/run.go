package wire

import (
	"cmp"
	"encoding/json"
	"slices"
	"strings"
	"time"

	"github.com/spangrove/spangrove/pkg/fault"
	"github.com/spangrove/spangrove/pkg/project"
	"github.com/spangrove/spangrove/pkg/query"
	"github.com/spangrove/spangrove/pkg/rawjson"
	"github.com/spangrove/spangrove/pkg/run"
)

// DecodeRun reads the body of a run's creation or update. An id in the path wins over run_id.
// Unknown fields are ignored, among them the project older clients send.
func DecodeRun(body []byte, id string) (u run.Update, err error) {
	err = eachMember(body, func(key string, raw []byte) (err error) {
		switch key {
		case "run_id":
			u.ID, err = readText(raw)
		case "name":
			err = setTextPointer(&u.Name, raw)
		case "description":
			err = setTextPointer(&u.Description, raw)
		case "status":
			err = setTextPointer(&u.Status, raw)
		case "dataset_id":
			err = setTextPointer(&u.DatasetID, raw)
		case "event_ids":
			u.EventIDs, err = readTexts(raw, run.MaxSessions)
		case "session_ids":
			u.SessionIDs, err = readTexts(raw, run.MaxSessions)
		case "datapoint_ids":
			u.DatapointIDs, err = readTexts(raw, run.MaxSessions)
		case "metadata":
			u.Metadata, err = readKind(raw, '{', "an object")
		case "results":
			u.Results, err = readKind(raw, '{', "an object")
		case "configuration":
			u.Configuration, err = readKind(raw, '{', "an object")
		case "passing_ranges":
			u.PassingRanges, err = readKind(raw, '{', "an object")
		case "evaluators":
			u.Evaluators, err = readKind(raw, '[', "an array")
		}
		return err
	})
	u.ID = run.FoldID(cmp.Or(id, u.ID))
	return u, err
}

// runPages is how runs are paged.
var runPages = query.PageRule{Default: 20, Max: 100}

// RunList is what a list of runs asks.
type RunList struct {
	run.Query
	Aggregates bool // each run with what its sessions came to
	LeaveOut   bool // the ids of sessions and datapoints
}

// DecodeRuns reads the query string of a list of runs: dataset_id, name, status, run_ids, dateRange, limit, page, sort_by,
// sort_order, which is desc unless it is asc, aggregates and ids.
func DecodeRuns(rawQuery string, now time.Time) (q RunList, err error) {
	params, err := ParseParams(rawQuery)
	if err != nil {
		return q, err
	}
	if q.Aggregates, err = params.Bool("aggregates"); err != nil {
		return q, err
	}
	ids, err := params.Text("ids")
	if err == nil && ids != "" {
		var shown bool
		shown, err = params.Bool("ids")
		q.LeaveOut = !shown
	}
	if err != nil {
		return q, err
	}
	var texts struct {
		DatasetID string `query:"dataset_id"`
		Name      string `query:"name"`
		Status    string `query:"status"`
		SortBy    string `query:"sort_by"`
		SortOrder string `query:"sort_order"`
	}
	if err := params.Read(&texts); err != nil {
		return q, err
	}
	q.DatasetID, q.Name, q.Status, q.SortBy = texts.DatasetID, texts.Name, texts.Status, texts.SortBy
	if q.Status != "" {
		if err := run.CheckStatus(q.Status, "status"); err != nil {
			return q, err
		}
	}
	if q.SortBy != "" && !slices.Contains(run.SortFields, q.SortBy) {
		return q, fault.InvalidField("sort_by", "must be one of %s, not %.40q", strings.Join(run.SortFields, ", "), q.SortBy)
	}
	switch strings.ToLower(texts.SortOrder) {
	case "", "desc":
	case "asc":
		q.Ascending = true
	default:
		return q, fault.InvalidField("sort_order", "must be asc or desc")
	}
	if q.IDs, err = params.Texts("run_ids"); err != nil {
		return q, err
	}
	for i, id := range q.IDs {
		q.IDs[i] = run.FoldID(id)
	}
	if q.Limit, q.Page, err = params.Page(runPages); err != nil {
		return q, err
	}
	q.From, q.To, err = rangeOf(rawQuery, now)
	return q, err
}

// rangeOf reads dateRange of a query string.
func rangeOf(rawQuery string, now time.Time) (from, to *float64, err error) {
	object, err := QueryObject(rawQuery)
	if err != nil {
		return nil, nil, err
	}
	return query.ParseRange(rawjson.Get(object, "dateRange"), "dateRange", now)
}

// RunRead is what a read of a run's scores asks.
type RunRead struct {
	Aggregate run.Aggregate
	Search    query.Search // filters and date range
	Pairs     run.PairQuery
	// Whole says that neither a limit nor a page is asked for. Clients know none of a run's scores, and get all of them.
	Whole bool
	// RunIDs are those of a comparison of events whose path does not name them, as they are stored.
	RunIDs [2]string
}

// DecodeRunRead reads the query string of a run's result, metrics or comparison. Filters may
// also stand under filter.
func DecodeRunRead(rawQuery string, now time.Time) (r RunRead, err error) {
	object, err := QueryObject(rawQuery)
	if err != nil {
		return r, err
	}
	params, err := ParseParams(rawQuery)
	if err != nil {
		return r, err
	}
	in, err := DecodeSearch(object, query.ExportPages, now)
	if err != nil {
		return r, err
	}
	r.Search = in.Search
	how, err := params.Text("aggregate_function")
	if err != nil {
		return r, err
	}
	if r.Aggregate, err = run.ParseAggregate(how); err != nil {
		return r, err
	}
	one, err := params.find("filter")
	if err != nil {
		return r, err
	}
	filters, err := readFilter(one)
	if err != nil {
		return r, err
	}
	r.Search.Filters = append(r.Search.Filters, filters...)
	var texts struct {
		EventName string `query:"event_name"`
		EventType string `query:"event_type"`
		RunID1    string `query:"run_id_1"`
		RunID2    string `query:"run_id_2"`
	}
	if err := params.Read(&texts); err != nil {
		return r, err
	}
	r.Pairs.EventName, r.Pairs.EventType = texts.EventName, texts.EventType
	r.RunIDs = [2]string{run.FoldID(texts.RunID1), run.FoldID(texts.RunID2)}
	r.Whole = rawjson.Null(rawjson.Get(object, "limit")) && rawjson.Null(rawjson.Get(object, "page"))
	r.Pairs.Limit, r.Pairs.Page, err = params.Page(query.SearchPages)
	return r, err
}

// readFilter reads a parameter that is one filter, filter[field]=…, or all that a list of filters
// may be. The former is read as filter[0][field]=….
func readFilter(ps []param) ([]query.Filter, error) {
	if len(ps) == 0 {
		return nil, nil
	}
	if len(ps[0].path) == 1 && filterMembers[ps[0].path[0]] {
		ps = slices.Clone(ps)
		for i := range ps {
			ps[i].path = append([]string{"0"}, ps[i].path...)
		}
	}
	raw, err := filtersParam(ps)
	if err != nil {
		return nil, err
	}
	return query.ParseFilters(raw, "filter")
}

// filterMembers are the members of a filter, by which filter[field] is told from filter[0].
var filterMembers = map[string]bool{"field": true, "operator": true, "value": true, "type": true}

// AppendRun appends a run as answers show it. Clients of V0 know two states, no null, and only
// objects among the evaluators: anything else is put into one under "value".
func AppendRun(dst []byte, r *run.Run, p *project.Project, dialect Dialect) []byte {
	return appendRun(dst, r, p, dialect, dialect == V1)
}

// appendRun is AppendRun, except that nulls decides whether what is unknown is null or left out.
func appendRun(dst []byte, r *run.Run, p *project.Project, dialect Dialect, nulls bool) []byte {
	var b rawjson.Builder
	b.String("id", r.ID)
	b.String("run_id", r.ID)
	b.String("name", r.Name)
	// V0 knows completed and pending.
	status := r.Status
	if dialect == V0 && status != run.Completed {
		status = run.Pending
	}
	b.String("status", status)
	if r.Description != nil {
		b.String("description", *r.Description)
	} else if nulls {
		b.Raw("description", []byte("null"))
	}
	for _, f := range []struct {
		name  string
		raw   json.RawMessage
		empty string
	}{{"metadata", r.Metadata, "{}"}, {"results", r.Results, "{}"}, {"configuration", r.Configuration, "{}"},
		{"passing_ranges", r.PassingRanges, "{}"}, {"evaluators", r.Evaluators, "[]"}} {
		switch {
		case len(f.raw) == 0:
			f.raw = json.RawMessage(f.empty)
		case dialect == V0 && f.name == "evaluators":
			f.raw = objectsOf(f.raw)
		}
		b.Raw(f.name, f.raw)
	}
	b.Raw("event_ids", rawjson.AppendStrings(nil, r.EventIDs))
	b.Raw("session_ids", rawjson.AppendStrings(nil, r.SessionIDs))
	b.Raw("datapoint_ids", rawjson.AppendStrings(nil, r.DatapointIDs))
	if r.DatasetID != "" {
		b.String("dataset_id", r.DatasetID)
	} else if nulls {
		b.Raw("dataset_id", []byte("null"))
	}
	if r.DatasetVersion > 0 {
		b.Int("dataset_version", r.DatasetVersion)
	}
	b.Bool("is_active", true)
	b.String("project", p.Name)
	b.String("scope_type", "project")
	b.String("scope_id", p.PublicID)
	times := V0
	if nulls {
		times = V1
	}
	addTimes(&b, r.Created, r.Updated, times)
	return append(dst, b.Bytes()...)
}

// objectsOf returns an array whose elements are objects, what is none under "value" in one.
func objectsOf(array json.RawMessage) json.RawMessage {
	var list []json.RawMessage
	for _, v := range rawjson.Array(array) {
		if rawjson.KindOf(v) != '{' {
			var b rawjson.Builder
			b.Raw("value", v)
			v = b.Bytes()
		}
		list = append(list, v)
	}
	return arrayOf(list, func(dst []byte, v *json.RawMessage) []byte { return append(dst, *v...) })
}

// RunPage is a page of runs and what surrounds it. Total is how many match, Unfiltered how many there are; Metrics are
// names of metrics.
type RunPage struct {
	Runs              []run.Run
	Limit, Page       int
	Total, Unfiltered int
	Metrics           []string
	// Aggregates are what AppendRuns adds to each run (RunAggregates); nil: nothing.
	Aggregates []json.RawMessage
}

// AppendRuns appends a list of runs: {"evaluations", "pagination", "metrics"}. Runs are called evaluations there, as
// clients know them.
func AppendRuns(dst []byte, p *RunPage, of *project.Project, dialect Dialect) []byte {
	dst = append(dst, `{"evaluations":[`...)
	for i := range p.Runs {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = AppendRun(dst, &p.Runs[i], of, dialect)
		if p.Aggregates != nil {
			dst = append(append(append(dst[:len(dst)-1], `,"aggregates":`...), p.Aggregates[i]...), '}')
		}
	}
	pages := (p.Total + p.Limit - 1) / p.Limit
	var b rawjson.Builder
	b.Int("page", int64(p.Page))
	b.Int("limit", int64(p.Limit))
	b.Int("total", int64(p.Total))
	b.Int("total_unfiltered", int64(p.Unfiltered))
	b.Int("total_pages", int64(pages))
	b.Bool("has_next", p.Page < pages)
	b.Bool("has_prev", p.Page > 1)
	dst = append(append(dst, `],"pagination":`...), b.Bytes()...)
	dst = rawjson.AppendStrings(append(dst, `,"metrics":`...), p.Metrics)
	return append(dst, '}')
}
