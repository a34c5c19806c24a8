package run

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"unicode"
)

// Bounds of a sentence: how many metrics it tells of with their numbers, and how many it only names.
const (
	maxTold  = 12
	maxNamed = 6
)

// Sentence says in words how a run compares with the baseline:
//
//	better on correctness by 0.08, between 0.03 and 0.13; 4 of 200 became worse; cannot tell on tone; latency: 120 ms less, between 80 ms and 160 ms
//
// It says nothing that the intervals do not: ends are rounded outwards, and what is not shown to differ is called so. Metrics without a pair are left
// out, and those beyond its bounds are counted. It is empty for the baseline.
func (c *Many) Sentence(metrics []MetricSides, side int) string {
	if side == c.Base {
		return ""
	}
	if c.sides[side].paired == 0 {
		return "cannot tell: no datapoint is in both runs"
	}
	var told, unsure, measured []string
	for i := range metrics {
		m := &metrics[i]
		p := &m.Sides[side].Paired
		switch {
		case m.measure != nil:
			if m.Key != TokensKey && p.Pairs > 0 {
				measured = append(measured, tellMeasure(m, p))
			}
		case p.Pairs == 0:
		case p.Verdict == CannotTell:
			unsure = append(unsure, oneLine(m.Key))
		default:
			told = append(told, tellMetric(m, p))
		}
	}
	var parts []string
	if n := len(told) - maxTold; n > 0 {
		told = append(told[:maxTold], fmt.Sprintf("%d more metrics differ", n))
	}
	parts = append(parts, told...)
	if n := len(unsure) - maxNamed; n > 0 {
		unsure = append(unsure[:maxNamed], fmt.Sprintf("%d more", n))
	}
	if len(unsure) > 0 {
		parts = append(parts, "cannot tell on "+strings.Join(unsure, ", "))
	}
	if len(told)+len(unsure) == 0 {
		parts = append(parts, "no metric has values in both runs")
	}
	return strings.Join(append(parts, measured...), "; ")
}

// tellMetric tells of a metric that is better or worse.
func tellMetric(m *MetricSides, p *Paired) string {
	others, became := p.Degraded, "worse"
	if p.Verdict == Worse {
		others, became = p.Improved, "better"
	}
	text := fmt.Sprintf("%s on %s by %s", p.Verdict, oneLine(m.Key), difference(m, p))
	if others > 0 {
		text += fmt.Sprintf("; %d of %d became %s", others, p.Pairs, became)
	}
	return text
}

// difference tells how large the difference of a metric is; that of two rates is in percentage points.
func difference(m *MetricSides, p *Paired) string {
	if !m.Boolean {
		return p.words("", "")
	}
	points := Paired{Mean: 100 * p.Mean, Interval: &Interval{Low: 100 * p.Interval.Low, High: 100 * p.Interval.High}}
	return points.words("pp", "")
}

// measureNames are what the measures of sessions are called in a sentence.
var measureNames = map[string]string{DurationKey: "latency", CostKey: "cost"}

func tellMeasure(m *MetricSides, p *Paired) string {
	name := measureNames[m.Key]
	if p.Verdict == CannotTell {
		return name + ": cannot tell"
	}
	than := "more"
	if p.Mean < 0 {
		than = "less"
	}
	return name + ": " + p.words(m.Unit, " "+than)
}

// words tells how large the difference is: "0.08, between 0.03 and 0.13", with than behind the first number. The ends of the interval are rounded outwards, with as many digits as keep
// the lower one from being 0.
func (p *Paired) words(unit, than string) string {
	low, high, mean := p.Interval.Low, p.Interval.High, p.Mean
	if high < 0 {
		low, high, mean = -high, -low, -mean
	}
	width := high - low
	if width <= 0 { // less than a number can show
		width = mean
	}
	digits := 1 - int(math.Floor(math.Log10(width))) // two digits of the width
	for math.Floor(low*math.Pow10(digits)) <= 0 && digits < 300 {
		digits++
	}
	return rounded(mean, digits, math.Round, unit) + than + ", between " + rounded(low, digits, math.Floor, unit) + " and " + rounded(high, digits, math.Ceil, unit)
}

// rounded writes a number with digits behind the point, or so many before it as zeros.
func rounded(v float64, digits int, round func(float64) float64, unit string) string {
	scale := math.Pow10(digits)
	whole := round(v * scale)
	if !finite(whole) || math.Abs(whole) >= 1<<53 {
		return withUnit(strconv.FormatFloat(v, 'g', -1, 64), unit)
	}
	// Where the scaled number is a hair from a whole one, that one is meant.
	if near := math.Round(v * scale); math.Abs(v*scale-near) <= 1e-9*math.Abs(near) && near/scale == v {
		whole = near
	}
	text := strconv.FormatFloat(whole/scale, 'f', max(digits, 0), 64)
	if strings.Contains(text, ".") {
		text = strings.TrimRight(strings.TrimRight(text, "0"), ".")
	}
	return withUnit(text, unit)
}

func withUnit(text, unit string) string {
	switch unit {
	case "":
		return text
	case "USD":
		return "$" + text
	}
	return text + " " + unit
}

// oneLine returns the name of a metric as a sentence has it: a sender may put anything into names.
func oneLine(name string) string {
	const most = 80
	printed := strings.Map(func(r rune) rune {
		switch {
		case unicode.IsSpace(r):
			return ' '
		case !strconv.IsPrint(r):
			return -1
		}
		return r
	}, name)
	text := []rune(strings.Join(strings.Fields(printed), " "))
	if len(text) > most {
		return string(text[:most]) + "…"
	}
	return string(text)
}
