package scrubprocessor

import (
	"context"
	"sync"
	"time"

	"go.opentelemetry.io/collector/component"
	"go.uber.org/zap"

	"github.com/spangrove/spangrove/pkg/scrub"
)

// telemetry counts what was replaced, by rule, and tells the log now and then: a secret that came this far should be
// revoked by somebody. It never has the secret.
type telemetry struct {
	log   *zap.Logger
	names []string
	meter *scrub.Meter

	mu     sync.Mutex
	untold scrub.Counts
	told   time.Time // when the log was told last
}

// tellEvery is how often the log is told at most.
const tellEvery = time.Minute

func newTelemetry(set component.TelemetrySettings, s *scrub.Scrubber) (*telemetry, error) {
	meter, err := s.NewMeter(set.MeterProvider)
	if err != nil {
		return nil, err
	}
	return &telemetry{log: set.Logger, names: s.Names(), meter: meter, untold: s.NewCounts()}, nil
}

// count adds what one request held. now is when the log may be told.
func (t *telemetry) count(ctx context.Context, n scrub.Counts, now time.Time) {
	if !t.meter.Add(ctx, n) {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	for i, secrets := range n {
		t.untold[i] += secrets
	}
	if now.Sub(t.told) >= tellEvery {
		t.told = now
		t.tell()
	}
}

// flush tells the log what it does not know yet.
func (t *telemetry) flush() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.tell()
}

// tell is flush with mu held.
func (t *telemetry) tell() {
	var fields []zap.Field
	for i, secrets := range t.untold {
		if secrets > 0 {
			fields = append(fields, zap.Int(t.names[i], secrets))
			t.untold[i] = 0
		}
	}
	if len(fields) > 0 {
		t.log.Warn("secrets were replaced in what came in; revoke them where they were sent from", fields...)
	}
}
