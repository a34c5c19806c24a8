package scrub

import (
	"context"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
)

// scopeName is the scope of the metric, whoever counts: an exporter that has no labels for scopes refuses a metric that two scopes have,
// and all other metrics of the process with it.
const scopeName = "github.com/spangrove/spangrove/pkg/scrub"

// Meter counts what was replaced in the metric spangrove_scrub_replaced, by rule.
type Meter struct {
	replaced metric.Int64Counter
	byRule   []metric.MeasurementOption
}

// NewMeter returns a meter of what s replaces. All of one provider count together.
func (s *Scrubber) NewMeter(provider metric.MeterProvider) (*Meter, error) {
	replaced, err := provider.Meter(scopeName).Int64Counter("spangrove_scrub_replaced",
		metric.WithUnit("{secret}"), metric.WithDescription("Secrets that were replaced, by rule."))
	if err != nil {
		return nil, err
	}
	m := &Meter{replaced: replaced}
	for _, name := range s.names {
		m.byRule = append(m.byRule, metric.WithAttributeSet(attribute.NewSet(attribute.String("rule", name))))
	}
	return m, nil
}

// Add counts n, and reports whether it holds anything.
func (m *Meter) Add(ctx context.Context, n Counts) bool {
	some := false
	for i, secrets := range n {
		if secrets > 0 {
			some = true
			m.replaced.Add(ctx, int64(secrets), m.byRule[i])
		}
	}
	return some
}
