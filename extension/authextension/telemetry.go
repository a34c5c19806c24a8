package authextension

import (
	"context"

	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"

	"github.com/spangrove/spangrove/pkg/fault"
)

const scopeName = "github.com/spangrove/spangrove/extension/authextension"

// telemetry counts checks by outcome.
type telemetry struct{ checks metric.Int64Counter }

func newTelemetry(set component.TelemetrySettings) (*telemetry, error) {
	checks, err := set.MeterProvider.Meter(scopeName).Int64Counter("spangrove_auth_checks",
		metric.WithUnit("{request}"),
		metric.WithDescription("Requests whose API key was checked, by outcome: accepted, refused, limited, unavailable."))
	return &telemetry{checks: checks}, err
}

var (
	accepted = metric.WithAttributeSet(attribute.NewSet(attribute.String("outcome", "accepted")))
	refused  = metric.WithAttributeSet(attribute.NewSet(attribute.String("outcome", "refused")))
	limited  = metric.WithAttributeSet(attribute.NewSet(attribute.String("outcome", "limited")))
	failed   = metric.WithAttributeSet(attribute.NewSet(attribute.String("outcome", "unavailable")))
)

func (t *telemetry) count(ctx context.Context, err error) {
	outcome := accepted
	switch {
	case err == nil:
	case fault.Of(err) == fault.Unauthorized:
		outcome = refused
	case fault.Of(err) == fault.Limited:
		outcome = limited
	default:
		outcome = failed
	}
	t.checks.Add(ctx, 1, outcome)
}
