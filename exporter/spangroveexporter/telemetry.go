package spangroveexporter

import (
	"context"
	"errors"
	"strings"
	"time"

	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"

	"github.com/spangrove/spangrove/pkg/fault"
)

const scopeName = "github.com/spangrove/spangrove/exporter/spangroveexporter"

// telemetry counts what is stored and what is not.
type telemetry struct {
	stored   metric.Int64Counter
	rejected metric.Int64Counter
	seconds  metric.Float64Histogram

	storedLogs, rejectedLogs, droppedLogs metric.Int64Counter
}

func newTelemetry(set component.TelemetrySettings) (*telemetry, error) {
	meter := set.MeterProvider.Meter(scopeName)
	stored, storedErr := meter.Int64Counter("spangrove_exporter_stored_events",
		metric.WithUnit("{event}"), metric.WithDescription("Events committed to the store; an event sent again counts again."))
	rejected, rejectedErr := meter.Int64Counter("spangrove_exporter_rejected_spans",
		metric.WithUnit("{span}"), metric.WithDescription("Spans that were not stored, by reason."))
	seconds, secondsErr := meter.Float64Histogram("spangrove_exporter_put_duration",
		metric.WithUnit("s"), metric.WithDescription("Time to store the events of one request, by outcome."),
		metric.WithExplicitBucketBoundaries(.001, .002, .005, .01, .02, .05, .1, .2, .5, 1, 2, 5, 10))
	storedLogs, storedLogsErr := meter.Int64Counter(
		"spangrove_exporter_stored_log_parts",
		metric.WithUnit("{part}"),
		metric.WithDescription("Parts of events that log records brought, committed to the store; sent again it counts again."),
	)
	rejectedLogs, rejectedLogsErr := meter.Int64Counter("spangrove_exporter_rejected_log_records",
		metric.WithUnit("{record}"), metric.WithDescription("Log records that were not stored, by reason."))
	droppedLogs, droppedLogsErr := meter.Int64Counter("spangrove_exporter_dropped_log_records",
		metric.WithUnit("{record}"), metric.WithDescription("Log records that are no GenAI events, dropped."))
	t := &telemetry{
		stored: stored, rejected: rejected, seconds: seconds,
		storedLogs: storedLogs, rejectedLogs: rejectedLogs, droppedLogs: droppedLogs,
	}
	return t, errors.Join(storedErr, rejectedErr, secondsErr, storedLogsErr, rejectedLogsErr, droppedLogsErr)
}

// put records one write to the store.
func (t *telemetry) put(ctx context.Context, took time.Duration, events int, err error) {
	t.seconds.Record(ctx, took.Seconds(), metric.WithAttributes(attribute.String("outcome", reasonOf(err))))
	if err == nil {
		t.stored.Add(ctx, int64(events))
	}
}

// refuse counts spans that err kept from the store.
func (t *telemetry) refuse(ctx context.Context, spans int, err error) {
	t.rejected.Add(ctx, int64(spans), metric.WithAttributes(attribute.String("reason", reasonOf(err))))
}

// reject counts one span that cannot be an event.
func (t *telemetry) reject(ctx context.Context, reason string) {
	t.rejected.Add(ctx, 1, metric.WithAttributes(attribute.String("reason", reason)))
}

// putLogs records one write of log parts, and of events of log records, to the store.
func (t *telemetry) putLogs(ctx context.Context, took time.Duration, stored int, err error) {
	t.seconds.Record(ctx, took.Seconds(), metric.WithAttributes(attribute.String("outcome", reasonOf(err))))
	if err == nil {
		t.storedLogs.Add(ctx, int64(stored))
	}
}

// refuseLogs counts log records that err kept from the store.
func (t *telemetry) refuseLogs(ctx context.Context, records int, err error) {
	t.rejectedLogs.Add(ctx, int64(records), metric.WithAttributes(attribute.String("reason", reasonOf(err))))
}

// rejectLog counts one log record that cannot be a log part.
func (t *telemetry) rejectLog(ctx context.Context, reason string) {
	t.rejectedLogs.Add(ctx, 1, metric.WithAttributes(attribute.String("reason", reason)))
}

// dropLogs counts log records that are of no interest.
func (t *telemetry) dropLogs(ctx context.Context, records int) {
	if records > 0 {
		t.droppedLogs.Add(ctx, int64(records))
	}
}

// reasonOf returns the kind of err as an attribute: few values, whatever the message.
func reasonOf(err error) string {
	if err == nil {
		return "stored"
	}
	return strings.ToLower(fault.Of(err).Code())
}
