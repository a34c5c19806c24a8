package apiextension

import (
	"context"

	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"

	"github.com/spangrove/spangrove/pkg/scrub"
)

// newScrub returns what replaces secrets in the bodies of updates, or nil if no rule is on. They count as those that the
// processor replaces do.
func newScrub(set component.TelemetrySettings, rules []string) (func([]byte) []byte, error) {
	s, err := scrub.New(rules, nil)
	if err != nil || len(s.Names()) == 0 {
		return nil, err
	}
	replaced, err := set.MeterProvider.Meter(scopeName).Int64Counter("spangrove_scrub_replaced",
		metric.WithUnit("{secret}"), metric.WithDescription("Secrets that were replaced, by rule."))
	if err != nil {
		return nil, err
	}
	return func(body []byte) []byte {
		n := s.NewCounts()
		text := string(body)
		clean := s.Text("", text, n)
		if clean == text {
			return body
		}
		for i, secrets := range n {
			if secrets > 0 {
				replaced.Add(context.Background(), int64(secrets), metric.WithAttributes(attribute.String("rule", s.Names()[i])))
			}
		}
		return []byte(clean)
	}, nil
}
