package spangrovereceiver

import (
	"context"
	"errors"

	"go.opentelemetry.io/collector/consumer/consumererror"
	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/spangrove/spangrove/pkg/fault"
)

// kindOf is what a gRPC status from somewhere in the pipeline means; codes that are not here
// are Internal. The way back, from a kind to a code, is package verdict's.
var kindOf = map[codes.Code]fault.Kind{
	codes.InvalidArgument:    fault.Invalid,
	codes.FailedPrecondition: fault.Invalid,
	codes.NotFound:           fault.NotFound,
	codes.AlreadyExists:      fault.Conflict,
	codes.Unauthenticated:    fault.Unauthorized,
	codes.PermissionDenied:   fault.Forbidden,
	codes.ResourceExhausted:  fault.Unavailable,
	codes.Unavailable:        fault.Unavailable,
	codes.Aborted:            fault.Unavailable,
	codes.Canceled:           fault.Unavailable,
	codes.OutOfRange:         fault.Unavailable, // OTLP has it, and the next one, among those after which senders try again
	codes.DataLoss:           fault.Unavailable,
	codes.DeadlineExceeded:   fault.Timeout,
}

// refusal turns any error of the pipeline into one with a kind, which decides what the sender is told and whether it tries
// again. In order:
//
//  1. a fault in the chain: one of this project's components has said what it is
//  2. a gRPC status in the chain: an exporter to elsewhere, or the Collector, has
//  3. the end of the request's time, or the sender has gone
//  4. an error that is permanent: Internal
//  5. any other error is assumed to be transient: Unavailable
//
// A wrong guess at 5 makes a sender repeat what will fail again; the other way round it would drop data for good.
//
// Of several exporters that failed, one that may take the data later goes before those that never will: the others get it again, which
// changes nothing where it is stored.
func refusal(err error) error {
	//nolint:errorlint // joined at the top, the errors are those of several exporters; deeper ones are one exporter's own
	if several, ok := err.(interface{ Unwrap() []error }); ok {
		var first error
		for _, each := range several.Unwrap() {
			each = refusal(each)
			if kind := fault.Of(each); kind.Later() || kind == fault.Timeout {
				return each
			}
			if first == nil {
				first = each
			}
		}
		return first
	}
	var f *fault.Error
	if errors.As(err, &f) {
		return err
	}
	var withStatus interface{ GRPCStatus() *status.Status }
	if errors.As(err, &withStatus) {
		if st := withStatus.GRPCStatus(); st != nil && st.Code() != codes.OK {
			return fromStatus(err, st)
		}
	}
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		return fault.Wrap(fault.Timeout, err, "the time limit ran out")
	case errors.Is(err, context.Canceled):
		return fault.Wrap(fault.Unavailable, err, "the request was cancelled")
	case consumererror.IsPermanent(err):
		return fault.Wrap(fault.Internal, err, "")
	default:
		return fault.Wrap(fault.Unavailable, err, "the data cannot be taken now; try again")
	}
}

// fromStatus returns the fault that a gRPC status means, with its message and the time to come back. A status that says
// "later" on an error that is permanent contradicts itself: Internal.
func fromStatus(err error, st *status.Status) error {
	kind, known := kindOf[st.Code()]
	if !known || (!kind.Permanent() && consumererror.IsPermanent(err)) {
		return fault.Wrap(fault.Internal, err, "")
	}
	f := &fault.Error{Kind: kind, Msg: st.Message(), Err: err}
	for _, detail := range st.Details() {
		if info, ok := detail.(*errdetails.RetryInfo); ok {
			f.RetryAfter = info.GetRetryDelay().AsDuration()
		}
	}
	return f
}

// notAuthenticated returns an authenticator's error as a fault: of its own kind if it has one.
func notAuthenticated(err error) error {
	var f *fault.Error
	if errors.As(err, &f) {
		return err
	}
	if st, ok := status.FromError(err); ok {
		if kind := kindOf[st.Code()]; kind.Later() || kind == fault.Timeout || kind == fault.Forbidden {
			return fromStatus(err, st)
		}
	}
	return fault.Wrap(fault.Unauthorized, err, "authentication failed")
}
