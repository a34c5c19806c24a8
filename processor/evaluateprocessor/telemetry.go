package evaluateprocessor

import (
	"context"
	"errors"

	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
)

const scopeName = "github.com/spangrove/spangrove/processor/evaluateprocessor"

// telemetry counts the spans that got a score and those that did not.
type telemetry struct{ scores, failures metric.Int64Counter }

func newTelemetry(set component.TelemetrySettings) (*telemetry, error) {
	meter := set.MeterProvider.Meter(scopeName)
	scores, scoresErr := meter.Int64Counter("spangrove_processor_scores",
		metric.WithUnit("{score}"), metric.WithDescription("Scores put on spans, by metric."))
	failures, failuresErr := meter.Int64Counter("spangrove_processor_missing_scores",
		metric.WithUnit("{score}"), metric.WithDescription("Spans that went on without a score, by metric and reason."))
	return &telemetry{scores, failures}, errors.Join(scoresErr, failuresErr)
}

func (t *telemetry) score(ctx context.Context, name string) {
	t.scores.Add(ctx, 1, metric.WithAttributes(attribute.String("metric", name)))
}

func (t *telemetry) unscored(ctx context.Context, spans int, name, reason string) {
	t.failures.Add(ctx, int64(spans), metric.WithAttributes(attribute.String("metric", name), attribute.String("reason", reason)))
}
