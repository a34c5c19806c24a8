// Package fault holds the kinds of errors Spangrove tells a caller apart, and the one table
// that turns a kind into an HTTP status, a command-line exit code and a pipeline verdict.
//
// A kind is chosen where the error is born. What the caller sees (Msg, Field) and what the
// log sees (Err) are different fields.
package fault

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"
)

// Kind says whose fault an error is and whether trying again can help.
type Kind uint8

// The kinds. The zero value is Internal, so a forgotten kind is never shown as the caller's fault.
const (
	Internal     Kind = iota
	Invalid           // the request breaks a rule; the same request fails again
	NotFound          // no such thing in the caller's project
	Conflict          // the id is taken
	Unauthorized      // no key, or an unknown one
	Forbidden         // the key lacks the scope
	TooLarge          // a body or list over its bound
	Unavailable       // busy or down; the same request can succeed later
	Timeout           // the time limit ran out
	Limited           // the project or key is over one of its limits; the same request can succeed later
)

// Error is an error with a kind.
type Error struct {
	Kind       Kind
	Field      string        // dotted path into the request, such as "events[3].inputs"; empty if the whole
	Msg        string        // safe to show to the caller
	Err        error         // cause, for the log only
	RetryAfter time.Duration // for Unavailable and Limited: when to try again; 0 means DefaultRetryAfter
}

// DefaultRetryAfter is what an Unavailable or Limited error without a delay of its own advises.
const DefaultRetryAfter = 2 * time.Second

// Error returns the message with its field first; the cause is appended for logs.
func (e *Error) Error() string {
	s := e.Message()
	if e.Err != nil {
		s += ": " + e.Err.Error()
	}
	return s
}

// Message returns the text a caller may see: the field, then what is wrong with it.
func (e *Error) Message() string {
	switch {
	case e.Kind == Internal:
		return "internal error"
	case e.Field != "" && e.Msg != "":
		return e.Field + ": " + e.Msg
	case e.Msg != "":
		return e.Msg
	default:
		return rows[e.Kind].code
	}
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// In returns the error with prefix put before its field, for errors born in a nested value:
// In("events[3]") turns the field "inputs" into "events[3].inputs".
func In(prefix string, err error) error {
	var f *Error
	if !errors.As(err, &f) {
		return err
	}
	g := *f
	switch {
	case g.Field == "":
		g.Field = prefix
	case prefix == "":
	case g.Field[0] == '[':
		g.Field = prefix + g.Field
	default:
		g.Field = prefix + "." + g.Field
	}
	return &g
}

// InvalidField returns an Invalid error about one field.
func InvalidField(field, format string, args ...any) error {
	return &Error{Kind: Invalid, Field: field, Msg: fmt.Sprintf(format, args...)}
}

// New returns an error of the given kind with a message for the caller.
func New(k Kind, format string, args ...any) error {
	return &Error{Kind: k, Msg: fmt.Sprintf(format, args...)}
}

// Wrap gives cause a kind. The message is what the caller sees; the cause is only logged.
func Wrap(k Kind, cause error, format string, args ...any) error {
	return &Error{Kind: k, Msg: fmt.Sprintf(format, args...), Err: cause}
}

// Of returns the kind of err: that of the first *Error in its chain, Timeout for an expired
// context, Unavailable for a cancelled one, otherwise Internal.
func Of(err error) Kind {
	var f *Error
	switch {
	case errors.As(err, &f):
		return f.Kind
	case errors.Is(err, context.DeadlineExceeded):
		return Timeout
	case errors.Is(err, context.Canceled):
		return Unavailable
	default:
		return Internal
	}
}

// IsNotFound reports whether err is a NotFound. It is false for nil.
func IsNotFound(err error) bool { return Of(err) == NotFound }

// rows is the table of every kind at every edge.
var rows = [...]struct {
	code      string
	status    int
	exit      int
	permanent bool
}{
	Internal:     {"INTERNAL_ERROR", http.StatusInternalServerError, 1, false},
	Invalid:      {"VALIDATION_ERROR", http.StatusBadRequest, 2, true},
	NotFound:     {"NOT_FOUND", http.StatusNotFound, 4, true},
	Conflict:     {"CONFLICT", http.StatusConflict, 1, true},
	Unauthorized: {"UNAUTHORIZED", http.StatusUnauthorized, 3, true},
	Forbidden:    {"FORBIDDEN", http.StatusForbidden, 3, true},
	TooLarge:     {"PAYLOAD_TOO_LARGE", http.StatusRequestEntityTooLarge, 2, true},
	Unavailable:  {"UNAVAILABLE", http.StatusServiceUnavailable, 1, false},
	Timeout:      {"TIMEOUT", http.StatusGatewayTimeout, 5, false},
	Limited:      {"RATE_LIMITED", http.StatusTooManyRequests, 1, false},
}

// Code returns the errorCode of an answer.
func (k Kind) Code() string { return rows[k].code }

// Status returns the HTTP status of an answer.
func (k Kind) Status() int { return rows[k].status }

// OfStatus returns the kind of an answer with the given HTTP status: that of the table, Invalid for
// any other mistake of the caller, Unavailable for what a proxy says of a server that is down,
// else Internal.
func OfStatus(status int) Kind {
	for k := range rows {
		if rows[k].status == status {
			return Kind(k)
		}
	}
	switch {
	case status == http.StatusRequestTimeout:
		return Timeout
	case status == http.StatusBadGateway:
		return Unavailable
	case status >= 400 && status < 500:
		return Invalid
	}
	return Internal
}

// ExitCode returns the exit status of the command line.
func (k Kind) ExitCode() int { return rows[k].exit }

// Later reports whether an answer of this kind tells when to try again: Retry-After over HTTP, RetryInfo
// over gRPC.
func (k Kind) Later() bool { return k == Unavailable || k == Limited }

// Permanent reports whether sending the same request again cannot help.
func (k Kind) Permanent() bool { return rows[k].permanent }
