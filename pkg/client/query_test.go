package client

import (
	"encoding/json"
	"testing"
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
