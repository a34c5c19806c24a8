package run

import (
	"math"
	"slices"
)

// Level is the confidence of all intervals.
const Level = 0.95

// The methods of intervals.
const (
	// PairedT is Student's t over the differences of the pairs.
	PairedT = "paired_t"
	// Newcombe is the interval of Newcombe (Statistics in Medicine 17, 1998, method 10) for the difference of two proportions of the same
	// datapoints, for values that are all 0 or 1.
	Newcombe = "newcombe"
	// EqualDifferences is for differences that are all the same, which have no spread that t could go by: as many other differences as
	// the number of pairs does not exclude may move the mean by as much as the values range.
	EqualDifferences = "equal_differences"
)

// Interval is where the true mean difference lies, with a confidence of Level.
type Interval struct {
	Low, High float64
	Method    string
}

// holds reports whether a difference is in the interval, its ends included.
func (x *Interval) holds(d float64) bool { return x.Low <= d && d <= x.High }

// Verdict is what pairs show.
type Verdict string

// The verdicts.
const (
	Better     Verdict = "better"
	Worse      Verdict = "worse"
	CannotTell Verdict = "cannot_tell"
)

// FewestDiffering is how many pairs must differ for a verdict. If nothing had changed, as many would all differ in the same direction in 3 % of cases,
// but one less in 6 %, whatever their values are.
const FewestDiffering = 6

// Paired compares two lists of values of the same datapoints.
type Paired struct {
	Pairs     int
	Base, New float64 // means over the pairs
	Mean      float64 // of new less base
	Interval  *Interval
	// Improved, Degraded and Same count the pairs by the direction that is better.
	Improved, Degraded, Same int
	Verdict                  Verdict
}

// Compare compares the values of some datapoints with those of a baseline, NaN where one has none. Values that differ by less than their
// digits can show are the same.
func Compare(base, now []float64, lowerIsBetter bool) Paired {
	x := Paired{Verdict: CannotTell}
	var c pairSums
	for i, b := range base {
		n := now[i]
		if b != b || n != n {
			continue
		}
		c.add(b, n)
		switch changeOf(b, n, lowerIsBetter) {
		case Improved:
			x.Improved++
		case Degraded:
			x.Degraded++
		default:
			x.Same++
		}
	}
	if x.Pairs = c.n; c.n == 0 {
		return x
	}
	x.Base, x.New = c.base/float64(c.n), c.now/float64(c.n)
	x.Mean = c.diff / float64(c.n)
	x.Interval = c.interval(base, now, x.Mean)
	if x.Interval == nil || x.Interval.holds(0) || x.Improved+x.Degraded < FewestDiffering {
		return x
	}
	if (x.Interval.Low > 0) != lowerIsBetter {
		x.Verdict = Better
	} else {
		x.Verdict = Worse
	}
	return x
}

// ofRates bounds the interval of a difference of two rates, as the means of true and false are, by -1 and 1. The true difference lies there, so that
// it is in the interval as often as before.
func (x *Paired) ofRates() {
	if x.Interval != nil {
		x.Interval.Low, x.Interval.High = max(x.Interval.Low, -1), min(x.Interval.High, 1)
	}
}

// Change is what became of a datapoint.
type Change string

// The changes. The zero value says that one side has no value.
const (
	Improved Change = "improved"
	Degraded Change = "degraded"
	Same     Change = "same"
)

// roundings is how far two values may differ, relative to the larger, and still be the same: means of the same numbers in another order do.
const roundings = 1e-12

func changeOf(base, now float64, lowerIsBetter bool) Change {
	d := now - base
	switch {
	case d != d:
		return ""
	case math.Abs(d) <= roundings*max(math.Abs(base), math.Abs(now)):
		return Same
	case (d > 0) != lowerIsBetter:
		return Improved
	}
	return Degraded
}

// pairSums is what the intervals need of the pairs.
type pairSums struct {
	n                int
	base, now, diff  float64
	low, high        float64 // of all values
	binary           bool    // all are 0 or 1
	both, gain, loss int     // of binary pairs: both are 1, only the new one, only the base
}

func (c *pairSums) add(b, n float64) {
	if c.n == 0 {
		c.low, c.high, c.binary = b, b, true
	}
	c.n++
	c.base, c.now, c.diff = bounded(c.base+b), bounded(c.now+n), bounded(c.diff+(n-b))
	c.low, c.high = min(c.low, b, n), max(c.high, b, n)
	switch {
	case b != 0 && b != 1 || n != 0 && n != 1:
		c.binary = false
	case b == 1 && n == 1:
		c.both++
	case n == 1:
		c.gain++
	case b == 1:
		c.loss++
	}
}

// bounded keeps a sum a number.
func bounded(sum float64) float64 { return min(max(sum, -math.MaxFloat64), math.MaxFloat64) }

// interval returns the interval of a mean; nil where there is nothing to make one of.
func (c *pairSums) interval(base, now []float64, mean float64) *Interval {
	if c.binary {
		return newcombe(c.both, c.gain, c.loss, c.n)
	}
	if c.n < 2 {
		return nil
	}
	squares := 0.0
	for i, b := range base {
		if d := now[i] - b; d == d {
			squares += (d - mean) * (d - mean)
		}
	}
	n := float64(c.n)
	deviation := math.Sqrt(squares / (n - 1))
	x := &Interval{Method: PairedT}
	half := 0.0
	if deviation <= roundings*max(math.Abs(c.low), math.Abs(c.high)) {
		// Of n pairs none was different. With more than this share of others, that would happen in less than 2.5 % of cases.
		others := 1 - math.Pow((1-Level)/2, 1/n)
		x.Method, half = EqualDifferences, others*(c.high-c.low)
		if half == 0 {
			return nil // one value alone: there is no telling what others there may be
		}
	} else {
		half = studentT(n-1) * deviation / math.Sqrt(n)
	}
	if x.Low, x.High = mean-half, mean+half; !finite(x.Low) || !finite(x.High) {
		return nil
	}
	return x
}

func finite(f float64) bool { return f-f == 0 }

// normal is the 97.5th percentile of the normal distribution.
const normal = 1.959963984540054

// newcombe returns the interval of the difference of two proportions of n datapoints, of which both pass at some, and only the new or only the
// old one at others. It puts together the Wilson intervals of both, less what the correlation of the pairs takes off them.
func newcombe(both, gain, loss, n int) *Interval {
	size := float64(n)
	now, base := float64(both+gain)/size, float64(both+loss)/size
	lowNow, highNow := wilson(now, size)
	lowBase, highBase := wilson(base, size)
	phi := correlation(float64(both), float64(gain), float64(loss), float64(n-both-gain-loss))
	d := float64(gain-loss) / size
	square := func(a, b float64) float64 { return math.Sqrt(max(0, a*a-2*phi*a*b+b*b)) }
	return &Interval{
		Low:    max(-1, d-square(now-lowNow, highBase-base)),
		High:   min(1, d+square(highNow-now, base-lowBase)),
		Method: Newcombe,
	}
}

// correlation returns the correlation of pairs by their four counts, corrected for continuity where it is positive.
func correlation(both, gain, loss, neither float64) float64 {
	product := (both + gain) * (both + loss) * (neither + gain) * (neither + loss)
	if product == 0 {
		return 0
	}
	top := both*neither - gain*loss
	if top > 0 {
		top = max(top-(both+gain+loss+neither)/2, 0)
	}
	return top / math.Sqrt(product)
}

// wilson returns Wilson's score interval of a proportion.
func wilson(p, n float64) (low, high float64) {
	z := normal * normal
	middle, half := 2*n*p+z, normal*math.Sqrt(z+4*n*p*(1-p))
	low, high = (middle-half)/(2*(n+z)), (middle+half)/(2*(n+z))
	if p == 0 {
		low = 0
	}
	if p == 1 {
		high = 1
	}
	return low, high
}

// studentT returns the 97.5th percentile of Student's t distribution.
func studentT(freedom float64) float64 {
	// The two tails beyond t have I(freedom/(freedom+t²); freedom/2, 1/2). t falls with freedom from 12.7, at 1, to the normal's.
	low, high := normal, 13.0
	for range 200 {
		t := (low + high) / 2
		if t == low || t == high {
			return t
		}
		if betaRatio(freedom/2, 0.5, freedom, t*t) > 1-Level {
			low = t
		} else {
			high = t
		}
	}
	return (low + high) / 2
}

// betaRatio returns the regularised incomplete beta function I(p/(p+q); a, b), by its continued fraction (Lentz). It is given the parts of its argument,
// since both x and 1-x lose their digits where the other is near 1.
func betaRatio(a, b, p, q float64) float64 {
	x, y := p/(p+q), q/(p+q)
	if x > (a+1)/(a+b+2) {
		return 1 - betaRatio(b, a, q, p)
	}
	all, _ := math.Lgamma(a + b)
	one, _ := math.Lgamma(a)
	other, _ := math.Lgamma(b)
	front := math.Exp(all-one-other+a*math.Log(x)+b*math.Log(y)) / a
	const tiny = 1e-300
	away := func(v float64) float64 {
		if math.Abs(v) < tiny {
			return tiny
		}
		return v
	}
	c, d := 1.0, 1/away(1-(a+b)*x/(a+1))
	sum := d
	for m := 1.0; m < 10_000; m++ {
		even := m * (b - m) * x / ((a + 2*m - 1) * (a + 2*m))
		d = 1 / away(1+even*d)
		c = away(1 + even/c)
		sum *= d * c
		odd := -(a + m) * (a + b + m) * x / ((a + 2*m) * (a + 2*m + 1))
		d = 1 / away(1+odd*d)
		c = away(1 + odd/c)
		step := d * c
		sum *= step
		if math.Abs(step-1) < 1e-16 {
			break
		}
	}
	return front * sum
}

// deviationOf returns the standard deviation of some values, as of a sample; 0 of fewer than two.
func deviationOf(values []float64) float64 {
	if len(values) < 2 {
		return 0
	}
	mean := meanOf(values)
	squares := 0.0
	for _, v := range values {
		squares += (v - mean) * (v - mean)
	}
	if d := math.Sqrt(squares / float64(len(values)-1)); finite(d) {
		return d
	}
	return math.MaxFloat64
}

func meanOf(values []float64) float64 {
	sum := 0.0
	for _, v := range values {
		sum = bounded(sum + v)
	}
	return sum / float64(len(values))
}

// spreadOf returns the least and the largest of some values.
func spreadOf(values []float64) (low, high float64) { return slices.Min(values), slices.Max(values) }
