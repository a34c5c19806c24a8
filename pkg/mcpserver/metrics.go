package mcpserver

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/spangrove/spangrove/pkg/client"
)

type metricQuery struct {
	Type   string `json:"type,omitempty" jsonschema:"only metrics of this type"`
	Limit  int    `json:"limit,omitempty" jsonschema:"how many metrics, oldest first"`
	Cursor string `json:"cursor,omitempty" jsonschema:"next_cursor of the answer before"`
	size
}

// metric is one in a list.
type metric struct {
	ID          string `json:"metric_id"`
	Name        string `json:"name"`
	Type        string `json:"type"`
	ReturnType  string `json:"return_type"`
	Description string `json:"description,omitempty"`
	Criteria    string `json:"criteria" jsonschema:"code, prompt or expression, cut if it is long"`
	Online      bool   `json:"enabled_in_prod" jsonschema:"new events are scored as they come"`
}

type metricList struct {
	Metrics []metric `json:"metrics"`
	Total   int      `json:"total"`
}

type metricTest struct {
	Metric     string   `json:"metric,omitempty" jsonschema:"id of a metric of the project"`
	Type       string   `json:"type,omitempty" jsonschema:"instead of metric, of one that is not stored: its type"`
	Criteria   string   `json:"criteria,omitempty" jsonschema:"with type: the expression, the Python code, or the prompt of a judge"`
	ReturnType string   `json:"return_type,omitempty" jsonschema:"with type: what it scores with"`
	Provider   string   `json:"model_provider,omitempty" jsonschema:"with type LLM: the provider of the judge, one of server_info"`
	Model      string   `json:"model_name,omitempty" jsonschema:"with type LLM: the model of the judge"`
	EventIDs   []string `json:"event_ids" jsonschema:"the events to score"`
	size
}

// tested is what a metric says of an event.
type tested struct {
	EventID     string  `json:"event_id"`
	Score       any     `json:"score,omitempty"`
	Passed      *bool   `json:"passed,omitempty"`
	Explanation string  `json:"explanation,omitempty"`
	Failure     string  `json:"failure,omitempty"`
	Cost        float64 `json:"cost,omitempty"`
}

type testedList struct {
	Results []tested `json:"results"`
}

type evaluation struct {
	span
	Metric  string   `json:"metric" jsonschema:"id of the metric"`
	Filters []filter `json:"filters,omitempty" jsonschema:"which events; the metric's own filters if left out"`
	RunID   string   `json:"run_id,omitempty" jsonschema:"only events of this experiment run"`
	Limit   int      `json:"limit,omitempty" jsonschema:"at most so many events, the newest; a judge costs money for each"`
	size
}

type progressQuery struct {
	Metric     string `json:"metric" jsonschema:"id of the metric"`
	BackfillID string `json:"backfill_id" jsonschema:"id that start_evaluation gave"`
	size
}

// progress is how far an evaluation has come.
type progress struct {
	BackfillID string `json:"backfill_id"`
	State      string `json:"state"`
	Total      int    `json:"total" jsonschema:"events that it is about"`
	Looked     int    `json:"looked" jsonschema:"events that were looked at"`
	Waiting    int    `json:"waiting"`
	Done       int    `json:"done"`
	Failed     int    `json:"failed"`
	Dead       int    `json:"dead" jsonschema:"given up since the engine broke too often"`
}

// maxTested is how many events a call of test_metric scores.
const maxTested = 10

var metricTypes = []string{client.MetricExpression, client.MetricPython, client.MetricLLM, client.MetricHuman, client.MetricComposite}

func (t *tools) addMetrics() {
	add(t, definition{
		name: "list_metrics", title: "Metrics",
		description: "The metrics of the project: what gives events a score, by an expression, Python code, a judge (a model), people or other metrics.",
		schema:      []property{between("limit", 1, 100, 20), anyOf("type", metricTypes...)},
	}, listMetrics)
	add(t, definition{
		name: "test_metric", title: "Try a metric", effect: asks,
		description: "Runs a metric of the project, or one that is not stored, over up to ten events and shows its scores. Nothing is stored. A judge (type LLM) sends the events to its provider and costs money. It needs a key of scope full.",
		schema: []property{items("event_ids", 1, maxTested), anyOf("type", metricTypes[:3]...),
			anyOf("return_type", "float", "boolean", "string", "categorical")},
	}, testMetric)
	add(t, definition{
		name: "start_evaluation", title: "Start an evaluation", effect: starts,
		description: "Has a metric score stored events in the background, and returns the id by which evaluation_progress follows it. Scores are stored with the events. A judge sends each event to its provider and costs money. It needs a key of scope full.",
		schema:      []property{between("limit", 1, 10_000, 100)},
	}, startEvaluation)
	add(t, definition{
		name: "evaluation_progress", title: "Progress of an evaluation",
		description: "How far an evaluation that start_evaluation began has come.",
	}, func(ctx context.Context, c *call, in progressQuery) (*answer[progress], error) {
		b, err := c.Backfills.Get(ctx, in.Metric, in.BackfillID)
		if err != nil {
			return nil, err
		}
		return progressOf(b), nil
	})
}

func listMetrics(ctx context.Context, c *call, in metricQuery) (*answer[metricList], error) {
	first, err := offset(in.Cursor)
	if err != nil {
		return nil, err
	}
	found, total, err := pageOf(first, or(in.Limit, 20), func(p client.Page) (*client.List[client.Metric], error) {
		return c.Metrics.List(ctx, client.MetricQuery{Type: in.Type, Page: p})
	})
	if err != nil {
		return nil, err
	}
	list := fit(c, len(found), 0, func(i, width int) item[metric] {
		m := &found[i]
		d := metric{
			ID: line(m.ID, 80), Name: line(m.Name, width), Type: line(m.Type, 20), ReturnType: line(m.ReturnType, 20), Description: line(m.Description, width),
			Criteria: line(m.Criteria, width), Online: m.EnabledInProd != nil && *m.EnabledInProd,
		}
		text := fmt.Sprintf("%s %q %s, scores with %s", d.ID, d.Name, d.Type, orText(d.ReturnType, "float"))
		if d.Online {
			text += ", on new events"
		}
		for _, more := range []string{d.Description, d.Criteria} {
			if more != "" {
				text += "\n    " + more
			}
		}
		return item[metric]{text, d}
	})
	return &answer[metricList]{
		head: fmt.Sprintf("%s of %d, oldest first.", count(len(list), "metric", "metrics"), total),
		text: texts(list), data: metricList{data(list), total}, next: after(first, len(list), total),
	}, nil
}

// definition returns the metric that is to be tried.
func (in *metricTest) definition(ctx context.Context, c *call) (d client.MetricDefinition, err error) {
	if (in.Metric == "") == (in.Type == "") {
		return d, errors.New("give either metric, the id of one of the project, or type and criteria")
	}
	if in.Metric == "" {
		return client.MetricDefinition{
			Name: "test", Type: in.Type, Criteria: in.Criteria,
			MetricDetails: client.MetricDetails{ReturnType: in.ReturnType, ModelProvider: in.Provider, ModelName: in.Model},
		}, nil
	}
	found, err := c.Metrics.List(ctx, client.MetricQuery{ID: in.Metric, Page: client.Page{Limit: 1}})
	if err != nil {
		return d, err
	}
	if len(found.Items) == 0 {
		return d, fmt.Errorf("the project has no metric with the id %s; list_metrics gives the ids of metrics", line(in.Metric, 80))
	}
	return found.Items[0].MetricDefinition, nil
}

func testMetric(ctx context.Context, c *call, in metricTest) (*answer[testedList], error) {
	d, err := in.definition(ctx, c)
	if err != nil {
		return nil, err
	}
	results := make([]tested, len(in.EventIDs))
	for i, id := range in.EventIDs {
		e, err := readEvent(ctx, c, id)
		if err != nil {
			return nil, fmt.Errorf("event_ids[%d]: %w", i, err)
		}
		r, err := c.Metrics.Run(ctx, d, e)
		if err != nil {
			return nil, err
		}
		results[i] = tested{EventID: id, Score: r.Result, Passed: r.Passed, Explanation: r.Explanation, Failure: r.Failure, Cost: r.Cost}
	}
	list := fit(c, len(results), 0, func(i, width int) item[tested] { return testedItem(results[i], 2*width) })
	a := &answer[testedList]{
		head: fmt.Sprintf("The metric was run over %s; nothing was stored.", count(len(results), "event", "events")),
		text: texts(list), data: testedList{data(list)},
	}
	if len(list) < len(results) {
		a.hints = append(a.hints, fmt.Sprintf("%d more results did not fit; raise max_tokens.", len(results)-len(list)))
	}
	return a, nil
}

// readEvent reads an event as it is stored.
func readEvent(ctx context.Context, c *call, id string) (json.RawMessage, error) {
	body := map[string]any{
		"filters": []client.Filter{{Field: "event_id", Operator: client.Is, Value: id, Type: client.TypeID}}, "limit": 1, "sort": client.SortStart, "total": "none",
	}
	var found struct {
		Events []json.RawMessage `json:"events"`
	}
	if err := c.Call(ctx, client.Request{Method: http.MethodPost, Path: "/v1/events/search", Body: body, Repeatable: true}, &found); err != nil {
		return nil, err
	}
	if len(found.Events) == 0 {
		return nil, fmt.Errorf("there is no event %s in the project", line(id, 60))
	}
	return found.Events[0], nil
}

func testedItem(r tested, width int) item[tested] {
	r.EventID, r.Explanation, r.Failure = line(r.EventID, 80), line(r.Explanation, width), line(r.Failure, 60)
	if s, ok := r.Score.(string); ok {
		r.Score = line(s, width)
	}
	text := fmt.Sprintf("%s: %v", r.EventID, orNull(r.Score))
	if r.Passed != nil {
		text += map[bool]string{true: ", passed", false: ", failed"}[*r.Passed]
	}
	if r.Failure != "" {
		text += ", no score: " + r.Failure
	}
	if r.Cost > 0 {
		text += ", cost " + dollars(&r.Cost)
	}
	if r.Explanation != "" {
		text += "\n    " + r.Explanation
	}
	return item[tested]{text, r}
}

func startEvaluation(ctx context.Context, c *call, in evaluation) (*answer[progress], error) {
	between, err := in.dateRange(time.Now())
	if err != nil {
		return nil, err
	}
	b, err := c.Backfills.Create(ctx, in.Metric, client.BackfillInput{Filters: filters(in.Filters), DateRange: between, RunID: in.RunID, Limit: or(in.Limit, 100)})
	if err != nil {
		return nil, err
	}
	return progressOf(b), nil
}

func progressOf(b *client.Backfill) *answer[progress] {
	p := progress{line(b.ID, 80), line(b.State, 20), b.Total, b.Looked, b.Waiting, b.Done, b.Failed, b.Dead}
	a := &answer[progress]{
		head: fmt.Sprintf("Evaluation %s is %s: of %s, %d were looked at; %d scores are done, %d wait, %d failed, %d were given up.", p.BackfillID, p.State,
			count(p.Total, "event", "events"), p.Looked, p.Done, p.Waiting, p.Failed, p.Dead),
		data: p,
	}
	if strings.HasPrefix(p.State, client.BackfillRunning) {
		a.hints = append(a.hints, "evaluation_progress with this backfill_id tells how it goes on.")
	}
	return a
}
