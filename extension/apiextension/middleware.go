package apiextension

import (
	"errors"
	"fmt"
	"net/http"
	"net/netip"
	"runtime/debug"
	"slices"
	"time"

	"github.com/klauspost/compress/gzhttp"
	"github.com/klauspost/compress/gzip"
	"go.opentelemetry.io/collector/extension/extensionauth"
	"go.uber.org/zap"

	"github.com/spangrove/spangrove/pkg/fault"
	"github.com/spangrove/spangrove/pkg/ingress"
	"github.com/spangrove/spangrove/pkg/project"
	"github.com/spangrove/spangrove/pkg/refused"
	"github.com/spangrove/spangrove/pkg/wire"
)

// handler returns what stands before the routes, outermost first: recovery and metrics, health, pages and
// sign-in, keys, bodies, compression of the answer. Nothing of a body has been read before the key is checked.
func (e *apiExtension) handler(auth extensionauth.Server) http.Handler {
	routes := compressed(e.router)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		began := time.Now()
		rec := &recorder{ResponseWriter: w}
		done := func() { e.metrics.request(r.Context(), r, rec.code(), time.Since(began)) }
		defer func() {
			if p := recover(); p != nil {
				e.recovered(rec, r, p, done)
				return
			}
			done()
		}()
		switch {
		case isHealth(r):
			e.health(rec, r)
			return
		case e.pages.Serves(r):
			e.pages.ServeHTTP(rec, r)
			return
		case isSignIn(r):
			e.serveSignIn(auth, rec, r)
			return
		}
		admitted := r
		if auth == nil {
			if err := checkOrigin(r, e.allowedOrigins(), false); err != nil {
				e.refuse(rec, r, err)
				return
			}
		} else {
			ctx, err := e.authenticate(auth, r)
			if err != nil {
				e.refuse(rec, r, authError(err))
				return
			}
			admitted = r.WithContext(ctx)
			// The copy's pattern is the mux's answer; metrics read it from here.
			defer func() { r.Pattern = admitted.Pattern }()
		}
		defer ingress.Working(r.Context())()
		if err := e.bodies.Open(rec, admitted); err != nil {
			e.refuse(rec, admitted, err)
			return
		}
		defer admitted.Body.Close()
		routes.ServeHTTP(rec, admitted)
		if admitted.Pattern == "" {
			e.noteUnrouted(admitted, rec.code())
		}
	})
}

// compressFrom is the size from which an answer is compressed, in bytes: smaller ones fit into a packet as they are.
const compressFrom = 1 << 10

// compressed returns a handler whose answers are compressed for those who accept gzip and are not on this machine. Streams of events
// are not: each event is to arrive when it is sent.
func compressed(next http.Handler) http.Handler {
	wrap, err := gzhttp.NewWrapper(gzhttp.MinSize(compressFrom), gzhttp.CompressionLevel(gzip.BestSpeed),
		gzhttp.ExceptContentTypes([]string{"text/event-stream"}))
	if err != nil {
		panic(err) // the options are constants of this program
	}
	packed := wrap(next)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if fromThisMachine(r) {
			next.ServeHTTP(w, r)
			return
		}
		packed.ServeHTTP(w, r)
	})
}

// forwarded are the headers by which proxies say that a request is somebody else's.
var forwarded = []string{"Forwarded", "X-Forwarded-For", "X-Real-Ip", "Via"}

// fromThisMachine reports whether a request comes over loopback, where compression takes longer than it saves, and not from a proxy
// that hands on what comes from elsewhere.
func fromThisMachine(r *http.Request) bool {
	from, err := netip.ParseAddrPort(r.RemoteAddr)
	if err != nil || !from.Addr().Unmap().IsLoopback() {
		return false
	}
	return !slices.ContainsFunc(forwarded, func(name string) bool { return r.Header.Get(name) != "" })
}

// readBody reads the body of a request within the budget of its project. release must be called
// also after an error.
func (e *apiExtension) readBody(r *http.Request, projectID string) (body []byte, release func(), err error) {
	hold := e.budget.Hold(projectID)
	body, err = hold.ReadAll(r.Body, r.ContentLength)
	return body, hold.Release, err
}

// recovered answers for a handler that panicked. ErrAbortHandler is a handler's own way to
// break a connection whose answer has begun, and goes on.
func (e *apiExtension) recovered(rec *recorder, r *http.Request, p any, done func()) {
	if err, ok := p.(error); ok && errors.Is(err, http.ErrAbortHandler) {
		done()
		panic(p)
	}
	e.set.Logger.Error(
		"handler panicked",
		zap.String("route", r.Pattern),
		zap.String("panic", fmt.Sprint(p)),
		zap.ByteString("stack", debug.Stack()),
	)
	if rec.status != 0 {
		done()
		panic(http.ErrAbortHandler) // a cut answer must not look like a whole one
	}
	wire.WriteError(rec, fault.New(fault.Internal, ""))
	done()
}

// authError keeps a kind that the authenticator chose. An error without one, as other
// authenticators return, is a refusal: extensionauth.Server allows nothing else.
func authError(err error) error {
	var f *fault.Error
	if errors.As(err, &f) {
		return err
	}
	return fault.Wrap(fault.Unauthorized, err, "not authorized")
}

// refuse answers a request whose body is not read, and notes it.
func (e *apiExtension) refuse(w http.ResponseWriter, r *http.Request, err error) {
	ingress.Refused(w)
	wire.WriteError(w, err)
	who, known := project.IdentityFrom(r.Context())
	if !known {
		who, known = project.CallerOf(err)
	}
	if !known {
		who.KeyPrefix = project.HeaderPrefix(r.Header.Get("Authorization"))
	}
	e.note(who.Project.PublicID, r, who.KeyPrefix, err)
}

// note notes a request that err refuses. projectID is empty if the caller is not known.
func (e *apiExtension) note(projectID string, r *http.Request, keyPrefix string, err error) {
	if refusal, ok := refused.From(err); ok {
		refusal.Method, refusal.Path, refusal.KeyPrefix = r.Method, r.URL.Path, keyPrefix
		e.Refuse(projectID, refusal)
	}
}

// noteUnrouted notes a request of a path or method that is not there, which the router has answered with status.
func (e *apiExtension) noteUnrouted(r *http.Request, status int) {
	message := "no such path"
	if status == http.StatusMethodNotAllowed {
		message = "this method is not possible here"
	}
	who, _ := project.IdentityFrom(r.Context())
	e.Refuse(who.Project.PublicID, refused.Request{
		Method: r.Method, Path: r.URL.Path, Status: status, Message: message, KeyPrefix: who.KeyPrefix,
	})
}

// The paths of health checks, which need no key.
const (
	livePath  = "/livez"  // the process answers, and no transaction hangs
	readyPath = "/readyz" // what is sent now will be taken
)

// isHealth reports whether r is a health check.
func isHealth(r *http.Request) bool {
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		return false
	}
	switch r.URL.Path {
	case "/healthcheck", "/v1/healthcheck", livePath, readyPath:
		return true
	}
	return false
}

// health answers a health check: whether the process works (/livez), whether requests are taken (/healthcheck), or whether they are taken and
// what they bring can be stored (/readyz).
func (e *apiExtension) health(w http.ResponseWriter, r *http.Request) {
	s := e.store.Load()
	var err error
	switch {
	case r.URL.Path == livePath:
		if s != nil && (*s).Stuck() {
			err = fault.New(fault.Unavailable, "a transaction of the store hangs")
		}
	case !e.open.Load():
		err = fault.New(fault.Unavailable, "not ready")
	case r.URL.Path == readyPath && s != nil:
		err = (*s).Writable(r.Context())
	}
	if err != nil {
		wire.WriteError(w, err)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write([]byte(`{"status":"ok"}`)) // a client that is gone cannot be told
}

// recorder remembers the status of an answer.
type recorder struct {
	http.ResponseWriter
	status int
}

func (r *recorder) WriteHeader(status int) {
	if r.status == 0 {
		r.status = status
	}
	r.ResponseWriter.WriteHeader(status)
}

func (r *recorder) Write(p []byte) (int, error) {
	if r.status == 0 {
		r.status = http.StatusOK
	}
	return r.ResponseWriter.Write(p)
}

// Flush implements http.Flusher, which the writer that compresses asks of the one below it.
func (r *recorder) Flush() { _ = http.NewResponseController(r.ResponseWriter).Flush() }

// Unwrap lets http.ResponseController set deadlines.
func (r *recorder) Unwrap() http.ResponseWriter { return r.ResponseWriter }

func (r *recorder) code() int {
	if r.status == 0 {
		return http.StatusOK
	}
	return r.status
}
