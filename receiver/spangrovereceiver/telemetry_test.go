package spangrovereceiver

import (
	"context"
	"net/http/httptest"
	"testing"

	"go.opentelemetry.io/collector/component/componenttest"
	"go.opentelemetry.io/collector/consumer/consumertest"
	"go.opentelemetry.io/collector/pdata/plog/plogotlp"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	"go.opentelemetry.io/otel/sdk/metric/metricdata/metricdatatest"

	"github.com/spangrove/spangrove/pkg/fault"
)

func TestTelemetry(t *testing.T) {
	tel := componenttest.NewTelemetry()
	t.Cleanup(func() { _ = tel.Shutdown(context.Background()) })
	set := settings()
	set.TelemetrySettings = tel.NewTelemetrySettings()
	c, err := NewFactory().CreateTraces(t.Context(), set, createDefaultConfig(), consumertest.NewNop())
	if err != nil {
		t.Fatal(err)
	}
	r := c.(*spangroveReceiver)
	call := func(message []byte, h otlpHandler) error {
		return r.inside(t.Context(), func(from caller) error {
			if err := from.hold.Take(1); err != nil {
				return err
			}
			_, err := r.call(context.WithValue(t.Context(), messageKey{}, received{message, from, httptest.NewRequest("POST", "/m", nil)}), h)
			return err
		})
	}
	td := someSpans(2)
	td.ResourceSpans().At(0).ScopeSpans().At(0).Spans().At(0).SetSpanID([8]byte{})
	if err := call(protoOf(t, td), r.tracesVia(r.viaGRPC)); err != nil {
		t.Fatal(err)
	}
	if err := call([]byte("no"), r.tracesVia(r.viaGRPC)); fault.Of(err) != fault.Invalid {
		t.Fatal(err)
	}
	logs, err := plogotlp.NewExportRequestFromLogs(oneLog()).MarshalProto()
	if err != nil {
		t.Fatal(err)
	}
	if err := call(logs, r.logsVia(r.viaGRPC)); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]metricdata.DataPoint[int64]{
		"spangrove_receiver_refused":        {Value: 1, Attributes: attribute.NewSet(attribute.String("reason", "validation_error"))},
		"spangrove_receiver_rejected_spans": {Value: 1},
		"spangrove_receiver_dropped":        {Value: 1, Attributes: attribute.NewSet(attribute.String("signal", "logs"))},
		"spangrove_receiver_in_flight":      {Value: 0},
	} {
		got, err := tel.GetMetric(name)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		points := got.Data.(metricdata.Sum[int64]).DataPoints
		if len(points) != 1 {
			t.Errorf("%s: %v", name, points)
			continue
		}
		metricdatatest.AssertEqual(t, want, points[0], metricdatatest.IgnoreTimestamp(), metricdatatest.IgnoreExemplars())
	}
	if _, err := tel.GetMetric("otelcol_receiver_accepted_spans"); err != nil {
		t.Error(err)
	}
}
