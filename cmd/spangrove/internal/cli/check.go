package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"sync"

	"github.com/spf13/cobra"

	"github.com/spangrove/spangrove/pkg/client"
	"github.com/spangrove/spangrove/pkg/experiment"
	"github.com/spangrove/spangrove/pkg/metric"
	"github.com/spangrove/spangrove/pkg/rawjson"
)

// metricCheck measures a metric against labelled examples.
func (a *app) metricCheck() *cobra.Command {
	var file, rule string
	var over client.MetricUpdate
	var params []string
	var parallel int
	cmd := command("check NAME", "Measure how well a metric agrees with people's labels", `
		spangrove metrics check faithfulness --model-provider openai --model-name gpt-4o-mini
		spangrove metrics check politeness --examples labelled.jsonl --output json`, nil)
	cmd.Long = `Without --examples, the ready-made metric NAME runs over the examples that come with it. With --examples it is the project's metric NAME,
or its id, and only if there is none the ready-made one. A row of the file has the label as score, and the event as event, or as inputs, outputs and
ground_truth. Nothing is stored but the calls of a model, which the server records.

Scores and labels are compared by whether they pass the metric's threshold; without one, booleans and texts are compared as they are.
Precision, recall and F1 are of what passes, kappa is Cohen's. Failures to give a score are counted by their sort and are no part of these.`
	cmd.Flags().StringVar(&file, "examples", "", "`FILE` of labelled examples: JSON lines, JSON or CSV; - is standard input")
	paramFlag(cmd, &params)
	modelFlags(cmd, &over, &rule)
	cmd.Flags().IntVar(&parallel, "parallel", experiment.DefaultParallel, "how many examples at a time")
	cmd.RunE = func(cmd *cobra.Command, args []string) (err error) {
		if parallel < 1 {
			return usage("--parallel must be 1 or more")
		}
		if over.Threshold, err = thresholdFlag(rule); err != nil {
			return err
		}
		given, err := parameters(params)
		if err != nil {
			return err
		}
		all, err := a.catalogue(cmd.Context())
		if err != nil {
			return err
		}
		c, err := a.newCheck(cmd, all, args[0], file, over, given)
		if err != nil {
			return err
		}
		if err := c.work(cmd.Context(), parallel); err != nil {
			return err
		}
		return c.report(a.output)
	}
	return cmd
}

// metricCheck is a metric and the examples that it is measured by.
type metricCheck struct {
	*app
	name     string
	rule     metric.Threshold
	run      func(ctx context.Context, x *labelled) (*client.MetricRun, error)
	examples []labelled
}

// labelled is an event with the score that it should get, and what came of it.
type labelled struct {
	event      any
	parameters client.Object // nil: those of the call
	label      json.RawMessage
	want       string // class of the label

	score       json.RawMessage // nil: there is none
	got         string          // class of the score
	failure     string          // why there is none
	explanation string
}

// newCheck finds the metric and its examples.
func (a *app) newCheck(
	cmd *cobra.Command,
	all *catalogue,
	name, file string,
	over client.MetricUpdate,
	given client.Object,
) (*metricCheck, error) {
	c := &metricCheck{app: a, name: name}
	stored, ready := all.stored(name), all.ready(name)
	said := over.Threshold
	switch {
	case file != "" && stored != nil:
		d := stored.MetricDefinition
		if len(given) > 0 {
			return nil, usage("--param is for ready-made metrics; %s is one of the project", name)
		}
		if over.ModelProvider != "" {
			d.ModelProvider = over.ModelProvider
		}
		if over.ModelName != "" {
			d.ModelName = over.ModelName
		}
		if said == nil {
			said = d.Threshold
		}
		d.Threshold = said
		c.run = func(ctx context.Context, x *labelled) (*client.MetricRun, error) {
			return a.api.Metrics.Run(ctx, d, x.event)
		}
	case ready != nil:
		if said == nil {
			said = ready.Threshold
		}
		c.run = func(ctx context.Context, x *labelled) (*client.MetricRun, error) {
			in := client.MetricEnabling{From: name, Parameters: given, MetricUpdate: over}
			if x.parameters != nil {
				in.Parameters = x.parameters
			}
			return a.api.Metrics.RunReady(ctx, in, x.event)
		}
	case stored != nil:
		return nil, usage("--examples is missing: only ready-made metrics bring some with them")
	default:
		return nil, noMetric(name)
	}
	var err error
	if c.rule, err = threshold(said); err != nil {
		return nil, err
	}
	if file == "" {
		for _, x := range ready.Examples {
			label, err := json.Marshal(x.Score)
			if err != nil {
				return nil, err
			}
			c.examples = append(c.examples, labelled{event: x.Event, parameters: x.Parameters, label: label})
		}
	} else if err := c.read(cmd, file); err != nil {
		return nil, err
	}
	for i := range c.examples {
		x := &c.examples[i]
		if x.want = c.class(x.label); x.want == "" {
			return nil, usage(
				`example %d: %s has no threshold that says whether %s passes; give one: --threshold '{"min": 0.8}'`,
				i+1,
				name,
				x.label,
			)
		}
	}
	return c, nil
}

// read reads the examples of a file.
func (c *metricCheck) read(cmd *cobra.Command, file string) error {
	in, err := open(cmd, file)
	if err != nil {
		return err
	}
	defer in.Close()
	for row, err := range rowsOf(in, file, "") {
		if err != nil {
			return err
		}
		label := rawjson.Get(row, "score")
		if text, ok := rawjson.Text(label); ok && json.Valid([]byte(text)) && rawjson.KindOf([]byte(text)) != '"' {
			label = json.RawMessage(text) // all cells of CSV are texts
		}
		if kind := rawjson.KindOf(label); rawjson.Null(label) || kind == '{' || kind == '[' {
			return usage("%s: row %d: score must be the label: a number, a boolean or a text", file, len(c.examples)+1)
		}
		if len(c.examples) == maxDatapoints {
			return usage("%s: more than %d examples", file, maxDatapoints)
		}
		c.examples = append(c.examples, labelled{event: exampleOf(row), label: label})
	}
	if len(c.examples) == 0 {
		return usage("%s: there are no examples", file)
	}
	return nil
}

// exampleOf returns the event of a row, which is its member event or all of the row but the label.
func exampleOf(row json.RawMessage) json.RawMessage {
	if event := rawjson.Get(row, "event"); !rawjson.Null(event) {
		return event
	}
	var b, feedback rawjson.Builder
	for name, value := range rawjson.Object(row) {
		switch name {
		case "score", "id":
		case "ground_truth":
			feedback.Raw(name, value)
		default:
			if text, ok := rawjson.Text(value); ok && rawjson.KindOf([]byte(text)) == '{' && json.Valid([]byte(text)) {
				value = json.RawMessage(text) // a cell of CSV
			}
			b.Raw(name, value)
		}
	}
	if feedback.Len() > 0 {
		b.Raw("feedback", rawjson.Merge(rawjson.Get(row, "feedback"), feedback.Bytes()))
	}
	return object(&b)
}

// The classes of scores of which the threshold says whether they pass, and of booleans.
const (
	classPass = "pass"
	classFail = "fail"
)

// class returns what scores are compared by, empty if there is nothing. A text is a class of its own.
func (c *metricCheck) class(score json.RawMessage) string {
	passes, says := c.rule.Passes(score)
	if kind := rawjson.KindOf(score); !says && (kind == 't' || kind == 'f') {
		passes, says = kind == 't', true
	}
	switch {
	case says && passes:
		return classPass
	case says:
		return classFail
	case rawjson.KindOf(score) == '"':
		return string(score)
	}
	return ""
}

// work runs the metric over all examples.
func (c *metricCheck) work(ctx context.Context, parallel int) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	bar := c.progress("checking", "examples", int64(len(c.examples)))
	defer bar.clear()
	turns := make(chan *labelled)
	var mu sync.Mutex
	done := 0
	var workers sync.WaitGroup
	for range min(parallel, len(c.examples)) {
		workers.Go(func() {
			for x := range turns {
				if err := c.one(ctx, x); err != nil {
					cancel(err)
					continue
				}
				mu.Lock()
				done++
				bar.at(int64(done), int64(done))
				mu.Unlock()
			}
		})
	}
	for i := 0; i < len(c.examples) && ctx.Err() == nil; i++ {
		select {
		case turns <- &c.examples[i]:
		case <-ctx.Done():
		}
	}
	close(turns)
	workers.Wait()
	return after(context.Cause(ctx), "%d of %d examples were done", done, len(c.examples))
}

// one runs the metric over an example.
func (c *metricCheck) one(ctx context.Context, x *labelled) error {
	r, err := c.run(ctx, x)
	if err != nil {
		return err
	}
	x.explanation = r.Explanation
	switch {
	case !r.Success && r.Failure != "":
		x.failure = r.Failure
	case !r.Success || r.Result == nil:
		x.failure = "no_score"
	default:
		if x.score, err = json.Marshal(r.Result); err != nil {
			return err
		}
		if x.got = c.class(x.score); x.got == "" {
			x.failure = "no_threshold"
		}
	}
	return nil
}

// report shows how far scores and labels agree, and fails if there are no scores.
func (c *metricCheck) report(o *output) error {
	var g agreement
	failures := map[string]int{}
	for _, x := range c.examples {
		if x.failure != "" {
			failures[x.failure]++
			continue
		}
		g.add(x.want, x.got, classPass)
	}
	show := c.document
	if o.format == formatTable {
		show = c.table
	}
	if err := show(o, &g, failures); err != nil {
		return err
	}
	if g.n == 0 {
		return &Failure{fmt.Sprintf("%s gave no score: %s", clean(c.name), clean(c.examples[0].explanation)), ExitFailed}
	}
	return nil
}

func (c *metricCheck) table(o *output, g *agreement, failures map[string]int) error {
	rows := [][]string{
		{"examples", strconv.Itoa(len(c.examples))}, {"scored", strconv.Itoa(g.n)},
		{"accuracy", decimal(g.accuracy())}, {"precision", decimal(g.precision())}, {"recall", decimal(g.recall())}, {"F1", decimal(g.f1())},
		{"Cohen's kappa", decimal(g.kappa())},
	}
	for _, kind := range slices.Sorted(maps.Keys(failures)) {
		rows = append(rows, []string{"failed: " + clean(kind), strconv.Itoa(failures[kind])})
	}
	t := table{columns: []column{{}, {right: true}}, rows: rows, bare: true}
	if err := t.write(o); err != nil {
		return err
	}
	apart := table{columns: []column{{title: "example", right: true}, {title: "label"}, {title: "score"}, {title: "explanation"}}}
	for i, x := range c.examples {
		if x.failure != "" || x.want != x.got {
			apart.rows = append(apart.rows, []string{strconv.Itoa(i + 1), cell(x.label), cell(x.score), cellText(x.explanation)})
		}
	}
	if len(apart.rows) == 0 {
		return nil
	}
	if _, err := fmt.Fprintln(o.results); err != nil {
		return err
	}
	return apart.write(o)
}

func (c *metricCheck) document(o *output, g *agreement, failures map[string]int) error {
	var b, kinds rawjson.Builder
	b.String("metric", c.name)
	b.Int("examples", int64(len(c.examples)))
	b.Int("scored", int64(g.n))
	for _, m := range []struct {
		name  string
		value *float64
	}{{"accuracy", g.accuracy()}, {"precision", g.precision()}, {"recall", g.recall()}, {"f1", g.f1()}, {"kappa", g.kappa()}} {
		if m.value == nil {
			b.Raw(m.name, json.RawMessage("null"))
		} else {
			b.Number(m.name, *m.value)
		}
	}
	b.Int("true_positives", int64(g.truePos))
	b.Int("false_positives", int64(g.falsePos))
	b.Int("false_negatives", int64(g.missed))
	for _, kind := range slices.Sorted(maps.Keys(failures)) {
		kinds.Int(kind, int64(failures[kind]))
	}
	b.Raw("failures", object(&kinds))
	var results []json.RawMessage
	for _, x := range c.examples {
		var r rawjson.Builder
		r.Raw("label", x.label)
		if x.failure != "" {
			r.String("failure", x.failure)
		} else {
			r.Raw("score", x.score)
			r.Bool("agrees", x.want == x.got)
		}
		r.String("explanation", x.explanation)
		results = append(results, r.Bytes())
	}
	b.Raw("results", rawjson.AppendArray(nil, results))
	return o.one(b.Bytes())
}
