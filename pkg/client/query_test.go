package client

import (
	"encoding/json"
	"testing"
	"time"
)

func TestFilterJSON(t *testing.T) {
	t.Parallel()
	failed := Filter{Field: "error", Operator: Exists}
	slow := Filter{Field: "duration", Operator: GreaterThan, Value: 5000, Type: TypeNumber}
	for _, tt := range []struct {
		filter Filter
		want   string
	}{
		{failed, `{"field":"error","operator":"exists","value":null}`},
		{Filter{Field: "event_type", Operator: IsAnyOf, Value: []string{"model", "tool"}}, `{"field":"event_type","operator":"is any of","value":["model","tool"]}`},
		{AnyOf([]Filter{failed}, []Filter{slow, failed}), `{"any":[[{"field":"error","operator":"exists","value":null}],` +
			`[{"field":"duration","operator":"greater than","value":5000,"type":"number"},{"field":"error","operator":"exists","value":null}]]}`},
	} {
		got, err := json.Marshal(tt.filter)
		if err != nil || string(got) != tt.want {
			t.Errorf("%s, %v\nwant %s", got, err, tt.want)
		}
		var back Filter
		if err := json.Unmarshal(got, &back); err != nil || len(back.Any) != len(tt.filter.Any) || back.Field != tt.filter.Field {
			t.Errorf("%s: %+v, %v", got, back, err)
		}
	}
}

func TestLastBounds(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 3, 31, 12, 0, 0, 0, time.UTC)
	for span, want := range map[string]time.Time{
		"90m": now.Add(-90 * time.Minute), "24h": now.Add(-24 * time.Hour), "7d": now.AddDate(0, 0, -7), "2w": now.AddDate(0, 0, -14),
		"1M": time.Date(2026, 2, 28, 12, 0, 0, 0, time.UTC), "120M": now.AddDate(-10, 0, 0), "0d": now,
		"121M": {}, "4000d": {}, "3000000h": {}, "200000000m": {}, "99999999999999999999d": {}, "-1d": {}, "d": {}, "5y": {}, "xd": {},
	} {
		from, to, err := Last(span).Bounds(now)
		if !from.Equal(want) || !to.IsZero() || (err != nil) != want.IsZero() {
			t.Errorf("%s: %s, %s, %v, want %s", span, from, to, err, want)
		}
	}
}
