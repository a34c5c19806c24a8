package queue

import (
	"cmp"
	"crypto/sha256"
	"encoding/json"
	"maps"
	"math"
	"slices"

	"github.com/spangrove/spangrove/pkg/fault"
	"github.com/spangrove/spangrove/pkg/rawjson"
)

// MaxPairs bounds the pairs of annotators, each counted for each metric, that are compared.
const MaxPairs = 10_000

// Agreement is how far two annotators agree on one metric, or all pairs of them together.
//
// Kappa is Cohen's: (observed - expected) / (1 - expected), where expected is how often two who
// give each score as often as these do, but at random, would agree. Of numbers it is the one
// weighted by squared differences, 1 - mean (a-b)² / expected (a-b)², for which a near miss is
// less than a far one; it is Lin's concordance, too, and needs no classes. Of all pairs together
// it is the mean of the pairs' kappas, each counting by its items (Light's kappa).
type Agreement struct {
	Metric   string
	Numbers  bool     // all scores are numbers: Kappa is the weighted one
	A, B     string   // the annotators, in order; empty for all of them together
	Pairs    int      // of scores that were compared
	Observed *float64 // part of them that are equal; nil if there are none
	Kappa    *float64 // from -1 to 1; nil if it is not defined
	Reason   string   // why Kappa is not defined
	// Of is each pair of annotators, of those together.
	Of []Agreement
}

// Comparison collects the annotations of a queue's items.
type Comparison struct {
	tallies map[pairOf]*tally
	metrics map[string]bool
}

type pairOf struct{ metric, a, b string }

// Add takes in the annotations of one item, of which there is one an annotator.
// fault.TooLarge if that makes more than MaxPairs pairs.
func (c *Comparison) Add(annotations []Annotation) error {
	if c.tallies == nil {
		c.tallies, c.metrics = map[pairOf]*tally{}, map[string]bool{}
	}
	slices.SortFunc(annotations, func(a, b Annotation) int { return cmp.Compare(a.Annotator, b.Annotator) })
	scores := make([]map[string]json.RawMessage, len(annotations))
	for i, a := range annotations {
		scores[i] = map[string]json.RawMessage{}
		for name, value := range rawjson.Object(a.Scores) {
			scores[i][name] = value
			c.metrics[name] = true
		}
	}
	for i := range annotations {
		for j := range i {
			for name, b := range scores[i] {
				a, both := scores[j][name]
				if !both {
					continue
				}
				k := pairOf{name, annotations[j].Annotator, annotations[i].Annotator}
				if c.tallies[k] == nil {
					if len(c.tallies) == MaxPairs {
						return fault.New(fault.TooLarge, "the queue has too many annotators to compare: more than %d pairs", MaxPairs)
					}
					c.tallies[k] = newTally()
				}
				c.tallies[k].add(a, b)
			}
		}
	}
	return nil
}

// Agreements returns those of each metric, by name.
func (c *Comparison) Agreements() []Agreement {
	of := map[string][]Agreement{}
	for k, t := range c.tallies {
		a := t.agreement()
		a.Metric, a.A, a.B = k.metric, k.a, k.b
		of[k.metric] = append(of[k.metric], a)
	}
	var list []Agreement
	for _, name := range slices.Sorted(maps.Keys(c.metrics)) {
		pairs := of[name]
		slices.SortFunc(pairs, func(x, y Agreement) int { return cmp.Or(cmp.Compare(x.A, y.A), cmp.Compare(x.B, y.B)) })
		list = append(list, together(name, pairs))
	}
	return list
}

func together(metric string, pairs []Agreement) Agreement {
	all := Agreement{Metric: metric, Of: pairs, Numbers: true}
	if len(pairs) == 0 {
		all.Numbers, all.Reason = false, "no item has scores of two annotators"
		return all
	}
	var equal, kappa, weight float64
	for _, p := range pairs {
		all.Numbers = all.Numbers && p.Numbers
		all.Pairs += p.Pairs
		equal += *p.Observed * float64(p.Pairs)
		if p.Kappa != nil {
			kappa += *p.Kappa * float64(p.Pairs)
			weight += float64(p.Pairs)
		}
	}
	all.Observed = ratio(equal, float64(all.Pairs))
	if weight == 0 {
		all.Reason = pairs[0].Reason
		return all
	}
	all.Kappa = ratio(kappa, weight)
	return all
}

func ratio(a, b float64) *float64 {
	r := a / b
	return &r
}

// tally is what two annotators gave one metric.
type tally struct {
	n, equal, numbers int
	a, b              map[string]int // how often each gave each score
	meanA, meanB      float64        // running, as are the sums of squares around them (Welford)
	varA, varB        float64
	squares           float64 // of the differences
}

func newTally() *tally { return &tally{a: map[string]int{}, b: map[string]int{}} }

// longKey is from where on a text is counted by its digest, which takes less memory.
const longKey = 64

func (t *tally) add(a, b json.RawMessage) {
	t.n++
	keyA, keyB := key(a), key(b)
	if keyA == keyB {
		t.equal++
	}
	t.a[shorten(keyA)]++
	t.b[shorten(keyB)]++
	x, isNumber := rawjson.Number(a)
	y, alsoNumber := rawjson.Number(b)
	if !isNumber || !alsoNumber {
		return
	}
	t.numbers++
	n := float64(t.numbers)
	dx, dy := x-t.meanA, y-t.meanB
	t.meanA += dx / n
	t.meanB += dy / n
	t.varA += dx * (x - t.meanA)
	t.varB += dy * (y - t.meanB)
	t.squares += (x - y) * (x - y)
}

func shorten(key string) string {
	if len(key) <= longKey {
		return key
	}
	sum := sha256.Sum256([]byte(key))
	return string(sum[:])
}

func (t *tally) agreement() Agreement {
	n := float64(t.n)
	a := Agreement{Pairs: t.n, Observed: ratio(float64(t.equal), n), Numbers: t.numbers == t.n}
	if a.Numbers {
		d := t.meanA - t.meanB
		expected := (t.varA+t.varB)/n + d*d
		if expected == 0 {
			a.Reason = constant
			return a
		}
		kappa := 1 - t.squares/n/expected
		if math.IsNaN(kappa) || math.IsInf(kappa, 0) {
			a.Reason = "the scores are too large to compare"
			return a
		}
		a.Kappa = &kappa
		return a
	}
	var expected float64 // in pairs of scores: n² is all
	for score, times := range t.a {
		expected += float64(times) * float64(t.b[score])
	}
	if expected == n*n {
		a.Reason = constant
		return a
	}
	expected /= n * n
	kappa := (*a.Observed - expected) / (1 - expected)
	a.Kappa = &kappa
	return a
}

const constant = "both annotators always gave the same one score, so chance would agree as often"
