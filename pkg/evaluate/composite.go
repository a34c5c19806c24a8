package evaluate

import (
	"encoding/json"
	"fmt"
	"math"
	"strings"

	"github.com/spangrove/spangrove/pkg/evaluation"
	"github.com/spangrove/spangrove/pkg/metric"
	"github.com/spangrove/spangrove/pkg/rawjson"
)

// composite combines the scores that the event has of the metric's children, by their weights:
//
//   - The mean, unless the criteria ask for a "weighted sum" (in any spelling of the two words).
//   - A boolean counts as 1 or 0. A child with a scale counts as the part of the scale that it
//     reached, so that children of different scales have the weight they were given.
//   - Children without a score on the event are left out, and named; so the mean is that of the
//     others. Without any there is no score.
//   - A metric with a scale stretches the mean of its parts back to it. A boolean metric is true
//     from one half on.
func composite(d *metric.Definition, event json.RawMessage) (evaluation.Result, error) {
	children, err := metric.ChildrenOf(d.Children)
	if err != nil {
		return evaluation.Result{}, err
	}
	switch {
	case len(children) == 0:
		return refusal("The metric has no child metrics to combine.")
	case d.Return != metric.Float && d.Return != metric.Boolean:
		return refusal("A composite metric's return type must be float or boolean, not %s.", d.Return)
	}
	var sum, weights float64
	var used, absent, odd []string
	for _, c := range children {
		score := scoreOf(event, c.Name)
		value, counts := metric.Value(score)
		switch {
		case score == nil:
			absent = append(absent, c.Name)
			continue
		case !counts:
			odd = append(odd, c.Name)
			continue
		}
		if c.Scale != nil {
			value /= *c.Scale
		}
		sum += c.Weight * value
		weights += c.Weight
		used = append(used, fmt.Sprintf("%s %s × %s", c.Name, score, number(c.Weight)))
	}
	rest := leftOut(absent, odd)
	if len(used) == 0 {
		return refusal("No child metric has a score that can be combined.%s", rest)
	}
	value, how := sum, "Weighted sum of "
	if !sums(d.Criteria) {
		if weights == 0 {
			return refusal("The child metrics that have a score weigh nothing.%s", rest)
		}
		value, how = sum/weights, "Weighted mean of "
	}
	if scale, ok := rawjson.Number(d.Scale); ok {
		value *= scale
		how += fmt.Sprintf("parts, on a scale of %s, of ", d.Scale)
	}
	if math.IsInf(value, 0) || math.IsNaN(value) {
		return refusal("The scores are too large to be combined.%s", rest)
	}
	value = rawjson.Rounded(value) // what is one half, or exactly a threshold, must not miss it by the last binary digit
	r := evaluation.Result{Success: true, Score: rawjson.AppendNumber(nil, value), Explanation: how + strings.Join(used, ", ") + "." + rest}
	if d.Return == metric.Boolean {
		r.Explanation = fmt.Sprintf("%s, that is %s; true from %s on.%s",
			strings.TrimSuffix(how+strings.Join(used, ", "), "."), number(value), number(half(d)), rest)
		r.Score = fmt.Append(nil, value >= half(d))
	}
	return r, nil
}

// half returns what a boolean metric is true from.
func half(d *metric.Definition) float64 {
	if scale, ok := rawjson.Number(d.Scale); ok {
		return scale / 2
	}
	return 0.5
}

// sums reports whether criteria ask for the sum.
func sums(criteria string) bool {
	words := strings.FieldsFunc(strings.ToLower(criteria), func(r rune) bool { return r < 'a' || r > 'z' })
	return strings.Join(words, " ") == "weighted sum"
}

// leftOut names the children that do not count.
func leftOut(absent, odd []string) (s string) {
	if absent != nil {
		s += " Without a score on the event: " + strings.Join(absent, ", ") + "."
	}
	if odd != nil {
		s += " Neither a number nor a boolean: " + strings.Join(odd, ", ") + "."
	}
	return s
}

func number(f float64) string { return string(rawjson.AppendNumber(nil, f)) }
