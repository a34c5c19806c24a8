// Package verdict tells a pipeline and a gRPC caller what kind of error they met: whether to
// send the same data again, and when. It is package fault's table in the words of the
// OpenTelemetry Collector; it invents no kinds.
package verdict

import (
	"errors"
	"time"

	"go.opentelemetry.io/collector/consumer/consumererror"
	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/spangrove/spangrove/pkg/fault"
)

// codeOf is the gRPC code of every kind. OTLP senders retry Unavailable (and, with RetryInfo,
// ResourceExhausted); an internal error is shown as Internal, and still not as permanent,
// since the next attempt may meet a healthy store.
var codeOf = [...]codes.Code{
	fault.Internal:     codes.Internal,
	fault.Invalid:      codes.InvalidArgument,
	fault.NotFound:     codes.NotFound,
	fault.Conflict:     codes.AlreadyExists,
	fault.Unauthorized: codes.Unauthenticated,
	fault.Forbidden:    codes.PermissionDenied,
	fault.TooLarge:     codes.InvalidArgument,
	fault.Unavailable:  codes.Unavailable,
	fault.Timeout:      codes.DeadlineExceeded,
	fault.Limited:      codes.ResourceExhausted,
}

// Error carries an error together with its gRPC status; errors.As finds the *fault.Error
// within, status.FromError the status.
type Error struct {
	err error
	st  *status.Status
}

// Error returns the text of the error itself, for logs.
func (e *Error) Error() string { return e.err.Error() }

// Unwrap returns the error itself.
func (e *Error) Unwrap() error { return e.err }

// GRPCStatus returns the status, whose message a caller may see.
func (e *Error) GRPCStatus() *status.Status { return e.st }

// Pipeline turns err into what an exporter returns: permanent if the same data fails again,
// with a gRPC status in any case. nil stays nil.
func Pipeline(err error) error {
	if err == nil {
		return nil
	}
	wrapped := &Error{err: err, st: Status(err)}
	if fault.Of(err).Permanent() {
		return consumererror.NewPermanent(wrapped)
	}
	return wrapped
}

// GRPC turns err into what a gRPC handler or authenticator returns. nil stays nil.
func GRPC(err error) error {
	if err == nil {
		return nil
	}
	return &Error{err: err, st: Status(err)}
}

// Status returns the gRPC status of err: the kind's code, a message the caller may see, and, if
// trying again can help, when.
func Status(err error) *status.Status {
	kind := fault.Of(err)
	message := kind.Code()
	var retryAfter time.Duration
	var f *fault.Error
	if errors.As(err, &f) {
		message, retryAfter = f.Message(), f.RetryAfter
	}
	st := status.New(codeOf[kind], message)
	if !kind.Later() {
		return st
	}
	if retryAfter == 0 {
		retryAfter = fault.DefaultRetryAfter
	}
	if detailed, err := st.WithDetails(&errdetails.RetryInfo{RetryDelay: durationpb.New(retryAfter)}); err == nil {
		st = detailed
	}
	return st
}
