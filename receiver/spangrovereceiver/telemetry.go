package spangrovereceiver

import (
	"context"
	"strings"

	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"

	"github.com/spangrove/spangrove/pkg/fault"
)

const scopeName = "github.com/spangrove/spangrove/receiver/spangrovereceiver"

// telemetry is what the receiver counts in addition to the Collector's own accepted and refused items.
type telemetry struct {
	// Requests answered with an error, by its kind.
	refused metric.Int64Counter
	// Spans, and log records (rejectedLogs), that were left out of a request that was otherwise taken.
	rejected metric.Int64Counter
	// What nobody takes: log records without a logs pipeline, and requests with metrics.
	dropped metric.Int64Counter

	rejectedLogs metric.Int64Counter
	inFlight     metric.Int64UpDownCounter
}

// newTelemetry makes the counters.
func newTelemetry(set component.TelemetrySettings) (t *telemetry, err error) {
	t = &telemetry{}
	meter := set.MeterProvider.Meter(scopeName)
	if t.refused, err = meter.Int64Counter("spangrove_receiver_refused", metric.WithUnit("{request}"),
		metric.WithDescription("Requests answered with an error, by reason.")); err != nil {
		return nil, err
	}
	if t.rejected, err = meter.Int64Counter("spangrove_receiver_rejected_spans", metric.WithUnit("{span}"),
		metric.WithDescription("Spans left out of an accepted request because they carry no valid ids or cannot be decoded.")); err != nil {
		return nil, err
	}
	if t.rejectedLogs, err = meter.Int64Counter("spangrove_receiver_rejected_log_records", metric.WithUnit("{record}"),
		metric.WithDescription("Log records about a model's work left out of an accepted request "+
			"because they carry no valid ids or cannot be decoded.")); err != nil {
		return nil, err
	}
	if t.dropped, err = meter.Int64Counter("spangrove_receiver_dropped", metric.WithUnit("{item}"),
		metric.WithDescription("Log records without a logs pipeline, and metric requests, accepted and dropped, by signal.")); err != nil {
		return nil, err
	}
	t.inFlight, err = meter.Int64UpDownCounter("spangrove_receiver_in_flight", metric.WithUnit("By"),
		metric.WithDescription("Bytes of requests under way."))
	return t, err
}

// refuse counts a request by the kind of its error, such as validation_error.
func (t *telemetry) refuse(ctx context.Context, err error) {
	reason := strings.ToLower(fault.Of(err).Code())
	t.refused.Add(ctx, 1, metric.WithAttributes(attribute.String("reason", reason)))
}

// reject and rejectLogs count items that were left out of an accepted request.
func (t *telemetry) reject(ctx context.Context, spans int) { t.rejected.Add(ctx, int64(spans)) }

func (t *telemetry) rejectLogs(ctx context.Context, records int) {
	t.rejectedLogs.Add(ctx, int64(records))
}

// drop counts items of a signal that nobody takes.
func (t *telemetry) drop(ctx context.Context, signal string, n int) {
	t.dropped.Add(ctx, int64(n), metric.WithAttributes(attribute.String("signal", signal)))
}

// inFlightBy adds to the bytes of requests under way; n is negative when some are done.
func (t *telemetry) inFlightBy(n int64) { t.inFlight.Add(context.Background(), n) }
