package evaluate

import (
	"cmp"
	"encoding/json"
	"math"
	"slices"

	"github.com/spangrove/spangrove/pkg/evaluation"
	"github.com/spangrove/spangrove/pkg/metric"
	"github.com/spangrove/spangrove/pkg/rawjson"
)

// Agree compares scores with labels.
//
//   - Truth values are compared with truth values and texts with texts, as they are.
//   - Where one of the two is a truth value, the other one counts as whether it passes the metric's threshold, if it is the score, or
//     else as true if it is 1 and false if it is 0.
//   - Of two numbers the differences count; and also whether both pass the threshold, if it applies to them.
//   - Everything else is unlike, and is not compared.
func Agree(list []evaluation.Labelled, t metric.Threshold) evaluation.Agreement {
	a := evaluation.Agreement{Labelled: len(list)}
	c := classCounts{}
	var scores, labels []float64
	type apart struct {
		x  *evaluation.Labelled
		by float64
	}
	var differ []apart
	for i := range list {
		x := &list[i]
		if rawjson.Null(x.Score) {
			continue
		}
		a.Scored++
		score, label, rule, like := sameKind(x, t)
		s, isNumber := rawjson.Number(x.Score)
		l, both := rawjson.Number(x.Label)
		both = both && isNumber
		switch {
		case like && c.add(score, label, rule):
			differ = append(differ, apart{x, math.Inf(1)})
		case !like && both && s != l:
			differ = append(differ, apart{x, math.Abs(s - l)})
		}
		if both {
			scores, labels = append(scores, s), append(labels, l)
		}
		if like || both {
			a.Compared++
		} else {
			a.Unlike++
		}
	}
	slices.SortStableFunc(differ, func(a, b apart) int { return cmp.Compare(b.by, a.by) })
	for _, d := range differ {
		a.Disagreements = append(a.Disagreements, d.x)
	}
	a.Classes, a.Numbers = c.agreement(), compareNumbers(scores, labels)
	return a
}

// sameKind returns the classes of a score and its label; like is false if they have none in common. rule reports whether the threshold
// decided one of them.
func sameKind(x *evaluation.Labelled, t metric.Threshold) (score, label string, rule, like bool) {
	s, sKind := class(x.Score)
	l, lKind := class(x.Label)
	passes, applies := t.Passes(x.Score)
	switch {
	case sKind == lKind && sKind != '0':
		return s, l, false, sKind != 0
	case lKind == 't' && sKind != 0:
		if sKind != 't' && applies {
			return truth(passes), l, true, true
		}
		return s, l, false, binary(s)
	case sKind == 't' && lKind == '0':
		return s, l, false, binary(l)
	case sKind == '0' && lKind == '0' && applies:
		labelPasses, _ := t.Passes(x.Label)
		return truth(passes), truth(labelPasses), true, true
	}
	return "", "", false, false
}

func truth(v bool) string {
	if v {
		return "true"
	}
	return "false"
}

// binary reports whether a class is a truth value.
func binary(class string) bool { return class == "true" || class == "false" }

// class returns a value as a class, and its kind: t of truth values, 0 of numbers, " of texts, and 0 the byte of what is none. The
// numbers 1 and 0 are classes of truth values.
func class(v json.RawMessage) (string, byte) {
	switch rawjson.KindOf(v) {
	case 't':
		return "true", 't'
	case 'f':
		return "false", 't'
	case '"':
		text, _ := rawjson.Text(v)
		return `"` + text, '"'
	case '0':
		switch n, _ := rawjson.Number(v); n {
		case 1:
			return "true", '0'
		case 0:
			return "false", '0'
		}
		return "", '0'
	}
	return "", 0
}

// classCounts counts pairs of classes.
type classCounts struct {
	evaluation.ClassAgreement
	by map[string]*evaluation.Class
}

// add counts a pair and reports whether it disagrees.
func (c *classCounts) add(score, label string, rule bool) bool {
	c.Compared++
	if rule {
		c.ByThreshold++
	}
	c.of(score).Given++
	c.of(label).Labelled++
	if score != label {
		return true
	}
	c.of(score).Both++
	c.Agreed++
	return false
}

func (c *classCounts) of(class string) *evaluation.Class {
	if c.by == nil {
		c.by = map[string]*evaluation.Class{}
	}
	if c.by[class] == nil {
		value := json.RawMessage(class)
		if class[0] == '"' {
			value = rawjson.AppendString(nil, class[1:])
		}
		c.by[class] = &evaluation.Class{Value: value}
	}
	return c.by[class]
}

func (c *classCounts) agreement() evaluation.ClassAgreement {
	chance := 0.0 // times n²
	for _, x := range c.by {
		c.Classes = append(c.Classes, *x)
		chance += float64(x.Labelled) * float64(x.Given)
	}
	slices.SortFunc(c.Classes, func(a, b evaluation.Class) int {
		return cmp.Or(b.Labelled-a.Labelled, b.Given-a.Given, cmp.Compare(string(a.Value), string(b.Value)))
	})
	n := float64(c.Compared)
	c.Kappa = evaluation.Ratio(n*float64(c.Agreed)-chance, n*n-chance)
	return c.ClassAgreement
}

func compareNumbers(scores, labels []float64) (a evaluation.NumberAgreement) {
	a.Compared = len(scores)
	n := float64(len(scores))
	if n == 0 {
		return a
	}
	meanS, meanL := mean(scores), mean(labels)
	var varS, varL, joint, squares, abs float64
	for i, s := range scores {
		l := labels[i]
		varS += (s - meanS) * (s - meanS)
		varL += (l - meanL) * (l - meanL)
		joint += (s - meanS) * (l - meanL)
		squares += (s - l) * (s - l)
		abs += math.Abs(s-l) / n
	}
	a.Correlation = evaluation.Ratio(joint, math.Sqrt(varS)*math.Sqrt(varL))
	if a.Kappa = evaluation.Ratio(squares, varS+varL+n*(meanS-meanL)*(meanS-meanL)); a.Kappa != nil {
		*a.Kappa = 1 - *a.Kappa
	}
	a.MeanDifference, a.MeanAbsDifference = evaluation.Ratio(meanS-meanL, 1), evaluation.Ratio(abs, 1)
	return a
}

// mean returns the mean of numbers whose sum may be beyond what a double holds. Of equal ones it is exactly that number, so that they have
// no variance.
func mean(list []float64) (m float64) {
	if low := slices.Min(list); low == slices.Max(list) {
		return low
	}
	for _, v := range list {
		m += v / float64(len(list))
	}
	return m
}
