package cli

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strings"

	"github.com/spangrove/spangrove/pkg/client"
	"github.com/spangrove/spangrove/pkg/fault"
)

// The exit statuses that no kind of fault has. 130 is what shells have for Ctrl-C.
const (
	ExitFailed      = 1
	ExitUsage       = 2
	exitNotFound    = 4
	exitTimeout     = 5
	exitInterrupted = 130
)

// Failure is an error in one line that a person can act on, with the status to exit with.
type Failure struct {
	Line string
	Exit int
}

func (f *Failure) Error() string { return f.Line }

// usage returns the error for a mistake in how the program was called.
func usage(format string, args ...any) error {
	return &Failure{Line: fmt.Sprintf(format, args...), Exit: ExitUsage}
}

// partialError is an error that came after a part was done.
type partialError struct {
	done string // such as "deleted 3 of 10"
	err  error
}

func (p *partialError) Error() string { return p.err.Error() } // explain tells what was done
func (p *partialError) Unwrap() error { return p.err }

// after returns err with what had been done before it.
func after(err error, format string, args ...any) error {
	if err == nil {
		return nil
	}
	return &partialError{fmt.Sprintf(format, args...), err}
}

// explain turns any error of a verb into a Failure.
func (a *app) explain(err error) error {
	if err == nil {
		return nil
	}
	f := a.failure(err)
	var p *partialError
	if errors.As(err, &p) {
		f.Line += "; " + p.done
	}
	f.Line = clean(f.Line) // what it tells of may come from whoever sends telemetry
	return f
}

const another = "name another server with --server or spangrove config set server URL"

func (a *app) failure(err error) *Failure {
	var f *Failure
	var answer *client.Error
	switch {
	case errors.As(err, &f):
		return &Failure{f.Line, f.Exit}
	case errors.As(err, &answer):
		return a.refused(answer)
	case errors.Is(err, context.Canceled):
		return &Failure{"interrupted", exitInterrupted}
	case errors.Is(err, context.DeadlineExceeded):
		return &Failure{fmt.Sprintf("no answer from %s within %s; allow more with --timeout", a.api.Server(), a.settings.timeout()), exitTimeout}
	}
	var network *net.OpError
	if errors.As(err, &network) && network.Op == "dial" {
		line := fmt.Sprintf("cannot reach %s: %s; ", a.api.Server(), cause(network))
		if local(a.api.Server()) {
			line += "start the server with spangrove, " + a.without + "or "
		}
		return &Failure{line + another, ExitFailed}
	}
	if scheme := new(tls.RecordHeaderError); errors.Is(err, http.ErrSchemeMismatch) || errors.As(err, scheme) {
		return &Failure{fmt.Sprintf("%s does not speak TLS; begin its address with http://, or %s", a.api.Server(), another), ExitFailed}
	}
	if trust := new(tls.CertificateVerificationError); errors.As(err, &trust) {
		return &Failure{
			fmt.Sprintf("cannot trust %s: %s; name the file of its authority in SSL_CERT_FILE, or %s", a.api.Server(), cause(trust), another),
			ExitFailed,
		}
	}
	return &Failure{err.Error(), fault.Of(err).ExitCode()}
}

// cause returns the innermost error, which is the part that people understand.
func cause(err error) error {
	for {
		next := errors.Unwrap(err)
		if next == nil {
			return err
		}
		err = next
	}
}

// refused returns what to do about an answer other than success.
func (a *app) refused(e *client.Error) *Failure {
	what := e.Message
	if e.Field != "" {
		what = e.Field + ": " + e.Message
	}
	key := a.settings[settingKey]
	const by = "with --api-key-file, SPANGROVE_API_KEY or spangrove config set api-key KEY"
	kind := fault.OfStatus(e.Status)
	switch {
	case kind == fault.Unauthorized && key.text == "":
		what = fmt.Sprintf(
			"%s asks for a key; give it %s; one that a server made for itself is in the file api-key of its data directory",
			a.api.Server(),
			by,
		)
	case kind == fault.Unauthorized:
		what = fmt.Sprintf("%s refuses the key %s from %s: %s; give another one %s", a.api.Server(), mask(key.text), key.from, what, by)
	case kind == fault.Forbidden:
		what = fmt.Sprintf("%s (it is %s from %s); give another one %s", what, mask(key.text), key.from, by)
	case kind == fault.NotFound && (e.Code == "" || strings.HasPrefix(e.Message, "no such path")):
		what = fmt.Sprintf("%s; is %s the address of a Spangrove server?", what, a.api.Server())
	case kind.Later():
		what += "; try again in a moment"
	case kind == fault.Timeout:
		what += "; ask for less, or try again"
	}
	return &Failure{what, kind.ExitCode()}
}
