package online

import (
	"context"
	"sync/atomic"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/metric/noop"

	"github.com/spangrove/spangrove/pkg/evaluation"
	defined "github.com/spangrove/spangrove/pkg/metric"
)

// telemetry counts what the runner does.
type telemetry struct {
	waiting atomic.Int64
	done    metric.Int64Counter
	seconds metric.Float64Histogram
}

func newTelemetry(m metric.Meter) (*telemetry, error) {
	if m == nil {
		m = noop.NewMeterProvider().Meter("online")
	}
	var t telemetry
	var err error
	if t.done, err = m.Int64Counter("spangrove_evaluate_done", metric.WithUnit("{evaluation}"),
		metric.WithDescription("Evaluations that an engine was asked for, by outcome: done, failed, dead, retried, dropped.")); err != nil {
		return nil, err
	}
	if t.seconds, err = m.Float64Histogram("spangrove_evaluate_seconds", metric.WithUnit("s"),
		metric.WithDescription("Time an engine took for a batch of events, by type of metric."),
		metric.WithExplicitBucketBoundaries(.001, .002, .005, .01, .02, .05, .1, .2, .5, 1, 2, 5, 10, 30, 60)); err != nil {
		return nil, err
	}
	_, err = m.Int64ObservableGauge("spangrove_evaluate_waiting", metric.WithUnit("{evaluation}"),
		metric.WithDescription("Evaluations that wait, of all projects and servers."),
		metric.WithInt64Callback(func(_ context.Context, o metric.Int64Observer) error {
			o.Observe(t.waiting.Load())
			return nil
		}))
	return &t, err
}

func (t *telemetry) ran(ctx context.Context, typ defined.Type, d time.Duration) {
	t.seconds.Record(ctx, d.Seconds(), metric.WithAttributes(attribute.String("type", string(typ))))
}

func (t *telemetry) addOutcome(ctx context.Context, o *evaluation.Outcome) {
	outcome := string(o.State)
	switch {
	case o.Drop:
		outcome = "dropped"
	case o.State == evaluation.Waiting:
		outcome = "retried"
	}
	t.done.Add(ctx, 1, metric.WithAttributes(attribute.String("outcome", outcome)))
}
