package verdict_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"go.opentelemetry.io/collector/consumer/consumererror"
	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/spangrove/spangrove/pkg/fault"
	"github.com/spangrove/spangrove/pkg/fault/verdict"
)

func TestPipeline(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name      string
		err       error
		code      codes.Code
		message   string
		permanent bool
		retry     time.Duration
	}{
		{"invalid", fault.InvalidField("events[3].inputs", "must be an object"), codes.InvalidArgument, "events[3].inputs: must be an object", true, 0},
		{"wrapped", fmt.Errorf("put: %w", fault.InvalidField("name", "is bad")), codes.InvalidArgument, "name: is bad", true, 0},
		{"busy", &fault.Error{Kind: fault.Unavailable, Msg: "busy", RetryAfter: 5 * time.Second}, codes.Unavailable, "busy", false, 5 * time.Second},
		{"down", &fault.Error{Kind: fault.Unavailable, Msg: "down"}, codes.Unavailable, "down", false, fault.DefaultRetryAfter},
		{"limited", &fault.Error{Kind: fault.Limited, Msg: "too many", RetryAfter: 3 * time.Second}, codes.ResourceExhausted, "too many", false, 3 * time.Second},
		{"unknown", errors.New("disk on fire"), codes.Internal, "INTERNAL_ERROR", false, 0},
		{"cancelled", context.Canceled, codes.Unavailable, "UNAVAILABLE", false, fault.DefaultRetryAfter},
		{"deadline", context.DeadlineExceeded, codes.DeadlineExceeded, "TIMEOUT", false, 0},
		{"unauthorized", &fault.Error{Kind: fault.Unauthorized, Msg: "no key"}, codes.Unauthenticated, "no key", true, 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			err := verdict.Pipeline(tt.err)
			if got := consumererror.IsPermanent(err); got != tt.permanent {
				t.Errorf("permanent = %v, want %v", got, tt.permanent)
			}
			if !errors.Is(err, tt.err) {
				t.Errorf("the cause is lost in %v", err)
			}
			var v *verdict.Error
			if !errors.As(err, &v) {
				t.Fatalf("no status in %v", err)
			}
			if s, ok := status.FromError(err); !ok || s.Code() != tt.code {
				t.Errorf("status.FromError = %v, %v, want code %v", s, ok, tt.code)
			}
			st := v.GRPCStatus()
			if st.Message() != tt.message {
				t.Errorf("message = %q, want %q", st.Message(), tt.message)
			}
			var retry time.Duration
			for _, d := range st.Details() {
				if info, ok := d.(*errdetails.RetryInfo); ok {
					retry = info.GetRetryDelay().AsDuration()
				}
			}
			if retry != tt.retry {
				t.Errorf("retry after %v, want %v", retry, tt.retry)
			}
		})
	}
	if verdict.Pipeline(nil) != nil || verdict.GRPC(nil) != nil {
		t.Error("nil must stay nil")
	}
}
