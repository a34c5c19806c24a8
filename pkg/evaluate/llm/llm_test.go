package llm

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"
	"go.uber.org/goleak"

	"github.com/spangrove/spangrove/pkg/evaluate"
	"github.com/spangrove/spangrove/pkg/evaluation"
	"github.com/spangrove/spangrove/pkg/event"
	"github.com/spangrove/spangrove/pkg/fault"
	"github.com/spangrove/spangrove/pkg/metric"
	"github.com/spangrove/spangrove/pkg/price"
	"github.com/spangrove/spangrove/pkg/project"
	"github.com/spangrove/spangrove/pkg/provider"
	"github.com/spangrove/spangrove/pkg/query"
	"github.com/spangrove/spangrove/pkg/rawjson"
	"github.com/spangrove/spangrove/pkg/store"
)

// recordsOfTests is the store of all tests; each has a project of its own.
var recordsOfTests *store.Store

func TestMain(m *testing.M) {
	dir, err := os.MkdirTemp("", "llm")
	if err == nil {
		recordsOfTests, err = store.OpenSQLite(context.Background(), dir, store.Options{})
	}
	if err != nil {
		panic(err)
	}
	code := m.Run()
	if err := errors.Join(recordsOfTests.Close(context.Background()), os.RemoveAll(dir), goleak.Find()); err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = max(code, 1)
	}
	os.Exit(code)
}

// fakeAPI is a provider: it hands each request to the next of its answers, and to the last one
// again and again.
type fakeAPI struct {
	*httptest.Server
	mu       sync.Mutex
	requests []json.RawMessage
	headers  []http.Header
	paths    []string
	answers  []http.HandlerFunc
}

func newFake(t *testing.T, answers ...http.HandlerFunc) *fakeAPI {
	t.Helper()
	f := &fakeAPI{answers: answers}
	f.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return
		}
		f.mu.Lock()
		f.requests, f.headers, f.paths = append(f.requests, body), append(f.headers, r.Header), append(f.paths, r.URL.Path)
		answer := f.answers[min(len(f.requests), len(f.answers))-1]
		f.mu.Unlock()
		answer(w, r)
	}))
	t.Cleanup(f.Close)
	return f
}

func (f *fakeAPI) asked() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return len(f.requests)
}

func (f *fakeAPI) last() json.RawMessage {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.requests[len(f.requests)-1]
}

// says answers as OpenAI does, with 100 and 20 tokens of gpt-4o-mini.
func says(content string) http.HandlerFunc {
	return chat(`{"role":"assistant","content":`+quote(content)+`}`, "stop")
}

func chat(message, finish string) http.HandlerFunc {
	return answer(200, `{"id":"x","object":"chat.completion","model":"gpt-4o-mini-2024-07-18","choices":[{"index":0,"finish_reason":"`+finish+`","message":`+message+`}],
		"usage":{"prompt_tokens":100,"completion_tokens":20,"total_tokens":120,"prompt_tokens_details":{"cached_tokens":10},"completion_tokens_details":{"reasoning_tokens":5}}}`)
}

// answer answers with a status, headers ("Retry-After: 3") and a body.
func answer(status int, body string, headers ...string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		for _, h := range headers {
			name, value, _ := strings.Cut(h, ": ")
			w.Header().Set(name, value)
		}
		w.WriteHeader(status)
		_, _ = io.WriteString(w, body) // the client may have gone
	}
}

func quote(s string) string { return string(rawjson.AppendString(nil, s)) }

const good = `{"explanation":"It answers.","score":0.8}`

// testEngine is an engine with one provider, whose waits are noted and not waited for. The clock
// of its budget stands.
type testEngine struct {
	*Engine
	project int64
	now     atomic.Int64 // Unix milliseconds
	mu      sync.Mutex
	waits   []time.Duration
}

func newTest(t *testing.T, p Provider, change func(*Config)) *testEngine {
	t.Helper()
	cfg := NewConfig()
	cfg.AllowAddresses = []string{"127.0.0.1"}
	cfg.Providers = map[string]Provider{"judge": p}
	if change != nil {
		change(&cfg)
	}
	if err := cfg.Validate(); err != nil {
		t.Fatal(err)
	}
	te := &testEngine{project: newProject(t)}
	te.now.Store(20_000 * dayMillis)
	var err error
	if te.Engine, err = New(cfg, Deps{Recorder: recordsOfTests, Now: func() time.Time { return time.UnixMilli(te.now.Load()) }}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := te.Close(); err != nil {
			t.Error(err)
		}
	})
	for _, p := range te.named {
		p.sleep = func(_ context.Context, d time.Duration) error {
			te.mu.Lock()
			defer te.mu.Unlock()
			te.waits = append(te.waits, d)
			p.mu.Lock()
			p.pause = time.Time{}
			p.mu.Unlock()
			return nil
		}
	}
	return te
}

func newProject(t *testing.T) int64 {
	t.Helper()
	p, err := recordsOfTests.EnsureProject(t.Context(), uuid.NewString())
	if err != nil {
		t.Fatal(err)
	}
	return p.ID
}

func definition(change func(*metric.Definition)) *metric.Definition {
	model := "gpt-4o-mini"
	d := &metric.Definition{Name: "helpful", Type: metric.LLM, Criteria: "Is {{ outputs.answer }} an answer?", Return: metric.Float, ModelName: &model}
	d.Complete(metric.DefaultSampling)
	if change != nil {
		change(d)
	}
	return d
}

const oneEvent = `{"event_id":"11111111-1111-4111-8111-111111111111","session_id":"22222222-2222-4222-8222-222222222222","outputs":{"answer":"Yes"}}`

// evaluate runs a definition over an event, oneEvent if there is none.
func (e *testEngine) evaluate(t *testing.T, d *metric.Definition, events ...string) evaluation.Result {
	t.Helper()
	if events == nil {
		events = []string{oneEvent}
	}
	task := evaluate.Task{Project: e.project, Metric: d}
	for _, ev := range events {
		task.Events = append(task.Events, raw(ev))
	}
	results, err := e.Evaluate(t.Context(), task)
	if err != nil {
		t.Fatal(err)
	}
	return results[len(results)-1]
}

func TestJudge(t *testing.T) {
	t.Parallel()
	api := newFake(t, says(good))
	e := newTest(t, Provider{BaseURL: api.URL + "/v1", APIKey: "secret-key"}, nil)
	r := e.evaluate(t, definition(nil))
	if !r.Success || string(r.Score) != "0.8" || r.Explanation != "It answers." || r.Failure != "" {
		t.Fatalf("%+v", r)
	}
	// 90 tokens at $0.15, 10 cached at $0.075 and 20 at $0.60 a million.
	if want := 0.00002625; r.Cost != want {
		t.Errorf("cost %v, want %v", r.Cost, want)
	}
	sent := api.last()
	for path, want := range map[string]string{
		"model": `"gpt-4o-mini"`, "max_tokens": `4096`, "response_format.type": `"json_schema"`, "response_format.json_schema.strict": `true`,
		"response_format.json_schema.schema.properties.score.type": `"number"`, "messages.0.role": `"system"`, "messages.1.role": `"user"`, "stream": `false`,
	} {
		if got := string(rawjson.Path(sent, strings.Split(path, ".")...)); got != want {
			t.Errorf("%s was sent as %s, want %s", path, got, want)
		}
	}
	if got := string(rawjson.Get(sent, "temperature")); !strings.HasPrefix(got, "1e-") {
		t.Errorf("temperature %s", got)
	}
	prompt, _ := rawjson.Text(rawjson.Path(sent, "messages", "1", "content"))
	if !strings.HasPrefix(prompt, "Is <data-") || !strings.Contains(prompt, ">Yes</data-") {
		t.Errorf("prompt %q", prompt)
	}
	if got := api.headers[0].Get("Authorization"); got != "Bearer secret-key" || api.paths[0] != "/v1/chat/completions" {
		t.Errorf("%s with %q", api.paths[0], got)
	}

	// The same question is answered from the record, for another metric of the same prompt too,
	// and costs nothing; in another project, and of another model, it is another question.
	r = e.evaluate(t, definition(func(d *metric.Definition) { d.Name = "other" }))
	if string(r.Score) != "0.8" || r.Explanation != "It answers." || r.Cost != 0 || api.asked() != 1 {
		t.Errorf("again: %+v after %d calls", r, api.asked())
	}
	if _, err := e.Evaluate(t.Context(), evaluate.Task{Project: newProject(t), Metric: definition(nil), Events: []json.RawMessage{raw(oneEvent)}}); err != nil || api.asked() != 2 {
		t.Errorf("another project: %v, %d calls", err, api.asked())
	}
	e.evaluate(t, definition(func(d *metric.Definition) { m := "gpt-4o"; d.ModelName = &m }))
	if api.asked() != 3 {
		t.Errorf("another model: %d calls", api.asked())
	}
	e.evaluate(t, definition(func(d *metric.Definition) { d.Return = metric.String }))
	if api.asked() != 4 {
		t.Errorf("another return type: %d calls", api.asked())
	}
}

// TestDeletedMeanwhile deletes the event, or its session, while a model thinks about it.
func TestDeletedMeanwhile(t *testing.T) {
	t.Parallel()
	for _, id := range []string{"m1", ""} { // of a metric, and of a definition that is tried
		asked, answer := make(chan struct{}, 9), make(chan struct{})
		api := newFake(t, func(w http.ResponseWriter, r *http.Request) {
			asked <- struct{}{}
			<-answer
			says(good)(w, r)
		})
		e := newTest(t, Provider{BaseURL: api.URL}, nil)
		one, two := event.Incoming{Event: event.Event{ID: uuid.New(), SessionID: uuid.New()}}, event.Incoming{Event: event.Event{ID: uuid.New(), SessionID: uuid.New()}}
		stays := event.Incoming{Event: event.Event{ID: uuid.New(), SessionID: uuid.New()}}
		done := make(chan error)
		for i, ev := range []*event.Incoming{&one, &two, &stays} {
			ev.Type, ev.Name, ev.Outputs = event.TypeTool, "t", fmt.Appendf(nil, `{"answer":"secret %d"}`, i)
			ev.Complete(time.Now())
			if err := recordsOfTests.Put(t.Context(), e.project, event.Batch{Events: []event.Incoming{*ev}}); err != nil {
				t.Fatal(err)
			}
			task := evaluate.Task{Project: e.project, Metric: definition(nil), ID: id, Version: 1,
				Events: []json.RawMessage{fmt.Appendf(nil, `{"event_id":%q,"session_id":%q,"outputs":%s}`, ev.ID, ev.SessionID, ev.Outputs)}}
			go func() {
				_, err := e.Evaluate(context.WithoutCancel(t.Context()), task)
				done <- err
			}()
		}
		for range 3 {
			<-asked
		}
		err := errors.Join(recordsOfTests.DeleteEvent(t.Context(), e.project, one.ID), recordsOfTests.DeleteSession(t.Context(), e.project, two.SessionID))
		close(answer)
		for range 3 {
			err = errors.Join(err, <-done)
		}
		if err != nil {
			t.Fatal(err)
		}
		var judged []uuid.UUID
		for _, list := range recorded(t, e.project) {
			for _, ev := range list {
				if target, ok := rawjson.Text(rawjson.Get(ev.Metadata, "target_event_id")); ok && ev.IsSession() {
					judged = append(judged, uuid.MustParse(target))
				}
				if strings.Contains(string(ev.Inputs), "secret 0") || strings.Contains(string(ev.Inputs), "secret 1") {
					t.Errorf("a record of what was deleted: %s", ev.Inputs)
				}
			}
		}
		if len(judged) != 1 || judged[0] != stays.ID {
			t.Errorf("records about %s, want one about %s", judged, stays.ID)
		}
	}
}

// TestDeletedBeforeItsTurn deletes an event, and the session of another, that wait for a place at the provider: it is told nothing of them.
func TestDeletedBeforeItsTurn(t *testing.T) {
	t.Parallel()
	asked, answer := make(chan struct{}, 9), make(chan struct{})
	api := newFake(t, func(w http.ResponseWriter, r *http.Request) {
		asked <- struct{}{}
		<-answer
		says(good)(w, r)
	})
	e := newTest(t, Provider{BaseURL: api.URL, Concurrency: 1}, nil)
	var list []event.Incoming
	task := func(i int) evaluate.Task {
		ev := event.Incoming{Event: event.Event{ID: uuid.New(), SessionID: uuid.New(), Type: event.TypeTool, Name: "t", Outputs: fmt.Appendf(nil, `{"answer":"secret %d"}`, i)}}
		ev.Complete(time.Now())
		if err := recordsOfTests.Put(t.Context(), e.project, event.Batch{Events: []event.Incoming{ev}}); err != nil {
			t.Fatal(err)
		}
		list = append(list, ev)
		return evaluate.Task{Project: e.project, Metric: definition(nil), ID: "m1", Version: 1,
			Events: []json.RawMessage{fmt.Appendf(nil, `{"event_id":%q,"session_id":%q,"outputs":%s}`, ev.ID, ev.SessionID, ev.Outputs)}}
	}
	batch, other := task(0), task(2)
	batch.Events = append(batch.Events, task(1).Events...) // the second one waits in its batch, and the other for the place
	results := make(chan []evaluation.Result, 2)
	run := func(task evaluate.Task) {
		r, err := e.Evaluate(context.WithoutCancel(t.Context()), task)
		if err != nil {
			t.Error(err)
		}
		results <- r
	}
	go run(batch)
	<-asked
	go run(other)
	err := errors.Join(recordsOfTests.DeleteSession(t.Context(), e.project, list[1].SessionID), recordsOfTests.DeleteEvent(t.Context(), e.project, list[2].ID))
	close(answer)
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		for _, r := range <-results {
			if !r.Success && (r.Temporary || r.Cost != 0 || !strings.HasPrefix(r.Explanation, "The event is deleted.")) {
				t.Errorf("%+v", r)
			}
		}
	}
	if n := api.asked(); n != 1 {
		t.Errorf("%d calls", n)
	}
}

// timed is a context whose time ends when it is told to.
type timed struct {
	context.Context
	over chan struct{}
}

func (c timed) Done() <-chan struct{} { return c.over }

func (c timed) Err() error {
	select {
	case <-c.over:
		return context.DeadlineExceeded
	default:
		return nil
	}
}

// TestTimeOfABatch has a batch whose time is over while the second of three events is judged: the first one has its score, and the third one was not
// looked at. Whoever tries a definition is told that the time was over.
func TestTimeOfABatch(t *testing.T) {
	t.Parallel()
	for _, id := range []string{"m1", ""} {
		ctx := timed{t.Context(), make(chan struct{})}
		api := newFake(t, says(good), func(_ http.ResponseWriter, r *http.Request) {
			close(ctx.over)
			<-r.Context().Done()
		})
		e := newTest(t, Provider{BaseURL: api.URL, Concurrency: 1}, nil)
		task := evaluate.Task{Project: e.project, Metric: definition(nil), ID: id, Version: 1}
		for i := range 3 {
			ev := event.Incoming{Event: event.Event{ID: uuid.New(), SessionID: uuid.New(), Type: event.TypeTool, Name: "t", Outputs: fmt.Appendf(nil, `{"answer":"%d"}`, i)}}
			ev.Complete(time.Now())
			if err := recordsOfTests.Put(t.Context(), e.project, event.Batch{Events: []event.Incoming{ev}}); err != nil {
				t.Fatal(err)
			}
			task.Events = append(task.Events, fmt.Appendf(nil, `{"event_id":%q,"session_id":%q,"outputs":%s}`, ev.ID, ev.SessionID, ev.Outputs))
		}
		results, err := e.Evaluate(ctx, task)
		if id == "" {
			if !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("a trial: %+v, %v", results, err)
			}
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		if r := results[0]; !r.Success || string(r.Score) != "0.8" || r.Cost == 0 {
			t.Errorf("answered in time: %+v", r)
		}
		if r := results[1]; r.Success || !r.Temporary || r.Skipped || r.Failure != Timeout {
			t.Errorf("asked, and not answered in time: %+v", r)
		}
		if r := results[2]; r.Success || !r.Temporary || !r.Skipped || api.asked() != 2 {
			t.Errorf("not asked: %+v after %d calls", r, api.asked())
		}
	}
}

// TestRecord reads what a judge did as events.
func TestRecord(t *testing.T) {
	t.Parallel()
	api := newFake(t, says("no idea"), says(good))
	e := newTest(t, Provider{BaseURL: api.URL}, nil)
	task := evaluate.Task{Project: e.project, Metric: definition(nil), ID: "m1", Version: 3, Events: []json.RawMessage{raw(oneEvent)}}
	// Nothing would be recorded of an event that is gone.
	judged := event.Incoming{Event: event.Event{Type: event.TypeTool, Name: "t", ID: uuid.MustParse("11111111-1111-4111-8111-111111111111"), SessionID: uuid.MustParse("22222222-2222-4222-8222-222222222222")}}
	judged.Complete(time.Now())
	if err := recordsOfTests.Put(t.Context(), e.project, event.Batch{Events: []event.Incoming{judged}}); err != nil {
		t.Fatal(err)
	}
	for _, failure := range []evaluation.Failure{Unparsed, ""} { // what has no score is asked again
		results, err := e.Evaluate(t.Context(), task)
		if err != nil || results[0].Failure != failure || results[0].Cost == 0 {
			t.Fatalf("%+v, %v, want the failure %q", results, err, failure)
		}
	}
	sessions := recorded(t, e.project)
	if delete(sessions, judged.SessionID); len(sessions) != 2 {
		t.Fatalf("%d sessions, want 2", len(sessions))
	}
	for _, list := range sessions {
		if len(list) != 2 {
			t.Fatalf("%d events in a session, want 2", len(list))
		}
		root, call := list[0], list[1]
		if !root.IsSession() {
			root, call = call, root
		}
		if root.Source != evaluation.Source || call.Source != evaluation.Source || root.Name != "evaluate helpful" || call.Type != event.TypeModel || call.ParentID != root.ID {
			t.Errorf("%+v\n%+v", root, call)
		}
		for _, meta := range []json.RawMessage{root.Metadata, call.Metadata} {
			for key, want := range map[string]string{"evaluator_name": `"helpful"`, "evaluator_id": `"m1"`, "evaluator_version": `"v3"`,
				"target_event_id": `"11111111-1111-4111-8111-111111111111"`, "target_session_id": `"22222222-2222-4222-8222-222222222222"`} {
				if got := string(rawjson.Get(meta, key)); got != want {
					t.Errorf("%s is %s, want %s", key, got, want)
				}
			}
		}
		for key, want := range map[string]string{"prompt_tokens": "100", "completion_tokens": "20", "total_tokens": "120", "cost": "0.00002625"} {
			if got := string(rawjson.Get(call.Metadata, key)); got != want {
				t.Errorf("%s is %s, want %s", key, got, want)
			}
		}
		if string(rawjson.Get(call.Config, "model")) != `"gpt-4o-mini"` || rawjson.Path(call.Inputs, "chat_history", "1", "content") == nil {
			t.Errorf("config %s, inputs %s", call.Config, call.Inputs)
		}
		content, _ := rawjson.Text(rawjson.Get(call.Outputs, "content"))
		if scored := content == good; scored == (call.Error != nil) || scored != (string(rawjson.Get(root.Outputs, "score")) == "0.8") {
			t.Errorf("%q: error %v, outputs %s", content, call.Error, root.Outputs)
		}
	}
}

// TestPlantedRecord has somebody else write or change the record of an answer.
func TestPlantedRecord(t *testing.T) {
	t.Parallel()
	api := newFake(t, says(good), says(good), says(good))
	e := newTest(t, Provider{BaseURL: api.URL}, nil)
	asked := func(want int, what string) {
		t.Helper()
		if r := e.evaluate(t, definition(nil)); string(r.Score) != "0.8" || api.asked() != want {
			t.Errorf("%s: %+v after %d calls, want 0.8 after %d", what, r, api.asked(), want)
		}
	}
	asked(1, "first")
	asked(1, "recorded")
	var call event.Event
	for _, list := range recorded(t, e.project) {
		for _, ev := range list {
			if !ev.IsSession() {
				call = ev
			}
		}
	}
	const bad = `{"role":"assistant","content":"{\"explanation\":\"planted\",\"score\":0.1}"}`
	if _, err := recordsOfTests.Update(t.Context(), e.project, event.Update{EventID: call.ID, Outputs: raw(bad)}); err != nil {
		t.Fatal(err)
	}
	asked(2, "changed")

	// Whoever reads a record can store it again with another answer, in this project or in another one.
	if err := recordsOfTests.DeleteSession(t.Context(), e.project, call.SessionID); err != nil {
		t.Fatal(err)
	}
	planted := call
	planted.Outputs = raw(bad)
	if err := recordsOfTests.Put(t.Context(), e.project, event.NewBatch(planted)); err != nil {
		t.Fatal(err)
	}
	asked(3, "planted")

	// The ids are nothing that anybody could compute who does not know the secret.
	j := &judgement{project: 1, provider: &endpoint{name: "x"}}
	j.identify([]byte("a"))
	one := j.id
	if j.identify([]byte("b")); one == j.id {
		t.Error("two secrets make the same id")
	}
	if j.identify([]byte("a")); one != j.id {
		t.Error("one secret makes two ids")
	}
}

// recorded returns the events of all sessions of a project.
func recorded(t *testing.T, project int64) map[uuid.UUID][]event.Event {
	t.Helper()
	set, err := recordsOfTests.Search(t.Context(), project, query.Search{Limit: 1000, Page: 1})
	if err != nil {
		t.Fatal(err)
	}
	found := map[uuid.UUID][]event.Event{}
	for i := range set.Events {
		ev, err := set.Load(t.Context(), i)
		if err != nil {
			t.Fatal(err)
		}
		found[ev.SessionID] = append(found[ev.SessionID], ev)
	}
	return found
}

// TestProviderTrouble is what a provider can answer, and what comes of it.
func TestProviderTrouble(t *testing.T) {
	t.Parallel()
	sleepy := func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }
	for _, tt := range []struct {
		name    string
		answers []http.HandlerFunc
		change  func(*Provider)
		want    evaluation.Failure // empty: a score
		says    string
		again   bool // temporary
		calls   int
		waits   int
	}{
		{"429 with Retry-After", []http.HandlerFunc{answer(429, `{"error":{"message":"slow down"}}`, "Retry-After: 7"), says(good)}, nil, "", "", false, 2, 1},
		{"429 for ever", []http.HandlerFunc{answer(429, `{"error":{"message":"slow down"}}`)}, nil, ProviderFailed, "answered 429 Too Many Requests: slow down.", true, 5, 4},
		{"429 for longer than the deadline", []http.HandlerFunc{answer(429, `{}`, "Retry-After: 3600")}, nil, ProviderFailed, "429", true, 1, 0},
		{"no credit", []http.HandlerFunc{answer(429, `{"error":{"message":"pay","code":"insufficient_quota"}}`)}, nil, ProviderFailed, "pay", false, 1, 0},
		{"500 once", []http.HandlerFunc{answer(500, `oops`), answer(503, ``), says(good)}, nil, "", "", false, 3, 2},
		{"500 for ever", []http.HandlerFunc{answer(500, `oops`)}, nil, ProviderFailed, "answered 500 Internal Server Error: oops.", true, 5, 4},
		{"529", []http.HandlerFunc{answer(529, `{}`), says(good)}, nil, "", "", false, 2, 1},
		{"wrong key", []http.HandlerFunc{answer(401, `{"error":{"message":"Incorrect API key"}}`)}, nil, ProviderFailed, "Incorrect API key", false, 1, 0},
		{"no such model", []http.HandlerFunc{answer(404, `{"error":{"message":"no such model"}}`)}, nil, ProviderFailed, "no such model", false, 1, 0},
		{"timeout", []http.HandlerFunc{sleepy}, func(p *Provider) { p.Timeout, p.Retries = 30*time.Millisecond, 1 }, Timeout, "did not answer within 30ms", true, 2, 1},
		{"deadline", []http.HandlerFunc{sleepy}, func(p *Provider) { p.Deadline = 30 * time.Millisecond }, Timeout, "no answer within 30ms, waiting", true, 1, 0},
		{"malformed JSON", []http.HandlerFunc{answer(200, `{"choices":[`), says(good)}, nil, "", "", false, 2, 1},
		{"malformed JSON for ever", []http.HandlerFunc{answer(200, `<html>`)}, func(p *Provider) { p.Retries = -1 }, ProviderFailed, "no answer that can be read", true, 1, 0},
		{"no choices", []http.HandlerFunc{answer(200, `{"choices":[]}`)}, func(p *Provider) { p.Retries = -1 }, ProviderFailed, "without choices", true, 1, 0},
		{"a redirect", []http.HandlerFunc{answer(307, ``, "Location: http://127.0.0.1:1/")}, nil, ProviderFailed, "redirects are not followed", false, 1, 0},
		{"an endless answer", []http.HandlerFunc{answer(200, `{"a":"`+strings.Repeat("x", maxAnswerBytes)+`"}`)}, nil, ProviderFailed, "longer than 2097152 bytes", false, 1, 0},
		{"refusal", []http.HandlerFunc{chat(`{"role":"assistant","content":null,"refusal":"I can't."}`, "stop")}, nil, Refused, "refused to judge: I can't.", false, 1, 0},
		{"content filter", []http.HandlerFunc{chat(`{"role":"assistant","content":""}`, "content_filter")}, nil, Refused, "content filter", false, 1, 0},
		{"cut", []http.HandlerFunc{chat(`{"role":"assistant","content":"{\"explanation\":\"so"}`, "length")}, nil, Unparsed, "ended at max_output_tokens, 4096", false, 1, 0},
		{"prose", []http.HandlerFunc{says("I like it.")}, nil, Unparsed, "no JSON object with a score", false, 1, 0},
		{"no response_format", []http.HandlerFunc{answer(400, `{"error":{"message":"response_format json_schema is not supported"}}`), says("Well: " + good)}, nil, "", "", false, 2, 0},
		{"no temperature", []http.HandlerFunc{answer(400, `{"error":{"message":"Unsupported value: 'temperature'"}}`), says(good)}, nil, "", "", false, 2, 0},
		{"other bound", []http.HandlerFunc{answer(400, `{"error":{"message":"Unsupported parameter: 'max_tokens'"}}`), says(good)}, nil, "", "", false, 2, 0},
		{"always the wrong bound", []http.HandlerFunc{answer(400, `{"error":{"message":"max_tokens is too large"}}`)}, nil, ProviderFailed, "too large", false, 4, 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			api := newFake(t, tt.answers...)
			p := Provider{BaseURL: api.URL}
			if tt.change != nil {
				tt.change(&p)
			}
			e := newTest(t, p, nil)
			r := e.evaluate(t, definition(nil))
			if r.Failure != tt.want || r.Success != (tt.want == "") || r.Temporary != tt.again || !strings.Contains(r.Explanation, tt.says) {
				t.Errorf("%+v, want %q, temporary %t, %q", r, tt.want, tt.again, tt.says)
			}
			// Whether a call of 30 ms gets as far as the provider hangs on the machine.
			if n := api.asked(); n > tt.calls || n < tt.calls && tt.want != Timeout || len(e.waits) != tt.waits {
				t.Errorf("%d calls, %v waited; want %d, %d", n, e.waits, tt.calls, tt.waits)
			}
			if tt.name == "429 with Retry-After" && (e.waits[0] < 6*time.Second || e.waits[0] > 7*time.Second) {
				t.Errorf("waited %v, want what Retry-After says", e.waits)
			}
		})
	}
}

// TestPaused asks again while a provider wants no calls for longer than may be waited: it is not asked, and the evaluation is put off for as long.
func TestPaused(t *testing.T) {
	t.Parallel()
	api := newFake(t, answer(429, `{}`, "Retry-After: 3600"))
	e := newTest(t, Provider{BaseURL: api.URL}, nil)
	if r := e.evaluate(t, definition(nil)); !r.Temporary || r.Skipped {
		t.Errorf("asked: %+v", r)
	}
	r := e.evaluate(t, definition(nil))
	if !r.Temporary || !r.Skipped || r.Later < 59*time.Minute || r.Later > time.Hour || r.Failure != ProviderFailed || !strings.Contains(r.Explanation, "wants no calls for another") {
		t.Errorf("not asked: %+v", r)
	}
	if api.asked() != 1 || len(e.waits) != 0 {
		t.Errorf("%d calls, %v waited; want one, and none", api.asked(), e.waits)
	}
}

// TestPausedForAWhile: a provider that wants no calls for weeks or years is asked again after a day.
func TestPausedForAWhile(t *testing.T) {
	t.Parallel()
	for name, refusal := range map[string]http.HandlerFunc{
		"seconds":     answer(429, `{}`, "Retry-After: 999999"),
		"a date":      answer(429, `{}`, "Retry-After: "+time.Now().AddDate(10, 0, 0).UTC().Format(http.TimeFormat)),
		"in the body": answer(429, `{"error":{"details":[{"retryDelay":"87600h"}]}}`),
	} {
		api := newFake(t, refusal)
		e := newTest(t, Provider{BaseURL: api.URL}, nil)
		e.evaluate(t, definition(nil))
		if r := e.evaluate(t, definition(nil)); !r.Skipped || r.Later < 23*time.Hour || r.Later > 24*time.Hour {
			t.Errorf("%s: put off for %s, want a day", name, r.Later)
		}
	}
}

// TestHabits asks twice: what a model refused is not sent again.
func TestHabits(t *testing.T) {
	t.Parallel()
	api := newFake(t, answer(400, `{"error":{"message":"temperature"}}`), answer(422, `{"detail":"response_format"}`), says(good))
	e := newTest(t, Provider{BaseURL: api.URL}, nil)
	e.evaluate(t, definition(nil))
	e.evaluate(t, definition(nil), strings.Replace(oneEvent, "Yes", "No", 1))
	if api.asked() != 4 {
		t.Errorf("%d calls, want 4", api.asked())
	}
	if sent := api.last(); rawjson.Get(sent, "temperature") != nil || rawjson.Get(sent, "response_format") != nil {
		t.Errorf("sent again: %s", sent)
	}
}

func TestEvents(t *testing.T) {
	t.Parallel()
	api := newFake(t, says(good))
	e := newTest(t, Provider{BaseURL: api.URL, Concurrency: 3}, func(c *Config) { c.MaxPromptBytes = 200 })
	task := evaluate.Task{Project: e.project, Metric: definition(nil)}
	for i := range 20 {
		task.Events = append(task.Events, raw(fmt.Sprintf(`{"outputs":{"answer":"%d"}}`, i%5))) // each thrice again
	}
	task.Events = append(task.Events, raw(`{"outputs":{}}`), raw(`{"outputs":{"answer":"`+strings.Repeat("x", 200)+`"}}`), nil)
	results, err := e.Evaluate(t.Context(), task)
	if err != nil {
		t.Fatal(err)
	}
	for i, r := range results {
		switch {
		case i < 20 && string(r.Score) != "0.8":
			t.Errorf("event %d: %+v", i, r)
		case i >= 20 && (r.Failure != evaluation.Unfit || r.Success):
			t.Errorf("event %d: %+v", i, r)
		}
	}
	if !strings.Contains(results[20].Explanation, "the event has no outputs.answer") || !strings.Contains(results[21].Explanation, "more bytes than max_prompt_bytes, 200") {
		t.Errorf("%+v", results[20:])
	}
	if api.asked() != 5 {
		t.Errorf("%d calls for 5 different questions", api.asked())
	}

	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := e.Evaluate(ctx, task); err == nil {
		t.Error("goes on without its caller")
	}
}

// TestConcurrency lets answers wait until as many are asked for as may be.
func TestConcurrency(t *testing.T) {
	t.Parallel()
	const limit = 3
	arrived, leave := make(chan struct{}, 100), make(chan struct{})
	api := newFake(t, func(w http.ResponseWriter, r *http.Request) {
		arrived <- struct{}{}
		<-leave
		says(good)(w, r)
	})
	e := newTest(t, Provider{BaseURL: api.URL, Concurrency: limit}, nil)
	var all sync.WaitGroup
	for i := range 4 { // tasks together keep to it, too
		all.Go(func() {
			e.evaluate(t, definition(nil), fmt.Sprintf(`{"outputs":{"answer":"a%d"}}`, i), fmt.Sprintf(`{"outputs":{"answer":"b%d"}}`, i))
		})
	}
	for range limit {
		<-arrived
	}
	if n := api.asked(); n > limit {
		t.Errorf("%d calls at a time, want %d", n, limit)
	}
	close(leave)
	all.Wait()
	if api.asked() != 8 {
		t.Errorf("%d calls", api.asked())
	}
}

func TestBudget(t *testing.T) {
	t.Parallel()
	event := func(i int) string { return fmt.Sprintf(`{"outputs":{"answer":"%d"}}`, i) }
	api := newFake(t, says(good))
	e := newTest(t, Provider{BaseURL: api.URL, DailyCalls: 2}, nil)
	for i, want := range []evaluation.Failure{"", "", Budget} {
		if r := e.evaluate(t, definition(nil), event(i)); r.Failure != want || r.Temporary {
			t.Errorf("call %d: %+v", i, r)
		}
	}
	if r := e.evaluate(t, definition(nil), event(0)); string(r.Score) != "0.8" {
		t.Errorf("what is known needs no budget: %+v", r)
	}
	e.now.Add(dayMillis)
	if r := e.evaluate(t, definition(nil), event(2)); !r.Success {
		t.Errorf("on the next day: %+v", r)
	}

	// 4096 tokens at $0.60 a million are $0.0025: with 10 of them a call may be made, and none is
	// left for the most that the second one can cost.
	e = newTest(t, Provider{BaseURL: api.URL, DailyBudgetUSD: 0.00003, MaxOutputTokens: 10}, nil)
	short := definition(func(d *metric.Definition) { d.Criteria = "Yes?" })
	if r := e.evaluate(t, short); r.Failure != "" && r.Failure != Budget {
		t.Errorf("%+v", r)
	}
	e = newTest(t, Provider{BaseURL: api.URL, DailyBudgetUSD: 0.001, MaxOutputTokens: 10}, nil)
	spent := 0.0
	for i := range 100 {
		r := e.evaluate(t, definition(nil), event(i))
		if spent += r.Cost; r.Failure == Budget {
			break
		}
	}
	if spent == 0 || spent > 0.001 {
		t.Errorf("$%v were spent of $0.001", spent)
	}
	if r := e.evaluate(t, definition(func(d *metric.Definition) { m := "own-model"; d.ModelName = &m })); r.Failure != Budget || !strings.Contains(r.Explanation, "price is not known") {
		t.Errorf("a model without a price: %+v", r)
	}
}

// TestBudgetUnderWay has calls at the same time, of which each may cost more than half of the budget, or is the last one.
func TestBudgetUnderWay(t *testing.T) {
	t.Parallel()
	for _, b := range []*budget{{provider: "p", usd: 1, now: time.Now}, {provider: "p", calls: 2, now: time.Now}, {provider: allProviders, usd: 1, now: time.Now}} {
		reserve := func() (func(float64, bool), *failure) {
			settle, err := b.reserve(t.Context(), 0.6, true)
			f, _ := err.(*failure)
			return settle, f
		}
		if b.calls > 0 {
			first, _ := reserve()
			first(0.1, true)
		}
		settle, f := reserve()
		if f != nil {
			t.Fatal(f)
		}
		if _, f = reserve(); f == nil || !f.temporary {
			t.Errorf("while a call is under way that may take the rest: %v", f)
		}
		settle(0.1, false)
		if settle, f = reserve(); f != nil {
			t.Fatal("it was not made: ", f)
		}
		settle(0.5, true)
		if _, f = reserve(); f == nil || f.temporary || !strings.Contains(f.why, "used up") {
			t.Errorf("once it is spent: %v", f)
		}
	}
}

func TestChoose(t *testing.T) {
	t.Parallel()
	api := newFake(t, says(good))
	several := func(c *Config) {
		c.Providers = map[string]Provider{"local": {BaseURL: api.URL, Model: "llama"}, "openai": {APIKey: "x"}, "gemini": {}}
	}
	for _, tt := range []struct {
		change          func(*Config)
		provider, model string // "-": none
		want            string
	}{
		{nil, "-", "m", "judge m"},
		{nil, "JUDGE", "m", "judge m"},
		{nil, "", "-", "The metric has no model_name, and the provider judge no default model."},
		{nil, "openai", "m", `The metric's model_provider "openai" is not set up; must be one of judge.`},
		{several, "-", "m", "The metric has no model_provider, and there are several: local, openai."},
		{several, "local", "-", "local llama"},
		{several, "gemini", "m", `The metric's model_provider "gemini" is not set up; must be one of local, openai.`},
		{func(c *Config) { several(c); c.DefaultProvider = "local" }, "-", "-", "local llama"},
		{func(c *Config) { c.Providers = nil }, "-", "-", "This server has no model provider set up to ask."},
	} {
		e := newTest(t, Provider{BaseURL: api.URL}, tt.change)
		d := definition(func(d *metric.Definition) {
			d.ModelProvider, d.ModelName = &tt.provider, &tt.model
			if tt.provider == "-" {
				d.ModelProvider = nil
			}
			if tt.model == "-" {
				d.ModelName = nil
			}
		})
		p, model, got, err := e.choose(t.Context(), e.project, selectedBy(d))
		if err != nil {
			t.Fatal(err)
		}
		if p != nil {
			got = p.name + " " + model
		}
		if got != tt.want {
			t.Errorf("%q %q: %q, want %q", tt.provider, tt.model, got, tt.want)
		}
		if r := e.evaluate(t, d); p == nil && r.Failure != evaluation.NoEngine {
			t.Errorf("%+v", r)
		}
	}
}

func TestDefinitions(t *testing.T) {
	t.Parallel()
	api := newFake(t, says(good))
	e := newTest(t, Provider{BaseURL: api.URL}, nil)
	broken := definition(func(d *metric.Definition) { d.Criteria = "{{ question }}" })
	if r := e.evaluate(t, broken); r.Failure != evaluation.Unfit || !strings.Contains(r.Explanation, "begins with no field") {
		t.Errorf("%+v", r)
	}
	if err := e.Check(broken); err == nil || !strings.HasPrefix(err.Error(), "criteria: {{ question }}") {
		t.Errorf("%v", err)
	}
	if err := e.Check(definition(nil)); err != nil {
		t.Error(err)
	}
	truth := definition(func(d *metric.Definition) { d.NeedsGroundTruth = true })
	if r := e.evaluate(t, truth); r.Failure != evaluation.Unfit || !strings.Contains(r.Explanation, "needs a ground truth") {
		t.Errorf("%+v", r)
	}
	if api.asked() != 0 {
		t.Errorf("%d calls", api.asked())
	}
}

func TestValidate(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		change func(*Config)
		want   string
	}{
		{func(*Config) {}, ""},
		{func(c *Config) { c.DefaultProvider = "x" }, `default_provider: no provider "x"`},
		{func(c *Config) { c.AllowAddresses = []string{"localhost"} }, `allow_addresses: "localhost" is neither a network`},
		{func(c *Config) { c.AllowAddresses = []string{"10.0.0.0/8", "::1"} }, ""},
		{func(c *Config) { c.MaxPromptBytes = 0 }, "max_prompt_bytes: must be between"},
		{func(c *Config) { c.Providers = map[string]Provider{"A": {}} }, "providers::A::a name has"},
		{func(c *Config) { c.Providers = map[string]Provider{"a": {Type: "x"}} }, "providers::a::type: must be"},
		{func(c *Config) { c.Providers = map[string]Provider{"a": {BaseURL: "ftp://x"}} }, "providers::a::base_url: must be a URL"},
		{func(c *Config) { c.Providers = map[string]Provider{"a": {BaseURL: "https://u:p@x"}} }, "providers::a::base_url: must be a URL"},
		{func(c *Config) { c.Providers = map[string]Provider{"a": {Concurrency: 257}} }, "providers::a::concurrency: "},
		{func(c *Config) { c.Providers = map[string]Provider{"a": {Retries: 21}} }, "providers::a::retries: "},
		{func(c *Config) { c.Providers = map[string]Provider{"a": {DailyBudgetUSD: -1}} }, "providers::a::daily_budget_usd: "},
		{func(c *Config) { c.Providers = map[string]Provider{"a": {DailyCalls: -1}} }, "providers::a::daily_calls: "},
		{func(c *Config) { c.Providers = map[string]Provider{"a": {Timeout: 2 * time.Hour}} }, "providers::a::timeout: "},
	} {
		c := NewConfig()
		tt.change(&c)
		if err := c.Validate(); (err == nil) != (tt.want == "") || err != nil && !strings.HasPrefix(err.Error(), tt.want) {
			t.Errorf("%v, want %q", err, tt.want)
		}
	}
}

func TestKeyed(t *testing.T) {
	t.Parallel()
	var k keyed
	leave, err := k.enter(t.Context(), "a")
	if err != nil {
		t.Fatal(err)
	}
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := k.enter(gone, "a"); err == nil {
		t.Error("two are in")
	}
	other, err := k.enter(t.Context(), "b")
	if err != nil {
		t.Fatal(err)
	}
	other()
	var order []int
	done := make(chan struct{})
	go func() {
		defer close(done)
		leave, err := k.enter(t.Context(), "a")
		if err != nil {
			return
		}
		order = append(order, 2)
		leave()
	}()
	order = append(order, 1)
	leave()
	<-done
	if !slices.Equal(order, []int{1, 2}) || len(k.busy) != 0 {
		t.Errorf("order %v, %d left", order, len(k.busy))
	}
}

// TestPair judges the judge: what it chooses for where it stands is no win.
func TestPair(t *testing.T) {
	t.Parallel()
	one, two, tie := says(`{"explanation":"a","score":"first"}`), says(`{"explanation":"b","score":"second"}`), says(`{"explanation":"c","score":"tie"}`)
	for _, tt := range []struct {
		answers []http.HandlerFunc
		change  func(*metric.Definition)
		score   string // "-": none
		want    string
	}{
		{[]http.HandlerFunc{one, two}, nil, "1", "better than the ground truth"},
		{[]http.HandlerFunc{two, one}, nil, "0", "worse than the ground truth"},
		{[]http.HandlerFunc{one, one}, nil, "0.5", "no clear winner"},
		{[]http.HandlerFunc{one, tie}, nil, "0.5", "no clear winner"},
		{[]http.HandlerFunc{one, two}, func(d *metric.Definition) { d.Scale = raw(`4`) }, "4", "Outputs in place 2: second. b"},
		{[]http.HandlerFunc{one, two}, func(d *metric.Definition) { d.Return = metric.Boolean }, "true", ""},
		{[]http.HandlerFunc{one, one}, func(d *metric.Definition) { d.Return = metric.Boolean }, "false", ""},
		{[]http.HandlerFunc{one, says("hm")}, nil, "-", "no JSON object"},
		{[]http.HandlerFunc{one}, func(d *metric.Definition) { d.Return = metric.String }, "-", "must have the return type float or boolean"},
		{[]http.HandlerFunc{one}, func(d *metric.Definition) { d.Criteria = "{{ first }}" }, "-", "needs both"},
	} {
		api := newFake(t, tt.answers...)
		e := newTest(t, Provider{BaseURL: api.URL, Concurrency: 1}, nil)
		d := definition(func(d *metric.Definition) { d.Criteria = "{{ inputs.q }}: {{ first }} or {{ second }}?" })
		if tt.change != nil {
			tt.change(d)
		}
		r := e.evaluate(t, d, `{"inputs":{"q":"Why?"},"outputs":{"a":"mine"},"feedback":{"ground_truth":"theirs"}}`)
		if r.Success != (tt.score != "-") || r.Success && string(r.Score) != tt.score || !strings.Contains(r.Explanation, tt.want) {
			t.Errorf("%+v, want %s, %q", r, tt.score, tt.want)
		}
		if r.Success && (r.Cost != 2*0.00002625 || api.asked() != 2) {
			t.Errorf("%d calls for $%v", api.asked(), r.Cost)
		}
	}
}

// fakeStored has providers of projects, whose keys are sealed by a prefix.
type fakeStored map[int64][]provider.Provider

func (f fakeStored) Providers(_ context.Context, project int64) ([]provider.Provider, error) {
	return f[project], nil
}

func (f fakeStored) Open(_ int64, p *provider.Provider) (string, error) {
	key, ok := strings.CutPrefix(string(p.SealedKey), "sealed:")
	if !ok && p.SealedKey != nil {
		return "", fault.New(fault.Conflict, "the key of the provider %s cannot be opened", p.Name)
	}
	return key, nil
}

// TestOwnProviders lets a project's provider go before the server's of the same name, with its
// key and never the server's, and out of reach of other projects.
func TestOwnProviders(t *testing.T) {
	t.Parallel()
	theirs, mine := newFake(t, says(good)), newFake(t, says(good))
	e := newTest(t, Provider{BaseURL: theirs.URL, APIKey: "servers-key"}, nil)
	own := fakeStored{}
	e.deps.Stored = own
	other := newProject(t)
	event := 0
	ask := func(project int64, name string) evaluation.Result {
		t.Helper()
		event++
		d := definition(func(d *metric.Definition) {
			if name != "" {
				d.ModelProvider = &name
			}
		})
		results, err := e.Evaluate(t.Context(), evaluate.Task{Project: project, Metric: d, Events: []json.RawMessage{raw(fmt.Sprintf(`{"outputs":{"answer":%d}}`, event))}})
		if err != nil {
			t.Fatal(err)
		}
		return results[0]
	}
	ask(e.project, "judge")
	own[e.project] = []provider.Provider{{Name: "judge", Type: provider.OpenAI, BaseURL: mine.URL, SealedKey: []byte("sealed:my-key")}}
	ask(e.project, "judge")
	ask(e.project, "")
	ask(other, "judge")
	if theirs.asked() != 2 || mine.asked() != 2 {
		t.Errorf("the server's was asked %d times, the project's %d times", theirs.asked(), mine.asked())
	}
	if got := mine.headers[0].Get("Authorization"); got != "Bearer my-key" {
		t.Errorf("sent %q", got)
	}

	own[e.project][0].SealedKey = nil // its address changed
	ask(e.project, "judge")
	if got := mine.headers[2].Get("Authorization"); strings.TrimSpace(strings.TrimPrefix(got, "Bearer")) != "" {
		t.Errorf("sent %q without a key", got)
	}
	own[e.project][0].SealedKey = []byte("by another secret")
	if r := ask(e.project, "judge"); r.Failure != evaluation.NoEngine || !strings.Contains(r.Explanation, "cannot be opened") {
		t.Errorf("%+v", r)
	}
	own[e.project][0] = provider.Provider{Name: "judge", Type: provider.OpenAI}
	if r := ask(e.project, "judge"); r.Failure != evaluation.NoEngine || !strings.Contains(r.Explanation, "has no key") {
		t.Errorf("%+v", r)
	}
	own[e.project] = []provider.Provider{{Name: "second", Type: provider.OpenAI, BaseURL: mine.URL, DailyCalls: 1}}
	if r := ask(e.project, ""); !strings.Contains(r.Explanation, "there are several: judge, second") {
		t.Errorf("%+v", r)
	}
	if r := ask(e.project, "second"); !r.Success {
		t.Errorf("%+v", r)
	}
	if r := ask(e.project, "second"); r.Failure != Budget {
		t.Errorf("past its calls: %+v", r)
	}
}

// TestLedger counts the day anew after a restart, on what the store kept.
func TestLedger(t *testing.T) {
	t.Parallel()
	api := newFake(t, says(good))
	name := "n" + strings.ReplaceAll(uuid.NewString(), "-", "")
	for i, want := range []evaluation.Failure{"", "", Budget} {
		e := newTest(t, Provider{}, func(c *Config) {
			c.Providers = map[string]Provider{name: {BaseURL: api.URL, DailyCalls: 2}}
		})
		for _, p := range e.named {
			p.budget.ledger = recordsOfTests
		}
		if r := e.evaluate(t, definition(nil), fmt.Sprintf(`{"outputs":{"answer":%d}}`, i)); r.Failure != want {
			t.Errorf("start %d: %+v", i, r)
		}
	}
}

// tenants are projects of a store; the first is the one that was there first.
type tenants struct {
	*store.Store
	first int64
	usd   float64
}

func (p tenants) DefaultProject(ctx context.Context) (project.Project, error) {
	return p.ProjectByID(ctx, p.first)
}

func (p tenants) ProjectLimits(context.Context, int64) (project.Bounds, error) {
	return project.Bounds{JudgeUSDPerDay: p.usd}, nil
}

// TestServed asks the server's provider for several projects, of which the operator serves some.
func TestServed(t *testing.T) {
	t.Parallel()
	api := newFake(t, says(good))
	named, byID, stranger := newProject(t), newProject(t), newProject(t)
	identity := func(id int64) project.Project {
		p, err := recordsOfTests.ProjectByID(t.Context(), id)
		if err != nil {
			t.Fatal(err)
		}
		return p
	}
	for _, tt := range []struct {
		projects []string
		served   map[int64]bool
	}{
		{nil, nil},
		{[]string{"default", "", " " + identity(named).Name + ", " + identity(byID).PublicID + ","}, map[int64]bool{named: true, byID: true}},
		{[]string{"all"}, map[int64]bool{named: true, byID: true, stranger: true}},
	} {
		e := newTest(t, Provider{BaseURL: api.URL, Model: "m"}, func(c *Config) { c.Projects = tt.projects })
		e.deps.Projects = tenants{Store: recordsOfTests, first: e.project}
		for _, id := range []int64{e.project, named, byID, stranger} {
			for _, provider := range []string{"judge", ""} {
				d := definition(func(d *metric.Definition) { d.ModelProvider = &provider })
				results, err := e.Evaluate(t.Context(), evaluate.Task{Project: id, Metric: d, Events: []json.RawMessage{raw(oneEvent)}})
				if err != nil {
					t.Fatal(err)
				}
				r := results[0]
				if want := id == e.project || tt.served[id]; r.Success != want {
					t.Errorf("%q, project %d: %+v, want %t", tt.projects, id, r, want)
				}
				if !r.Success && (r.Failure != evaluation.NoEngine || !strings.Contains(r.Explanation, "SPANGROVE_MODEL_PROJECTS") || !strings.Contains(r.Explanation, "PUT /v1/providers/judge")) {
					t.Errorf("%+v", r)
				}
			}
			want := []string{"judge"}
			if id != e.project && !tt.served[id] {
				want = nil
			}
			if names, err := e.Providers(t.Context(), id); err != nil || !slices.Equal(names, want) {
				t.Errorf("%q, project %d: providers %q, want %q; %v", tt.projects, id, names, want, err)
			}
		}
	}
}

// TestProjectBudget bounds what a project's judges cost together, at the server's providers and at its own.
func TestProjectBudget(t *testing.T) {
	t.Parallel()
	api := newFake(t, says(good))
	ask := func(e *testEngine, project int64, model string, event int) evaluation.Result {
		t.Helper()
		results, err := e.Evaluate(t.Context(), evaluate.Task{Project: project, Metric: definition(func(d *metric.Definition) { d.ModelName = &model }),
			Events: []json.RawMessage{raw(fmt.Sprintf(`{"outputs":{"answer":%d}}`, event))}})
		if err != nil {
			t.Fatal(err)
		}
		return results[0]
	}
	start := func(id int64, usd float64) *testEngine {
		e := newTest(t, Provider{BaseURL: api.URL, MaxOutputTokens: 10}, func(c *Config) { c.Projects = []string{"all"} })
		e.deps.Projects, e.deps.Ledger = tenants{recordsOfTests, id, usd}, recordsOfTests
		return e
	}
	id, other := newProject(t), newProject(t)
	spent := 0.0
	e := start(id, 0.001)
	last := 0
	for r := (evaluation.Result{}); r.Failure != Budget && last < 100; last++ {
		if r = ask(e, id, "gpt-4o-mini", last); r.Failure == Budget && (!strings.Contains(r.Explanation, "judge_usd_per_day") || r.Temporary) {
			t.Errorf("%+v", r)
		}
		spent += r.Cost
	}
	if spent == 0 || spent > 0.001 || last == 100 {
		t.Errorf("$%v of $0.001 after %d calls", spent, last)
	}
	if r := ask(e, other, "gpt-4o-mini", 0); !r.Success {
		t.Errorf("another project: %+v", r)
	}
	if r := ask(start(id, 0.001), id, "gpt-4o-mini", 200); r.Failure != Budget {
		t.Errorf("after a restart: %+v", r)
	}
	if r := ask(start(id, 1), id, "gpt-4o-mini", 200); !r.Success {
		t.Errorf("with another limit: %+v", r)
	}
	if r := ask(start(id, 0), id, "gpt-4o-mini", 201); !r.Success {
		t.Errorf("without a limit: %+v", r)
	}
	// A model without a price costs nothing where it is one's own, and counts as a dear one elsewhere.
	if r := ask(start(other, 0.0005), other, "own-model", 300); !r.Success {
		t.Errorf("%+v", r)
	}
	p := e.named["judge"]
	if got := p.counted(0, false, price.Usage{Prompt: 1e6, Completion: 1e6}); got != 0 {
		t.Errorf("at an address of one's own: $%v", got)
	}
	p.cfg.BaseURL = services[p.cfg.Type]
	if got := p.counted(0, false, price.Usage{Prompt: 1e6, Completion: 1e6}); got < 89.9 || got > 90.1 {
		t.Errorf("at a service: $%v", got)
	}
}

// TestPromptOfTrial has a definition that is only tried answer with what the model was sent, also when the answer is a recorded one
// or there is none; a stored metric does not.
func TestPromptOfTrial(t *testing.T) {
	t.Parallel()
	api := newFake(t, says(good), answer(400, `{"error":{"message":"no"}}`))
	e := newTest(t, Provider{BaseURL: api.URL}, nil)
	for i, what := range []string{"asked", "recorded"} {
		r := e.evaluate(t, definition(nil))
		if text, _ := rawjson.Text(rawjson.Path(r.Prompt, "1", "content")); !r.Success || !strings.Contains(text, "Yes") || !strings.Contains(text, "an answer?") {
			t.Errorf("%s: success %v, prompt %s", what, r.Success, r.Prompt)
		}
		if role, _ := rawjson.Text(rawjson.Path(r.Prompt, "0", "role")); role != "system" || (r.Cost > 0) != (i == 0) {
			t.Errorf("%s: the first message is of %q, cost %v", what, role, r.Cost)
		}
	}
	other := definition(func(d *metric.Definition) { d.Criteria = "Another {{ outputs.answer }}" })
	if r := e.evaluate(t, other); r.Success || !strings.Contains(string(r.Prompt), "Another") {
		t.Errorf("refused: success %v, prompt %s", r.Success, r.Prompt)
	}
	results, err := e.Evaluate(t.Context(), evaluate.Task{Project: e.project, Metric: definition(nil), ID: "m1", Version: 1, Events: []json.RawMessage{raw(oneEvent)}})
	if err != nil || results[0].Prompt != nil {
		t.Errorf("of a stored metric: %v, prompt %s", err, results[0].Prompt)
	}
}
