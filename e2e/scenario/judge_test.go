package scenario_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/spangrove/spangrove/e2e/inprocess"
)

// TestJudge runs a metric of type LLM in both dialects and over new events, with a model that is
// none: a server that speaks OpenAI's API.
func TestJudge(t *testing.T) {
	for _, db := range []struct {
		name  string
		store func(*testing.T) string
	}{{"sqlite", inprocess.SQLite}, {"postgres", inprocess.Postgres}} {
		t.Run(db.name, func(t *testing.T) {
			var asked atomic.Int64
			judge := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				asked.Add(1)
				body, err := io.ReadAll(r.Body)
				if err != nil || r.Header.Get("Authorization") != "Bearer judges-key" {
					w.WriteHeader(http.StatusUnauthorized)
					return
				}
				score := "0.25"
				if strings.Contains(string(body), "Paris") {
					score = "1"
				}
				w.Header().Set("Content-Type", "application/json")
				_, _ = fmt.Fprintf(w, `{"model":"gpt-4o-mini","choices":[{"finish_reason":"stop","message":{"role":"assistant","content":%q}}],"usage":{"prompt_tokens":100,"completion_tokens":20}}`,
					`{"explanation":"So it is.","score":`+score+`}`)
			}))
			defer judge.Close()
			api, _ := inprocess.StartWith(t, db.store(t), fmt.Sprintf("{secret: 0123456789abcdef0123456789abcdef, online: {poll_interval: 20ms}, llm: {allow_addresses: [127.0.0.1], providers: {local: {base_url: %q, api_key: judges-key, model: gpt-4o-mini}}}}", judge.URL+"/v1"))
			ask := func(method, path, body string) string {
				t.Helper()
				status, text := send(t, method, api+path, inprocess.Key, body)
				if status != http.StatusOK {
					t.Fatalf("%s %s: %d %s", method, path, status, text)
				}
				return text
			}

			const ev = `"event": {"inputs": {"question": "Capital of France?"}, "outputs": {"answer": "Paris"}, "feedback": {"ground_truth": "Paris"}}`
			const prompt = `Is {{ outputs.answer }} the answer to {{ inputs.question }}? Expected: {{ feedback.ground_truth }}`
			first := ask("POST", "/v1/metrics/run", `{"metric": {"name": "right", "type": "LLM", "criteria": "`+prompt+`", "return_type": "float", "needs_ground_truth": true, "threshold": {"min": 0.5}}, `+ev+`}`)
			again := ask("POST", "/metrics/run_metric", `{"metric": {"name": "right", "type": "model", "prompt": "`+prompt+`", "return_type": "float", "needs_ground_truth": true, "threshold": {"min": 0.5}, "model_provider": "local"}, `+ev+`}`)
			for _, text := range []string{first, again} {
				if !strings.Contains(text, `"success":true`) || !strings.Contains(text, `"result":1,`) || !strings.Contains(text, "So it is.") || !strings.Contains(text, `"passed":true`) {
					t.Errorf("the answer of the run: %s", text)
				}
			}
			if asked.Load() != 1 {
				t.Errorf("the model was asked %d times the same", asked.Load())
			}
			if text := ask("POST", "/v1/metrics/run", `{"metric": {"name": "right", "type": "LLM", "criteria": "`+prompt+`"}, "event": {"outputs": {"answer": "Paris"}}}`); !strings.Contains(text, `"success":false`) || !strings.Contains(text, "the event has no inputs.question") {
				t.Errorf("without the event's field: %s", text)
			}
			if status, text := send(t, "POST", api+"/v1/metrics", inprocess.Key, `{"name": "odd", "type": "LLM", "criteria": "{{ question }}"}`); status != http.StatusBadRequest || !strings.Contains(text, "criteria: {{ question }}") {
				t.Errorf("a prompt that no event can fill: %d %s", status, text)
			}

			ask("POST", "/v1/metrics", `{"name": "online", "type": "LLM", "criteria": "Is {{ outputs.answer }} good?", "return_type": "float", "enabled_in_prod": true, "sampling_percentage": 100}`)
			id := uuid.NewString()
			ask("POST", "/v1/events", `{"event_id": "`+id+`", "event_type": "tool", "event_name": "say", "project": "default", "source": "test", "inputs": {}, "config": {}, "outputs": {"answer": "Rome"}, "duration": 5}`)
			var scored struct {
				Metrics map[string]any
			}
			for until := time.Now().Add(2 * time.Minute); scored.Metrics["online"] == nil; time.Sleep(20 * time.Millisecond) {
				if time.Now().After(until) {
					t.Fatalf("the new event was not scored: %v", scored)
				}
				if err := json.Unmarshal([]byte(ask("GET", "/v1/events/"+id, "")), &scored); err != nil {
					t.Fatal(err)
				}
			}
			if scored.Metrics["online"] != 0.25 || scored.Metrics["online_explanation"] != "So it is." {
				t.Errorf("the event's metrics are %v", scored.Metrics)
			}

			// A provider of the project's own, with a key that is only written.
			if text := ask("PUT", "/v1/providers/mine", `{"base_url": "`+judge.URL+`/v1", "model": "gpt-4o-mini", "api_key": "judges-key"}`); !strings.Contains(text, `"has_key":true`) || strings.Contains(text, "judges-key") {
				t.Errorf("the provider: %s", text)
			}
			own := func() string {
				return ask("POST", "/v1/metrics/run", `{"metric": {"name": "own", "type": "LLM", "criteria": "`+prompt+`", "model_provider": "mine"}, `+ev+`}`)
			}
			if text := own(); !strings.Contains(text, `"result":1,`) {
				t.Errorf("through the project's provider: %s", text)
			}
			if text := ask("PUT", "/v1/providers/mine", `{"base_url": "`+judge.URL+`/v2"}`); !strings.Contains(text, `"has_key":false`) {
				t.Errorf("the key follows to another address: %s", text)
			}
			if text := own(); !strings.Contains(text, "answered 401") {
				t.Errorf("without the key: %s", text)
			}

			var judged struct {
				Events []struct {
					EventType string `json:"event_type"`
					Metadata  map[string]any
					Metrics   map[string]any
				}
			}
			if err := json.Unmarshal([]byte(ask("POST", "/v1/events/search", `{"filters": [{"field": "source", "value": "evaluator", "operator": "is", "type": "string"}, {"field": "event_type", "value": "model", "operator": "is", "type": "string"}]}`)), &judged); err != nil {
				t.Fatal(err)
			}
			targets := 0
			for _, e := range judged.Events {
				if e.Metadata["cost"] == nil || e.Metadata["total_tokens"] != 120.0 || len(e.Metrics) > 0 {
					t.Errorf("a judge's call: %+v", e)
				}
				if e.Metadata["target_event_id"] == id {
					targets++
				}
			}
			if len(judged.Events) != 3 || targets != 1 {
				t.Errorf("%d calls of judges are recorded, %d of them for the event", len(judged.Events), targets)
			}
		})
	}
}
