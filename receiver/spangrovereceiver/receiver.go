package spangrovereceiver

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"sync"
	"time"

	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/component/componentstatus"
	"go.opentelemetry.io/collector/config/confighttp"
	"go.opentelemetry.io/collector/config/configoptional"
	"go.opentelemetry.io/collector/consumer"
	"go.opentelemetry.io/collector/receiver"
	"go.opentelemetry.io/collector/receiver/receiverhelper"
	"go.uber.org/zap"

	"github.com/spangrove/spangrove/pkg/ingress"
	"github.com/spangrove/spangrove/pkg/mount"
)

// spangroveReceiver is the receiver of all pipelines of one configuration. What it finds and starts is set by Start;
// requests only read it.
type spangroveReceiver struct {
	cfg     *Config
	set     receiver.Settings
	metrics *telemetry
	// The memory of requests under way on all ports, and the requests themselves.
	budget *ingress.Budget
	gate   gate
	forget func() // tells the factory that this receiver is done

	// The pipelines, set by the factory before Start. traces is nil without a traces pipeline, and logs without a logs pipeline:
	// log records are then dropped.
	traces consumer.Traces
	logs   consumer.Logs

	// How each way in reports itself.
	viaGRPC, viaHTTP, viaAPI *receiverhelper.ObsReport

	starts   mount.StartChecker  // nil: the exporter tells what begins too far from now
	sessions mount.SessionReader // nil: a session start is answered with what was sent
	projects mount.Projects      // nil: a caller without identity has no project to name
	refusals mount.Refusals      // nil: refused requests are only counted
	// nil: nobody asks where the receiver listens
	listeners mount.Listeners

	// mu guards the life cycle, that is all below it.
	mu      sync.Mutex
	started bool
	grpc    *grpcListener
	http    *http.Server
	// The patterns that are mounted on the API's port, and where.
	mounted  []string
	registry mount.Registrar
	closed   []func() // take back what listeners was told
	serving  sync.WaitGroup
}

// newReceiver returns a receiver that does not listen yet.
func newReceiver(set receiver.Settings, cfg *Config) (*spangroveReceiver, error) {
	r := &spangroveReceiver{cfg: cfg, set: set, forget: func() {}}
	var err error
	if r.metrics, err = newTelemetry(set.TelemetrySettings); err != nil {
		return nil, err
	}
	r.budget = ingress.NewBudget(int64(cfg.MaxInFlightMiB)*mebibyte, cfg.share(), r.metrics.inFlightBy)
	for _, way := range []struct {
		obs       **receiverhelper.ObsReport
		transport string
	}{{&r.viaGRPC, "grpc"}, {&r.viaHTTP, "http"}, {&r.viaAPI, "api"}} {
		*way.obs, err = receiverhelper.NewObsReport(receiverhelper.ObsReportSettings{
			ReceiverID: set.ID, Transport: way.transport, ReceiverCreateSettings: set,
		})
		if err != nil {
			return nil, err
		}
	}
	return r, nil
}

// Start listens and mounts. A port that is taken fails at once. It is called once for each
// pipeline; all but the first call do nothing.
func (r *spangroveReceiver) Start(ctx context.Context, host component.Host) error {
	r.mu.Lock()
	if r.started {
		r.mu.Unlock()
		return nil
	}
	r.started = true
	err := r.start(ctx, host)
	r.mu.Unlock()
	if err != nil {
		return errors.Join(err, r.Shutdown(ctx))
	}
	return nil
}

// start is Start with mu held. What it has begun before an error is for Shutdown to end.
func (r *spangroveReceiver) start(ctx context.Context, host component.Host) error {
	r.starts = find[mount.StartChecker](host, r.cfg.API.Extension)
	r.sessions = find[mount.SessionReader](host, r.cfg.API.Extension)
	r.projects = find[mount.Projects](host, r.cfg.API.Extension)
	r.refusals = find[mount.Refusals](host, r.cfg.API.Extension)
	r.listeners = find[mount.Listeners](host, r.cfg.API.Extension)
	if err := r.listenGRPC(ctx, host); err != nil {
		return fmt.Errorf("%s: %w", r.key("protocols::grpc"), err)
	}
	if err := r.listenHTTP(ctx, host); err != nil {
		return fmt.Errorf("%s: %w", r.key("protocols::http"), err)
	}
	return r.mountAPI(host)
}

// listenHTTP starts the OTLP/HTTP listener, unless it is off.
func (r *spangroveReceiver) listenHTTP(ctx context.Context, host component.Host) error {
	cfg := r.cfg.http()
	if cfg == nil {
		return nil
	}
	// From the inside out: the paths, then the bounds of bodies, then the authenticator.
	bodies := r.bodies(cfg.MaxRequestBodySize, cmp.Or(cfg.ReadTimeout, r.cfg.BodyTimeout))
	bodies.Algorithms = cfg.CompressionAlgorithms
	handler, err := r.guarded(ctx, host, cfg.Auth.Get(), bodies, r.routed(r.otlpMux()))
	if err != nil {
		return err
	}
	// The interceptor of confighttp answers 401 whatever the authenticator says, also when it
	// cannot reach its store; senders would drop their data. Ours tells the two apart. And its
	// decompression comes before what is within the server.
	server := *cfg
	server.Auth = configoptional.None[confighttp.AuthConfig]()
	server.CompressionAlgorithms = []string{}
	s, err := server.ToServer(ctx, host.GetExtensions(), r.set.TelemetrySettings, handler)
	if err != nil {
		return err
	}
	s.Handler = ingress.Secure(s.Handler)
	ln, err := r.cfg.Limits.Listen(ctx, cfg, s)
	if err != nil {
		return err
	}
	r.http = s
	scheme := "http://"
	if cfg.TLS.HasValue() {
		scheme = "https://"
	}
	ingress.WarnUnencrypted(r.set.Logger, cfg.NetAddr.Endpoint, string(cfg.NetAddr.Transport), cfg.TLS.HasValue())
	r.announce(ctx, mount.Notice{Topic: mount.TopicOTLPHTTP, Text: scheme + ln.Addr().String()}, "OTLP HTTP")
	r.tellListeners(mount.Listener{Topic: mount.TopicOTLPHTTP, URL: listenerURL(ln, cfg.TLS.HasValue()), MaxBytes: cfg.MaxRequestBodySize})
	r.serve(host, func() error { return s.Serve(ln) }, http.ErrServerClosed)
	return nil
}

// bodies returns how the receiver's own listeners read what they get, at most max bytes each.
func (r *spangroveReceiver) bodies(max int64, timeout time.Duration) ingress.Bodies {
	return ingress.Bodies{Max: max, Timeout: timeout, MinRate: r.cfg.Limits.MinBodyRate, Grace: r.cfg.Limits.BodyGrace}
}

// mountAPI serves the write paths on the API extension's port.
func (r *spangroveReceiver) mountAPI(host component.Host) error {
	if !r.cfg.API.Enabled {
		return nil
	}
	registry, err := mount.ExtensionOf[mount.Registrar](host, r.cfg.API.Extension, r.key("api::extension"))
	if err != nil {
		return fmt.Errorf("%w; or set api::enabled to false", err)
	}
	r.registry = registry
	for _, route := range r.apiRoutes() {
		if err := registry.Mount(route.pattern, route.handler); err != nil {
			return fmt.Errorf("%s: %w", r.key("api"), err)
		}
		r.mounted = append(r.mounted, route.pattern)
	}
	r.tellListeners(mount.Listener{Topic: mount.TopicOTLPHTTP}) // at the API's address, within its bounds
	return nil
}

// serve runs a server until it is stopped. One that ends otherwise is reported to the Collector, which then stops.
func (r *spangroveReceiver) serve(host component.Host, run func() error, stopped error) {
	r.serving.Go(func() {
		if err := run(); err != nil && !errors.Is(err, stopped) {
			componentstatus.ReportStatus(host, componentstatus.NewFatalErrorEvent(err))
		}
	})
}

// announce tells the host that a listener is there, or the log if the host does not want to know.
func (r *spangroveReceiver) announce(ctx context.Context, n mount.Notice, what string) {
	if !mount.Announce(ctx, n) {
		r.set.Logger.Info("listening", zap.String("for", what), zap.String("on", n.Text))
	}
}

// tellListeners tells the API of a listener of OTLP, or of OTLP on its own port.
func (r *spangroveReceiver) tellListeners(l mount.Listener) {
	if r.listeners != nil {
		l.MaxItems = r.cfg.MaxItems
		r.closed = append(r.closed, r.listeners.Listening(l))
	}
}

// listenerURL returns a URL with the address that was bound.
func listenerURL(ln net.Listener, encrypted bool) string {
	switch {
	case ln.Addr().Network() == "unix":
		return "unix://" + ln.Addr().String()
	case encrypted:
		return "https://" + ln.Addr().String()
	}
	return "http://" + ln.Addr().String()
}

// Shutdown takes no more requests, and waits for those under way until ctx ends. It may be
// called before Start and more than once. The gate is closed first, so that a request that still comes is told to come
// back later (503) and not cut off.
func (r *spangroveReceiver) Shutdown(ctx context.Context) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.forget()
	r.gate.close()
	for _, pattern := range r.mounted {
		r.registry.Unmount(pattern)
	}
	r.mounted = nil
	for _, closed := range r.closed {
		closed()
	}
	r.closed = nil
	var err error
	if r.http != nil {
		if err = r.http.Shutdown(ctx); err != nil {
			err = errors.Join(err, r.http.Close())
		}
		r.http = nil
	}
	if r.grpc != nil {
		err = errors.Join(err, r.grpc.stop(ctx))
		r.grpc = nil
	}
	// The servers no longer take calls; what is inside may still be in the pipeline.
	r.serving.Wait()
	return errors.Join(err, r.gate.drain(ctx))
}

// key returns the YAML path of a setting of this receiver, for errors.
func (r *spangroveReceiver) key(name string) string {
	return fmt.Sprintf("receivers::%s::%s", r.set.ID, name)
}
