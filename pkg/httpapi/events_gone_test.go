package httpapi_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/spangrove/spangrove/pkg/event"
	"github.com/spangrove/spangrove/pkg/store"
)

// An event, or a session, that is deleted between a search and its turn is left out: what is left of it says nothing.
func TestSearchOfWhatGoes(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ request, body, mark string }{
		{"POST /v1/events/search", `{"filters":[{"field":"event_name","operator":"is","value":"step"}]}`, `"event_name":"step"`},
		{"POST /v1/events/export", `{"filters":[{"field":"event_name","operator":"is","value":"step"}]}`, `"event_name":"step"`},
		{"POST /v1/events/export", `{"filters":[{"field":"event_name","operator":"is","value":"step"}],"format":"jsonl"}`, `"event_name":"step"`},
		{"POST /v1/events/otlp", `{"filters":[{"field":"event_name","operator":"is","value":"step"}]}`, `"name":"step"`},
		{"POST /v1/sessions/search", `{}`, `"session_name":"step"`},
		{"POST /v1/sessions/export", `{}`, `"session_name":"step"`},
	} {
		t.Run(tt.request+" "+tt.body, func(t *testing.T) {
			t.Parallel()
			s, p := openStore(t, store.Options{}, "default")
			for i := range 3 { // each with a payload of its own
				id := uuid.New()
				e := event.Incoming{Started: true, Event: event.Event{ID: id, SessionID: id, Type: event.TypeSession, Name: "step",
					Start: 1_790_000_000_000 + float64(i), Inputs: json.RawMessage(`{"q":"` + strings.Repeat("x", 100) + `"}`)}}
				e.Complete(time.UnixMilli(1_790_000_000_000))
				if err := s.Put(t.Context(), p.ID, event.Batch{Events: []event.Incoming{e}}); err != nil {
					t.Fatal(err)
				}
			}
			status, answer := ask(t, routesOf(fleeting{s}), tt.request, tt.body)
			if n := strings.Count(answer, tt.mark); status != 200 || n != 2 || strings.Count(answer, "xxx") < 2 {
				t.Errorf("%d, with %d of 2: %s", status, n, answer)
			}
			if last := answer[strings.LastIndexByte(strings.TrimSpace(answer), '\n')+1:]; !json.Valid([]byte(last)) {
				t.Errorf("is no JSON: %s", answer)
			}
		})
	}
}
