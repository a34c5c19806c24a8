package tracer

import (
	"context"
	"errors"
	"fmt"
	"math"
	"net/http"
	"strings"
	"time"
	"unicode/utf8"

	"go.opentelemetry.io/otel/exporters/otlp/otlptrace"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	coltracepb "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/spangrove/spangrove/pkg/client"
)

// retries of one call: about half a minute. What may pass with time is then tried anew, see
// sender.patiently.
var retries = client.Retries{Count: 10, Base: 250 * time.Millisecond, Max: 5 * time.Second}

// maxPause bounds what a server may ask for with Retry-After.
const maxPause = time.Minute

// sender makes calls that outlast outages.
type sender struct {
	c      *client.Client
	pause  time.Duration // between the client's rounds of retries
	report func(error)
}

// patiently makes a call until it succeeds, the context ends, or the server has refused it for
// good. It takes an unreachable or busy server for one that comes back, however long that takes; what
// fails inside the server is given up after the client's own retries, so that one request that it
// cannot do does not hold up all others.
func (s sender) patiently(ctx context.Context, f func() error) error {
	for told := false; ; {
		err := f()
		if err == nil || ctx.Err() != nil {
			return err
		}
		pause := s.pause
		var e *client.Error
		if errors.As(err, &e) {
			switch e.Status {
			case http.StatusRequestTimeout, http.StatusTooManyRequests,
				http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
				pause = min(max(pause, e.RetryAfter), maxPause)
			default:
				return err
			}
		}
		if errors.As(err, new(*rejected)) || errors.Is(err, client.ErrTooLarge) {
			return err
		}
		if !told {
			s.report(fmt.Errorf("tracer: the server takes nothing, trying on: %w", err))
			told = true
		}
		timer := time.NewTimer(pause)
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return err
		}
	}
}

// exporter sends batches of spans.
type exporter struct {
	sender
	otlp *otlptrace.Exporter
}

func newExporter(s sender) (*exporter, error) {
	otlp, err := otlptrace.New(context.Background(), upload{s.c})
	if err != nil {
		return nil, fmt.Errorf("tracer: the exporter: %w", err)
	}
	return &exporter{s, otlp}, nil
}

// send sends a batch, in halves if it is too large for the server. Spans have ids of their own, so
// that nothing comes of one that is sent twice.
func (x *exporter) send(ctx context.Context, batch []sdktrace.ReadOnlySpan) (lost int) {
	err := x.patiently(ctx, func() error { return x.otlp.ExportSpans(ctx, batch) })
	if err == nil {
		return 0
	}
	var e *client.Error
	if errors.As(err, &e) && e.Status == http.StatusRequestEntityTooLarge && len(batch) > 1 {
		half := len(batch) / 2
		return x.send(ctx, batch[:half]) + x.send(ctx, batch[half:])
	}
	lost = len(batch)
	var r *rejected
	if errors.As(err, &r) {
		lost = int(min(int64(lost), r.spans))
	}
	x.report(fmt.Errorf("tracer: %d spans are lost: %w", lost, err))
	return lost
}

// rejected tells that a request went through, but without some of its spans.
type rejected struct {
	spans  int64
	reason string
}

const all = math.MaxInt64

func (r *rejected) Error() string {
	return "they are rejected: " + r.reason
}

// upload is the way of OTLP's requests: through the client, whose retries know connections that
// break and servers that restart. OpenTelemetry's own HTTP client gives up on a refused connection
// at once, and on the rest after a minute.
type upload struct{ c *client.Client }

func (upload) Start(context.Context) error { return nil }

func (upload) Stop(context.Context) error { return nil }

func (u upload) UploadTraces(ctx context.Context, spans []*tracepb.ResourceSpans) error {
	request := &coltracepb.ExportTraceServiceRequest{ResourceSpans: spans}
	body, err := proto.Marshal(request)
	if err != nil { // a text that is not UTF-8: one span's would sink all others
		mend(request.ProtoReflect())
		if body, err = proto.Marshal(request); err != nil {
			return &rejected{all, err.Error()}
		}
	}
	answer, err := u.c.OTLP.SendSpans(ctx, body, client.Protobuf)
	if err != nil {
		return err
	}
	var took coltracepb.ExportTraceServiceResponse
	if proto.Unmarshal(answer, &took) == nil && took.GetPartialSuccess().GetRejectedSpans() > 0 {
		return &rejected{took.GetPartialSuccess().GetRejectedSpans(), took.GetPartialSuccess().GetErrorMessage()}
	}
	return nil
}

// mend replaces what is not UTF-8 in the texts of a message and of those in it.
func mend(m protoreflect.Message) {
	m.Range(func(fd protoreflect.FieldDescriptor, v protoreflect.Value) bool {
		switch {
		case fd.IsList() && fd.Message() != nil:
			for i := range v.List().Len() {
				mend(v.List().Get(i).Message())
			}
		case fd.IsList(), fd.IsMap():
		case fd.Message() != nil:
			mend(v.Message())
		case fd.Kind() == protoreflect.StringKind && !utf8.ValidString(v.String()):
			m.Set(fd, protoreflect.ValueOfString(strings.ToValidUTF8(v.String(), "\uFFFD")))
		}
		return true
	})
}
