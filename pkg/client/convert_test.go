package client_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"
	"pgregory.net/rapid"

	"github.com/spangrove/spangrove/e2e/inprocess"
	"github.com/spangrove/spangrove/pkg/client"
)

var (
	texts = rapid.StringMatching(`[a-zäß<>&" /]{0,12}`)
	names = rapid.StringMatching(`[a-z]{1,8}`)
	uuids = rapid.Custom(func(t *rapid.T) string {
		return uuid.UUID([]byte(rapid.SliceOfN(rapid.Byte(), 16, 16).Filter(someBit).Draw(t, "uuid"))).String()
	})
	numbers = rapid.Custom(func(t *rapid.T) json.Number {
		return json.Number(rapid.SampledFrom([]string{"0", "1", "-1.50", "0.10", "12345678901234567890", "1e5", "2.5E-3"}).Draw(t, "number"))
	})
	// microseconds are times that a double of milliseconds holds to the microsecond: up to 2^43 ms.
	microseconds = rapid.Custom(func(t *rapid.T) time.Time {
		return time.UnixMicro(rapid.Int64Range(1, time.Date(2240, 1, 1, 0, 0, 0, 0, time.UTC).UnixMicro()).Draw(t, "microseconds")).UTC()
	})
)

func someBit(b []byte) bool {
	for _, x := range b {
		if x != 0 {
			return true
		}
	}
	return false
}

func value(depth int) *rapid.Generator[any] {
	return rapid.Custom(func(t *rapid.T) any {
		switch rapid.IntRange(0, 4+2*min(depth, 1)).Draw(t, "kind") {
		case 0:
			return nil
		case 1:
			return rapid.Bool().Draw(t, "bool")
		case 2:
			return texts.Draw(t, "text")
		case 3, 4:
			return numbers.Draw(t, "number")
		case 5:
			return rapid.SliceOfN(value(depth-1), 0, 3).Draw(t, "array")
		default:
			return rapid.MapOfN(names, value(depth-1), 0, 3).Draw(t, "object")
		}
	})
}

// objects have at least one member or are nil, since the server does not tell them apart. Their
// keys are none that a field of the event is put under: those have an underscore or are listed.
var objects = rapid.Custom(func(t *rapid.T) client.Object {
	key := names.Filter(func(s string) bool { return s != "status" && s != "result" })
	o := rapid.MapOfN(key, value(2), 0, 3).Draw(t, "members")
	if len(o) == 0 {
		return nil
	}
	return o
})

func maybe[T any](t *rapid.T, name string, of *rapid.Generator[T]) *T {
	if rapid.Bool().Draw(t, name+"?") {
		return client.Ptr(of.Draw(t, name))
	}
	return nil
}

func lists(t *rapid.T, name string) []client.Object {
	var list []client.Object
	for range rapid.IntRange(0, 2).Draw(t, name+" n") {
		o := objects.Draw(t, name)
		if o == nil {
			o = client.Object{}
		}
		list = append(list, o)
	}
	return list
}

// clientEvents are events that the server can hold without loss.
var clientEvents = rapid.Custom(func(t *rapid.T) client.ClientEvent {
	start := microseconds.Draw(t, "start")
	end := start.Add(time.Duration(rapid.Int64Range(1, 1e12).Draw(t, "µs")) * time.Microsecond).Truncate(time.Microsecond)
	e := client.ClientEvent{
		EventID: uuids.Draw(t, "event"), SessionID: uuids.Draw(t, "session"), EventName: names.Draw(t, "name"),
		EventType: rapid.SampledFrom([]string{client.EventModel, client.EventTool, client.EventChain}).Draw(t, "type"),
		StartTime: client.Timestamp{Time: start}, EndTime: client.Timestamp{Time: end},
		DurationMS: client.Ptr(float64(rapid.IntRange(1, 1e9).Draw(t, "duration")) / 8),
		Status:     rapid.SampledFrom([]string{client.StatusSuccess, client.StatusError, client.StatusCancelled, client.StatusTimeout}).Draw(t, "status"),
		Inputs:     objects.Draw(t, "inputs"), Outputs: objects.Draw(t, "outputs"), Metadata: objects.Draw(t, "metadata"), UserProperties: objects.Draw(t, "user"),
		Project: "default", Source: names.Draw(t, "source"),
	}
	if parent := maybe(t, "parent", uuids); parent != nil && *parent != e.SessionID && *parent != e.EventID {
		e.ParentID = parent
	}
	for name, n := range rapid.MapOfN(rapid.StringMatching(`[a-z]{1,4}`), numbers, 0, 3).Draw(t, "metrics") {
		if e.Metrics == nil {
			e.Metrics = client.Object{}
		}
		e.Metrics[name] = n
	}
	if rapid.Bool().Draw(t, "failed") {
		message := rapid.OneOf(texts, rapid.SampledFrom([]string{client.StatusTimeout, client.StatusError, client.StatusCancelled}))
		e.Error = &client.Failure{Type: texts.Draw(t, "error"), Message: message.Draw(t, "message"), Code: texts.Draw(t, "code"),
			Traceback: texts.Draw(t, "traceback"), Context: objects.Draw(t, "context")}
	}
	switch {
	case rapid.IntRange(0, 2).Draw(t, "evaluation") == 0:
		var score any
		if n := maybe(t, "score", numbers); n != nil {
			score = *n
		} else if b := maybe(t, "passed", rapid.Bool()); b != nil {
			score = *b
		}
		e.Evaluation = &client.Evaluation{EvaluatorName: "evaluator " + names.Draw(t, "evaluator"), TargetEventID: uuids.Draw(t, "target"),
			EvaluatorVersion: texts.Draw(t, "version"), Score: score, Explanation: texts.Draw(t, "explanation"), Criteria: objects.Draw(t, "criteria")}
	case e.EventType == client.EventModel && rapid.Bool().Draw(t, "call"):
		e.ModelCall = &client.ModelCall{Model: names.Draw(t, "model"), Provider: names.Draw(t, "provider"), PromptTemplate: texts.Draw(t, "template"),
			PromptVariables: objects.Draw(t, "variables"), ResponseFormat: rapid.SampledFrom([]string{"", "text", "json", "function_call"}).Draw(t, "format"),
			Tools: lists(t, "tools"), ToolCalls: lists(t, "tool calls")}
	case e.EventType == client.EventTool && rapid.Bool().Draw(t, "function"):
		e.ToolCall = &client.ToolCall{FunctionName: names.Draw(t, "function name"), FunctionDescription: texts.Draw(t, "description"),
			Parameters: objects.Draw(t, "parameters"), ReturnValue: value(2).Draw(t, "return")}
	}
	return e
})

// TestClientEventThere is client event → JSON → client event, and client event → the server's
// JSON → client event.
func TestClientEventThereAndBack(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		want := clientEvents.Draw(t, "event")
		text, err := json.Marshal(want)
		if err != nil {
			t.Fatal(err)
		}
		var got client.ClientEvent
		if err := json.Unmarshal(text, &got); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Fatalf("as JSON (-want +got)\n%s", diff)
		}
		in, err := want.Input()
		if err != nil {
			t.Fatal(err)
		}
		if text, err = json.Marshal(in); err != nil {
			t.Fatal(err)
		}
		var stored client.Event
		d := json.NewDecoder(strings.NewReader(string(text)))
		d.UseNumber()
		if err := d.Decode(&stored); err != nil {
			t.Fatal(err)
		}
		stored.Project = want.Project
		if got, err = client.ClientEventOf(&stored); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Fatalf("as %s (-want +got)\n%s", text, diff)
		}
	})
}

// TestClientEventsOnServer stores events and reads them back.
func TestClientEventsOnServer(t *testing.T) {
	inprocess.EachStore(t, func(t *testing.T, url string) {
		c := connect(t, url)
		session := uuid.NewString()
		want := map[string]client.ClientEvent{}
		var events []client.ClientEvent
		for i := range 200 {
			e := clientEvents.Example(i)
			e.EventID, e.SessionID = uuid.NewString(), session
			if years := 2024 - e.StartTime.Year(); years > 0 || years < -1 { // events begin after 2014 and not in the future
				e.StartTime = client.Timestamp{Time: e.StartTime.AddDate(years, 0, 0)}
				e.EndTime = client.Timestamp{Time: e.EndTime.AddDate(years, 0, 0)}
			}
			want[e.EventID] = e
			events = append(events, e)
		}
		envelope := client.NewClientBatch("default", events, time.Now())
		batch := must(envelope.Batch())(t)
		must(c.Events.CreateBatch(t.Context(), batch))(t)
		q := client.EventQuery{Filters: []client.Filter{{Field: "session_id", Operator: client.Is, Value: session, Type: client.TypeID}}}
		for e, err := range c.Events.All(t.Context(), q) {
			check(t, err)
			if e.EventType == client.EventSession {
				continue
			}
			got := must(client.ClientEventOf(&e))(t)
			equal(t, e.EventID, got, want[e.EventID])
			delete(want, e.EventID)
		}
		equal(t, "events that did not come back", len(want), 0)
	})
}

func TestClientEventJSON(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 5, 1, 14, 0, 0, 123456789, time.FixedZone("", 7200))
	e := client.ClientEvent{
		EventID: "6f1d8b1e-58a5-4a43-9a0c-0c9a3d3a8f10", SessionID: "0c9a3d3a-58a5-4a43-9a0c-6f1d8b1e8f10", EventType: client.EventModel, EventName: "chat",
		StartTime: client.Timestamp{Time: at}, DurationMS: client.Ptr(1.5), Status: client.StatusError, Inputs: client.Object{"q": "hi"}, Project: "shop", Source: "dev",
		Error:     &client.Failure{Type: "ValueError", Message: "bad", Code: "E1", Traceback: "at x", Context: client.Object{"k": 1}},
		ModelCall: &client.ModelCall{Model: "m", Provider: "p", ResponseFormat: "json"},
	}
	text := string(must(json.Marshal(e))(t))
	equal(t, "JSON", text, `{"event_id":"6f1d8b1e-58a5-4a43-9a0c-0c9a3d3a8f10","session_id":"0c9a3d3a-58a5-4a43-9a0c-6f1d8b1e8f10","parent_id":null,"event_type":"model","event_name":"chat",`+
		`"start_time":"2026-05-01T12:00:00.123456Z","duration_ms":1.5,"status":"error","inputs":{"q":"hi"},`+
		`"error":{"type":"ValueError","message":"bad","code":"E1","traceback":"at x","context":{"k":1}},"project":"shop","source":"dev","model":"m","provider":"p","response_format":"json"}`)
	b := client.NewClientBatch("shop", []client.ClientEvent{e}, at)
	equal(t, "batch", string(must(json.Marshal(b))(t)), fmt.Sprintf(`{"batch_id":%q,"project":"shop","events":[%s],"metadata":{"batch_size":1,"created_at":"2026-05-01T12:00:00.123456Z"}}`, b.BatchID, text))

	var back client.Timestamp
	for text, want := range map[string]string{
		`"2026-05-01T12:00:00Z"`: "2026-05-01T12:00:00.000000Z", `"2026-05-01T14:00:00.1234567+02:00"`: "2026-05-01T12:00:00.123456Z",
	} {
		check(t, json.Unmarshal([]byte(text), &back))
		equal(t, text, string(must(json.Marshal(back))(t)), `"`+want+`"`)
	}
	for _, wrong := range []string{`"2026-05-01"`, `1795213764357`, `{}`, `""`} {
		if err := json.Unmarshal([]byte(wrong), &back); err == nil {
			t.Errorf("%s was taken for a time", wrong)
		}
	}
	if _, err := json.Marshal(client.Timestamp{Time: time.Date(10000, 1, 1, 0, 0, 0, 0, time.UTC)}); err == nil {
		t.Error("a year of five digits was written")
	}
}

func TestClientEventRules(t *testing.T) {
	t.Parallel()
	sound := func() client.ClientEvent {
		e := client.ClientEvent{EventType: client.EventTool, EventName: "search", Project: "shop", Source: "dev", DurationMS: client.Ptr(2.0)}
		e.Complete(time.Now())
		return e
	}
	e := sound()
	check(t, e.Validate())
	equal(t, "version of the id", uuid.MustParse(e.EventID).Version(), 4)
	equal(t, "end", e.EndTime.Sub(e.StartTime.Time), 2*time.Millisecond)
	equal(t, "status", e.Status, client.StatusSuccess)
	for field, spoil := range map[string]func(*client.ClientEvent){
		"event_id":        func(e *client.ClientEvent) { e.EventID = "x" },
		"session_id":      func(e *client.ClientEvent) { e.SessionID = "" },
		"parent_id":       func(e *client.ClientEvent) { e.ParentID = client.Ptr("x") },
		"event_type":      func(e *client.ClientEvent) { e.EventType = client.EventSession },
		"event_name":      func(e *client.ClientEvent) { e.EventName = "" },
		"start_time":      func(e *client.ClientEvent) { e.StartTime = client.Timestamp{} },
		"status":          func(e *client.ClientEvent) { e.Status = "fine" },
		"project":         func(e *client.ClientEvent) { e.Project = "" },
		"source":          func(e *client.ClientEvent) { e.Source = "" },
		"metrics.a":       func(e *client.ClientEvent) { e.Metrics = client.Object{"a": "high"} },
		"function_name":   func(e *client.ClientEvent) { e.ToolCall = &client.ToolCall{} },
		"model":           func(e *client.ClientEvent) { e.EventType = client.EventModel; e.ModelCall = &client.ModelCall{} },
		"response_format": func(e *client.ClientEvent) { e.ModelCall = &client.ModelCall{ResponseFormat: "xml"} },
		"evaluator_name":  func(e *client.ClientEvent) { e.Evaluation = &client.Evaluation{TargetEventID: e.EventID} },
		"target_event_id": func(e *client.ClientEvent) { e.Evaluation = &client.Evaluation{EvaluatorName: "x"} },
		"score":           func(e *client.ClientEvent) { e.Evaluation = &client.Evaluation{Score: "high"} },
		"metadata.status": func(e *client.ClientEvent) { e.Status, e.Metadata = client.StatusTimeout, client.Object{"status": 1} },
		"outputs.result": func(e *client.ClientEvent) {
			e.ToolCall, e.Outputs = &client.ToolCall{FunctionName: "f", ReturnValue: 1}, client.Object{"result": 2}
		},
		"metrics.tone": func(e *client.ClientEvent) {
			e.Evaluation, e.Metrics = &client.Evaluation{EvaluatorName: "tone", TargetEventID: e.EventID, Score: true}, client.Object{"tone": 1}
		},
	} {
		e := sound()
		spoil(&e)
		if _, err := e.Input(); err == nil || !strings.HasPrefix(err.Error(), field+": ") {
			t.Errorf("%s: %v", field, err)
		}
	}
	for _, kind := range []string{client.EventSession, client.EventGeneric} {
		if _, err := client.ClientEventOf(&client.Event{EventType: kind}); err == nil {
			t.Errorf("an event of type %s was taken", kind)
		}
	}
	b := client.NewClientBatch("shop", []client.ClientEvent{sound(), {}}, time.Now())
	if _, err := b.Batch(); err == nil || !strings.HasPrefix(err.Error(), "events[1].") {
		t.Errorf("%v", err)
	}
	b.Metadata.BatchSize = 3
	if _, err := b.Batch(); err == nil || !strings.HasPrefix(err.Error(), "metadata.batch_size: ") {
		t.Errorf("%v", err)
	}
}

// FuzzClientEvent reads any JSON: nothing panics, and what is read is written and read as the same.
func FuzzClientEvent(f *testing.F) {
	f.Add(`{"event_id":"6f1d8b1e-58a5-4a43-9a0c-0c9a3d3a8f10","event_type":"model","start_time":"2026-05-01T12:00:00.123456Z","model":"m","score":1.0,"parent_id":null}`)
	f.Add(`{"start_time":"0000-01-01T00:00:00Z","tools":[{}],"metrics":{"a":1e400}}`)
	f.Fuzz(func(t *testing.T, text string) {
		var e, again client.ClientEvent
		if json.Unmarshal([]byte(text), &e) != nil {
			return
		}
		written, err := json.Marshal(e)
		if err != nil {
			return // a time before the year 0 in UTC
		}
		if err := json.Unmarshal(written, &again); err != nil {
			t.Fatalf("%s: %v", written, err)
		}
		rewritten, err := json.Marshal(again)
		if err != nil || string(rewritten) != string(written) {
			t.Fatalf("%s became %s: %v", written, rewritten, err)
		}
		e.Complete(time.Now())
		if in, err := e.Input(); err == nil && in.EventID != e.EventID {
			t.Fatalf("%s became %s", e.EventID, in.EventID)
		}
	})
}

// TestOthersFields reads events of other senders, who have something of their own where a
// ClientEvent's fields are put: there and back it changes nothing on the server.
func TestOthersFields(t *testing.T) {
	t.Parallel()
	sound := client.Event{EventID: uuid.NewString(), SessionID: uuid.NewString(), EventType: client.EventTool, EventName: "n", Source: "s", Project: "p", StartTime: 1, EndTime: 2, Duration: 1}
	for name, spoil := range map[string]func(*client.Event){
		"status without an error": func(e *client.Event) { e.Metadata = client.Object{"status": "error"} },
		"judge without an event":  func(e *client.Event) { e.Metadata = client.Object{"evaluator_name": "tone"} },
		"judge of nothing":        func(e *client.Event) { e.Metadata = client.Object{"evaluator_name": "tone", "target_event_id": "it"} },
		"judge": func(e *client.Event) {
			e.Metadata = client.Object{"evaluator_name": "tone", "target_event_id": uuid.NewString()}
		},
		"error": func(e *client.Event) {
			e.Error = "x"
			e.Metadata = client.Object{"error_type": "T", "status": "timeout", "error_context": 1}
		},
		"tool": func(e *client.Event) {
			e.Metadata = client.Object{"tool_name": "f"}
			e.Outputs = client.Object{"result": false}
		},
	} {
		before := sound
		spoil(&before)
		metadata := maps.Clone(before.Metadata)
		c, err := client.ClientEventOf(&before)
		check(t, err)
		in, err := c.Input()
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if diff := cmp.Diff(metadata, in.Metadata); diff != "" || in.Error != before.Error {
			t.Errorf("%s: error %q, metadata (-before +after):\n%s", name, in.Error, diff)
		}
		if diff := cmp.Diff(before.Outputs, in.Outputs); diff != "" {
			t.Errorf("%s: outputs (-before +after):\n%s", name, diff)
		}
	}
}

func TestFloat(t *testing.T) {
	t.Parallel()
	for _, v := range []any{json.Number("2.0"), 2, int8(2), int64(2), uint16(2), float32(2), 2.0} {
		if f, ok := client.Float(v); f != 2 || !ok {
			t.Errorf("%T: %v, %v", v, f, ok)
		}
	}
	for _, v := range []any{nil, "2", true, json.Number("two"), []int{2}} {
		if f, ok := client.Float(v); ok {
			t.Errorf("%#v is %v", v, f)
		}
	}
}

// TestCompleteEnds: the end is made where neither it nor a duration is given.
func TestCompleteEnds(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 5, 1, 12, 0, 0, 1500, time.UTC)
	for name, tt := range map[string]struct {
		start    time.Time
		duration float64
	}{"without a start": {time.Time{}, 0}, "began before": {now.Add(-2 * time.Second), 2000}, "begins later": {now.Add(time.Hour), 0}} {
		e := client.ClientEvent{StartTime: client.Timestamp{Time: tt.start.Truncate(time.Microsecond)}}
		e.Complete(now)
		if e.EndTime.IsZero() || e.DurationMS == nil || *e.DurationMS != tt.duration {
			t.Errorf("%s: end %v, duration %v; want %v ms", name, e.EndTime, e.DurationMS, tt.duration)
		}
	}
}

// TestNanosecondsAreCut: what an event's JSON cuts off, the server is not told either.
func TestNanosecondsAreCut(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 5, 1, 12, 0, 0, 123456789, time.UTC)
	e := client.ClientEvent{EventType: client.EventChain, EventName: "x", Project: "p", Source: "s", StartTime: client.Timestamp{Time: at}, EndTime: client.Timestamp{Time: at}}
	e.Complete(at)
	in, err := e.Input()
	if err != nil {
		t.Fatal(err)
	}
	if want := at.Truncate(time.Microsecond); !client.Time(in.StartTime).Equal(want) || !client.Time(in.EndTime).Equal(want) {
		t.Errorf("from %v to %v, want %v", client.Time(in.StartTime), client.Time(in.EndTime), want)
	}
}

func TestFailureCode(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{`"E1"`: "E1", `429`: "429", `null`: ""} {
		var e client.ClientEvent
		if err := json.Unmarshal([]byte(`{"error": {"message": "m", "code": `+text+`, "context": {"n": 1}}}`), &e); err != nil {
			t.Fatal(err)
		}
		if e.Error.Code != want || e.Error.Message != "m" || len(e.Error.Context) != 1 {
			t.Errorf("%s: %+v", text, e.Error)
		}
	}
	var e client.ClientEvent
	if err := json.Unmarshal([]byte(`{"error": {"code": {}}}`), &e); err == nil {
		t.Error("an object is read as a code")
	}
}
