package scrubprocessor

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"
	"go.opentelemetry.io/collector/component/componenttest"
	"go.opentelemetry.io/collector/confmap"
	"go.opentelemetry.io/collector/confmap/confmaptest"
	"go.opentelemetry.io/collector/consumer/consumertest"
	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/plog"
	"go.opentelemetry.io/collector/pdata/pmetric"
	"go.opentelemetry.io/collector/pdata/ptrace"
	"go.opentelemetry.io/collector/processor"
	"go.opentelemetry.io/collector/processor/processortest"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	"go.opentelemetry.io/otel/sdk/metric/metricdata/metricdatatest"
	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"

	"github.com/spangrove/spangrove/e2e/growth"
	"github.com/spangrove/spangrove/pkg/event"
	"github.com/spangrove/spangrove/pkg/spancodec"
)

// secret is what must be nowhere afterwards.
const secret = "ghp_" + "0123456789abcdefghijABCDEFGHIJ01"

func load(t *testing.T, id string) *Config {
	t.Helper()
	file, err := confmaptest.LoadConf(filepath.Join("testdata", "config.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	sub, err := file.Sub(id)
	if err != nil {
		t.Fatal(err)
	}
	cfg := createDefaultConfig()
	if err := sub.Unmarshal(cfg); err != nil {
		t.Fatal(err)
	}
	return cfg.(*Config)
}

func TestConfig(t *testing.T) {
	t.Parallel()
	for id, want := range map[string]string{
		"":         "",
		"/all":     "",
		"/off":     "",
		"/rule":    `rules: must be one of off, secrets, anthropic`,
		"/pattern": "patterns::0::pattern: error parsing",
	} {
		err := confmap.Validate(load(t, "spangrove_scrub"+id))
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%s: error %v, want %q", id, err, want)
		}
	}
	s, err := load(t, "spangrove_scrub/all").scrubber()
	if err != nil {
		t.Fatal(err)
	}
	if names := strings.Join(s.Names(), " "); !strings.Contains(names, "email") || !strings.HasSuffix(names, " badge") || strings.Contains(names, "payment_card") {
		t.Errorf("rules %s", names)
	}
}

func settings() processor.Settings { return processortest.NewNopSettings(componentType) }

// fill puts the secret into a map in every way that a map can hold it.
func fill(m pcommon.Map) {
	m.PutStr("text", "use "+secret+" please")
	m.PutStr("json", `{"a":["`+secret+`"],"n":9007199254740993}`)
	m.PutEmptyBytes("bytes").FromRaw([]byte("use " + secret))
	m.PutEmptyBytes("binary").FromRaw([]byte{0xff, 0xfe, 1})
	list := m.PutEmptySlice("list")
	list.AppendEmpty().SetStr(secret)
	list.AppendEmpty().SetInt(3)
	inner := list.AppendEmpty().SetEmptyMap()
	inner.PutStr("deep", secret)
	inner.PutStr(secret, "as a key")
	m.PutStr(secret, "as a key")
	m.PutStr("x "+secret, "as a key, too")
	m.PutInt("gen_ai.usage.input_tokens", 4111111111111111)
	m.PutInt("card.number", 4111111111111111)
	m.PutDouble("cost", 0.25)
}

func scrubbed() map[string]any {
	return map[string]any{
		"text":                      "use [scrubbed:github] please",
		"json":                      `{"a":["[scrubbed:github]"],"n":9007199254740993}`,
		"bytes":                     []byte("use [scrubbed:github]"),
		"binary":                    []byte{0xff, 0xfe, 1},
		"list":                      []any{"[scrubbed:github]", int64(3), map[string]any{"deep": "[scrubbed:github]", "[scrubbed:github]": "as a key"}},
		"[scrubbed:github]":         "as a key",
		"x [scrubbed:github]":       "as a key, too",
		"gen_ai.usage.input_tokens": int64(4111111111111111),
		"card.number":               "[scrubbed:payment_card]",
		"cost":                      0.25,
	}
}

// TestTraces: the secret goes from every place of a span where a string can stand, and ids and numbers stay.
func TestTraces(t *testing.T) {
	t.Parallel()
	td := ptrace.NewTraces()
	rs := td.ResourceSpans().AppendEmpty()
	fill(rs.Resource().Attributes())
	rs.Resource().Attributes().PutStr("spangrove.project.id", secret)
	ss := rs.ScopeSpans().AppendEmpty()
	ss.Scope().SetName("scope " + secret)
	ss.Scope().SetVersion(secret)
	fill(ss.Scope().Attributes())
	span := ss.Spans().AppendEmpty()
	span.SetTraceID([16]byte{1})
	span.SetSpanID([8]byte{2})
	span.SetName("chat " + secret)
	span.TraceState().FromRaw("vendor=" + secret)
	span.Status().SetMessage("denied for " + secret)
	fill(span.Attributes())
	span.Attributes().PutStr("session.id", secret)
	span.Attributes().PutStr("order.key", secret)
	e := span.Events().AppendEmpty()
	e.SetName(secret)
	fill(e.Attributes())
	fill(span.Links().AppendEmpty().Attributes())

	cfg := createDefaultConfig().(*Config)
	cfg.Keep = []string{"order.key"}
	sink := new(consumertest.TracesSink)
	p, err := NewFactory().CreateTraces(t.Context(), settings(), cfg, sink)
	if err != nil {
		t.Fatal(err)
	}
	if err := p.ConsumeTraces(t.Context(), td); err != nil {
		t.Fatal(err)
	}
	got := sink.AllTraces()[0].ResourceSpans().At(0)
	want := scrubbed()
	want["spangrove.project.id"] = secret
	same(t, "resource", want, got.Resource().Attributes())
	scope := got.ScopeSpans().At(0).Scope()
	same(t, "scope", scrubbed(), scope.Attributes())
	s := got.ScopeSpans().At(0).Spans().At(0)
	want = scrubbed()
	want["session.id"], want["order.key"] = secret, secret
	same(t, "span", want, s.Attributes())
	same(t, "event", scrubbed(), s.Events().At(0).Attributes())
	same(t, "link", scrubbed(), s.Links().At(0).Attributes())
	if d := cmp.Diff([]string{"scope [scrubbed:github]", "[scrubbed:github]", "chat [scrubbed:github]", "vendor=[scrubbed:github]", "denied for [scrubbed:github]", "[scrubbed:github]"},
		[]string{scope.Name(), scope.Version(), s.Name(), s.TraceState().AsRaw(), s.Status().Message(), s.Events().At(0).Name()}); d != "" {
		t.Error(d)
	}
	if s.TraceID() != (pcommon.TraceID{1}) || s.SpanID() != (pcommon.SpanID{2}) {
		t.Error("the ids are others")
	}
}

// TestManyKeys: secrets as the keys of a map, by the thousand, take time in proportion to their number, and nothing is lost.
func TestManyKeys(t *testing.T) {
	t.Parallel()
	growth.Linear(t, 60_000, func(many int) func() {
		td := ptrace.NewTraces()
		span := td.ResourceSpans().AppendEmpty().ScopeSpans().AppendEmpty().Spans().AppendEmpty()
		keys := map[string]any{"other": "stays"}
		for i := range many {
			keys[fmt.Sprintf("ghp_%05dabcdefghijABCDEFGHIJ0123456", i)] = int64(i)
		}
		if err := span.Attributes().FromRaw(keys); err != nil {
			t.Fatal(err)
		}
		sink := new(consumertest.TracesSink)
		p, err := NewFactory().CreateTraces(t.Context(), settings(), createDefaultConfig(), sink)
		if err != nil {
			t.Fatal(err)
		}
		return func() {
			if err := p.ConsumeTraces(t.Context(), td); err != nil {
				t.Fatal(err)
			}
			got := sink.AllTraces()[0].ResourceSpans().At(0).ScopeSpans().At(0).Spans().At(0).Attributes().AsRaw()
			values := map[any]bool{}
			for key, v := range got {
				if strings.Contains(key, "ghp_") {
					t.Fatalf("%s is left", key)
				}
				values[v] = true
			}
			if len(values) != many+1 || got["other"] != "stays" {
				t.Errorf("%d of %d values", len(values), many+1)
			}
		}
	})
}

func same(t *testing.T, what string, want map[string]any, got pcommon.Map) {
	t.Helper()
	if d := cmp.Diff(want, got.AsRaw()); d != "" {
		t.Errorf("%s (-want +got):\n%s", what, d)
	}
}

func TestLogs(t *testing.T) {
	t.Parallel()
	ld := plog.NewLogs()
	rl := ld.ResourceLogs().AppendEmpty()
	fill(rl.Resource().Attributes())
	records := rl.ScopeLogs().AppendEmpty().LogRecords()
	record := records.AppendEmpty()
	record.SetEventName(secret)
	record.SetSeverityText(secret)
	fill(record.Body().SetEmptyMap())
	fill(record.Attributes())
	records.AppendEmpty().Body().SetStr("a line with " + secret)
	sink := new(consumertest.LogsSink)
	p, err := NewFactory().CreateLogs(t.Context(), settings(), createDefaultConfig(), sink)
	if err != nil {
		t.Fatal(err)
	}
	if err := p.ConsumeLogs(t.Context(), ld); err != nil {
		t.Fatal(err)
	}
	got := sink.AllLogs()[0].ResourceLogs().At(0)
	same(t, "resource", scrubbed(), got.Resource().Attributes())
	records = got.ScopeLogs().At(0).LogRecords()
	same(t, "body", scrubbed(), records.At(0).Body().Map())
	same(t, "record", scrubbed(), records.At(0).Attributes())
	if records.At(0).EventName() != "[scrubbed:github]" || records.At(0).SeverityText() != "[scrubbed:github]" || records.At(1).Body().Str() != "a line with [scrubbed:github]" {
		t.Errorf("%s %s %s", records.At(0).EventName(), records.At(0).SeverityText(), records.At(1).Body().Str())
	}
}

func TestMetrics(t *testing.T) {
	t.Parallel()
	md := pmetric.NewMetrics()
	metrics := md.ResourceMetrics().AppendEmpty().ScopeMetrics().AppendEmpty().Metrics()
	gauge := metrics.AppendEmpty()
	gauge.SetName(secret)
	point := gauge.SetEmptyGauge().DataPoints().AppendEmpty()
	fill(point.Attributes())
	fill(point.Exemplars().AppendEmpty().FilteredAttributes())
	fill(metrics.AppendEmpty().SetEmptySum().DataPoints().AppendEmpty().Attributes())
	fill(metrics.AppendEmpty().SetEmptyHistogram().DataPoints().AppendEmpty().Attributes())
	fill(metrics.AppendEmpty().SetEmptyExponentialHistogram().DataPoints().AppendEmpty().Attributes())
	fill(metrics.AppendEmpty().SetEmptySummary().DataPoints().AppendEmpty().Attributes())
	sink := new(consumertest.MetricsSink)
	p, err := NewFactory().CreateMetrics(t.Context(), settings(), createDefaultConfig(), sink)
	if err != nil {
		t.Fatal(err)
	}
	if err := p.ConsumeMetrics(t.Context(), md); err != nil {
		t.Fatal(err)
	}
	metrics = sink.AllMetrics()[0].ResourceMetrics().At(0).ScopeMetrics().At(0).Metrics()
	if metrics.At(0).Name() != "[scrubbed:github]" {
		t.Errorf("name %s", metrics.At(0).Name())
	}
	point = metrics.At(0).Gauge().DataPoints().At(0)
	same(t, "gauge", scrubbed(), point.Attributes())
	same(t, "exemplar", scrubbed(), point.Exemplars().At(0).FilteredAttributes())
	same(t, "sum", scrubbed(), metrics.At(1).Sum().DataPoints().At(0).Attributes())
	same(t, "histogram", scrubbed(), metrics.At(2).Histogram().DataPoints().At(0).Attributes())
	same(t, "exponential histogram", scrubbed(), metrics.At(3).ExponentialHistogram().DataPoints().At(0).Attributes())
	same(t, "summary", scrubbed(), metrics.At(4).Summary().DataPoints().At(0).Attributes())
}

// TestNativeEvent: each field of an event that goes through as a span is scrubbed, and it is still that event.
func TestNativeEvent(t *testing.T) {
	t.Parallel()
	text := func(name string) json.RawMessage {
		return json.RawMessage(`{"` + name + `": "line\n` + secret + `", "n": 9007199254740993, "big": 1.0}`)
	}
	failed := "denied: " + secret
	e := event.Incoming{Event: event.Event{ID: uuid.New(), SessionID: uuid.New(), Type: event.TypeModel, Name: secret, Source: secret, Error: &failed, Start: 1000, End: 1005, Duration: 5,
		ChildrenIDs: json.RawMessage(`["` + secret + `"]`), Config: text("config"), Inputs: text("inputs"), Outputs: json.RawMessage(`"` + secret + `"`),
		Metadata: text("metadata"), Metrics: text("metrics"), Feedback: text("feedback"), UserProperties: text("user")}}
	e.ParentID = e.SessionID
	td := spancodec.Traces([]event.Incoming{e})
	sink := new(consumertest.TracesSink)
	p, err := NewFactory().CreateTraces(t.Context(), settings(), createDefaultConfig(), sink)
	if err != nil {
		t.Fatal(err)
	}
	if err := p.ConsumeTraces(t.Context(), td); err != nil {
		t.Fatal(err)
	}
	got, err := spancodec.Decode(sink.AllTraces()[0].ResourceSpans().At(0).ScopeSpans().At(0).Spans().At(0))
	if err != nil {
		t.Fatal(err)
	}
	want := e
	const placeholder = "[scrubbed:github]"
	failed = "denied: " + placeholder
	want.Name, want.Source, want.Error = placeholder, placeholder, &failed
	for _, field := range []*json.RawMessage{&want.Config, &want.Inputs, &want.Outputs, &want.Metadata, &want.Metrics, &want.Feedback, &want.UserProperties} {
		*field = json.RawMessage(strings.ReplaceAll(string(*field), secret, placeholder))
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
}

// TestTelemetry: what was replaced is counted by rule, and told to the log at once, then at the end; without the secret.
func TestTelemetry(t *testing.T) {
	t.Parallel()
	tel := componenttest.NewTelemetry()
	defer func() { _ = tel.Shutdown(t.Context()) }()
	core, logs := observer.New(zap.InfoLevel)
	set := settings()
	set.TelemetrySettings = tel.NewTelemetrySettings()
	set.Logger = zap.New(core)
	p, err := NewFactory().CreateTraces(t.Context(), set, createDefaultConfig(), consumertest.NewNop())
	if err != nil {
		t.Fatal(err)
	}
	if err := p.Start(t.Context(), componenttest.NewNopHost()); err != nil {
		t.Fatal(err)
	}
	for range 3 {
		td := ptrace.NewTraces()
		span := td.ResourceSpans().AppendEmpty().ScopeSpans().AppendEmpty().Spans().AppendEmpty()
		span.SetName(secret + " and " + secret)
		if err := p.ConsumeTraces(t.Context(), td); err != nil {
			t.Fatal(err)
		}
	}
	if err := p.Shutdown(t.Context()); err != nil {
		t.Fatal(err)
	}
	m, err := tel.GetMetric("spangrove_scrub_replaced")
	if err != nil {
		t.Fatal(err)
	}
	sum := m.Data.(metricdata.Sum[int64])
	if len(sum.DataPoints) != 1 || sum.DataPoints[0].Value != 6 {
		t.Errorf("counted %v", sum.DataPoints)
	}
	metricdatatest.AssertHasAttributes(t, m, sum.DataPoints[0].Attributes.ToSlice()...)
	var told []int64
	for _, entry := range logs.FilterMessageSnippet("secrets were replaced").All() {
		told = append(told, entry.ContextMap()["github"].(int64))
		for _, field := range entry.Context {
			if strings.Contains(field.String, secret) {
				t.Error("the log has the secret")
			}
		}
	}
	if d := cmp.Diff([]int64{2, 4}, told); d != "" {
		t.Errorf("told (-want +got):\n%s", d)
	}
}

func TestOff(t *testing.T) {
	t.Parallel()
	p, err := NewFactory().CreateTraces(t.Context(), settings(), load(t, "spangrove_scrub/off"), consumertest.NewNop())
	if err != nil {
		t.Fatal(err)
	}
	if p.Capabilities().MutatesData {
		t.Error("it says that it changes data")
	}
	td := ptrace.NewTraces()
	span := td.ResourceSpans().AppendEmpty().ScopeSpans().AppendEmpty().Spans().AppendEmpty()
	span.SetName(secret)
	if err := p.ConsumeTraces(t.Context(), td); err != nil || span.Name() != secret {
		t.Errorf("%s %v", span.Name(), err)
	}
}

// BenchmarkSpan is a span of 6.7 KB, of the conventions of GenAI.
func BenchmarkSpan(b *testing.B) {
	p, err := NewFactory().CreateTraces(b.Context(), settings(), createDefaultConfig(), consumertest.NewNop())
	if err != nil {
		b.Fatal(err)
	}
	message := `{"role":"user","parts":[{"type":"text","content":"` + strings.Repeat("How do I read a file line by line in Go, and how long may a line be?\\n", 13) + `"}]}`
	td := ptrace.NewTraces()
	span := td.ResourceSpans().AppendEmpty().ScopeSpans().AppendEmpty().Spans().AppendEmpty()
	span.SetName("chat gpt-4o")
	a := span.Attributes()
	a.PutStr("gen_ai.operation.name", "chat")
	a.PutStr("gen_ai.response.id", "chatcmpl-AXk3bT9uV5cW7dY1eZ2fG4hJ6kL8m")
	a.PutStr("gen_ai.conversation.id", "6f1d1f0e-0000-4000-8000-000000000001")
	a.PutInt("gen_ai.usage.input_tokens", 1200)
	a.PutStr("gen_ai.input.messages", "["+strings.Repeat(message+",", 5)+message+"]")
	a.PutStr("gen_ai.output.messages", "["+message+"]")
	b.SetBytes(6_700)
	b.ReportAllocs()
	for b.Loop() {
		if err := p.ConsumeTraces(b.Context(), td); err != nil {
			b.Fatal(err)
		}
	}
}
