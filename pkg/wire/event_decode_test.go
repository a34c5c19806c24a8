package wire

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"

	"github.com/spangrove/spangrove/pkg/event"
	"github.com/spangrove/spangrove/pkg/fault"
)

var arrival = time.UnixMilli(1_795_213_764_357)

const (
	idA = "11111111-1111-4111-8111-111111111111"
	idB = "22222222-2222-4222-8222-222222222222"
	idC = "33333333-3333-4333-8333-333333333333"
)

// wantFault checks that err is an Invalid one about field, or nil if field is empty.
func wantFault(t *testing.T, err error, field string) {
	t.Helper()
	var f *fault.Error
	switch {
	case field == "" && err == nil:
	case field == "":
		t.Fatalf("unexpected error: %v", err)
	case !errors.As(err, &f) || f.Kind != fault.Invalid || f.Field != strings.TrimSuffix(field, "-"):
		t.Fatalf("error %v, want one about %q", err, field)
	}
}

func TestDecodeEventForms(t *testing.T) {
	t.Parallel()
	full := `{"event_type":"tool","event_id":"` + strings.ToUpper(idA) + `","session_id":"` + strings.ReplaceAll(idB, "-", "") + `",
		"event_name":"search","source":"test","project":"p","project_id":"p","error":null,"unheard_of":[1],
		"start_time":1795213764000.5,"duration":10.25,"children_ids":["x"],
		"config":{"a":1.0},"inputs":{"q" : 9007199254740993},"outputs":[1],"metadata":null,"metrics":{},"feedback":{"f":1},"user_properties":{"u":1}}`
	text, _ := json.Marshal(full)
	want := event.Incoming{Event: event.Event{
		ID: uuid.MustParse(idA), SessionID: uuid.MustParse(idB), ParentID: uuid.MustParse(idB), Type: event.TypeTool,
		Name: "search", Source: "test", Start: 1795213764000.5, End: 1795213764010.75, Duration: 10.25, DurationGiven: true,
		ChildrenIDs: json.RawMessage(`["x"]`), Config: json.RawMessage(`{"a":1.0}`), Inputs: json.RawMessage(`{"q" : 9007199254740993}`),
		Outputs: json.RawMessage(`[1]`), Metrics: json.RawMessage(`{}`), Feedback: json.RawMessage(`{"f":1}`), UserProperties: json.RawMessage(`{"u":1}`),
	}}
	for name, body := range map[string]string{
		"bare":         full,
		"wrapped":      `{"event":` + full + `}`,
		"text":         `{"event":` + string(text) + `}`,
		"order mark":   "\xef\xbb\xbf " + full + "\n",
		"null wrapper": `{"event":null,` + full[1:],
	} {
		got, err := DecodeEvent([]byte(body), arrival)
		wantFault(t, err, "")
		if d := cmp.Diff(want, got); d != "" {
			t.Errorf("%s (-want +got):\n%s", name, d)
		}
	}
}

func TestDecodeEventDefaults(t *testing.T) {
	t.Parallel()
	e, err := DecodeEvent([]byte(`{"event_type":"generic","inputs":{}}`), arrival)
	wantFault(t, err, "")
	if e.ID == uuid.Nil || e.SessionID == uuid.Nil || e.ID == e.SessionID || e.ParentID != e.SessionID ||
		e.Name != "unknown" || e.Source != "unknown" || e.Start != 1795213764357 || e.End != e.Start || !e.DefaultTime {
		t.Errorf("got %+v", e)
	}
	s, err := DecodeEvent([]byte(`{"event_type":"session","inputs":{},"session_id":"`+idA+`"}`), arrival)
	wantFault(t, err, "")
	if s.ID.String() != idA || s.ParentID != uuid.Nil || s.Started {
		t.Errorf("session event: got %+v", s)
	}
}

func TestDecodeEventRefuses(t *testing.T) {
	t.Parallel()
	for field, bodies := range map[string][]string{
		"-": { // the whole body
			`[`, `[]`, `"x"`, `{"inputs":{}} x`, `{"event_type":"tool","inputs":{"n":1e999}}`, `{"inputs":` + strings.Repeat("[", 200),
		},
		"event_type":   {``, `{}`, `{"inputs":{}}`, `{"event_type":"span","inputs":{}}`, `{"event_type":7,"inputs":{}}`, `{"event_type":null,"inputs":{}}`},
		"inputs":       {`{"event_type":"tool"}`, `{"event_type":"tool","inputs":null}`, `{"event_type":"tool","inputs":[]}`, `{"event_type":"tool","inputs":"{}"}`},
		"event.inputs": {`{"event":{"event_type":"tool"}}`, `{"event":"{\"event_type\":\"tool\"}"}`},
		"event":        {`{"event":[]}`, `{"event":"no"}`, `{"event":5}`},
	} {
		for _, body := range bodies {
			t.Run(body[:min(60, len(body))], func(t *testing.T) {
				t.Parallel()
				_, err := DecodeEvent([]byte(body), arrival)
				wantFault(t, err, field)
			})
		}
	}
	for _, member := range []string{
		`"event_id":"x"`, `"event_id":7`, `"event_id":""`, `"session_id":"11111111-1111-4111-8111-11111111111"`, `"parent_id":"{` + idA + `}"`,
		`"event_name":1`, `"source":{}`, `"project_id":1`, `"error":{}`, `"start_time":"2026-01-01T00:00:00Z"`, `"start_time":-5`,
		`"start_time":1e15`, `"end_time":true`, `"end_time":1e15`, `"duration":"1"`, `"duration":-1`, `"children_ids":{}`,
		`"config":[]`, `"metadata":"x"`, `"metrics":1`, `"feedback":true`, `"user_properties":[{}]`,
	} {
		t.Run(member, func(t *testing.T) {
			t.Parallel()
			field := strings.Trim(member[:strings.Index(member, ":")], `"`)
			_, err := DecodeEvent([]byte(`{"event_type":"tool","inputs":{},`+member+`}`), arrival)
			wantFault(t, err, field)
		})
	}
	_, err := DecodeEvent([]byte(`{"event_type":"tool","inputs":{},"children_ids":["a",2]}`), arrival)
	wantFault(t, err, "children_ids[1]")
}

func TestReplacedCharactersAreCountedPerEvent(t *testing.T) {
	t.Parallel()
	b, err := DecodeBatch([]byte(`{"events":[
		{"event_type":"tool","event_name":"a\u0000b","inputs":{"k":"\ud800x"},"unheard_of":"\u0000"},
		{"event_type":"tool","inputs":{"k":1,"k":2},"metadata":{"m":1}},
		{"event_type":"tool","inputs":{"k":"`+"\xff"+`"},"metadata":{"m":1}}]}`), Lenient, arrival)
	wantFault(t, err, "")
	var got []string
	for _, e := range b.Events {
		got = append(got, fmt.Sprintf("%s %s %s", e.Name, e.Inputs, e.Metadata))
	}
	want := []string{
		"a\uFFFDb {\"k\":\"\uFFFDx\"} {\"replaced_characters\":2}",
		`unknown {"k":2} {"m":1}`,
		"unknown {\"k\":\"\uFFFD\"} {\"m\":1,\"replaced_characters\":1}",
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
	inText, err := DecodeEvent([]byte(`{"event":"{\"event_type\":\"tool\",\"inputs\":{\"k\":\"\\u0000\"}}"}`), arrival)
	wantFault(t, err, "")
	if string(inText.Metadata) != `{"replaced_characters":1}` {
		t.Errorf("as text: metadata %s", inText.Metadata)
	}
}

func TestDecodeSessionStart(t *testing.T) {
	t.Parallel()
	inner := `{"session_id":"` + strings.ToUpper(idA) + `","session_name":"s","event_name":"e","source":"src","project":"p","start_time":1795213764357.0,
		"end_time":"now","duration":5,"inputs":{"i":1},"metadata":{"run_id":"r"},"user_properties":{"u":1},"event_type":7,"tenant":"t"}`
	text, _ := json.Marshal(inner)
	want := event.Incoming{Started: true, Event: event.Event{
		ID: uuid.MustParse(idA), SessionID: uuid.MustParse(idA), Type: event.TypeSession, Name: "s", Source: "src",
		Start: 1795213764357, End: 1795213764362, Duration: 5, DurationGiven: true, Inputs: json.RawMessage(`{"i":1}`),
		Metadata: json.RawMessage(`{"run_id":"r"}`), UserProperties: json.RawMessage(`{"u":1}`),
	}}
	for _, body := range []string{inner, `{"session":` + inner + `}`, `{"session":` + string(text) + `,"project":5,"inputs":"beside"}`} {
		got, err := DecodeSessionStart([]byte(body), arrival)
		wantFault(t, err, "")
		if d := cmp.Diff(want, got); d != "" {
			t.Errorf("%.30s (-want +got):\n%s", body, d)
		}
	}
	for _, body := range []string{``, `{}`, `null`, `{"session":{}}`, `{"session":""}`, `{"session_id":"my session","start_time":"2026-01-01"}`} {
		got, err := DecodeSessionStart([]byte(body), arrival)
		wantFault(t, err, "")
		if !got.IsSession() || got.ID == uuid.Nil || got.Name != "unknown" || got.Start != 1795213764357 || !got.DefaultTime || !got.Started {
			t.Errorf("%q: got %+v", body, got)
		}
	}
	got, err := DecodeSessionStart([]byte(`{"event_id":"`+idB+`","event_name":"only this"}`), arrival)
	wantFault(t, err, "")
	if got.SessionID.String() != idB || got.Name != "only this" {
		t.Errorf("got %+v", got)
	}
	for body, field := range map[string]string{
		`{"session":[]}`:                     "session",
		`{"session":{"session_id":5}}`:       "session.session_id",
		`{"session":{"start_time":{}}}`:      "session.start_time",
		`{"inputs":"x"}`:                     "inputs",
		`{"session":{"metadata":[]}}`:        "session.metadata",
		`{"session":{"start_time":-1.5e300}`: "-",
		`{"start_time":-1}`:                  "start_time",
	} {
		_, err := DecodeSessionStart([]byte(body), arrival)
		wantFault(t, err, field)
	}
}

func TestDecodeModelEvent(t *testing.T) {
	t.Parallel()
	body := `{"model_event":{"model":"m-large","provider":"acme","messages":[{"role":"user","content":"hi"}],"response":{"role":"assistant","content":"yo"},
		"duration":42,"usage":{"prompt_tokens":1,"total_tokens":3},"cost":0.10,"hyperparameters":{"temperature":0.0},"template":"t {{x}}","template_inputs":{"x":1},
		"tools":[],"tool_choice":"auto","response_format":{"type":"text"},"model_version":"7","project":"p","event_name":"call","config":{"model":"other","k":1},"metadata":{"mine":true}}}`
	e, err := DecodeModelEvent([]byte(body), arrival)
	wantFault(t, err, "")
	got := map[string]string{"config": string(e.Config), "inputs": string(e.Inputs), "outputs": string(e.Outputs), "metadata": string(e.Metadata)}
	want := map[string]string{
		"config":   `{"model":"m-large","k":1,"provider":"acme","hyperparameters":{"temperature":0.0},"template":"t {{x}}","tools":[],"tool_choice":"auto","response_format":{"type":"text"}}`,
		"inputs":   `{"chat_history":[{"role":"user","content":"hi"}],"x":1}`,
		"outputs":  `{"role":"assistant","content":"yo"}`,
		"metadata": `{"mine":true,"prompt_tokens":1,"total_tokens":3,"cost":0.10,"model_version":"7"}`,
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
	if e.Type != event.TypeModel || e.Name != "call" || e.Duration != 42 {
		t.Errorf("got %+v", e)
	}
	for from, field := range map[string]string{
		`"model":"m-large"`:                            "model_event.model",
		`"messages":[{"role":"user","content":"hi"}]`:  "model_event.messages",
		`"duration":42`:                                "model_event.duration",
		`"usage":{"prompt_tokens":1,"total_tokens":3}`: "model_event.usage",
	} {
		_, err := DecodeModelEvent([]byte(strings.Replace(body, from, `"x":0`, 1)), arrival)
		wantFault(t, err, field)
	}
	_, err = DecodeModelEvent([]byte(strings.Replace(body, `{"role":"user","content":"hi"}`, `"hi"`, 1)), arrival)
	wantFault(t, err, "model_event.messages[0]")
	_, err = DecodeModelBatch([]byte(`{"model_events":[`+body[len(`{"model_event":`):len(body)-1]+`,{}]}`), arrival)
	wantFault(t, err, "model_events[1].model")
}

func TestDecodeBatch(t *testing.T) {
	t.Parallel()
	b, err := DecodeBatch([]byte(`{"events":[
		{"event_type":"chain","inputs":{},"event_id":"`+idA+`","session_id":"`+idB+`","project":"p"},
		{"event_type":"tool","inputs":{},"event_id":"`+idC+`"}],"session_properties":{"session_name":"unused"},"more":1}`), Lenient, arrival)
	wantFault(t, err, "")
	if len(b.Events) != 2 || b.SessionID.String() != idB || b.Events[1].SessionID == b.SessionID {
		t.Errorf("got %+v", b)
	}
	if got := string(AppendBatchAnswer(nil, &b)); got != `{"event_ids":["`+idA+`","`+idC+`"],"session_id":"`+idB+`","success":true}` {
		t.Error(got)
	}
	b, err = DecodeBatch([]byte(`{"events":[]}`), Lenient, arrival)
	wantFault(t, err, "")
	if got := string(AppendBatchAnswer(nil, &b)); got != `{"event_ids":[],"session_id":"","success":true}` {
		t.Error(got)
	}
}

func TestDecodeBatchSingleSession(t *testing.T) {
	t.Parallel()
	events := `"events":[
		{"event_type":"chain","inputs":{},"event_id":"` + idA + `","session_id":"` + idB + `","parent_id":"` + idB + `","start_time":1000,"end_time":3000},
		{"event_type":"tool","inputs":{},"parent_id":"` + idA + `","session_id":"` + idB + `","start_time":2000,"end_time":5000}]`
	for _, tt := range []struct {
		name, rest  string
		session     string // empty: a new one
		sessionName string
		start       float64
	}{
		{"new names", `,"single_session":true,"session_properties":{"session_id":"` + idC + `","session_name":"n","start_time":500,"metadata":{"m":1}}`, idC, "n", 500},
		{"older names", `,"is_single_session":true,"session":{"session_id":"` + idC + `","event_name":"n"}`, idC, "n", 1000},
		{"the session all events name", `,"single_session":true`, idB, "unknown", 1000},
		{"no UUID", `,"single_session":true,"session_properties":{"session_id":"mine","session_name":"n"}`, idB, "n", 1000},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			b, err := DecodeBatch([]byte("{"+events+tt.rest+"}"), Lenient, arrival)
			wantFault(t, err, "")
			if len(b.Events) != 3 || len(b.IDs) != 2 || b.SessionID.String() != tt.session {
				t.Fatalf("got %+v", b)
			}
			s := b.Events[0]
			if !s.IsSession() || !s.Started || s.Name != tt.sessionName || s.Start != tt.start || s.ID != b.SessionID {
				t.Errorf("session %+v", s)
			}
			if e := b.Events[1]; e.SessionID != s.ID || e.ParentID != s.ID || b.IDs[0] != e.ID {
				t.Errorf("first event %+v", e)
			}
			if e := b.Events[2]; e.SessionID != s.ID || e.ParentID.String() != idA {
				t.Errorf("second event %+v", e)
			}
		})
	}
	b, err := DecodeBatch([]byte(`{"single_session":true,"events":[{"event_type":"tool","inputs":{}},{"event_type":"tool","inputs":{},"session_id":"`+idA+`"}]}`), Strict, arrival)
	wantFault(t, err, "")
	if b.SessionID == uuid.Nil || b.SessionID.String() == idA || b.Events[2].SessionID != b.SessionID {
		t.Errorf("got %+v", b)
	}
}

func TestBatchRefuses(t *testing.T) {
	t.Parallel()
	good := `{"event_type":"tool","inputs":{}}`
	named := `{"event_type":"tool","inputs":{},"event_id":"` + idA + `"}`
	for _, tt := range []struct {
		body   string
		policy Policy
		field  string
	}{
		{``, Lenient, "events"},
		{`{"events":null}`, Lenient, "events"},
		{`{"events":{}}`, Strict, "events"},
		{`{"events":[` + good + `,5]}`, Lenient, "events[1]"},
		{`{"events":[` + good + `,{"event_type":"tool"}]}`, Lenient, "events[1].inputs"},
		{`{"events":[` + good + `,{"event_type":"tool","inputs":{},"start_time":-1}]}`, Lenient, "events[1].start_time"},
		{`{"events":[` + good + `],"single_session":"yes"}`, Lenient, "single_session"},
		{`{"events":[` + good + `],"session_properties":[]}`, Lenient, "session_properties"},
		{`{"events":[` + good + `],"single_session":true,"session_properties":{"start_time":-1}}`, Lenient, "session_properties.start_time"},
		{`{"events":[` + good + `],"session_properties":{"metadata":1}}`, Strict, "session_properties.metadata"},
		{`{"events":[` + good + `],"more":1}`, Strict, "more"},
		{`{"events":[]}`, Strict, "events"},
		{`{"events":[],"single_session":true}`, Strict, "events"},
		{`{"events":[` + named + `,` + good + `,` + good + `,` + named + `]}`, Strict, "events[3].event_id"},
		{`{"events":[` + named + `,` + named + `]}`, Lenient, ""},
		{`{"events":[` + good + `],"is_single_session":true}`, Strict, "is_single_session"},
		{`{"events":[` + good + `],"session":null}`, Strict, "session"},
		{`{"events":[` + good + `,{"event_type":"tool","inputs":{},"project":"p"}]}`, Strict, "events[1].project"},
		{`{"events":[{"event_type":"tool","inputs":{},"unheard_of":null}]}`, Strict, "events[0].unheard_of"},
		{`{"events":[{"event_type":"tool","inputs":{},"project_id":"p"}],"single_session":false,"session_properties":{}}`, Strict, ""},
	} {
		t.Run(tt.body, func(t *testing.T) {
			t.Parallel()
			_, err := DecodeBatch([]byte(tt.body), tt.policy, arrival)
			wantFault(t, err, tt.field)
		})
	}
}

// What is made of an event is larger than the two bytes of an empty one, so events are counted
// while they are read.
func TestBatchIsBounded(t *testing.T) {
	t.Parallel()
	list := func(n int, event string) string { return event + strings.Repeat(","+event, n-1) }
	full := `{"event_type":"tool","inputs":{}}`
	decode := map[string]func([]byte) error{
		"events": func(body []byte) error { _, err := DecodeBatch(body, Lenient, arrival); return err },
		"strict": func(body []byte) error { _, err := DecodeBatch(body, Strict, arrival); return err },
		"session": func(body []byte) error {
			_, err := DecodeSessionEvents(body, idA, arrival)
			return err
		},
		"traces": func(body []byte) error {
			_, err := DecodeSessionTraces(bytes.Replace(body, []byte(`"events":[`), []byte(`"logs":[`+full+`],"events":[`), 1), idA, arrival)
			return err
		},
		"models": func(body []byte) error {
			_, err := DecodeModelBatch(bytes.Replace(body, []byte(`"events"`), []byte(`"model_events"`), 1), arrival)
			return err
		},
	}
	for name, f := range decode {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if err := f([]byte(`{"events":[` + list(MaxBatchEvents-1, full) + `]}`)); name != "models" && err != nil {
				t.Errorf("%d events: %v", MaxBatchEvents-1, err)
			}
			event := full
			if name == "models" {
				event = `{"model":"m","provider":"p","messages":[],"response":{},"duration":1,"usage":{}}`
			}
			if err := f([]byte(`{"events":[` + list(MaxBatchEvents+1, event) + `]}`)); fault.Of(err) != fault.TooLarge {
				t.Errorf("%d events: %v, want TooLarge", MaxBatchEvents+1, err)
			}
			// An event that lacks what it needs ends the request, however many follow.
			body := []byte(`{"events":[` + list(300_000, "{}") + `]}`)
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			err := f(body)
			runtime.ReadMemStats(&after)
			if fault.Of(err) != fault.Invalid || !strings.Contains(err.Error(), "events[0]") {
				t.Errorf("300,000 empty events: %v, want Invalid at the first", err)
			}
			// Other tests run beside this one; without the bound it is 900 MB.
			if took := after.TotalAlloc - before.TotalAlloc; took > 200<<20 {
				t.Errorf("reading %d bytes of empty events took %d MiB", len(body), took>>20)
			}
		})
	}
}

func TestDecodeSessionLists(t *testing.T) {
	t.Parallel()
	one := `{"event_type":"tool","inputs":{},"session_id":"` + idC + `","parent_id":"` + idC + `"}`
	b, err := DecodeSessionTraces([]byte(`{"logs":[`+one+`],"events":[`+one+`]}`), idA, arrival)
	wantFault(t, err, "")
	if len(b.Events) != 2 || len(b.IDs) != 2 {
		t.Fatalf("got %+v", b)
	}
	for _, e := range b.Events {
		if e.SessionID.String() != idA || e.ParentID.String() != idA {
			t.Errorf("got %+v", e)
		}
	}
	_, err = DecodeSessionTraces(nil, idA, arrival)
	wantFault(t, err, "")
	_, err = DecodeSessionTraces([]byte(`{"logs":[{}]}`), idA, arrival)
	wantFault(t, err, "logs[0].event_type")
	_, err = DecodeSessionEvents(nil, idA, arrival)
	wantFault(t, err, "events")
	_, err = DecodeSessionEvents([]byte(`{"events":[]}`), idA, arrival)
	wantFault(t, err, "events")
	named := `{"event_type":"tool","inputs":{},"event_id":"` + idB + `"}`
	_, err = DecodeSessionEvents([]byte(`{"events":[`+named+`,`+named+`]}`), idA, arrival)
	wantFault(t, err, "events[1].event_id")
	_, err = DecodeSessionEvents([]byte(`{"events":[`+one+`]}`), "x", arrival)
	wantFault(t, err, "session_id")
}
