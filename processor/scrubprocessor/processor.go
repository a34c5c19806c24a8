package scrubprocessor

import (
	"context"
	"time"
	"unicode/utf8"

	"go.opentelemetry.io/collector/consumer"
	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/plog"
	"go.opentelemetry.io/collector/pdata/pmetric"
	"go.opentelemetry.io/collector/pdata/ptrace"
	"go.opentelemetry.io/collector/processor"
	"go.opentelemetry.io/collector/processor/processorhelper"

	"github.com/spangrove/spangrove/pkg/event"
	"github.com/spangrove/spangrove/pkg/otlpmap"
	"github.com/spangrove/spangrove/pkg/project"
	"github.com/spangrove/spangrove/pkg/scrub"
	"github.com/spangrove/spangrove/pkg/spancodec"
)

type scrubProcessor struct {
	scrubber  *scrub.Scrubber
	keep      map[string]bool
	telemetry *telemetry
}

func newProcessor(set processor.Settings, cfg *Config) (*scrubProcessor, error) {
	s, err := cfg.scrubber()
	if err != nil {
		return nil, err
	}
	p := &scrubProcessor{scrubber: s, keep: map[string]bool{project.AttrProjectID: true, project.AttrKeyID: true, event.PipelineScoresAttr: true}}
	for _, key := range cfg.Keep {
		p.keep[key] = true
	}
	p.telemetry, err = newTelemetry(set.TelemetrySettings, s)
	return p, err
}

func (p *scrubProcessor) options() []processorhelper.Option {
	return []processorhelper.Option{
		processorhelper.WithCapabilities(consumer.Capabilities{MutatesData: len(p.scrubber.Names()) > 0}),
		processorhelper.WithShutdown(func(context.Context) error { p.telemetry.flush(); return nil }),
	}
}

func (p *scrubProcessor) traces(ctx context.Context, td ptrace.Traces) (ptrace.Traces, error) {
	if len(p.scrubber.Names()) == 0 {
		return td, nil
	}
	w := p.begin()
	for _, rs := range td.ResourceSpans().All() {
		w.attributes(rs.Resource().Attributes())
		for _, ss := range rs.ScopeSpans().All() {
			native := w.scope(ss.Scope())
			for _, span := range ss.Spans().All() {
				if native {
					spancodec.KeepStandard(span, func() { w.span(span) })
				} else {
					w.span(span)
				}
			}
		}
	}
	w.end(ctx)
	return td, nil
}

func (p *scrubProcessor) logs(ctx context.Context, ld plog.Logs) (plog.Logs, error) {
	if len(p.scrubber.Names()) == 0 {
		return ld, nil
	}
	w := p.begin()
	for _, rl := range ld.ResourceLogs().All() {
		w.attributes(rl.Resource().Attributes())
		for _, sl := range rl.ScopeLogs().All() {
			w.scope(sl.Scope())
			for _, record := range sl.LogRecords().All() {
				w.text("", record.EventName(), record.SetEventName)
				w.text("", record.SeverityText(), record.SetSeverityText)
				w.value("", record.Body())
				w.attributes(record.Attributes())
			}
		}
	}
	w.end(ctx)
	return ld, nil
}

func (p *scrubProcessor) metrics(ctx context.Context, md pmetric.Metrics) (pmetric.Metrics, error) {
	if len(p.scrubber.Names()) == 0 {
		return md, nil
	}
	w := p.begin()
	for _, rm := range md.ResourceMetrics().All() {
		w.attributes(rm.Resource().Attributes())
		for _, sm := range rm.ScopeMetrics().All() {
			w.scope(sm.Scope())
			for _, m := range sm.Metrics().All() {
				w.text("", m.Name(), m.SetName)
				w.text("", m.Description(), m.SetDescription)
				w.text("", m.Unit(), m.SetUnit)
				w.attributes(m.Metadata())
				w.points(m)
			}
		}
	}
	w.end(ctx)
	return md, nil
}

// walk is the work on one request.
type walk struct {
	*scrubProcessor
	counts scrub.Counts
}

func (p *scrubProcessor) begin() *walk { return &walk{p, p.scrubber.NewCounts()} }

func (w *walk) end(ctx context.Context) { w.telemetry.count(ctx, w.counts, time.Now()) }

// scope scrubs a scope and reports whether its spans are native events.
func (w *walk) scope(s pcommon.InstrumentationScope) (native bool) {
	native = spancodec.IsNative(s)
	if !native {
		w.text("", s.Name(), s.SetName)
	}
	w.text("", s.Version(), s.SetVersion)
	w.attributes(s.Attributes())
	return native
}

func (w *walk) span(span ptrace.Span) {
	w.text("", span.Name(), span.SetName)
	w.text("", span.Status().Message(), span.Status().SetMessage)
	w.text("", span.TraceState().AsRaw(), span.TraceState().FromRaw)
	w.attributes(span.Attributes())
	for _, e := range span.Events().All() {
		w.text("", e.Name(), e.SetName)
		w.attributes(e.Attributes())
	}
	for _, l := range span.Links().All() {
		w.text("", l.TraceState().AsRaw(), l.TraceState().FromRaw)
		w.attributes(l.Attributes())
	}
}

// points scrubs the attributes of a metric's data points and of their exemplars.
func (w *walk) points(m pmetric.Metric) {
	switch m.Type() {
	case pmetric.MetricTypeGauge:
		w.numbers(m.Gauge().DataPoints())
	case pmetric.MetricTypeSum:
		w.numbers(m.Sum().DataPoints())
	case pmetric.MetricTypeHistogram:
		for _, d := range m.Histogram().DataPoints().All() {
			w.attributes(d.Attributes())
			w.exemplars(d.Exemplars())
		}
	case pmetric.MetricTypeExponentialHistogram:
		for _, d := range m.ExponentialHistogram().DataPoints().All() {
			w.attributes(d.Attributes())
			w.exemplars(d.Exemplars())
		}
	case pmetric.MetricTypeSummary:
		for _, d := range m.Summary().DataPoints().All() {
			w.attributes(d.Attributes())
		}
	}
}

func (w *walk) numbers(points pmetric.NumberDataPointSlice) {
	for _, d := range points.All() {
		w.attributes(d.Attributes())
		w.exemplars(d.Exemplars())
	}
}

func (w *walk) exemplars(list pmetric.ExemplarSlice) {
	for _, e := range list.All() {
		w.attributes(e.FilteredAttributes())
	}
}

// text scrubs a text that set replaces.
func (w *walk) text(name, text string, set func(string)) {
	if scrubbed := w.scrubber.Text(name, text, w.counts); scrubbed != text {
		set(scrubbed)
	}
}

// maxMoved bounds the keys that are replaced one by one, each of which looks through the whole map. Where there are more, the map is
// made anew, and its order is lost.
const maxMoved = 100

// attributes scrubs the values of a map, at any depth, and its keys.
func (w *walk) attributes(m pcommon.Map) {
	var keys [][2]string // that change, with what they become
	placed := map[string]int(nil)
	for key, v := range m.All() {
		if w.keep[key] || otlpmap.IsID(key) || spancodec.Fixed(key) {
			continue
		}
		w.value(key, v)
		if scrubbed := w.scrubber.Text("", key, w.counts); scrubbed != key {
			if placed == nil {
				placed = map[string]int{}
			}
			keys = append(keys, [2]string{key, scrub.Unique(placed, scrubbed)})
		}
	}
	if len(keys) > maxMoved {
		raw := m.AsRaw()
		for _, k := range keys {
			if v, ok := raw[k[0]]; ok {
				delete(raw, k[0])
				raw[k[1]] = v
			}
		}
		_ = m.FromRaw(raw) // which AsRaw has made
		return
	}
	for _, k := range keys {
		old, ok := m.Get(k[0])
		if !ok {
			continue // a key that is there twice
		}
		value := pcommon.NewValueEmpty()
		old.CopyTo(value)
		m.Remove(k[0])
		value.MoveTo(m.PutEmpty(k[1]))
	}
}

// value scrubs what stands under a name.
func (w *walk) value(name string, v pcommon.Value) {
	switch v.Type() {
	case pcommon.ValueTypeStr:
		w.text(name, v.Str(), v.SetStr)
	case pcommon.ValueTypeInt:
		if placeholder, ok := w.scrubber.Number(name, v.Int(), w.counts); ok {
			v.SetStr(placeholder)
		}
	case pcommon.ValueTypeBytes:
		if raw := v.Bytes().AsRaw(); utf8.Valid(raw) {
			w.text(name, string(raw), func(s string) { v.Bytes().FromRaw([]byte(s)) })
		}
	case pcommon.ValueTypeMap:
		w.attributes(v.Map())
	case pcommon.ValueTypeSlice:
		for _, item := range v.Slice().All() {
			w.value(name, item)
		}
	}
}
