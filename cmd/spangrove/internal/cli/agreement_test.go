package cli

import (
	"math"
	"testing"
)

func TestAgreement(t *testing.T) {
	t.Parallel()
	type pair struct {
		label, given string
		n            int
	}
	for _, tt := range []struct {
		name                                   string
		pairs                                  []pair
		accuracy, precision, recall, f1, kappa float64 // NaN: not defined
	}{
		// Cohen's own table of the textbooks: 20 yes-yes, 5 and 10 apart, 15 no-no.
		{"two classes", []pair{{"pass", "pass", 20}, {"pass", "fail", 5}, {"fail", "pass", 10}, {"fail", "fail", 15}}, 0.7, 2. / 3, 0.8, 8. / 11, 0.4},
		{"all the same", []pair{{"pass", "pass", 3}, {"fail", "fail", 2}}, 1, 1, 1, 1, 1},
		{"never the same", []pair{{"pass", "fail", 3}, {"fail", "pass", 3}}, 0, 0, 0, 0, -1},
		{"one class", []pair{{"pass", "pass", 4}}, 1, 1, 1, 1, math.NaN()},
		{"nothing positive", []pair{{"fail", "fail", 4}}, 1, math.NaN(), math.NaN(), math.NaN(), math.NaN()},
		{"three classes", []pair{{"a", "a", 4}, {"b", "b", 3}, {"c", "c", 1}, {"a", "b", 1}, {"c", "a", 1}}, 0.8, math.NaN(), math.NaN(), math.NaN(), 41. / 61},
		{"nothing", nil, math.NaN(), math.NaN(), math.NaN(), math.NaN(), math.NaN()},
	} {
		var a agreement
		for _, p := range tt.pairs {
			for range p.n {
				a.add(p.label, p.given, "pass")
			}
		}
		for name, x := range map[string]struct {
			got  *float64
			want float64
		}{
			"accuracy": {a.accuracy(), tt.accuracy}, "precision": {a.precision(), tt.precision}, "recall": {a.recall(), tt.recall},
			"F1": {a.f1(), tt.f1}, "kappa": {a.kappa(), tt.kappa},
		} {
			if (x.got == nil) != math.IsNaN(x.want) || x.got != nil && math.Abs(*x.got-x.want) > 1e-12 {
				t.Errorf("%s: %s is %s, want %v", tt.name, name, decimal(x.got), x.want)
			}
		}
	}
}
