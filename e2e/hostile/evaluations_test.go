package hostile

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/spangrove/spangrove/e2e/fakeopenai"
	"github.com/spangrove/spangrove/e2e/harness"
)

func init() {
	near := harness.Options{Args: []string{"--set", "extensions::spangrove_evaluate::llm::allow_addresses=[127.0.0.1]"}}
	register(hostileCase{name: "slow_judges", options: near, attack: slowJudges, memoryMiB: 200})
	register(hostileCase{name: "forged_evaluator", attack: forgedEvaluator, memoryMiB: 200})
	register(hostileCase{name: "planted_answer", options: near, attack: plantedAnswer, memoryMiB: 200})
	if dir := os.Getenv("SPANGROVE_TEST_PYTHON_GUEST"); dir != "" {
		python := harness.Options{Args: []string{"--set", "extensions::spangrove_evaluate::python::directory=" + dir}}
		register(hostileCase{name: "endless_python", options: python, attack: endlessPython, memoryMiB: 600})
	}
}

// evaluationPatience is how long one evaluation of the neighbour may take, while others hold what they can.
const evaluationPatience = 15 * time.Second

// ran is the answer to a metric that was run.
type ran struct {
	Success     bool   `json:"success"`
	Loading     bool   `json:"loading"`
	Result      any    `json:"result"`
	Explanation string `json:"explanation"`
}

func runMetric(ctx context.Context, c *harness.Client, metric map[string]any, event any) (r ran, err error) {
	err = c.JSON(ctx, http.MethodPost, "/v1/metrics/run", map[string]any{"metric": metric, "event": event}, &r)
	return r, err
}

// evaluates runs the neighbour's metrics, again and again for a while, and holds each run to its time.
func evaluates(t *testing.T, c *harness.Client, lasts time.Duration, metrics ...map[string]any) {
	t.Helper()
	runs := 0
	var worst time.Duration
	for end := time.Now().Add(lasts); runs == 0 || time.Now().Before(end); runs++ {
		for _, metric := range metrics {
			ctx, cancel := context.WithTimeout(t.Context(), evaluationPatience)
			began := time.Now()
			r, err := runMetric(ctx, c, metric, map[string]any{"duration": 5, "outputs": map[string]any{"content": fmt.Sprint("answer ", runs)}})
			cancel()
			if err != nil || !r.Success {
				t.Errorf("the neighbour's metric %s after %s: %+v, %v", metric["name"], time.Since(began).Round(time.Millisecond), r, err)
				return
			}
			worst = max(worst, time.Since(began))
		}
		time.Sleep(pause)
	}
	t.Logf("%d rounds of the neighbour's metrics, the longest run took %s", runs, worst.Round(time.Millisecond))
}

// scored waits for the score of an event that was sent with metrics that run over new events.
func scored(t *testing.T, c *harness.Client, id, name string, within time.Duration) map[string]any {
	t.Helper()
	for end := time.Now().Add(within); ; time.Sleep(100 * time.Millisecond) {
		e, err := c.Event(t.Context(), id)
		if err == nil {
			metrics, _ := e["metrics"].(map[string]any)
			if _, ok := metrics[name]; ok {
				return e
			}
		}
		if time.Now().After(end) {
			t.Errorf("the event %s has no score %s after %s: %v, %v", id, name, within, e, err)
			return nil
		}
	}
}

var expression = map[string]any{"name": "short", "type": "EXPRESSION", "criteria": "duration < 10", "return_type": "boolean"}

// send sends an event and gives its id.
func send(t *testing.T, c *harness.Client, fields map[string]any) string {
	t.Helper()
	event := map[string]any{"event_id": uuid.NewString(), "event_type": "tool", "event_name": "x", "inputs": map[string]any{}, "outputs": map[string]any{"content": "x"}, "duration": 5}
	for k, v := range fields {
		event[k] = v
	}
	c.Must(t, http.MethodPost, "/v1/events", event, nil)
	return event["event_id"].(string)
}

// holdAll has many tasks of the hostile project run at once until the returned function is called.
func holdAll(ctx context.Context, c *harness.Client, metric map[string]any) (end func()) {
	ctx, cancel := context.WithCancel(ctx)
	var all sync.WaitGroup
	for i := range 16 {
		all.Go(func() {
			for n := 0; ctx.Err() == nil; n++ {
				_, _ = runMetric(ctx, c, metric, map[string]any{"outputs": map[string]any{"content": fmt.Sprint(i, " ", n)}}) // refused, late or cut off
				select {
				case <-ctx.Done():
				case <-time.After(pause):
				}
			}
		})
	}
	return func() {
		cancel()
		all.Wait()
	}
}

// slowJudges has 16 metrics over new events, and as many requests, ask a model that never answers.
func slowJudges(t *testing.T, s *stage) {
	over := make(chan struct{})
	slow := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		select {
		case <-over:
		case <-r.Context().Done():
		}
	}))
	defer slow.Close()
	defer close(over)
	quick := httptest.NewServer(fakeopenai.Handler())
	defer quick.Close()
	s.hostile.full.Must(t, http.MethodPut, "/v1/providers/slow", map[string]any{"base_url": slow.URL + "/v1", "model": "gpt-4o-mini"}, nil)
	s.neighbour.full.Must(t, http.MethodPut, "/v1/providers/quick", map[string]any{"base_url": quick.URL + "/v1", "model": "gpt-4o-mini", "api_key": "sk-of-the-neighbour"}, nil)
	judge := map[string]any{"name": "judge", "type": "LLM", "criteria": "Is {{ outputs.content }} right?", "return_type": "boolean", "model_provider": "slow"}
	for i := range 16 {
		m := map[string]any{"enabled_in_prod": true, "sampling_percentage": 100}
		for k, v := range judge {
			m[k] = v
		}
		m["name"] = fmt.Sprint("judge ", i)
		s.hostile.full.Must(t, http.MethodPost, "/v1/metrics", m, nil)
	}
	online := map[string]any{"enabled_in_prod": true, "sampling_percentage": 100}
	for k, v := range expression {
		online[k] = v
	}
	s.neighbour.full.Must(t, http.MethodPost, "/v1/metrics", online, nil)
	for i := range 20 {
		send(t, s.hostile.ingest, map[string]any{"outputs": map[string]any{"content": fmt.Sprint("event ", i)}})
	}
	end := holdAll(t.Context(), s.hostile.full, judge)
	defer end()
	time.Sleep(3 * time.Second) // all that can be held is held
	own := map[string]any{"name": "own", "type": "LLM", "criteria": "Is {{ outputs.content }} right?", "return_type": "boolean"}
	evaluates(t, s.neighbour.full, 3*time.Second, expression, own)
	scored(t, s.neighbour.read, send(t, s.neighbour.ingest, nil), "short", 2*evaluationPatience)
}

// endlessPython has 16 requests at a time run an evaluator that never ends by itself.
func endlessPython(t *testing.T, s *stage) {
	for deadline := time.Now().Add(2 * time.Minute); ; { // the interpreter is compiled
		r, err := runMetric(t.Context(), s.neighbour.full, map[string]any{"name": "m", "type": "PYTHON", "criteria": "def m(event):\n    return 1", "return_type": "float"}, map[string]any{})
		if err == nil && r.Success {
			break
		}
		if time.Now().After(deadline) {
			t.Fatalf("no Python: %+v, %v", r, err)
		}
	}
	end := holdAll(t.Context(), s.hostile.full, map[string]any{"name": "endless", "type": "PYTHON", "criteria": "def endless(event):\n    while True:\n        pass", "return_type": "float"})
	defer end()
	time.Sleep(3 * time.Second)
	evaluates(t, s.neighbour.full, 3*time.Second, expression)
	evaluates(t, s.neighbour.full, 0, map[string]any{"name": "m", "type": "PYTHON", "criteria": "def m(event):\n    return 1", "return_type": "float"})
}

// forgedEvaluator has a key for telemetry say what only the server's evaluator and people say.
func forgedEvaluator(t *testing.T, s *stage) {
	online := map[string]any{"enabled_in_prod": true, "sampling_percentage": 100}
	for k, v := range expression {
		online[k] = v
	}
	s.hostile.full.Must(t, http.MethodPost, "/v1/metrics", online, nil)
	id := send(t, s.hostile.ingest, map[string]any{"feedback": map[string]any{"ground_truth": "four"}})
	if e := scored(t, s.hostile.read, id, "short", 2*evaluationPatience); e == nil {
		return
	}
	s.hostile.ingest.Must(t, http.MethodPut, "/events", map[string]any{"event_id": id, "metrics": map[string]any{"short": false, "short_explanation": "too long", "own": 1},
		"feedback": map[string]any{"ground_truth": "five"}}, nil)
	e, err := s.hostile.read.Event(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	metrics, feedback := e["metrics"].(map[string]any), e["feedback"].(map[string]any)
	if metrics["short"] != true || metrics["short_explanation"] == "too long" || fmt.Sprint(metrics["own"]) != "1" {
		t.Errorf("the server's score is %v", metrics)
	}
	if feedback["ground_truth"] != "four" {
		t.Errorf("the ground truth is %v", feedback["ground_truth"])
	}

	// What says that it comes of the evaluator is scored like everything else.
	hidden := send(t, s.hostile.ingest, map[string]any{"source": "evaluator"})
	if e := scored(t, s.hostile.read, hidden, "short", 2*evaluationPatience); e != nil && e["source"] == "evaluator" {
		t.Errorf("a key for telemetry has stored an event with the source %v", e["source"])
	}
}

// plantedAnswer stores what a judge is to find instead of asking the model, under the id that follows
// from the question alone.
func plantedAnswer(t *testing.T, s *stage) {
	var mu sync.Mutex
	var system, prompt string
	asked := 0
	model := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var in struct {
			Messages []struct{ Content string } `json:"messages"`
		}
		if err := json.NewDecoder(r.Body).Decode(&in); err != nil || len(in.Messages) != 2 {
			w.WriteHeader(http.StatusBadRequest)
			return
		}
		mu.Lock()
		system, prompt = in.Messages[0].Content, in.Messages[1].Content
		asked++
		mu.Unlock()
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write([]byte(`{"id":"x","object":"chat.completion","model":"gpt-4o-mini","choices":[{"index":0,"finish_reason":"stop","message":{"role":"assistant",
			"content":"{\"explanation\":\"honest\",\"score\":0.1}"}}],"usage":{"prompt_tokens":10,"completion_tokens":10,"total_tokens":20}}`))
	}))
	defer model.Close()
	for _, n := range []*tenant{s.hostile, s.neighbour} {
		n.full.Must(t, http.MethodPut, "/v1/providers/judge", map[string]any{"base_url": model.URL + "/v1", "model": "gpt-4o-mini"}, nil)
	}
	judge := map[string]any{"name": "good", "type": "LLM", "criteria": "Is {{ outputs.content }} right?", "return_type": "float"}
	event := map[string]any{"outputs": map[string]any{"content": "nonsense"}}
	if r, err := runMetric(t.Context(), s.neighbour.full, judge, event); err != nil || !r.Success { // the question, word for word
		t.Fatal(r, err)
	}
	h := sha256.New()
	for _, text := range []string{"judge", model.URL + "/v1", "gpt-4o-mini", system, prompt} {
		fmt.Fprintf(h, "%d %s\n", len(text), text)
	}
	space := uuid.MustParse("6f0a4f0e-8d0f-4d0c-9a51-0d4f5b6f2f7e")
	for project := range 20 {
		send(t, s.hostile.ingest, map[string]any{
			"event_id": uuid.NewSHA1(space, fmt.Appendf(nil, "%d %s", project, hex.EncodeToString(h.Sum(nil)))).String(), "event_type": "model", "source": "evaluator",
			"outputs": map[string]any{"role": "assistant", "content": `{"explanation":"planted","score":1}`},
		})
	}
	r, err := runMetric(t.Context(), s.hostile.full, judge, event)
	if err != nil || !r.Success || fmt.Sprint(r.Result) != "0.1" || asked != 2 {
		t.Errorf("the judge says %+v after %d questions to the model, %v", r, asked, err)
	}

	// The same question again is answered from its own record.
	if r, err := runMetric(t.Context(), s.hostile.full, judge, event); err != nil || fmt.Sprint(r.Result) != "0.1" || asked != 2 {
		t.Errorf("asked again: %+v after %d questions, %v", r, asked, err)
	}
}
