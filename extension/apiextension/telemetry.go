package apiextension

import (
	"context"
	"net/http"
	"strings"
	"time"

	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"

	"github.com/spangrove/spangrove/pkg/webui"
)

const scopeName = "github.com/spangrove/spangrove/extension/apiextension"

// telemetry times requests by route and status.
type telemetry struct {
	seconds metric.Float64Histogram
	pages   *webui.Handler // whose files count as one route
}

func newTelemetry(set component.TelemetrySettings, pages *webui.Handler) (*telemetry, error) {
	seconds, err := set.MeterProvider.Meter(scopeName).Float64Histogram("spangrove_api_request_duration",
		metric.WithUnit("s"),
		metric.WithDescription("Time to answer a request of the API, by route and status. Writes include the pipeline and the commit."),
		metric.WithExplicitBucketBoundaries(.001, .002, .005, .01, .02, .05, .1, .2, .5, 1, 2, 5, 10))
	return &telemetry{seconds: seconds, pages: pages}, err
}

// request records one request. A path that is not a route counts as "unmatched", so that callers
// cannot make up attribute values.
func (t *telemetry) request(ctx context.Context, r *http.Request, status int, took time.Duration) {
	route := r.Pattern
	switch {
	case isHealth(r):
		route = "GET " + strings.TrimPrefix(r.URL.Path, "/v1")
	case isSignIn(r):
		route = "POST " + r.URL.Path
	case t.pages.Serves(r):
		route = "GET /"
	case route == "":
		route = "unmatched"
	}
	t.seconds.Record(ctx, took.Seconds(), metric.WithAttributes(
		attribute.String("route", route), attribute.Int("status", status)))
}
