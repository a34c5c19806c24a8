package wire

import (
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/spangrove/spangrove/pkg/evaluation"
	"github.com/spangrove/spangrove/pkg/event"
	"github.com/spangrove/spangrove/pkg/fault"
	"github.com/spangrove/spangrove/pkg/metric"
	"github.com/spangrove/spangrove/pkg/query"
	"github.com/spangrove/spangrove/pkg/rawjson"
)

// MetricRun is a definition to be tried: over Event, or if DryRun is not nil over the stored events
// that it finds.
type MetricRun struct {
	Metric metric.Definition
	Event  json.RawMessage
	DryRun *query.Search
}

// dryRunPages bounds the events of a dry run.
var dryRunPages = query.PageRule{Default: 10, Max: 100}

// DecodeMetricRun reads the body of a run of a metric: {"metric": <as in its creation>, "event"?:
// any JSON, "dry_run"?: {"limit"?, "filters"?, "dateRange"?, "evaluation_id"?}}. Errors name the
// field.
func DecodeMetricRun(body []byte, dialect Dialect, now time.Time) (r MetricRun, err error) {
	object, _, err := DecodeObject(body)
	if err != nil {
		return r, err
	}
	raw := rawjson.Get(object, "metric")
	if rawjson.Null(raw) {
		return r, fault.InvalidField("metric", "is required and must be an object")
	}
	if raw, err = readObject(raw); err != nil {
		return r, fault.In("metric", err)
	}
	p, _, err := metricPatch(raw, dialect)
	if err == nil {
		r.Metric, err = define(p)
	}
	if err != nil {
		return r, fault.In("metric", err)
	}
	r.Event = rawjson.Get(object, "event")
	if raw = rawjson.Get(object, "dry_run"); rawjson.Null(raw) {
		return r, nil
	}
	if !rawjson.Null(r.Event) {
		return r, fault.InvalidField("dry_run", "takes stored events, not one of the request: leave out event")
	}
	if raw, err = readObject(raw); err == nil {
		r.DryRun, err = metricEvents(raw, &r.Metric, dryRunPages, now)
	}
	return r, fault.In("dry_run", err)
}

// metricEvents reads which stored events a metric is to score: those of its own filters, or those of
// the filters given here. An empty list counts as given: it takes the place of the metric's own.
func metricEvents(object json.RawMessage, d *metric.Definition, pages query.PageRule, now time.Time) (*query.Search, error) {
	in, err := DecodeSearch(object, pages, now)
	if err != nil {
		return nil, err
	}
	others := in.Search.Filters
	if others == nil && !rawjson.Null(rawjson.Get(object, "filters")) {
		others = []query.Filter{} // none, on purpose
	}
	in.Search.Page = 1
	in.Search.Filters, err = query.MetricFilters(d, others)
	return &in.Search, err
}

// MetricResult returns the answer to a run:
//
//	{"success": true, "loading": false, "result": 0.5, "explanation": "…", "failure"?: "unfit", "passed"?: true,
//	 "cost"?: 0.002, "prompt"?: [{"role": "system", "content": "…"}, …]}
//
// result is null if there is no score.
func MetricResult(r *evaluation.Result) json.RawMessage {
	var b rawjson.Builder
	b.Bool("success", r.Success)
	b.Bool("loading", r.Loading)
	addScore(&b, r)
	return b.Bytes()
}

// addScore adds the members that the answer to a run and the results of a dry run share.
func addScore(b *rawjson.Builder, r *evaluation.Result) {
	score := r.Score
	if score == nil {
		score = json.RawMessage("null")
	}
	b.Raw("result", score)
	b.String("explanation", r.Explanation)
	if r.Failure != "" {
		b.String("failure", string(r.Failure))
	}
	if r.Passed != nil {
		b.Bool("passed", *r.Passed)
	}
	if r.Cost > 0 {
		b.Number("cost", r.Cost)
	}
	if r.Prompt != nil {
		b.Raw("prompt", r.Prompt)
	}
}

// dryRunPromptBytes bounds the prompts in the answer to a dry run together. Those past it are left out.
const dryRunPromptBytes = 8 << 20

// DryResult is the result of a metric for a stored event.
type DryResult struct {
	Event *event.Event
	evaluation.Result
}

// DryRunAnswer returns the answer to a dry run: that of a run, in which nothing is the result, and what
// came of each event under dry_run. total is how many events match, omitted how many of those asked
// for are left out since they are too large.
//
//	{"success": true, "loading": false, "result": null, "explanation": "1 of 1 events have a score; …",
//	 "dry_run": {"total": 1, "omitted": 0, "results": [{"event_id": …, "success": true, "result": 0.5, …}]}}
func DryRunAnswer(results []DryResult, total, omitted int) json.RawMessage {
	scored, prompts, left := 0, 0, 0
	list := []byte("[")
	for i, r := range results {
		if prompts += len(r.Prompt); prompts > dryRunPromptBytes && r.Prompt != nil {
			r.Prompt = nil
			left++
		}
		if i > 0 {
			list = append(list, ',')
		}
		var b rawjson.Builder
		b.String("event_id", r.Event.ID.String())
		b.String("session_id", r.Event.SessionID.String())
		b.String("event_name", r.Event.Name)
		b.Bool("success", r.Success)
		if r.Score != nil {
			scored++
		}
		addScore(&b, &r.Result)
		list = append(list, b.Bytes()...)
	}
	var dry rawjson.Builder
	dry.Int("total", int64(total))
	dry.Int("omitted", int64(omitted))
	if left > 0 {
		dry.Int("prompts_omitted", int64(left))
	}
	dry.Raw("results", append(list, ']'))
	loading := slices.ContainsFunc(results, func(r DryResult) bool { return r.Loading })
	summary := fmt.Sprintf("%d of %d events have a score; nothing was stored.", scored, len(results))
	answer := MetricResult(&evaluation.Result{Success: true, Loading: loading, Explanation: summary})
	var b rawjson.Builder
	b.Raw("dry_run", dry.Bytes())
	return rawjson.Concat(answer, b.Bytes())
}
