package cli

import (
	"encoding/json"
	"testing"

	"github.com/spangrove/spangrove/pkg/client"
)

func TestSignificance(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ answer, want string }{
		{`{"pair_count": 600, "degraded_count": 6, "confidence_interval": {"low": -0.5, "high": -0.1}}`, surelyWorse},
		{`{"pair_count": 600, "degraded_count": 6, "confidence_interval": {"low": 0.1, "high": 0.5}}`, surelyBetter},
		{`{"pair_count": 600, "degraded_count": 6, "lower_is_better": true, "confidence_interval": {"low": 0.1, "high": 0.5}}`, surelyWorse},
		{`{"pair_count": 600, "degraded_count": 6, "lower_is_better": true, "confidence_interval": {"low": -0.5, "high": -0.1}}`, surelyBetter},
		{`{"improved_count": 600, "confidence_interval": {"low": -0.5, "high": 0}}`, ""},
		{`{"improved_count": 600, "confidence_interval": {"low": 0, "high": 0.5}}`, ""},
		{`{"improved_count": 5, "confidence_interval": {"low": -1, "high": -1}}`, ""},
		{`{"pair_count": 0}`, ""},
	} {
		var m client.MetricComparison
		if err := json.Unmarshal([]byte(tt.answer), &m); err != nil {
			t.Fatal(err)
		}
		if got := significance(&m); got != tt.want {
			t.Errorf("%s: %q, want %q", tt.answer, got, tt.want)
		}
	}
}

func TestDecimal(t *testing.T) {
	t.Parallel()
	for f, want := range map[float64]string{
		0: "0", 1: "+1", -1: "-1", 0.5: "+0.5", 1.0 / 3: "+0.3333", -2.0 / 3: "-0.6667", 0.00012345: "+0.0001234",
		12345678: "+12345678", 1e300: "+1e+300", 0.99999: "+1",
	} {
		if got := signed(&f); got != want {
			t.Errorf("%v: %s, want %s", f, got, want)
		}
	}
	if got := signed(nil); got != "-" {
		t.Errorf("nil: %s", got)
	}
}
