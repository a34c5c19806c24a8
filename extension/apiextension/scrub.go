package apiextension

import (
	"context"

	"go.opentelemetry.io/collector/component"

	"github.com/spangrove/spangrove/pkg/scrub"
)

// newScrub returns what replaces secrets in the bodies of updates, or nil if no rule is on. They count as those that the
// processor replaces do.
func newScrub(set component.TelemetrySettings, rules []string) (func([]byte) []byte, error) {
	s, err := scrub.New(rules, nil)
	if err != nil || len(s.Names()) == 0 {
		return nil, err
	}
	meter, err := s.NewMeter(set.MeterProvider)
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
		meter.Add(context.Background(), n)
		return []byte(clean)
	}, nil
}
