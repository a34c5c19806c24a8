package spangrovereceiver

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"time"

	"go.opentelemetry.io/collector/pdata/plog/plogotlp"
	"go.opentelemetry.io/collector/pdata/ptrace/ptraceotlp"
	"go.opentelemetry.io/collector/receiver/receiverhelper"
	"go.uber.org/zap"

	"github.com/spangrove/spangrove/pkg/fault"
	"github.com/spangrove/spangrove/pkg/ingress"
	"github.com/spangrove/spangrove/pkg/limit"
	"github.com/spangrove/spangrove/pkg/project"
	"github.com/spangrove/spangrove/pkg/refused"
)

// servedRoute is a path and who serves it.
type servedRoute struct {
	pattern string // net/http's form
	handler http.Handler
}

// otlpRoutes returns the OTLP/HTTP paths: the customary ones, and HoneyHive's. The customary one of
// metrics is not among them: on the API port it belongs to the metrics that evaluate.
func (r *spangroveReceiver) otlpRoutes(via *receiverhelper.ObsReport) []servedRoute {
	var routes []servedRoute
	add := func(signal string, h otlpHandler) {
		for _, prefix := range []string{"/v1/", "/opentelemetry/v1/"} {
			routes = append(routes, servedRoute{"POST " + prefix + signal, r.otlp(h)})
		}
	}
	if r.traces != nil {
		add("traces", r.tracesVia(via))
	}
	add("logs", r.logsVia(via))
	return append(routes, servedRoute{"POST /opentelemetry/v1/metrics", r.otlp(r.dropMetrics)})
}

// otlpMux serves the OTLP/HTTP paths on the receiver's own listener.
func (r *spangroveReceiver) otlpMux() *http.ServeMux {
	mux := http.NewServeMux()
	for _, route := range r.otlpRoutes(r.viaHTTP) {
		mux.Handle(route.pattern, route.handler)
	}
	mux.Handle("POST /v1/metrics", r.otlp(r.dropMetrics))
	return mux
}

// otlpHandler takes the body of one export request. A nil answer means that all was taken:
// then OTLP wants partial_success unset, which pdata's responses always set.
type otlpHandler func(ctx context.Context, enc encoding, body []byte, from caller) (exportResponse, error)

// otlp serves an OTLP path. The answer is in the encoding of the body; if that cannot be read, in that of its
// content type.
func (r *spangroveReceiver) otlp(h otlpHandler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		enc := encodingOf(req.Header.Get("Content-Type"), nil)
		var answer exportResponse
		err := r.handle(req, (*ingress.Hold).ReadReused, func(body []byte, from caller) (err error) {
			enc = encodingOf(req.Header.Get("Content-Type"), body)
			answer, err = h(req.Context(), enc, body, from)
			return err
		})
		if err != nil {
			writeOTLPError(w, enc, err)
			return
		}
		writeOTLP(w, enc, answer)
	})
}

// handle does what every request over HTTP needs: it checks who asks, reads the body within
// the budget by one of its two ways, charges its length to the caller's rate limit, and counts refusals. ReadReused lends
// memory that is used again after do; ReadAll does not.
func (r *spangroveReceiver) handle(req *http.Request, read func(*ingress.Hold, io.Reader, int64) ([]byte, error),
	do func(body []byte, from caller) error) (err error) {
	defer func() { r.observe(req.Context(), req, err) }()
	return r.inside(req.Context(), func(from caller) error {
		body, err := read(from.hold, req.Body, req.ContentLength)
		if err != nil {
			return readFault(err)
		}
		limit.Charge(req.Context(), len(body))
		return do(body, from)
	})
}

// inside runs do for a caller who may write, unless the receiver is stopping. What do takes of the budget is given back
// afterwards: it must not keep the body.
func (r *spangroveReceiver) inside(ctx context.Context, do func(from caller) error) error {
	if !r.gate.enter() {
		return fault.New(fault.Unavailable, "the server is stopping")
	}
	defer r.gate.leave()
	id, err := mayWrite(ctx)
	if err != nil {
		return err
	}
	hold := r.budget.Hold(id.Project.PublicID)
	defer hold.Release()
	return do(caller{id, hold})
}

// observe counts and notes a refused request, and logs one that was our fault. ctx is that of the caller, if the caller is known.
func (r *spangroveReceiver) observe(ctx context.Context, req *http.Request, err error) {
	if err == nil {
		return
	}
	r.metrics.refuse(ctx, err)
	if refusal, ok := refused.From(err); ok {
		if who, ok := project.CallerOf(err); ok {
			ctx = project.WithIdentity(ctx, who)
		}
		// The decoder of JSON shows the caller the place in the body; that is not to be kept.
		refusal.Message, _, _ = strings.Cut(refusal.Message, decoderContext)
		r.note(ctx, req, refusal)
	}
	if fault.Of(err) == fault.Internal {
		r.set.Logger.Error("request failed", zap.String("request", req.Method+" "+pathOf(req)), zap.Error(err))
	}
}

// decoderContext is where, in an error of pdata's JSON decoder, its excerpt of the body begins.
const decoderContext = ", error found in #"

// pathOf returns the path of a request: its pattern, without the ids in it, if it has one.
func pathOf(req *http.Request) string {
	if _, path, ok := strings.Cut(req.Pattern, " "); ok {
		return path
	}
	return req.URL.Path
}

// note passes on a refused request, of which the status and the message are filled in, to those who keep them.
func (r *spangroveReceiver) note(ctx context.Context, req *http.Request, refusal refused.Request) {
	if r.refusals == nil {
		return
	}
	who, known := identify(ctx)
	if !known {
		who.KeyPrefix = project.HeaderPrefix(req.Header.Get("Authorization"))
	}
	refusal.Method, refusal.Path, refusal.KeyPrefix = req.Method, pathOf(req), who.KeyPrefix
	r.refusals.Refuse(who.Project.PublicID, refusal)
}

// routed notes requests of paths and methods that mux does not serve, which it answers in its own way.
func (r *spangroveReceiver) routed(mux *http.ServeMux) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		if _, pattern := mux.Handler(req); pattern == "" {
			r.note(req.Context(), req, refused.Request{Status: http.StatusNotFound, Message: "nothing is served here: POST to /v1/traces or /v1/logs"})
		}
		mux.ServeHTTP(w, req)
	})
}

// retryAfter returns when an Unavailable error advises to come back, 0 for the default.
func retryAfter(err error) time.Duration {
	var f *fault.Error
	if errors.As(err, &f) {
		return f.RetryAfter
	}
	return 0
}

// tracesVia and logsVia return the handlers of a signal for one way in: they admit, decode and push. The answer
// counts the items that were rejected, for whatever reason.
func (r *spangroveReceiver) tracesVia(via *receiverhelper.ObsReport) otlpHandler {
	return func(ctx context.Context, enc encoding, body []byte, from caller) (exportResponse, error) {
		checked, err := r.admit(traceRequest, "spans", enc, body, from)
		if err != nil {
			return nil, err
		}
		req, undecoded, err := decodeExport(ptraceotlp.NewExportRequest, traceRequest, enc, body, checked)
		if err != nil {
			return nil, err
		}
		if undecoded.count > 0 {
			r.metrics.reject(ctx, undecoded.count)
		}
		lacks, err := r.pushTraces(ctx, via, string(enc), req.Traces(), from.Identity)
		lacks.undecoded(undecoded)
		if err != nil || lacks.items == 0 {
			return nil, err
		}
		answer := ptraceotlp.NewExportResponse()
		answer.PartialSuccess().SetRejectedSpans(int64(lacks.items))
		answer.PartialSuccess().SetErrorMessage(lacks.message("spans"))
		return answer, nil
	}
}

func (r *spangroveReceiver) logsVia(via *receiverhelper.ObsReport) otlpHandler {
	return func(ctx context.Context, enc encoding, body []byte, from caller) (exportResponse, error) {
		checked, err := r.admit(logRequest, "log records", enc, body, from)
		if err != nil {
			return nil, err
		}
		req, undecoded, err := decodeExport(plogotlp.NewExportRequest, logRequest, enc, body, checked)
		if err != nil {
			return nil, err
		}
		if undecoded.count > 0 {
			r.metrics.rejectLogs(ctx, undecoded.count)
		}
		lacks, err := r.pushLogs(ctx, via, string(enc), req.Logs(), from.Identity)
		lacks.undecoded(undecoded)
		if err != nil || lacks.items == 0 {
			return nil, err
		}
		answer := plogotlp.NewExportResponse()
		answer.PartialSuccess().SetRejectedLogRecords(int64(lacks.items))
		answer.PartialSuccess().SetErrorMessage(lacks.message("log records"))
		return answer, nil
	}
}

// dropMetrics answers success, so that an SDK that sends all signals to one address does not
// report errors; the body is not even decoded.
func (r *spangroveReceiver) dropMetrics(ctx context.Context, _ encoding, _ []byte, _ caller) (exportResponse, error) {
	r.metrics.drop(ctx, "metrics", 1)
	return nil, nil
}

// refuse answers a request on the receiver's own HTTP listener whose body is not read.
func (r *spangroveReceiver) refuse(w http.ResponseWriter, req *http.Request, err error) {
	ingress.Refused(w)
	r.observe(req.Context(), req, err)
	writeOTLPError(w, encodingOf(req.Header.Get("Content-Type"), nil), err)
}
