package sampleprocessor

import (
	"context"
	"hash/fnv"
	"math"
	"sync"
	"time"

	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/ptrace"
	"go.opentelemetry.io/collector/processor"
	"go.opentelemetry.io/collector/processor/processorhelper"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

const (
	scopeName = "github.com/spangrove/spangrove/processor/sampleprocessor"
	// scorePrefix begins the attributes that spangrove_evaluate puts scores into.
	scorePrefix = "honeyhive_metrics."
)

type sampleProcessor struct {
	cfg   *Config
	now   func() time.Time
	spans metric.Int64Counter

	stop     chan struct{}
	stopOnce sync.Once

	mu     sync.Mutex
	traces map[pcommon.TraceID]*trace
	order  []*trace // by the time of their decision
}

// trace is what is known of a trace.
type trace struct {
	id      pcommon.TraceID
	decided time.Time // when its time to wait is over
	keep    bool
}

func newProcessor(set processor.Settings, cfg *Config) (*sampleProcessor, error) {
	spans, err := set.MeterProvider.Meter(scopeName).Int64Counter("spangrove_sample_spans",
		metric.WithUnit("{span}"), metric.WithDescription("Spans that were decided about, by whether they were kept."))
	if err != nil {
		return nil, err
	}
	return &sampleProcessor{cfg: cfg, now: time.Now, spans: spans, stop: make(chan struct{}), traces: map[pcommon.TraceID]*trace{}}, nil
}

var (
	errStopping = status.Error(codes.Unavailable, "the server stops")
	errFull     = status.Error(codes.Unavailable, "too many traces wait for their decision")
)

// process waits until all traces of a request are decided about, and leaves those of its spans that are kept.
func (p *sampleProcessor) process(ctx context.Context, td ptrace.Traces) (ptrace.Traces, error) {
	until, err := p.register(td)
	if err != nil {
		return td, err
	}
	if wait := until.Sub(p.now()); wait > 0 {
		timer := time.NewTimer(wait)
		defer timer.Stop()
		select {
		case <-timer.C:
		case <-ctx.Done():
			return td, ctx.Err()
		case <-p.stop:
			return td, errStopping
		}
	}
	kept, dropped := p.filter(td)
	p.spans.Add(ctx, int64(kept), metric.WithAttributes(attribute.Bool("kept", true)))
	p.spans.Add(ctx, int64(dropped), metric.WithAttributes(attribute.Bool("kept", false)))
	if kept == 0 {
		return td, processorhelper.ErrSkipProcessingData
	}
	return td, nil
}

// register notes what the spans of a request say of their traces, and returns when the last of these is decided about.
func (p *sampleProcessor) register(td ptrace.Traces) (until time.Time, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	now := p.now()
	for _, rs := range td.ResourceSpans().All() {
		for _, ss := range rs.ScopeSpans().All() {
			for _, span := range ss.Spans().All() {
				t := p.traces[span.TraceID()]
				if t == nil {
					if !p.room(now) {
						return until, errFull
					}
					t = &trace{id: span.TraceID(), decided: now.Add(p.cfg.DecisionWait), keep: p.chosen(span.TraceID())}
					p.traces[t.id] = t
					p.order = append(p.order, t)
				}
				// A span that comes after the decision and is to be kept, is, with all that follow it.
				t.keep = t.keep || p.wanted(span)
				if t.decided.After(until) {
					until = t.decided
				}
			}
		}
	}
	return until, nil
}

// room makes room for one more trace; false if all that are known still wait.
func (p *sampleProcessor) room(now time.Time) bool {
	if len(p.order) < p.cfg.MaxTraces {
		return true
	}
	oldest := p.order[0]
	// The requests that wait for it wake up at about that time, and must find it.
	if now.Sub(oldest.decided) < p.cfg.DecisionWait {
		return false
	}
	delete(p.traces, oldest.id)
	p.order[0] = nil
	p.order = p.order[1:]
	return true
}

// chosen reports whether a trace is of the part that is kept whatever it holds.
func (p *sampleProcessor) chosen(id pcommon.TraceID) bool {
	h := fnv.New64a()
	_, _ = h.Write(id[:])
	// The last step of a hash that mixes well; FNV alone does not spread ids that are alike.
	x := h.Sum64()
	x ^= x >> 33
	x *= 0xff51afd7ed558ccd
	x ^= x >> 33
	return float64(x) < p.cfg.Percentage/100*math.MaxUint64
}

// wanted reports whether a span is a reason to keep its trace.
func (p *sampleProcessor) wanted(span ptrace.Span) bool {
	if p.cfg.KeepErrors && span.Status().Code() == ptrace.StatusCodeError {
		return true
	}
	for i := range p.cfg.Keep {
		k := &p.cfg.Keep[i]
		if v, ok := span.Attributes().Get(scorePrefix + k.Metric); ok && k.matches(v) {
			return true
		}
	}
	return false
}

func (k *ScoreConfig) matches(v pcommon.Value) bool {
	if k.Is != nil {
		return v.AsRaw() == k.Is
	}
	var score float64
	switch v.Type() {
	case pcommon.ValueTypeDouble:
		score = v.Double()
	case pcommon.ValueTypeInt:
		score = float64(v.Int())
	default:
		return false
	}
	return k.Below != nil && score < *k.Below || k.Above != nil && score > *k.Above
}

// filter removes the spans of traces that are not kept, and counts both.
func (p *sampleProcessor) filter(td ptrace.Traces) (kept, dropped int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	td.ResourceSpans().RemoveIf(func(rs ptrace.ResourceSpans) bool {
		rs.ScopeSpans().RemoveIf(func(ss ptrace.ScopeSpans) bool {
			ss.Spans().RemoveIf(func(span ptrace.Span) bool {
				// One that was forgotten meanwhile, on a machine that slept, is kept.
				if t := p.traces[span.TraceID()]; t == nil || t.keep {
					kept++
					return false
				}
				dropped++
				return true
			})
			return ss.Spans().Len() == 0
		})
		return rs.ScopeSpans().Len() == 0
	})
	return kept, dropped
}

// shutdown sends the requests that wait back: what is in front of them has their spans.
func (p *sampleProcessor) shutdown(context.Context) error {
	p.stopOnce.Do(func() { close(p.stop) })
	return nil
}
