package evaluation

import (
	"encoding/json"
	"math"
)

// Agreement is how far the scores of a metric agree with people's labels.
type Agreement struct {
	Labelled, Scored int // events; and those of them with a score
	Compared         int // pairs of score and label
	Unlike           int // pairs that cannot be compared
	Classes          ClassAgreement
	Numbers          NumberAgreement
	// Disagreements are the pairs that disagree: of other classes first, then numbers by how far they are apart; in the order of the
	// events otherwise.
	Disagreements []*Labelled
}

// ClassAgreement is how far classes agree.
type ClassAgreement struct {
	Compared, Agreed int
	ByThreshold      int      // of those compared, numbers and texts that count as whether they pass
	Kappa            *float64 // Cohen's; nil if chance alone would agree as often
	Classes          []Class  // those that people gave most often first
}

// Class is a score that people or the metric gave.
type Class struct {
	Value                 json.RawMessage
	Labelled, Given, Both int // how often people, the metric and both gave it
}

// NumberAgreement is how far numbers agree. What is not defined is nil.
type NumberAgreement struct {
	Compared          int
	Correlation       *float64 // Pearson's
	Kappa             *float64 // weighted by squared differences: Lin's concordance, too
	MeanDifference    *float64 // score less label
	MeanAbsDifference *float64
}

// Precision returns which part of what the metric gave people gave, too; nil if it gave none.
func (c *Class) Precision() *float64 { return Ratio(float64(c.Both), float64(c.Given)) }

// Recall returns which part of what people gave the metric gave, too; nil if they gave none.
func (c *Class) Recall() *float64 { return Ratio(float64(c.Both), float64(c.Labelled)) }

// F1 returns the harmonic mean of precision and recall.
func (c *Class) F1() *float64 { return Ratio(float64(2*c.Both), float64(c.Given+c.Labelled)) }

// Ratio returns a of b, or nil if that is no number.
func Ratio(a, b float64) *float64 {
	if v := a / b; !math.IsNaN(v) && !math.IsInf(v, 0) {
		return &v
	}
	return nil
}
