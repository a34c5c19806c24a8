package rehearse

import (
	"context"
	"maps"
	"net/http"
	"slices"
	"strings"
)

// question is a request, or several pages of one, that the server before and the one after must answer alike.
type question struct {
	name    string // such as "sessions by cost"
	project string
	method  string
	path    string
	body    map[string]any
	pages   int  // that follow one another by cursor; 0: the answer has no pages
	sums    bool // the answer has what was added up from many events
}

// ask asks all pages, each by the cursor that the server itself has given.
func (q *question) ask(ctx context.Context, c *client) (answer, error) {
	if q.pages == 0 {
		return c.ask(ctx, q.method, q.path, q.bodyOrNil())
	}
	var all answer
	var list []any
	cursor := ""
	for range q.pages {
		body := maps.Clone(q.body)
		if cursor != "" {
			body["cursor"] = cursor
		}
		a, err := c.ask(ctx, q.method, q.path, body)
		if err != nil {
			return a, err
		}
		all.status = a.status
		all.took += a.took
		cursor = ""
		if m, ok := a.body.(map[string]any); ok {
			cursor, _ = m["next_cursor"].(string)
		}
		list = append(list, a.body)
		if cursor == "" {
			break
		}
	}
	all.body = list
	return all, nil
}

func (q *question) bodyOrNil() any {
	if q.body == nil {
		return nil
	}
	return q.body
}

// project is one whose answers are compared.
type project struct {
	ID   string `json:"id"`
	Name string `json:"name"`
}

// asker makes up the questions about one project, of what the server before says that there is.
type asker struct {
	c    *client
	of   project
	o    *Options
	list []question
}

type m = map[string]any

func (a *asker) get(name, path string) {
	a.list = append(a.list, question{name: name, project: a.of.Name, method: http.MethodGet, path: path})
}

func (a *asker) post(name, path string, pages int, body m) {
	a.list = append(a.list, question{name: name, project: a.of.Name, method: http.MethodPost, path: path, body: body, pages: pages})
}

// summed says of the questions from a place in the list on that their answers have sums.
func (a *asker) summed(from int) {
	for i := range a.list[from:] {
		a.list[from+i].sums = true
	}
}

// questions returns those about a project.
func (a *asker) questions(ctx context.Context) ([]question, error) {
	for _, x := range []struct{ name, path string }{
		{"configurations", "/v1/configurations"}, {"metrics", "/v1/metrics"}, {"queues", "/v1/queues"}, {"tools", "/v1/tools"},
		{"saved charts", "/v1/charts"}, {"dashboards", "/v1/dashboards"}, {"saved views", "/v1/views"}, {"fields of events", "/v1/events/schema"},
	} {
		a.get(x.name, x.path)
	}
	for _, f := range []func(context.Context) error{a.datasets, a.runs, a.events} {
		if err := f(ctx); err != nil {
			return nil, err
		}
	}
	return a.list, nil
}

// datasets asks for all datasets, and for rows of some.
func (a *asker) datasets(ctx context.Context) error {
	a.get("datasets", "/v1/datasets")
	var found struct {
		List []struct {
			ID string `json:"_id"`
		} `json:"testcases"`
	}
	if err := a.c.get(ctx, http.MethodGet, "/v1/datasets", nil, &found); err != nil {
		return err
	}
	for _, d := range found.List[:min(len(found.List), a.o.Runs)] {
		a.get("rows of dataset "+d.ID, "/v1/datasets/"+d.ID+"/rows?limit=100")
	}
	return nil
}

// runs asks for all runs, for the results of the newest, and compares neighbours.
func (a *asker) runs(ctx context.Context) error {
	defer a.summed(len(a.list))
	const list = "/v1/runs?limit=100&ids=false&aggregates=true"
	a.get("runs", list)
	var found struct {
		List []struct {
			ID string `json:"run_id"`
		} `json:"evaluations"`
	}
	if err := a.c.get(ctx, http.MethodGet, list, nil, &found); err != nil {
		return err
	}
	runs := found.List[:min(len(found.List), a.o.Runs)]
	for i, r := range runs {
		a.get("result of run "+r.ID, "/v1/runs/"+r.ID+"/result")
		a.get("scores of run "+r.ID, "/v1/runs/"+r.ID+"/metrics?limit=100")
		if i > 0 {
			a.post("comparison of run "+runs[i-1].ID+" with "+r.ID, "/v1/runs/compare", 2, m{"run_ids": []string{r.ID, runs[i-1].ID}, "limit": 100})
		}
	}
	return nil
}

// foundEvents is an answer to a search.
type foundEvents struct {
	Events []struct {
		Start   float64 `json:"start_time"`
		Outputs any     `json:"outputs"`
	} `json:"events"`
}

// events asks for lists, charts and values of events in a range that ends with the newest one, and for the trees of sessions.
func (a *asker) events(ctx context.Context) error {
	search := func(body m) (found foundEvents, err error) {
		err = a.c.get(ctx, http.MethodPost, "/v1/events/search", body, &found)
		return found, err
	}
	last, err := search(m{"filters": []any{}, "limit": 20, "sort": "start", "total": "none"})
	if err != nil || len(last.Events) == 0 {
		return err
	}
	first, err := search(m{"filters": []any{}, "limit": 1, "sort": "start", "order": "asc", "total": "none"})
	if err != nil || len(first.Events) == 0 {
		return err
	}
	whole := m{"$gte": first.Events[0].Start, "$lte": last.Events[0].Start}
	is := func(field string, value any) m { return m{"field": field, "operator": "is", "value": value} }
	events := func(name string, pages int, filters ...any) {
		if filters == nil {
			filters = []any{}
		}
		a.post(name, "/v1/events/search", pages, m{"filters": filters, "dateRange": whole, "limit": 100, "sort": "start", "total": "exact"})
	}

	for _, by := range []string{"start", "duration", "cost", "tokens", "errors", "events"} {
		a.post("sessions by "+by, "/v1/sessions/search", 2, m{"dateRange": whole, "sort": by, "limit": 100, "total": "exact"})
	}
	events("events", 3)
	for _, by := range []string{"duration", "cost", "tokens"} {
		a.post("events by "+by, "/v1/events/search", 1, m{"filters": []any{}, "dateRange": whole, "limit": 100, "sort": by, "total": "none"})
	}
	events("events with an error", 1, m{"field": "error", "operator": "exists"})
	for _, typ := range []string{"session", "chain", "model", "tool"} {
		events("events of type "+typ, 1, is("event_type", typ))
	}
	for _, field := range []string{"event_name", "source", "config.model", "user_properties.user_id"} {
		body := m{"field": field, "dateRange": whole, "limit": 100}
		a.post("values of "+field, "/v1/events/values", 0, body)
		var found struct {
			Values []struct {
				Value string `json:"value"`
			} `json:"values"`
		}
		if err := a.c.get(ctx, http.MethodPost, "/v1/events/values", body, &found); err != nil {
			return err
		}
		for _, v := range found.Values[:min(len(found.Values), 3)] {
			events("events with "+field+" "+shown(v.Value), 1, is(field, v.Value))
		}
	}
	for _, word := range words(last) {
		events("events that contain "+word, 1, m{"field": "text", "operator": "contains", "value": word})
	}
	charts := len(a.list)
	for _, s := range []struct{ name, metric, aggregation, group string }{
		{"events a bucket by type", "duration", "count", "event_type"}, {"p95 of duration by name", "duration", "p95", "event_name"},
		{"median of duration by model", "duration", "median", "config.model"}, {"cost by model", "metadata.cost", "sum", "config.model"},
		{"tokens by model", "metadata.total_tokens", "sum", "config.model"},
	} {
		for _, bucket := range []string{"auto", "day"} {
			a.post("chart of "+s.name+", bucket "+bucket, "/v1/events/chart", 0, m{"dateRange": whole, "bucket": bucket,
				"series": []any{m{"name": "s", "metric": s.metric, "aggregation": s.aggregation, "groupBy": s.group}}})
		}
	}
	a.summed(charts)
	return a.sessions(ctx, whole)
}

// sessions asks for the trees of the newest sessions, the oldest, and the most expensive and largest ones.
func (a *asker) sessions(ctx context.Context, whole m) error {
	seen := map[string]bool{}
	each := max(a.o.Sessions/4, 1)
	for _, by := range []struct{ sort, order string }{{"start", "desc"}, {"start", "asc"}, {"cost", "desc"}, {"events", "desc"}} {
		var found struct {
			Sessions []struct {
				ID string `json:"session_id"`
			} `json:"sessions"`
		}
		if err := a.c.get(ctx, http.MethodPost, "/v1/sessions/search", m{"dateRange": whole, "sort": by.sort, "order": by.order,
			"limit": min(each, 200)}, &found); err != nil {
			return err
		}
		for _, s := range found.Sessions {
			if !seen[s.ID] {
				seen[s.ID] = true
				a.get("tree of session "+s.ID, "/v1/sessions/"+s.ID+"/tree")
				a.post("events of session "+s.ID, "/v1/events/search", 1, m{"limit": 200, "sort": "start", "total": "exact",
					"filters": []any{m{"field": "session_id", "operator": "is", "type": "id", "value": s.ID}}})
			}
		}
	}
	return nil
}

// words returns a few words of what the newest events have put out.
func words(found foundEvents) (list []string) {
	const enough, least, most = 3, 5, 30
	var walk func(v any)
	walk = func(v any) {
		switch v := v.(type) {
		case map[string]any:
			for _, key := range slices.Sorted(maps.Keys(v)) {
				walk(v[key])
			}
		case []any:
			for _, x := range v {
				walk(x)
			}
		case string:
			for _, w := range strings.Fields(v) {
				if len(list) < enough && len(w) >= least && len(w) <= most {
					list = append(list, w)
					return
				}
			}
		}
	}
	for _, e := range found.Events {
		walk(e.Outputs)
	}
	return list
}
