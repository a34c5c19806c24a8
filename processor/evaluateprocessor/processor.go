package evaluateprocessor

import (
	"context"
	"encoding/json"
	"fmt"
	"hash/fnv"

	"go.opentelemetry.io/collector/client"
	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/ptrace"
	"go.opentelemetry.io/collector/processor"
	"go.uber.org/zap"

	"github.com/spangrove/spangrove/pkg/evaluate"
	"github.com/spangrove/spangrove/pkg/evaluation"
	"github.com/spangrove/spangrove/pkg/event"
	"github.com/spangrove/spangrove/pkg/metric"
	"github.com/spangrove/spangrove/pkg/mount"
	"github.com/spangrove/spangrove/pkg/otlpmap"
	"github.com/spangrove/spangrove/pkg/price"
	"github.com/spangrove/spangrove/pkg/project"
	"github.com/spangrove/spangrove/pkg/rawjson"
	"github.com/spangrove/spangrove/pkg/spancodec"
	"github.com/spangrove/spangrove/pkg/wire"
)

// attrPrefix begins the attributes that the exporter understands as scores.
const attrPrefix = "honeyhive_metrics."

// evaluator is the evaluate extension.
type evaluator interface {
	// Run scores the task's events: a result for each, in their order.
	Run(ctx context.Context, task evaluate.Task) ([]evaluation.Result, error)
	// Check returns what is wrong with an otherwise valid definition.
	Check(d *metric.Definition) error
}

type evaluateProcessor struct {
	id        component.ID
	cfg       *Config
	log       *zap.Logger
	telemetry *telemetry
	mapper    *otlpmap.Mapper
	scorers   []*scorer
	evaluator evaluator // nil until start
}

func newProcessor(set processor.Settings, cfg *Config) (*evaluateProcessor, error) {
	t, err := newTelemetry(set.TelemetrySettings)
	if err != nil {
		return nil, err
	}
	p := &evaluateProcessor{id: set.ID, cfg: cfg, log: set.Logger, telemetry: t, mapper: otlpmap.New(otlpmap.Options{Prices: price.New()})}
	for i := range cfg.Metrics {
		s, err := cfg.Metrics[i].scorer()
		if err != nil {
			return nil, fmt.Errorf("metrics::%d: %w", i, err)
		}
		p.scorers = append(p.scorers, s)
	}
	return p, nil
}

func (p *evaluateProcessor) start(_ context.Context, host component.Host) (err error) {
	if p.evaluator, err = mount.ExtensionOf[evaluator](host, p.cfg.Evaluate, fmt.Sprintf("processors::%s::evaluate", p.id)); err != nil {
		return err
	}
	for i, s := range p.scorers {
		if err := p.evaluator.Check(&s.definition); err != nil {
			return fmt.Errorf("processors::%s::metrics::%d: %w", p.id, i, err)
		}
	}
	return nil
}

// scored is a span with the event that it will be.
type scored struct {
	span   ptrace.Span
	native bool
	event  event.Event
}

// process puts the scores on the spans. It never fails: what cannot be scored goes on without.
func (p *evaluateProcessor) process(ctx context.Context, td ptrace.Traces) (ptrace.Traces, error) {
	spans := p.events(td)
	caller := callerOf(ctx, td)
	for _, s := range p.scorers {
		p.score(ctx, s, caller, spans)
	}
	return td, nil
}

// events returns the spans of a request as events. A span that cannot be one, or that has not ended, is left out.
func (p *evaluateProcessor) events(td ptrace.Traces) []scored {
	var list []scored
	// The mapper is asked where there are foreign spans; own says which of its events is a span's.
	var mapped []event.Incoming
	var own []int
	at := -1
	for _, rs := range td.ResourceSpans().All() {
		for _, ss := range rs.ScopeSpans().All() {
			native := spancodec.IsNative(ss.Scope())
			for _, span := range ss.Spans().All() {
				at++
				if native {
					if e, added, err := spancodec.DecodeAdded(span); err == nil {
						if added {
							p.mapper.Native(&e.Event, spancodec.Added(span))
						}
						list = append(list, scored{span, true, e.Event})
					}
					continue
				}
				if own == nil {
					mapped, own = p.mapper.EventsOfSpans(td)
				}
				if own[at] < 0 || mapped[own[at]].Unfinished { // the finished span comes with its own
					continue
				}
				e := mapped[own[at]].Event
				e.Metadata, e.ColdMetadata = rawjson.Concat(e.Metadata, e.ColdMetadata), nil
				list = append(list, scored{span, false, e})
			}
		}
	}
	return list
}

// score runs one metric over the spans that it is for.
func (p *evaluateProcessor) score(ctx context.Context, s *scorer, caller project.Project, spans []scored) {
	var chosen []*scored
	task := evaluate.Task{Project: caller.ID, Metric: &s.definition}
	for i := range spans {
		if s.matcher.Match(&spans[i].event) {
			chosen = append(chosen, &spans[i])
			task.Events = append(task.Events, wire.AppendEvent(nil, &spans[i].event, &caller))
		}
	}
	if len(chosen) == 0 {
		return
	}
	timed, cancel := context.WithTimeout(ctx, p.cfg.Timeout)
	defer cancel()
	results, err := p.evaluator.Run(timed, task)
	if err != nil {
		p.telemetry.unscored(ctx, len(chosen), s.definition.Name, "unavailable")
		p.log.Warn(
			"spans go on without the scores of a metric",
			zap.String("metric", s.definition.Name),
			zap.Int("spans", len(chosen)),
			zap.Error(err),
		)
		return
	}
	for i, r := range results {
		if r.Score == nil {
			p.telemetry.unscored(ctx, 1, s.definition.Name, string(r.Failure))
			continue
		}
		p.telemetry.score(ctx, s.definition.Name)
		chosen[i].put(s.definition.Name, r)
	}
}

// put writes a result on the span and on its event, for the metrics that follow.
func (s *scored) put(name string, r evaluation.Result) {
	var b rawjson.Builder
	b.Raw(name, r.Score)
	b.String(name+"_explanation", r.Explanation)
	s.event.Metrics = rawjson.Merge(s.event.Metrics, b.Bytes())
	s.event.AddPipelineScores(name)
	attrs := s.span.Attributes()
	if s.native {
		spancodec.SetScores(s.span, s.event.Metrics, s.event.Metadata)
	} else {
		list := attrs.PutEmptySlice(event.PipelineScoresAttr)
		for _, name := range s.event.PipelineScores() {
			list.AppendEmpty().SetStr(name)
		}
	}
	putScore(attrs, attrPrefix+name, r.Score)
	attrs.PutStr(attrPrefix+name+"_explanation", r.Explanation)
}

func putScore(attrs pcommon.Map, key string, score json.RawMessage) {
	switch kind := rawjson.KindOf(score); kind {
	case 't', 'f':
		attrs.PutBool(key, kind == 't')
	case '0':
		f, _ := rawjson.Number(score)
		attrs.PutDouble(key, f)
	default:
		text, _ := rawjson.Text(score)
		attrs.PutStr(key, text)
	}
}

// callerOf returns the project that the spans belong to. Behind a queue only the stamp on the resource tells; a number of
// its own then keeps what engines remember of one project from another's.
func callerOf(ctx context.Context, td ptrace.Traces) project.Project {
	if id, ok := client.FromContext(ctx).Auth.(project.Identity); ok {
		return id.Project
	}
	if id, ok := project.IdentityFrom(ctx); ok {
		return id.Project
	}
	h := fnv.New64a()
	for _, rs := range td.ResourceSpans().All() {
		if v, ok := rs.Resource().Attributes().Get(project.AttrProjectID); ok {
			_, _ = h.Write([]byte(v.Str() + "\n")) // cannot fail
		}
	}
	return project.Project{ID: -int64(h.Sum64()>>1) - 1}
}
