package tracer

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"

	"go.opentelemetry.io/otel/attribute"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"

	"github.com/spangrove/spangrove/pkg/client"
	"github.com/spangrove/spangrove/pkg/rawjson"
)

// Fields are what a step or a session is told of, all optional. They are added to what is there,
// key by key; a key that is there is replaced. But the outputs of a session, or of a step that has ended, are
// replaced as a whole.
//
// Values are what encoding/json takes. One that it cannot write, or that the server would refuse with
// everything that is sent with it (a number beyond a double, objects nested deeper than about 100), is replaced
// by a text that says so: a trace never makes a program fail.
type Fields struct {
	// Inputs and Outputs are objects. Other inputs stand under "value", other outputs under
	// "result".
	Inputs, Outputs any
	Config          map[string]any // of a model or a prompt
	Metadata        map[string]any
	Metrics         map[string]any // numbers, booleans or texts
	Feedback        map[string]any // of people; ground_truth is the expected answer
	UserProperties  map[string]any
	// Error says that the step failed. A function's error does so by itself.
	Error error
}

// The fields that are JSON objects, in the order of attributeOf.
const (
	inInputs = iota
	inOutputs
	inConfig
	inMetadata
	inMetrics
	inFeedback
	inUserProperties
	objects
)

var (
	// names are those of the API.
	names = [objects]string{"inputs", "outputs", "config", "metadata", "metrics", "feedback", "user_properties"}
	// attributeOf are the span attributes that the server reads as whole objects.
	attributeOf = [objects]attribute.Key{"honeyhive_inputs", "honeyhive_outputs", "honeyhive_config", "honeyhive_metadata",
		"honeyhive_metrics", "honeyhive_feedback", "honeyhive_user_properties"}
)

// maxAttribute is how many bytes of JSON a span has in an attribute when it is sent. The server cuts longer ones, so what
// is longer goes to it as an update of the event (see withoutLarge).
const maxAttribute = 1 << 20

// encoded are fields as JSON objects, nil if there is none.
type encoded struct {
	values [objects]json.RawMessage
	err    error
}

func (f Fields) encode() (e encoded) {
	e.values = [objects]json.RawMessage{
		object(f.Inputs, "value"), object(f.Outputs, "result"),
		members(f.Config), members(f.Metadata), members(f.Metrics), members(f.Feedback), members(f.UserProperties),
	}
	e.err = f.Error
	return e
}

// members adds the objects to a body of the API.
func (e *encoded) members(b *rawjson.Builder) {
	for i, raw := range e.values {
		if raw != nil {
			b.Raw(names[i], raw)
		}
	}
}

// object returns v as an object, under a key if it is not one; nil if there is nothing in it.
func object(v any, key string) json.RawMessage {
	if m, ok := v.(map[string]any); ok {
		return members(m)
	}
	raw := encode(v)
	switch rawjson.KindOf(raw) {
	case 'n':
		return nil
	case '{':
		if rawjson.Empty(raw) {
			return nil
		}
		return raw
	}
	var b rawjson.Builder
	b.Raw(key, raw)
	return b.Bytes()
}

// members returns an object whose values are encoded one by one, so that one that cannot be does no
// harm to the others; nil if there are none.
func members(m map[string]any) json.RawMessage {
	var b rawjson.Builder
	for _, key := range slices.Sorted(maps.Keys(m)) {
		b.Raw(key, encode(m[key]))
	}
	return b.Bytes()
}

// encode returns v as JSON, or a text that says why it cannot be.
func encode(v any) (raw json.RawMessage) {
	defer func() {
		if r := recover(); r != nil { // a method MarshalJSON or String
			raw = unwritable(v, r)
		}
	}()
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return unwritable(v, err)
	}
	raw = bytes.TrimSuffix(b.Bytes(), []byte("\n"))
	if _, _, err := rawjson.Clean(slices.Concat([]byte("[[["), raw, []byte("]]]"))); err != nil { // so deep it stands in a request
		return unwritable(v, err)
	}
	return raw
}

func unwritable(v, why any) json.RawMessage {
	return rawjson.AppendString(nil, fmt.Sprintf("!(%T: %v)", v, why))
}

// enriching makes reading, merging and writing a span's attribute one step.
var enriching sync.Mutex

// Enrich adds to the context's span, whichever instrumentation started it. After its end it still
// does, as Tracer.Update; without a span, or on one that is not sampled, it does nothing.
func Enrich(ctx context.Context, f Fields) {
	span := trace.SpanFromContext(ctx)
	sc := span.SpanContext()
	if !sc.IsSampled() {
		return
	}
	readable, ok := span.(sdktrace.ReadOnlySpan)
	t := (*Tracer)(nil)
	if s := scopeOf(ctx); s != nil {
		t = s.t
	}
	if !ok || !span.IsRecording() {
		if t != nil {
			t.Update(eventID(sc), f)
		}
		return
	}
	e := f.encode()
	enriching.Lock()
	before := readable.Attributes()
	for i, raw := range e.values {
		if raw == nil {
			continue
		}
		if j := slices.IndexFunc(before, func(a attribute.KeyValue) bool { return a.Key == attributeOf[i] }); j >= 0 {
			raw = rawjson.Merge(json.RawMessage(before[j].Value.AsString()), raw)
		}
		span.SetAttributes(attributeOf[i].String(string(raw)))
	}
	enriching.Unlock()
	if e.err != nil {
		fail(span, e.err)
	}
}

// Update adds to an event or a session by its id, at any time: feedback on an answer comes when
// people have read it. An event that the server does not know yet is changed when it comes, within
// a day. The fields' error is not for it.
func (t *Tracer) Update(id string, f Fields) { t.update(id, f.encode()) }

func (t *Tracer) update(id string, e encoded) {
	var b rawjson.Builder
	e.members(&b)
	if fields := b.Bytes(); fields != nil {
		t.call(id, http.MethodPut, "/v1/events/"+id, fields)
	}
}

// call is a request of the API about an event or a session.
type call struct {
	id      string // of the event or session
	request client.Request
}

func (t *Tracer) call(id, method, path string, body json.RawMessage) {
	t.calls.put(call{id, client.Request{Method: method, Path: path, Body: body, Repeatable: true}}, spanBytes+len(body))
}

// sendCalls makes calls at the same time, but those about the same thing in their order.
func (t *Tracer) sendCalls(ctx context.Context, batch []call) int {
	var (
		lost atomic.Int64
		work sync.WaitGroup
		byID = map[string][]client.Request{}
	)
	for _, c := range batch {
		byID[c.id] = append(byID[c.id], c.request)
	}
	for _, requests := range byID {
		work.Go(func() {
			for _, r := range requests {
				if err := t.sender.patiently(ctx, func() error { return t.sender.c.Call(ctx, r, nil) }); err != nil {
					t.sender.report(fmt.Errorf("tracer: a session start or update is lost: %w", err))
					lost.Add(1)
				}
			}
		})
	}
	work.Wait()
	return int(lost.Load())
}
