package sampleprocessor

import (
	"encoding/binary"
	"errors"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"go.opentelemetry.io/collector/component/componenttest"
	"go.opentelemetry.io/collector/confmap"
	"go.opentelemetry.io/collector/confmap/confmaptest"
	"go.opentelemetry.io/collector/consumer"
	"go.opentelemetry.io/collector/consumer/consumertest"
	"go.opentelemetry.io/collector/pdata/ptrace"
	"go.opentelemetry.io/collector/processor"
	"go.opentelemetry.io/collector/processor/processortest"
)

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
		"":            "",
		"/all":        "",
		"/wait":       "decision_wait: must be between 1ms and 1m0s, not 2m0s",
		"/percentage": "percentage: must be between 0 and 100, not 101",
		"/nameless":   "keep::0::metric: is required",
		"/both":       "keep::0::is: exactly one of",
		"/number":     "keep::0::is: must be a boolean or a string, not 1",
	} {
		err := confmap.Validate(load(t, "spangrove_sample"+id))
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%s: error %v, want %q", id, err, want)
		}
	}
	cfg := load(t, "spangrove_sample/all")
	if cfg.DecisionWait != time.Second || cfg.KeepErrors || cfg.Percentage != 12.5 || cfg.MaxTraces != 10 || len(cfg.Keep) != 3 ||
		cfg.Keep[0].Is != true || *cfg.Keep[1].Below != 0.5 || *cfg.Keep[2].Above != 1000 {
		t.Errorf("%+v", cfg)
	}
}

// start returns a processor in front of next.
func start(t *testing.T, cfg *Config, next consumer.Traces) processor.Traces {
	t.Helper()
	if err := cfg.Validate(); err != nil {
		t.Fatal(err)
	}
	p, err := NewFactory().CreateTraces(t.Context(), processortest.NewNopSettings(componentType), cfg, next)
	if err != nil {
		t.Fatal(err)
	}
	if err := p.Start(t.Context(), componenttest.NewNopHost()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = p.Shutdown(t.Context()) })
	return p
}

// one returns a request with a span of each trace.
func one(traces ...uint64) (ptrace.Traces, []ptrace.Span) {
	td := ptrace.NewTraces()
	list := td.ResourceSpans().AppendEmpty().ScopeSpans().AppendEmpty().Spans()
	list.EnsureCapacity(len(traces))
	var spans []ptrace.Span
	for _, n := range traces {
		s := list.AppendEmpty()
		var id [16]byte
		binary.BigEndian.PutUint64(id[8:], n)
		s.SetTraceID(id)
		s.SetSpanID([8]byte{1})
		spans = append(spans, s)
	}
	return td, spans
}

// kept returns the traces that came through, in order.
func kept(sink *consumertest.TracesSink) (all []uint64) {
	for _, td := range sink.AllTraces() {
		for _, rs := range td.ResourceSpans().All() {
			for _, ss := range rs.ScopeSpans().All() {
				for _, s := range ss.Spans().All() {
					id := s.TraceID()
					all = append(all, binary.BigEndian.Uint64(id[8:]))
				}
			}
		}
	}
	slices.Sort(all)
	return all
}

// TestDecisions: one span with a reason keeps all spans of its trace, also those of requests before and after it.
func TestDecisions(t *testing.T) {
	t.Parallel()
	cfg := load(t, "spangrove_sample/all")
	cfg.DecisionWait, cfg.KeepErrors, cfg.Percentage = 300*time.Millisecond, true, 0
	sink := new(consumertest.TracesSink)
	p := start(t, cfg, sink)
	first, _ := one(1, 2, 3, 4, 5, 6)
	second, spans := one(1, 2, 3, 4, 5, 6)
	spans[0].Status().SetCode(ptrace.StatusCodeError)
	spans[1].Attributes().PutBool("honeyhive_metrics.failed", true)
	spans[2].Attributes().PutDouble("honeyhive_metrics.quality", 0.25)
	spans[3].Attributes().PutInt("honeyhive_metrics.length", 1001)
	spans[4].Attributes().PutBool("honeyhive_metrics.failed", false)
	spans[4].Attributes().PutDouble("honeyhive_metrics.quality", 0.5)
	spans[5].Attributes().PutStr("honeyhive_metrics.length", "2000")
	var both sync.WaitGroup
	for _, td := range []ptrace.Traces{first, second} {
		both.Go(func() {
			if err := p.ConsumeTraces(t.Context(), td); err != nil {
				t.Error(err)
			}
		})
	}
	both.Wait()
	if got, want := kept(sink), []uint64{1, 1, 2, 2, 3, 3, 4, 4}; !slices.Equal(got, want) {
		t.Errorf("kept %v, want %v", got, want)
	}
	sink.Reset()
	late, spans := one(1, 5, 6) // after the decision: as it was, but for what is a reason itself
	spans[1].Status().SetCode(ptrace.StatusCodeError)
	if err := p.ConsumeTraces(t.Context(), late); err != nil {
		t.Fatal(err)
	}
	if got, want := kept(sink), []uint64{1, 5}; !slices.Equal(got, want) {
		t.Errorf("kept late %v, want %v", got, want)
	}
}

// TestAnswerComesLast: an answer is given once what follows has taken the spans, and is its error if it does not.
func TestAnswerComesLast(t *testing.T) {
	t.Parallel()
	cfg := createDefaultConfig().(*Config)
	cfg.DecisionWait = time.Millisecond
	refused := errors.New("the queue is full")
	p := start(t, cfg, consumertest.NewErr(refused))
	td, _ := one(1)
	if err := p.ConsumeTraces(t.Context(), td); !errors.Is(err, refused) {
		t.Errorf("error %v, want %v", err, refused)
	}
}

// TestShutdown: requests that wait are sent back, with an error after which they are tried again.
func TestShutdown(t *testing.T) {
	t.Parallel()
	cfg := createDefaultConfig().(*Config)
	cfg.DecisionWait = time.Minute
	sink := new(consumertest.TracesSink)
	p := start(t, cfg, sink)
	answered := make(chan error)
	go func() {
		td, _ := one(1)
		answered <- p.ConsumeTraces(t.Context(), td)
	}()
	if err := p.Shutdown(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := <-answered; !errors.Is(err, errStopping) || sink.SpanCount() != 0 {
		t.Errorf("error %v, %d spans", err, sink.SpanCount())
	}
}

// TestFull: where as many traces wait as may, further ones are told to come back.
func TestFull(t *testing.T) {
	t.Parallel()
	cfg := createDefaultConfig().(*Config)
	cfg.DecisionWait, cfg.MaxTraces = time.Millisecond, 2
	p, err := newProcessor(processortest.NewNopSettings(componentType), cfg)
	if err != nil {
		t.Fatal(err)
	}
	now := time.Unix(1_800_000_000, 0)
	p.now = func() time.Time { return now }
	td, _ := one(1, 2)
	if _, err := p.register(td); err != nil {
		t.Fatal(err)
	}
	third, _ := one(3)
	if _, err := p.register(third); !errors.Is(err, errFull) {
		t.Errorf("error %v, want %v", err, errFull)
	}
	now = now.Add(time.Second)
	if _, err := p.register(third); err != nil || len(p.traces) != 2 || len(p.order) != 2 {
		t.Errorf("later: %v, %d traces, %d in order", err, len(p.traces), len(p.order))
	}
}

// TestPercentage: of ids that are alike, about as many are chosen as was asked for, and always the same.
func TestPercentage(t *testing.T) {
	t.Parallel()
	cfg := createDefaultConfig().(*Config)
	for _, percentage := range []float64{0, 1, 25, 100} {
		cfg.Percentage = percentage
		p := &sampleProcessor{cfg: cfg}
		n := 0
		for i := range uint64(100_000) {
			var id [16]byte
			binary.BigEndian.PutUint64(id[8:], i)
			if p.chosen(id) {
				n++
			}
		}
		if want := int(percentage * 1000); n < want-600 || n > want+600 {
			t.Errorf("%v %%: %d of 100000", percentage, n)
		}
	}
}
