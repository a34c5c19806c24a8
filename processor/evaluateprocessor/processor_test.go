package evaluateprocessor

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/uuid"
	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/component/componenttest"
	"go.opentelemetry.io/collector/consumer/consumertest"
	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/ptrace"
	"go.opentelemetry.io/collector/processor/processortest"

	"github.com/spangrove/spangrove/pkg/evaluate"
	"github.com/spangrove/spangrove/pkg/evaluate/expression"
	"github.com/spangrove/spangrove/pkg/evaluation"
	"github.com/spangrove/spangrove/pkg/event"
	"github.com/spangrove/spangrove/pkg/metric"
	"github.com/spangrove/spangrove/pkg/otlpmap"
	"github.com/spangrove/spangrove/pkg/price"
	"github.com/spangrove/spangrove/pkg/rawjson"
	"github.com/spangrove/spangrove/pkg/spancodec"
)

// host has the extension.
type host struct {
	component.Host
	extensions map[component.ID]component.Component
}

func (h host) GetExtensions() map[component.ID]component.Component { return h.extensions }

// extension runs metrics as the real one does.
type extension struct {
	component.StartFunc
	component.ShutdownFunc
	evaluate.Engines
}

// lost is an engine that cannot be reached.
type lost struct{}

func (lost) Evaluate(context.Context, evaluate.Task) ([]evaluation.Result, error) {
	return nil, errors.New("not reached")
}

// through sends td through a processor with the metrics.
func through(t *testing.T, td ptrace.Traces, metrics ...MetricConfig) ptrace.Traces {
	t.Helper()
	engines := evaluate.Builtin()
	engines[metric.Expression] = expression.New(expression.Config{})
	engines[metric.Python] = lost{}
	cfg := createDefaultConfig().(*Config)
	cfg.Metrics = metrics
	if err := cfg.Validate(); err != nil {
		t.Fatal(err)
	}
	sink := new(consumertest.TracesSink)
	p, err := NewFactory().CreateTraces(t.Context(), processortest.NewNopSettings(componentType), cfg, sink)
	if err != nil {
		t.Fatal(err)
	}
	if err := p.Start(t.Context(), host{componenttest.NewNopHost(), map[component.ID]component.Component{cfg.Evaluate: extension{Engines: engines}}}); err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := p.Shutdown(t.Context()); err != nil {
			t.Error(err)
		}
	}()
	if err := p.ConsumeTraces(t.Context(), td); err != nil {
		t.Fatal(err)
	}
	return sink.AllTraces()[0]
}

func expr(name, kind, criteria string) MetricConfig {
	return MetricConfig{Name: name, Type: "EXPRESSION", ReturnType: kind, Criteria: criteria}
}

// request returns a native model event, two foreign spans, and one without an id, in this order.
func request() ptrace.Traces {
	e := event.Incoming{Event: event.Event{ID: uuid.New(), SessionID: uuid.New(), Type: event.TypeModel, Name: "native", Source: "test", Start: 1000, End: 1005, Duration: 5,
		Inputs: json.RawMessage(`{}`), Outputs: json.RawMessage(`{"content":"hello"}`), Metrics: json.RawMessage(`{"before":1}`)}}
	td := spancodec.Traces([]event.Incoming{e})
	spans := td.ResourceSpans().AppendEmpty().ScopeSpans().AppendEmpty().Spans()
	for i, name := range []string{"no id", "chat", "plain"} {
		s := spans.AppendEmpty()
		s.SetName(name)
		s.SetTraceID([16]byte{1})
		if i > 0 {
			s.SetSpanID([8]byte{byte(i)})
		}
		s.SetStartTimestamp(1_000_000_000)
		s.SetEndTimestamp(1_000_000_000 + 20_000_000)
		if name == "chat" {
			s.Attributes().PutStr("gen_ai.operation.name", "chat")
			s.Attributes().PutStr("gen_ai.request.model", "m")
			s.Attributes().PutInt("gen_ai.usage.output_tokens", 7)
		}
	}
	return td
}

// spansOf returns the spans of a request by name.
func spansOf(td ptrace.Traces) map[string]ptrace.Span {
	all := map[string]ptrace.Span{}
	for _, rs := range td.ResourceSpans().All() {
		for _, ss := range rs.ScopeSpans().All() {
			for _, s := range ss.Spans().All() {
				all[s.Name()] = s
			}
		}
	}
	return all
}

func TestScores(t *testing.T) {
	t.Parallel()
	models := expr("long", "boolean", "duration > 10")
	models.Filters = []any{map[string]any{"field": "event_type", "operator": "is", "value": "model", "type": "string"}}
	td := through(t, request(),
		expr("took", "float", "duration"), models, expr("says", "string", `answer == "" ? "nothing" : answer`),
		expr("tokens", "float", "metadata.completion_tokens"), // which only one has
		MetricConfig{Name: "both", Type: "COMPOSITE", Criteria: "weighted sum", Children: []any{map[string]any{"name": "took", "weight": 2}}},
		MetricConfig{Name: "code", Type: "PYTHON", Criteria: "1"}) // whose engine is lost
	spans := spansOf(td)
	for name, want := range map[string]map[string]any{
		"native": {"took": 5.0, "long": false, "says": "hello", "tokens": nil, "both": 10.0, "code": nil},
		"chat":   {"took": 20.0, "long": true, "says": "nothing", "tokens": 7.0, "both": 40.0, "code": nil},
		"plain":  {"took": 20.0, "long": nil, "says": "nothing", "tokens": nil, "both": 40.0, "code": nil},
		"no id":  {"took": nil, "long": nil},
	} {
		got := spans[name].Attributes().AsRaw()
		for metric, score := range want {
			if got[attrPrefix+metric] != score {
				t.Errorf("%s: %s = %v, want %v", name, metric, got[attrPrefix+metric], score)
			}
			if _, told := got[attrPrefix+metric+"_explanation"]; told != (score != nil) {
				t.Errorf("%s: %s: has an explanation: %v", name, metric, told)
			}
		}
	}
	scores := func(e *event.Event) string { return fmt.Sprint(e.PipelineScores()) }
	chat := mapped(td)["chat"]
	if got := scores(&chat); got != "[took long says tokens both]" {
		t.Errorf("the mapped event says that the pipeline gave it the scores %s", got)
	}
	e, err := spancodec.Decode(spans["native"])
	if err != nil {
		t.Fatal(err)
	}
	if got := scores(&e.Event); got != "[took long says both]" {
		t.Errorf("the native event says that the pipeline gave it the scores %s", got)
	}
	var metrics map[string]any
	if err := json.Unmarshal(e.Metrics, &metrics); err != nil {
		t.Fatal(err)
	}
	if metrics["before"] != 1.0 || metrics["took"] != 5.0 || metrics["says"] != "hello" || metrics["took_explanation"] == nil {
		t.Errorf("the native event has the metrics %s", e.Metrics)
	}
}

// TestPendingCopy: Logfire sends a copy of each span when it starts, which may come in one request with the span itself. It has no event of
// its own then; one that comes alone has an event that has not ended. Neither gets a score; the other spans get theirs.
func TestPendingCopy(t *testing.T) {
	t.Parallel()
	td := ptrace.NewTraces()
	spans := td.ResourceSpans().AppendEmpty().ScopeSpans().AppendEmpty().Spans()
	for i, name := range []string{"chat (pending)", "chat", "search", "other (pending)"} {
		s := spans.AppendEmpty()
		s.SetName(name)
		s.SetTraceID([16]byte{1})
		s.SetSpanID([8]byte{byte(i + 1)})
		s.SetStartTimestamp(1_000_000_000)
		s.SetEndTimestamp(pcommon.Timestamp(1_000_000_000 + i*10_000_000))
		if strings.HasSuffix(name, "(pending)") {
			s.SetParentSpanID([8]byte{byte(i + 2)})
			s.Attributes().PutStr("logfire.span_type", "pending_span")
		}
	}
	for name, span := range spansOf(through(t, td, expr("took", "float", "duration"))) {
		want := map[string]any{"chat": 10.0, "search": 20.0}[name]
		if got := span.Attributes().AsRaw()[attrPrefix+"took"]; got != want {
			t.Errorf("%s: took = %v, want %v", name, got, want)
		}
	}
}

// TestForgedList has senders say which scores the pipeline gave, under every name that may lead to the same
// member of metadata.
func TestForgedList(t *testing.T) {
	t.Parallel()
	td := request()
	for name, span := range spansOf(td) {
		attrs := span.Attributes()
		switch name {
		case "native":
			e, err := spancodec.Decode(span)
			if err != nil {
				t.Fatal(err)
			}
			e.Metadata = json.RawMessage(`{"pipeline_scores":"none"}`)
			spancodec.Encode(span, &e)
		case "chat":
			attrs.PutStr("honeyhive_metadata.pipeline_scores", "none")
			attrs.PutStr("metadata", `{"pipeline_scores":[]}`)
			attrs.PutStr("pipeline_scores", "none")
		case "plain":
			attrs.PutStr(event.PipelineScoresAttr, "none")
			attrs.PutStr(attrPrefix+"took", "mine")
		}
	}
	td = through(t, td, expr("took", "float", "duration"))
	events := mapped(td)
	native, err := spancodec.Decode(spansOf(td)["native"])
	if err != nil {
		t.Fatal(err)
	}
	events["native"] = native.Event
	for name, e := range events {
		if got := e.PipelineScores(); !slices.Contains(got, "took") {
			t.Errorf("%s: the pipeline gave the scores %q; metadata %s %s", name, got, e.Metadata, e.ColdMetadata)
		}
		if took := string(rawjson.Get(e.Metrics, "took")); took != "5" && took != "20.0" {
			t.Errorf("%s: took is %s", name, took)
		}
	}
}

// mapped returns the foreign spans of a request as events, by name.
func mapped(td ptrace.Traces) map[string]event.Event {
	all := map[string]event.Event{}
	batch, _ := otlpmap.New(otlpmap.Options{Prices: price.New()}).Traces(td)
	for _, e := range batch.Events {
		if e.Name != "native" {
			all[e.Name] = e.Event
		}
	}
	return all
}

// TestStart: what cannot work is said at the start.
func TestStart(t *testing.T) {
	t.Parallel()
	cfg := createDefaultConfig().(*Config)
	cfg.Metrics = []MetricConfig{expr("broken", "float", "duration <")}
	p, err := NewFactory().CreateTraces(t.Context(), processortest.NewNopSettings(componentType), cfg, consumertest.NewNop())
	if err != nil {
		t.Fatal(err)
	}
	if err := p.Start(t.Context(), componenttest.NewNopHost()); err == nil {
		t.Error("it starts without the extension")
	}
	engines := evaluate.Engines{metric.Expression: expression.New(expression.Config{})}
	if err := p.Start(t.Context(), host{componenttest.NewNopHost(), map[component.ID]component.Component{cfg.Evaluate: extension{Engines: engines}}}); err == nil {
		t.Error("it starts with an expression that is none")
	}
}
