package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/spangrove/spangrove/pkg/client"
	"github.com/spangrove/spangrove/pkg/experiment"
	"github.com/spangrove/spangrove/pkg/metric"
	"github.com/spangrove/spangrove/pkg/rawjson"
)

// scorer computes scores under a name, and knows which of them pass.
type scorer struct {
	name      string
	evaluator experiment.Evaluator
	rule      metric.Threshold
	stored    bool // the server has it, and its threshold
}

// catalogue is the metrics that can be named: of the project, and ready-made ones.
type catalogue struct {
	project []client.Metric
	library []client.LibraryMetric
}

func (a *app) catalogue(ctx context.Context) (*catalogue, error) {
	var c catalogue
	for m, err := range a.api.Metrics.All(ctx, client.MetricQuery{}) {
		if err != nil {
			return nil, err
		}
		c.project = append(c.project, m)
	}
	var err error
	c.library, err = a.api.Metrics.Library(ctx)
	return &c, err
}

// stored returns the project's metric with an id or a name, or nil.
func (c *catalogue) stored(name string) *client.Metric {
	for _, is := range []func(client.Metric) bool{
		func(m client.Metric) bool { return m.ID == name },
		func(m client.Metric) bool { return m.Name == name },
	} {
		if i := slices.IndexFunc(c.project, is); i >= 0 {
			return &c.project[i]
		}
	}
	return nil
}

// ready returns the library's metric with a name, or nil.
func (c *catalogue) ready(name string) *client.LibraryMetric {
	if i := slices.IndexFunc(c.library, func(m client.LibraryMetric) bool { return m.Name == name }); i >= 0 {
		return &c.library[i]
	}
	return nil
}

func noMetric(name string) error {
	return &Failure{
		fmt.Sprintf(
			"there is no metric %s in the project nor in the library; see spangrove metrics list and spangrove metrics library",
			clean(name),
		),
		exitNotFound,
	}
}

// scorers returns what --metric names: each a metric or a file with a definition.
func (a *app) scorers(cmd *cobra.Command, names []string) ([]scorer, error) {
	if len(names) == 0 {
		return nil, nil
	}
	c, err := a.catalogue(cmd.Context())
	if err != nil {
		return nil, err
	}
	var list []scorer
	for _, name := range names {
		j, err := c.scorer(cmd, name)
		if err != nil {
			return nil, err
		}
		list = append(list, j)
	}
	return list, nil
}

func (c *catalogue) scorer(cmd *cobra.Command, name string) (scorer, error) {
	if slices.Contains([]string{".json", ".yaml", ".yml"}, strings.ToLower(filepath.Ext(name))) {
		return c.fromFile(cmd, name)
	}
	if m := c.stored(name); m != nil {
		rule, err := threshold(m.Threshold)
		return scorer{m.Name, experiment.Metric(m.ID), rule, true}, err
	}
	if m := c.ready(name); m != nil {
		rule, err := threshold(m.Threshold)
		return scorer{name, experiment.Ready(client.MetricEnabling{From: name}), rule, false}, err
	}
	return scorer{}, noMetric(name)
}

// fromFile reads a definition, whole or of a metric of the library with parameters.
func (c *catalogue) fromFile(cmd *cobra.Command, name string) (scorer, error) {
	document, err := readDocument(cmd, name)
	if err != nil {
		return scorer{}, err
	}
	read := func(into any) error {
		d := json.NewDecoder(bytes.NewReader(document))
		d.DisallowUnknownFields()
		d.UseNumber()
		if err := d.Decode(into); err != nil {
			return usage("%s: %s", name, strings.TrimPrefix(err.Error(), "json: "))
		}
		return nil
	}
	if rawjson.Get(document, "from") == nil {
		var d client.MetricDefinition
		if err := read(&d); err != nil {
			return scorer{}, err
		}
		rule, err := threshold(d.Threshold)
		return scorer{d.Name, experiment.Definition(d), rule, false}, err
	}
	var in client.MetricEnabling
	if err := read(&in); err != nil {
		return scorer{}, err
	}
	ready := c.ready(in.From)
	if ready == nil {
		return scorer{}, noMetric(in.From)
	}
	if in.Name == "" {
		in.Name = in.From
	}
	said := in.Threshold
	if said == nil {
		said = ready.Threshold
	}
	rule, err := threshold(said)
	return scorer{in.Name, experiment.Ready(in), rule, false}, err
}

func threshold(t *client.Threshold) (metric.Threshold, error) {
	if t == nil {
		return metric.Threshold{}, nil
	}
	text, err := json.Marshal(t)
	if err != nil {
		return metric.Threshold{}, err
	}
	rule, err := metric.ThresholdOf(text)
	if err != nil {
		return rule, usage("threshold: %s", err)
	}
	return rule, nil
}

// namedProgram is a program with a name before it.
var namedProgram = regexp.MustCompile(`^([A-Za-z_][A-Za-z0-9_-]*)=(.+)$`)

// evaluators returns what --evaluator gives: programs, NAME=PROGRAM or named after the program's file.
func evaluators(lines []string, p program) []scorer {
	var list []scorer
	for _, line := range lines {
		p.line = line
		name := strings.TrimSuffix(filepath.Base(strings.Fields(line + " .")[0]), filepath.Ext(strings.Fields(line + " .")[0]))
		if m := namedProgram.FindStringSubmatch(line); m != nil {
			name, p.line = m[1], m[2]
		}
		own := p
		list = append(
			list,
			scorer{name: name, evaluator: experiment.Func(name, func(ctx context.Context, c experiment.Case) (experiment.Score, error) {
				in, err := json.Marshal(map[string]any{"inputs": c.Inputs, "outputs": c.Outputs, "ground_truth": c.GroundTruth})
				if err != nil {
					return experiment.Score{}, err
				}
				printed, err := own.run(ctx, in, around(ctx, c.Datapoint)...)
				if err != nil {
					return experiment.Score{}, err
				}
				return scoreOf(printed)
			})},
		)
	}
	return list
}

// scoreOf reads what an evaluator prints: a score, or an object with one and what else it has to
// say. null is not a score.
func scoreOf(printed json.RawMessage) (experiment.Score, error) {
	var s experiment.Score
	if rawjson.KindOf(printed) != '{' {
		v, err := scalarOf(printed)
		s.Value = v
		return s, err
	}
	for name, raw := range rawjson.Object(printed) {
		v, err := scalarOf(raw)
		text, isText := v.(string)
		switch {
		case err != nil:
			return s, fmt.Errorf("%s: %w", name, err)
		case name == "score":
			s.Value = v
		case name == "explanation" && isText:
			s.Explanation = text
		default:
			if s.Extras == nil {
				s.Extras = map[string]any{}
			}
			s.Extras[name] = v
		}
	}
	if s.Value == nil && rawjson.Get(printed, "score") == nil {
		return s, fmt.Errorf("it must print a score, or an object that has one: %s", shorten(clean(string(printed)), 60))
	}
	return s, nil
}

func scalarOf(raw json.RawMessage) (any, error) {
	switch rawjson.KindOf(raw) {
	case '{', '[':
		return nil, fmt.Errorf("a score must be a number, a boolean or a text, not %s", shorten(clean(string(raw)), 60))
	case '0':
		return json.Number(bytes.TrimSpace(raw)), nil
	}
	var v any
	err := json.Unmarshal(raw, &v)
	return v, err
}

// bounds reads --min and --max, NAME=NUMBER each.
func bounds(least, most []string) (map[string]client.Range, error) {
	ranges := map[string]client.Range{}
	for flag, list := range map[string][]string{"--min": least, "--max": most} {
		for _, text := range list {
			at := strings.LastIndexByte(text, '=')
			if at < 1 {
				return nil, usage("%s %s: must be NAME=NUMBER", flag, text)
			}
			n, err := strconv.ParseFloat(text[at+1:], 64)
			if err != nil || n-n != 0 {
				return nil, usage("%s %s: %q is not a number", flag, text, text[at+1:])
			}
			r := ranges[text[:at]]
			if flag == "--min" {
				r.Min = &n
			} else {
				r.Max = &n
			}
			ranges[text[:at]] = r
		}
	}
	for name, r := range ranges {
		if r.Min != nil && r.Max != nil && *r.Min > *r.Max {
			return nil, usage("--min %s=%v is more than its --max, %v", name, *r.Min, *r.Max)
		}
	}
	return ranges, nil
}

// rangeOf returns a threshold as a range of numbers, which booleans are, too: 1 and 0.
func rangeOf(t metric.Threshold) (r client.Range, ok bool) {
	r = client.Range{Min: t.Min, Max: t.Max}
	if only, is := metric.Value(t.PassWhen); is {
		r = client.Range{Min: &only, Max: &only}
	}
	return r, r.Min != nil || r.Max != nil
}
