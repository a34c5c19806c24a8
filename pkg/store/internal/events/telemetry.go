package events

import (
	"context"
	"time"

	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/metric/noop"

	"github.com/spangrove/spangrove/pkg/store/internal/writer"
)

// telemetry counts what the store does.
type telemetry struct {
	events  metric.Int64Counter
	commits metric.Float64Histogram
	refuse  metric.Int64Counter
	expire  metric.Int64Counter
	logs    metric.Int64Counter
	outbox  metric.Int64Counter
}

func newTelemetry(m metric.Meter, queued func() int64, filters func() (n, bytes int)) (*telemetry, error) {
	if m == nil {
		m = noop.NewMeterProvider().Meter("store")
	}
	var t telemetry
	var err error
	if t.events, err = m.Int64Counter("spangrove_store_events_written", metric.WithUnit("{event}"),
		metric.WithDescription("Events whose commit is on disk, repeats included.")); err != nil {
		return nil, err
	}
	if t.commits, err = m.Float64Histogram("spangrove_store_commit_seconds", metric.WithUnit("s"),
		metric.WithDescription("Time of one commit, which many requests share.")); err != nil {
		return nil, err
	}
	if t.refuse, err = m.Int64Counter("spangrove_store_refused", metric.WithUnit("{request}"),
		metric.WithDescription("Writes refused because the queue was full.")); err != nil {
		return nil, err
	}
	if t.expire, err = m.Int64Counter("spangrove_store_updates_expired", metric.WithUnit("{update}"),
		metric.WithDescription("Updates dropped because their event never came.")); err != nil {
		return nil, err
	}
	if t.logs, err = m.Int64Counter("spangrove_store_notes_expired", metric.WithUnit("{note}"),
		metric.WithDescription("Notes of log records dropped because the event of their span never came.")); err != nil {
		return nil, err
	}
	if t.outbox, err = m.Int64Counter("spangrove_store_arrivals_expired", metric.WithUnit("{request}"),
		metric.WithDescription("Stored requests whose events nobody looked at to evaluate them, for a week.")); err != nil {
		return nil, err
	}
	_, err = m.Int64ObservableGauge("spangrove_store_queue_bytes",
		metric.WithUnit("By"), metric.WithDescription("Payload waiting for a commit."),
		metric.WithInt64Callback(func(_ context.Context, o metric.Int64Observer) error {
			o.Observe(queued())
			return nil
		}))
	if err != nil {
		return nil, err
	}
	_, err = m.Int64ObservableGauge("spangrove_store_id_filter_bytes",
		metric.WithUnit("By"), metric.WithDescription("Memory of the filters that tell on which days an event id may be stored."),
		metric.WithInt64Callback(func(_ context.Context, o metric.Int64Observer) error {
			_, bytes := filters()
			o.Observe(int64(bytes))
			return nil
		}))
	return &t, err
}

func (t *telemetry) commit(ctx context.Context, batches []writer.Batch, d time.Duration, err error) {
	t.commits.Record(ctx, d.Seconds())
	if err != nil {
		return
	}
	n := 0
	for _, b := range batches {
		events, _ := b.Size()
		n += events
	}
	t.events.Add(ctx, int64(n))
}

func (t *telemetry) refused(ctx context.Context)          { t.refuse.Add(ctx, 1) }
func (t *telemetry) expired(ctx context.Context, n int64) { t.expire.Add(ctx, n) }

func (t *telemetry) logsExpired(ctx context.Context, n int64) {
	if n > 0 {
		t.logs.Add(ctx, n)
	}
}
