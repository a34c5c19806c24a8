package evaluate_test

import (
	"encoding/json"
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/spangrove/spangrove/pkg/evaluate"
	"github.com/spangrove/spangrove/pkg/evaluation"
	"github.com/spangrove/spangrove/pkg/metric"
)

// labelledBy makes events of scores and labels, "score label" each; - is no score. They are named by their place.
func labelledBy(pairs ...string) (list []evaluation.Labelled) {
	for i, p := range pairs {
		score, label, _ := strings.Cut(p, " ")
		x := evaluation.Labelled{Name: fmt.Sprint(i), Score: json.RawMessage(score), Label: json.RawMessage(label)}
		if score == "-" {
			x.Score = nil
		}
		list = append(list, x)
	}
	return list
}

func times(n int, pair string) []string {
	return strings.Split(strings.Repeat(pair+"\n", n-1)+pair, "\n")
}

func near(t *testing.T, what string, got *float64, want float64) {
	t.Helper()
	if got == nil {
		t.Errorf("there is no %s", what)
	} else if math.Abs(*got-want) > 1e-9 {
		t.Errorf("%s is %v, want %v", what, *got, want)
	}
}

// TestAgreeOnClasses compares truth values: the table of Cohen's paper has 20, 5, 10 and 15 pairs and a kappa of 0.4.
func TestAgreeOnClasses(t *testing.T) {
	t.Parallel()
	var pairs []string
	for pair, n := range map[string]int{"true true": 20, "true false": 5, "false true": 10, "false false": 15, "- true": 3, "0.5 true": 2, "true \"yes\"": 1} {
		pairs = append(pairs, times(n, pair)...)
	}
	a := evaluate.Agree(labelledBy(pairs...), metric.Threshold{})
	if got := []int{a.Labelled, a.Scored, a.Compared, a.Unlike, a.Classes.Compared, a.Classes.Agreed, a.Classes.ByThreshold, len(a.Disagreements)}; cmp.Diff([]int{56, 53, 50, 3, 50, 35, 0, 15}, got) != "" {
		t.Errorf("counts %v", got)
	}
	near(t, "kappa", a.Classes.Kappa, 0.4)
	want := []evaluation.Class{{Value: json.RawMessage("true"), Labelled: 30, Given: 25, Both: 20}, {Value: json.RawMessage("false"), Labelled: 20, Given: 25, Both: 15}}
	if diff := cmp.Diff(want, a.Classes.Classes); diff != "" {
		t.Errorf("classes (-want +got)\n%s", diff)
	}
	if a := evaluate.Agree(labelledBy("true true", "true true"), metric.Threshold{}); a.Classes.Kappa != nil {
		t.Errorf("kappa of one class is %v", *a.Classes.Kappa)
	}
}

// TestAgreeOnNumbers compares numbers; the sums were made by hand.
func TestAgreeOnNumbers(t *testing.T) {
	t.Parallel()
	a := evaluate.Agree(labelledBy("1 2", "2 2", "3 5", "4 4", "5 4"), metric.Threshold{})
	if a.Compared != 5 || a.Numbers.Compared != 5 || a.Classes.Compared != 0 {
		t.Errorf("compared %+v", a)
	}
	near(t, "correlation", a.Numbers.Correlation, 6/math.Sqrt(10*7.2))
	near(t, "mean difference", a.Numbers.MeanDifference, -0.4)
	near(t, "mean absolute difference", a.Numbers.MeanAbsDifference, 0.8)
	near(t, "kappa", a.Numbers.Kappa, 1-6/(10+7.2+5*0.16))
	var order []string
	for _, d := range a.Disagreements {
		order = append(order, d.Name)
	}
	if diff := cmp.Diff([]string{"2", "0", "4"}, order); diff != "" {
		t.Errorf("order of disagreements (-want +got)\n%s", diff)
	}
	huge := evaluate.Agree(labelledBy("1e308 -1e308", "-1e308 1e308"), metric.Threshold{})
	if huge.Numbers.Kappa != nil || huge.Numbers.Correlation != nil {
		t.Errorf("of numbers whose squares are none: %+v", huge.Numbers)
	}
}

// TestAgreeOnEqualNumbers compares numbers of which one side, or both, are all the same: there is no correlation then, however they are
// written in binary.
func TestAgreeOnEqualNumbers(t *testing.T) {
	t.Parallel()
	for n := 1; n <= 30; n++ {
		for _, tt := range []struct {
			pair, other string
			kappa       bool
		}{{"0.1 0.7", "0.1 0.7", true}, {"0.1 0.1", "0.1 0.1", false}, {"0.1 0.7", "0.1 0.3", true}, {"0.7 0.1", "0.3 0.1", true}} {
			a := evaluate.Agree(labelledBy(append(times(n, tt.pair), tt.other)...), metric.Threshold{})
			if a.Numbers.Correlation != nil {
				t.Errorf("%d times %s and %s: a correlation of %v", n, tt.pair, tt.other, *a.Numbers.Correlation)
			}
			if (a.Numbers.Kappa != nil) != tt.kappa {
				t.Errorf("%d times %s and %s: kappa is %v", n, tt.pair, tt.other, a.Numbers.Kappa)
			}
		}
	}
}

// TestAgreeByThreshold compares scores by whether they pass.
func TestAgreeByThreshold(t *testing.T) {
	t.Parallel()
	half := 0.5
	min := metric.Threshold{Min: &half}
	for pair, want := range map[string]string{
		"0.7 true": "agree by rule", "0.7 false": "differ by rule", "0.7 0.9": "agree by rule and number", "0.7 0.1": "differ by rule and number",
		"true true": "agree", "true 1": "agree", "true 0": "differ", "true 4": "unlike", "\"a\" \"a\"": "agree", "\"a\" \"b\"": "differ",
		"\"a\" true": "unlike", "1 \"a\"": "unlike", "[] true": "unlike", "true {}": "unlike", "\"true\" true": "unlike",
	} {
		a := evaluate.Agree(labelledBy(pair), min)
		got := "unlike"
		if a.Compared == 1 {
			got = "agree"
		}
		if len(a.Disagreements) == 1 {
			got = "differ"
		}
		if a.Classes.ByThreshold == 1 {
			got += " by rule"
		}
		if a.Numbers.Compared == 1 {
			got += " and number"
		}
		if got != want || a.Compared+a.Unlike != 1 {
			t.Errorf("%s: %s, want %s", pair, got, want)
		}
	}
	passing := metric.Threshold{Categories: []string{"good"}}
	if a := evaluate.Agree(labelledBy(`"good" true`, `"bad" true`), passing); a.Classes.ByThreshold != 2 || len(a.Disagreements) != 1 {
		t.Errorf("texts that pass: %+v", a)
	}
	if a := evaluate.Agree(labelledBy("1 true", "0 true", "0.5 true"), metric.Threshold{}); a.Classes.Agreed != 1 || a.Compared != 2 || a.Unlike != 1 {
		t.Errorf("numbers that are truth values: %+v", a)
	}
}
