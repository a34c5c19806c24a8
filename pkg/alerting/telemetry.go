package alerting

import (
	"context"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/metric/noop"

	"github.com/spangrove/spangrove/pkg/alert"
)

// telemetry counts what the runner does.
type telemetry struct{ evaluations, notices metric.Int64Counter }

func newTelemetry(m metric.Meter) (*telemetry, error) {
	if m == nil {
		m = noop.NewMeterProvider().Meter("alerting")
	}
	var t telemetry
	var err error
	if t.evaluations, err = m.Int64Counter("spangrove_alert_evaluations", metric.WithUnit("{evaluation}"),
		metric.WithDescription("Evaluations of alerts, by the state that they came to: ok, firing, no_data.")); err != nil {
		return nil, err
	}
	t.notices, err = m.Int64Counter("spangrove_alert_notices", metric.WithUnit("{attempt}"),
		metric.WithDescription("Attempts to send notices of alerts, by type of channel and outcome: sent, failed."))
	if err != nil {
		return nil, err
	}
	for _, channel := range []string{alert.Webhook, alert.Slack, alert.Email} { // the first failure is a rise then, for which rules of alerts look
		t.notices.Add(context.Background(), 0, noticeOf(channel, "failed"))
	}
	return &t, nil
}

func (t *telemetry) evaluated(ctx context.Context, state string) {
	t.evaluations.Add(ctx, 1, metric.WithAttributes(attribute.String("state", state)))
}

func (t *telemetry) sent(ctx context.Context, channel string, o *alert.Outcome) {
	outcome := "sent"
	if o.Error != "" {
		outcome = "failed"
	}
	t.notices.Add(ctx, 1, noticeOf(channel, outcome))
}

func noticeOf(channel, outcome string) metric.AddOption {
	return metric.WithAttributes(attribute.String("channel", channel), attribute.String("outcome", outcome))
}
