package project

import (
	"encoding/json"
	"math"
	"reflect"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/spangrove/spangrove/pkg/fault"
)

func TestLimitsAreNamedAsInJSON(t *testing.T) {
	t.Parallel()
	var l Limits
	want := map[string]float64{}
	for i, name := range LimitNames() {
		v := float64(i + 1)
		if err := l.Set(name, &v); err != nil {
			t.Fatal(name, err)
		}
		want[name] = v
	}
	for _, v := range []any{l, l.Over(Bounds{})} {
		raw, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		got := map[string]float64{}
		if err := json.Unmarshal(raw, &got); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%T (-want +got)\n%s", v, diff)
		}
	}
	if n := reflect.TypeFor[Bounds]().NumField(); n != len(want) {
		t.Errorf("%d bounds, %d names", n, len(want))
	}
}

func TestLimitsOverDefaults(t *testing.T) {
	t.Parallel()
	zero, five := 0.0, 5.0
	var l Limits
	for name, v := range map[string]*float64{"stored_bytes": &zero, "requests_per_second": &five, "byte_burst": nil} {
		if err := l.Set(name, v); err != nil {
			t.Fatal(err)
		}
	}
	want := DefaultBounds()
	want.StoredBytes, want.RequestsPerSecond = 0, 5
	if diff := cmp.Diff(want, l.Over(DefaultBounds())); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	if err := l.Set("requests_per_second", nil); err != nil {
		t.Fatal(err)
	}
	want.RequestsPerSecond = DefaultBounds().RequestsPerSecond
	if diff := cmp.Diff(want, l.Over(DefaultBounds())); diff != "" {
		t.Errorf("after setting it back (-want +got)\n%s", diff)
	}
}

func TestLimitsRefuse(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name  string
		value float64
	}{
		{"requests", 1}, {"", 1}, {"stored_bytes", -1}, {"stored_bytes", 1.5}, {"judge_usd_per_day", -0.01}, {"byte_burst", 1 << 60}, {"requests_per_second", math.NaN()}, {"request_burst", math.Inf(1)},
	} {
		var l Limits
		if err := l.Set(tt.name, &tt.value); fault.Of(err) != fault.Invalid || err == nil {
			t.Errorf("%s %v: %v", tt.name, tt.value, err)
		}
		if l != (Limits{}) {
			t.Errorf("%s %v is half set: %+v", tt.name, tt.value, l)
		}
	}
	bad := DefaultBounds()
	bad.EvaluationSlots = -1
	if err := bad.Validate(); err == nil || err.Error() != "evaluation_slots: must be between 0 and 9007199254740992" {
		t.Error(err)
	}
	if good := DefaultBounds(); good.Validate() != nil {
		t.Error(good.Validate())
	}
}
