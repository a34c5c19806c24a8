package query

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/google/uuid"

	"github.com/spangrove/spangrove/pkg/event"
	"github.com/spangrove/spangrove/pkg/fault"
)

// Filters on totals and the state are refused with the place of what is wrong, also in an alternative, and are none of events.
func TestParseSessionFiltersErrors(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ in, field, says string }{
		{`[{"field":"totals.luck","operator":"is","value":1}]`, "filters[0].field", "unknown total \"luck\""},
		{`[{"field":"totals","operator":"is","value":1}]`, "filters[0].field", "unknown event field"},
		{`[{"field":"totals.cost","operator":"exists"}]`, "filters[0].operator", "does not go with a total"},
		{`[{"field":"totals.cost","operator":"contains","value":"1"}]`, "filters[0].operator", "does not go with a total"},
		{`[{"field":"totals.cost"}]`, "filters[0].operator", "required"},
		{`[{"field":"totals.cost","operator":"is","value":null}]`, "filters[0].value", "must be a number"},
		{`[{"field":"totals.cost","operator":"is"}]`, "filters[0].value", "must be a number"},
		{`[{"field":"totals.cost","operator":"is","value":true}]`, "filters[0].value", "must be a number"},
		{`[{"field":"totals.cost","operator":"is","value":"much"}]`, "filters[0].value", "must be a number"},
		{`[{"field":"totals.cost","operator":"is","value":1,"type":"boolean"}]`, "filters[0].type", "does not go with a total"},
		{`[{"field":"totals.cost","operator":"is any of","value":[1,"x"]}]`, "filters[0].value[1]", "must be a number"},
		{`[{"field":"totals.cost","operator":"is any of","value":1}]`, "filters[0].value", "array"},
		{`[{"field":"state","operator":"is","value":"asleep"}]`, "filters[0].value", "must be one of running, ended"},
		{`[{"field":"state","operator":"is","value":null}]`, "filters[0].value", "must be one of running, ended"},
		{`[{"field":"state","operator":"is any of","value":["running","asleep"]}]`, "filters[0].value", "must be one of running, ended"},
		{`[{"field":"state","operator":"greater than","value":"ended"}]`, "filters[0].operator", "does not go with state"},
		{`[{"field":"state","operator":"is","value":"running","type":"id"}]`, "filters[0].type", "does not go with state"},
		{`{"field":"state","operator":"is","value":"asleep"}`, "filters.value", "must be one of running, ended"},
		{`[{"any":[[{"field":"event_name","operator":"exists"}],[{"field":"totals.luck","operator":"is","value":1}]]}]`, "filters[0].any[1][0].field", "unknown total"},
		{`[{"any":[[{"field":"state","operator":"is","value":1}]]}]`, "filters[0].any[0][0].value", "must be one of"},
	} {
		fs, err := ParseSessionFilters(json.RawMessage(tt.in), "filters")
		var f *fault.Error
		if !errors.As(err, &f) || f.Kind != fault.Invalid || f.Field != tt.field || !strings.Contains(f.Msg, tt.says) {
			t.Errorf("ParseSessionFilters(%s) = %v, %v; want %q: …%s…", tt.in, fs, err, tt.field, tt.says)
		}
	}
	for _, in := range []string{`[{"field":"totals.cost","operator":"is","value":1}]`, `[{"any":[[{"field":"state","operator":"is","value":"ended"}]]}]`} {
		if fs, err := ParseFilters(json.RawMessage(in), "filters"); fault.Of(err) != fault.Invalid {
			t.Errorf("ParseFilters(%s) = %v, %v; want an Invalid", in, fs, err)
		}
	}
}

// Each total is read from its own field, and the names that messages list are all there are.
func TestTotalsInGo(t *testing.T) {
	t.Parallel()
	s := event.SessionTotals{Events: 1, ModelEvents: 2, Errors: 3, Feedback: 4, ToolEvents: 5, Unfinished: 6, Prompt: 7.5, Completion: 8.5, Tokens: 16, Cost: 0.1 + 0.2, HasCost: true}
	e := &event.Event{ID: uuid.New(), Type: event.TypeSession}
	want := map[string]string{"cost": "0.3", "tokens": "16", "prompt_tokens": "7.5", "completion_tokens": "8.5", "errors": "3", "events": "1",
		"model_events": "2", "tool_events": "5", "feedback": "4"}
	if names := strings.Split(totalNames, ", "); len(names) != len(want) || len(totals) != len(want) {
		t.Errorf("%d names of %d totals, want %d", len(names), len(totals), len(want))
	}
	for name, value := range want {
		fs, err := ParseSessionFilters(json.RawMessage(`[{"any":[[{"field":"totals.`+name+`","operator":"is","value":`+value+`},{"field":"state","operator":"is not","value":"ended"}]]}]`), "filters")
		if err != nil {
			t.Fatal(err)
		}
		if m := NewMatcher(fs); !m.OfSession(&s).Match(e) || m.OfSession(&event.SessionTotals{}).Match(e) || m.Match(e) {
			t.Errorf("totals.%s is not that of the session", name)
		}
		if !strings.Contains(", "+totalNames+",", ", "+name+",") {
			t.Errorf("no message names %s", name)
		}
	}
}
