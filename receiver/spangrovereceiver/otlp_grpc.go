package spangrovereceiver

import (
	"bytes"
	"cmp"
	"context"
	"crypto/tls"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"

	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/config/configauth"
	"go.opentelemetry.io/collector/config/configgrpc"
	"go.opentelemetry.io/collector/config/configoptional"
	"go.opentelemetry.io/collector/config/configtls"
	"go.opentelemetry.io/collector/extension/extensionauth"
	"go.uber.org/zap"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/mem"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	"github.com/spangrove/spangrove/pkg/fault"
	"github.com/spangrove/spangrove/pkg/fault/verdict"
	"github.com/spangrove/spangrove/pkg/ingress"
	"github.com/spangrove/spangrove/pkg/limit"
	"github.com/spangrove/spangrove/pkg/mount"
	"github.com/spangrove/spangrove/pkg/refused"
)

// A call over gRPC is served by net/http's HTTP/2, and by gRPC only once its message is read. gRPC's
// own transport receives, decompresses and copies a message before it asks who sent it, and has no
// place to account for it meanwhile; so over gRPC and HTTP the same code checks the key, then reads
// the message within the budget and the time that it may take. What gRPC is good for is left to it:
// deadlines, interceptors, telemetry, status and trailers. It gets an empty message; the real one
// is in the context.

// grpcListener serves OTLP/gRPC.
type grpcListener struct {
	// gRPC, which has no connection of its own, and the HTTP/2 server that hands calls to it.
	calls  *grpc.Server
	server *http.Server
}

// stop lets calls end by themselves until ctx ends.
func (l *grpcListener) stop(ctx context.Context) error {
	err := l.server.Shutdown(ctx)
	if err != nil {
		err = errors.Join(err, l.server.Close())
	}
	l.calls.Stop()
	return err
}

// listenGRPC starts the gRPC listener, unless it is off:
//
//  1. The authenticator and TLS are taken from the configuration: they are the front's work, and the listener's.
//  2. The gRPC server is made of the rest of it, so that interceptors and telemetry are as everywhere in the Collector.
//  3. The front is put before it: an HTTP/2 server that reads messages itself.
func (r *spangroveReceiver) listenGRPC(ctx context.Context, host component.Host) error {
	cfg := r.cfg.grpc()
	if cfg == nil {
		return nil
	}
	var auth extensionauth.Server
	if a := cfg.Auth.Get(); a != nil {
		var err error
		if auth, err = a.GetServerAuthenticator(ctx, host.GetExtensions()); err != nil {
			return err
		}
	}
	var encryption *tls.Config
	if cfg.TLS.HasValue() {
		var err error
		if encryption, err = cfg.TLS.Get().LoadTLSConfig(ctx); err != nil {
			return err
		}
		encryption.NextProtos = []string{"h2"}
	}
	// The front has checked the key and ended TLS before gRPC sees a call.
	inner := *cfg
	inner.Auth = configoptional.None[configauth.Config]()
	inner.TLS = configoptional.None[configtls.ServerConfig]()
	calls, err := inner.ToServer(ctx, host.GetExtensions(), r.set.TelemetrySettings,
		configgrpc.WithGrpcServerOption(grpc.ForceServerCodecV2(rawCodec{})))
	if err != nil {
		return err
	}
	r.registerGRPC(calls)
	// Only calls of methods that exist have their messages read.
	known := map[string]bool{}
	for name, service := range calls.GetServiceInfo() {
		for _, method := range service.Methods {
			known["/"+name+"/"+method.Name] = true
		}
	}
	front := &grpcFront{
		receiver: r, auth: auth, known: known, calls: calls,
		bodies: r.bodies(int64(cfg.MaxRecvMsgSizeMiB)*mebibyte, r.cfg.BodyTimeout),
	}
	server, err := r.grpcServer(cfg, front)
	if err != nil {
		return err
	}
	ln, err := cfg.NetAddr.Listen(ctx)
	if err != nil {
		return err
	}
	bound := r.cfg.Limits.Bound(ln, encryption, server)
	r.grpc = &grpcListener{calls, server}
	ingress.WarnUnencrypted(r.set.Logger, cfg.NetAddr.Endpoint, string(cfg.NetAddr.Transport), encryption != nil)
	r.announce(ctx, mount.Notice{Topic: mount.TopicOTLPGRPC, Text: ln.Addr().String()}, "OTLP gRPC")
	r.tellListeners(mount.Listener{Topic: mount.TopicOTLPGRPC, URL: listenerURL(ln, encryption != nil), MaxBytes: int64(cfg.MaxRecvMsgSizeMiB) * mebibyte})
	r.serve(host, func() error { return server.Serve(bound) }, http.ErrServerClosed)
	return nil
}

// grpcServer makes the HTTP/2 server of a gRPC listener, with those settings of cfg that are the connection's: streams,
// keepalive and idle time. It speaks HTTP/2 without TLS as well, as gRPC clients do ("prior knowledge").
func (r *spangroveReceiver) grpcServer(cfg *configgrpc.ServerConfig, front *grpcFront) (*http.Server, error) {
	errorLog, err := zap.NewStdLogAt(r.set.Logger, zap.DebugLevel) // what clients do wrong
	if err != nil {
		return nil, err
	}
	s := &http.Server{
		Handler: front, ReadHeaderTimeout: defaultHeaderTimeout, IdleTimeout: defaultIdleTimeout, ErrorLog: errorLog,
		Protocols: new(http.Protocols),
		HTTP2: &http.HTTP2Config{
			MaxConcurrentStreams: int(cfg.MaxConcurrentStreams),
			SendPingTimeout:      time.Minute,
			PingTimeout:          20 * time.Second,
		},
	}
	s.Protocols.SetHTTP2(true)
	s.Protocols.SetUnencryptedHTTP2(true)
	if alive := cfg.Keepalive.Get(); alive != nil {
		if p := alive.ServerParameters.Get(); p != nil {
			s.IdleTimeout = cmp.Or(p.MaxConnectionIdle, s.IdleTimeout)
			s.HTTP2.SendPingTimeout = cmp.Or(p.Time, s.HTTP2.SendPingTimeout)
			s.HTTP2.PingTimeout = cmp.Or(p.Timeout, s.HTTP2.PingTimeout)
			front.maxAge = p.MaxConnectionAge
		}
	}
	return s, nil
}

// grpcFront is what a call meets before gRPC does. It does not change once it serves.
type grpcFront struct {
	receiver *spangroveReceiver
	// nil: no keys are asked for.
	auth extensionauth.Server
	// The paths of the methods that gRPC knows, such as /opentelemetry.proto.collector.trace.v1.TraceService/Export.
	known map[string]bool
	// The gRPC server.
	calls  http.Handler
	bodies ingress.Bodies
	maxAge time.Duration // of a connection; 0: any
}

// emptyMessage is a gRPC message of no bytes: not compressed (one byte), and its length (four).
var emptyMessage = []byte{0, 0, 0, 0, 0}

// messageKey is the key of the received message in a call's context.
type messageKey struct{}

// received is the message of a call, who sent it, and the request of HTTP/2 that it came by.
type received struct {
	message []byte
	from    caller
	req     *http.Request
}

const grpcOnly = "OTLP over gRPC only"

// ServeHTTP implements http.Handler:
//
//  1. What is no gRPC is refused.
//  2. The caller is identified by the headers. gRPC would do that after it had the message.
//  3. The message is read, decompressed, within the budget; then it is put into the context.
//  4. gRPC serves the call with an empty message in its place, and writes the answer.
//
// A refusal before step 4 is written here, in gRPC's form.
func (f *grpcFront) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	if req.Method != http.MethodPost || !strings.HasPrefix(req.Header.Get("Content-Type"), "application/grpc") {
		ingress.Refused(w)
		http.Error(w, grpcOnly, http.StatusUnsupportedMediaType)
		f.receiver.note(req.Context(), req, refused.Request{Status: http.StatusUnsupportedMediaType, Message: grpcOnly})
		return
	}
	if f.maxAge > 0 && ingress.Age(req.Context()) > f.maxAge {
		w.Header().Set("Connection", "close") // over HTTP/2: no new calls on this connection
	}
	ctx := req.Context()
	if f.auth != nil {
		metadata := make(map[string][]string, len(req.Header)) // gRPC's names are in lower case
		for name, values := range req.Header {
			metadata[strings.ToLower(name)] = values
		}
		authenticated, err := f.auth.Authenticate(ctx, metadata)
		if err != nil {
			f.refuse(w, req, notAuthenticated(err))
			return
		}
		ctx = authenticated
	}
	defer ingress.Working(ctx)()
	if !f.known[req.URL.Path] {
		f.receiver.note(ctx, req, refused.Request{Status: http.StatusNotFound, Message: "no such method"})
		f.calls.ServeHTTP(w, withBody(ctx, req)) // knows how to say so
		return
	}
	err := f.receiver.inside(ctx, func(from caller) error {
		message, err := f.bodies.Message(w, req, from.hold)
		if err != nil {
			return err
		}
		limit.Charge(ctx, len(message))
		f.calls.ServeHTTP(whole{w}, withBody(context.WithValue(ctx, messageKey{}, received{message, from, req}), req))
		return nil
	})
	if err != nil {
		f.refuse(w, req.WithContext(ctx), err)
	}
}

// whole sends an answer when the handler ends, and not its parts as gRPC flushes them: a call of OTLP has
// one answer, and each flush is a write to the connection.
type whole struct{ http.ResponseWriter }

// Flush implements http.Flusher, which gRPC wants.
func (whole) Flush() {}

// withBody returns the request as gRPC gets it.
func withBody(ctx context.Context, req *http.Request) *http.Request {
	req = req.WithContext(ctx)
	req.Header.Del("Grpc-Encoding")
	req.Body = io.NopCloser(bytes.NewReader(emptyMessage))
	return req
}

// refuse answers a call that gRPC does not get to see: with status 200 of HTTP and gRPC's own status in the headers, which is
// how gRPC writes an answer without a message. The details of the status (when to try again) go along.
func (f *grpcFront) refuse(w http.ResponseWriter, req *http.Request, err error) {
	ingress.Refused(w)
	f.receiver.observe(req.Context(), req, err)
	st := verdict.Status(err)
	h := w.Header()
	switch {
	case fault.Of(err) == fault.TooLarge: // as gRPC itself says it; without RetryInfo nobody tries again
		st = status.New(codes.ResourceExhausted, st.Message())
	case errors.Is(err, ingress.ErrEncoding):
		st = status.New(codes.Unimplemented, st.Message())
		h.Set("Grpc-Accept-Encoding", ingress.GRPCEncodings)
	}
	h.Set("Content-Type", "application/grpc")
	h.Set("Grpc-Status", strconv.Itoa(int(st.Code())))
	h.Set("Grpc-Message", grpcText(st.Message()))
	if p := st.Proto(); len(p.GetDetails()) > 0 {
		if details, err := proto.Marshal(p); err == nil {
			h.Set("Grpc-Status-Details-Bin", base64.RawStdEncoding.EncodeToString(details))
		}
	}
	w.WriteHeader(http.StatusOK) // gRPC's own status says the rest
}

// grpcText writes a message as gRPC wants it in a header: what is not printable ASCII, and the
// percent sign, as a percent sign and two hexadecimal digits.
func grpcText(message string) string {
	var b strings.Builder
	for i := range len(message) {
		if c := message[i]; c < ' ' || c > '~' || c == '%' {
			fmt.Fprintf(&b, "%%%02X", c)
		} else {
			b.WriteByte(c)
		}
	}
	return b.String()
}

// registerGRPC serves OTLP's three services.
func (r *spangroveReceiver) registerGRPC(s *grpc.Server) {
	const prefix, suffix = "opentelemetry.proto.collector.", "Service"
	if r.traces != nil {
		s.RegisterService(r.exportService(prefix+"trace.v1.Trace"+suffix, r.tracesVia(r.viaGRPC)), r)
	}
	s.RegisterService(r.exportService(prefix+"logs.v1.Logs"+suffix, r.logsVia(r.viaGRPC)), r)
	s.RegisterService(r.exportService(prefix+"metrics.v1.Metrics"+suffix, r.dropMetrics), r)
}

// exportService describes a service with OTLP's only method, Export. It is written by hand instead of generated, since
// messages go through undecoded: the handler decodes them itself, as over HTTP.
func (r *spangroveReceiver) exportService(name string, h otlpHandler) *grpc.ServiceDesc {
	const method = "Export"
	full := "/" + name + "/" + method
	return &grpc.ServiceDesc{
		ServiceName: name,
		HandlerType: (*any)(nil),
		Methods: []grpc.MethodDesc{{
			MethodName: method,
			Handler: func(srv any, ctx context.Context, decode func(any) error, intercept grpc.UnaryServerInterceptor) (any, error) {
				in := new(rawMessage)
				if err := decode(in); err != nil {
					return nil, err
				}
				defer in.free()
				serve := func(ctx context.Context, _ any) (any, error) {
					answer, err := r.call(ctx, h)
					return &rawMessage{buffer: mem.SliceBuffer(answer)}, err
				}
				if intercept == nil {
					return serve(ctx, in)
				}
				return intercept(ctx, in, &grpc.UnaryServerInfo{Server: srv, FullMethod: full}, serve)
			},
		}},
	}
}

// call answers a call whose message has been read, and counts refusals. Errors come back with a
// gRPC status.
func (r *spangroveReceiver) call(ctx context.Context, h otlpHandler) (answer []byte, err error) {
	got, ok := ctx.Value(messageKey{}).(received)
	if !ok { // never: what is served here comes by grpcFront
		return nil, status.Error(codes.Internal, "no message")
	}
	response, err := h(ctx, encodingProto, got.message, got.from)
	if err == nil && response != nil {
		answer, err = response.MarshalProto()
	}
	r.observe(ctx, got.req, err)
	return answer, verdict.GRPC(err)
}

// rawMessage is a gRPC message that is not decoded.
type rawMessage struct {
	buffer mem.Buffer
}

// free gives the message's memory back to gRPC.
func (m *rawMessage) free() {
	if m.buffer != nil {
		m.buffer.Free()
	}
}

// rawCodec hands messages over as they are.
type rawCodec struct{}

// Marshal implements encoding.CodecV2.
func (rawCodec) Marshal(v any) (mem.BufferSlice, error) {
	m, ok := v.(*rawMessage)
	if !ok {
		return nil, fmt.Errorf("cannot write %T", v)
	}
	return mem.BufferSlice{m.buffer}, nil
}

// Unmarshal implements encoding.CodecV2.
func (rawCodec) Unmarshal(data mem.BufferSlice, v any) error {
	m, ok := v.(*rawMessage)
	if !ok {
		return fmt.Errorf("cannot read %T", v)
	}
	m.buffer = data.MaterializeToBuffer(mem.DefaultBufferPool())
	return nil
}

// Name implements encoding.CodecV2: on the wire it is protobuf.
func (rawCodec) Name() string { return "proto" }
