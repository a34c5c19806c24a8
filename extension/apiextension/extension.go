package apiextension

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/google/uuid"
	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/component/componentstatus"
	"go.opentelemetry.io/collector/config/confighttp"
	"go.opentelemetry.io/collector/config/configoptional"
	"go.opentelemetry.io/collector/extension"
	"go.opentelemetry.io/collector/extension/extensionauth"
	"go.opentelemetry.io/collector/extension/extensioncapabilities"
	"go.uber.org/zap"

	"github.com/spangrove/spangrove/pkg/event"
	"github.com/spangrove/spangrove/pkg/fault"
	"github.com/spangrove/spangrove/pkg/httpapi"
	"github.com/spangrove/spangrove/pkg/ingress"
	"github.com/spangrove/spangrove/pkg/mount"
	"github.com/spangrove/spangrove/pkg/refused"
	"github.com/spangrove/spangrove/pkg/webui"
)

// apiStore is what the extension and its handlers ask of the store.
type apiStore interface {
	httpapi.Store
	mount.SessionReader
	// Writable returns nil if what is sent now can be stored, and otherwise why not.
	Writable(ctx context.Context) error
	// Stuck reports whether a transaction has been running for so long that it will hardly end.
	Stuck() bool
}

type apiExtension struct {
	set         extension.Settings
	cfg         *Config
	metrics     *telemetry
	pages       *webui.Handler
	router      *router
	bodies      ingress.Bodies
	budget      *ingress.Budget
	crossOrigin *http.CrossOriginProtection // of requests with a cookie
	refusals    *refused.Log
	report      *refused.Report
	listeners   listeners
	open        atomic.Bool // between Ready and NotReady
	store       atomic.Pointer[apiStore]

	mu        sync.Mutex // over the life cycle
	host      component.Host
	server    *http.Server // nil: not started
	listener  net.Listener // nil once the server has it
	reporting context.CancelFunc
	serving   sync.WaitGroup
}

var (
	_ mount.Registrar                       = (*apiExtension)(nil)
	_ mount.SessionReader                   = (*apiExtension)(nil)
	_ mount.Refusals                        = (*apiExtension)(nil)
	_ mount.Listeners                       = (*apiExtension)(nil)
	_ extensioncapabilities.Dependent       = (*apiExtension)(nil)
	_ extensioncapabilities.PipelineWatcher = (*apiExtension)(nil)
)

func newExtension(set extension.Settings, cfg *Config) (*apiExtension, error) {
	pages := webui.New()
	metrics, err := newTelemetry(set.TelemetrySettings, pages)
	if err != nil {
		return nil, err
	}
	const mebibyte = 1 << 20
	return &apiExtension{
		set: set, cfg: cfg, metrics: metrics, pages: pages, crossOrigin: http.NewCrossOriginProtection(), refusals: refused.NewLog(nil), report: refused.NewReport(),
		router: newRouter(mount.WritePatterns()),
		bodies: ingress.Bodies{
			Max: cfg.HTTP.MaxRequestBodySize, Algorithms: cfg.HTTP.CompressionAlgorithms,
			Timeout: cfg.HTTP.ReadTimeout, MinRate: cfg.Limits.MinBodyRate, Grace: cfg.Limits.BodyGrace,
		},
		budget: ingress.NewBudget(int64(cfg.MaxInFlightMiB)*mebibyte, cfg.share(), nil),
	}, nil
}

// Dependencies makes the collector start first what the API works with.
func (e *apiExtension) Dependencies() []component.ID {
	ids := []component.ID{e.cfg.Store}
	if auth := e.cfg.HTTP.Auth.Get(); auth != nil {
		ids = append(ids, auth.Config.AuthenticatorID)
	}
	if e.cfg.Evaluate != nil {
		ids = append(ids, *e.cfg.Evaluate)
	}
	return ids
}

// Start binds the port. Nothing is accepted before Ready; who connects meanwhile waits. A
// second Start changes nothing.
func (e *apiExtension) Start(ctx context.Context, host component.Host) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.server != nil {
		return nil
	}
	s, err := mount.StoreOf[apiStore](host, e.cfg.Store, e.key("store"))
	if err != nil {
		return err
	}
	var auth extensionauth.Server
	if a := e.cfg.HTTP.Auth.Get(); a != nil {
		if auth, err = mount.ExtensionOf[extensionauth.Server](host, a.Config.AuthenticatorID, e.key("auth::authenticator")); err != nil {
			return err
		}
		if err := mount.SameStore(auth, e.cfg.Store, e.key("auth::authenticator")); err != nil {
			return err
		}
	}
	var evaluator httpapi.Evaluator
	var providers httpapi.Providers
	var playground httpapi.Playground
	var alerts httpapi.AlertKeeper
	if id := e.cfg.Evaluate; id != nil {
		if evaluator, err = mount.ExtensionOf[httpapi.Evaluator](host, *id, e.key("evaluate")); err != nil {
			return err
		}
		if err := mount.SameStore(evaluator, e.cfg.Store, e.key("evaluate")); err != nil {
			return err
		}
		providers, _ = evaluator.(httpapi.Providers)
		playground, _ = evaluator.(httpapi.Playground)
		alerts, _ = evaluator.(httpapi.AlertKeeper)
	}
	clean, err := newScrub(e.set.TelemetrySettings, e.cfg.Scrub)
	if err != nil {
		return fmt.Errorf("%s: %w", e.key("scrub"), err)
	}
	forward, err := e.newForward(ctx, host)
	if err != nil {
		return fmt.Errorf("%s: %w", e.key("forward_updates"), err)
	}
	api := httpapi.New(httpapi.Deps{
		Scrub: clean, Forward: forward,
		Store: s, Evaluator: evaluator, Providers: providers, Playground: playground, Alerts: alerts, ReadBody: e.readBody, Recheck: e.recheck(auth),
		Refusals: e.refusals, Listeners: e.listeners.list, MaxBody: e.cfg.HTTP.MaxRequestBodySize,
		Logger: e.set.Logger, Version: e.set.BuildInfo.Version,
	})
	if err := e.serveAPI(api.Routes(), auth != nil); err != nil {
		return err
	}
	server, err := e.newServer(ctx, host, e.handler(auth))
	if err != nil {
		return fmt.Errorf("%s: %w", e.key("endpoint"), err)
	}
	listener, err := e.cfg.Limits.Listen(ctx, &e.cfg.HTTP, server)
	if err != nil {
		return fmt.Errorf("%s: %w", e.key("endpoint"), err)
	}
	server.RegisterOnShutdown(api.EndStreams) // or the drain would wait for them
	e.store.Store(&s)
	e.host, e.server, e.listener = host, server, listener
	e.startReport()
	e.listeners.open(mount.Listener{Topic: mount.TopicAPI, URL: e.url(), MaxBytes: e.cfg.HTTP.MaxRequestBodySize})
	ingress.WarnUnencrypted(e.set.Logger, e.cfg.HTTP.NetAddr.Endpoint, string(e.cfg.HTTP.NetAddr.Transport), e.cfg.HTTP.TLS.HasValue())
	notices := []mount.Notice{{Topic: mount.TopicAPI, Text: e.url()}}
	if signIn, ok := auth.(mount.SignIn); ok {
		if code := signIn.NewCode(); code != "" {
			notices = append(notices, mount.Notice{Topic: mount.TopicSignIn, Text: e.url() + "/#/in/" + code})
		}
	}
	if !mount.Announce(ctx, notices...) {
		e.set.Logger.Info("API listening", zap.String("url", e.url()))
	}
	return nil
}

// serveAPI mounts the API's own routes, unless an earlier Start has, and the Model Context Protocol over them.
func (e *apiExtension) serveAPI(routes []httpapi.Route, hasKeys bool) error {
	for _, route := range routes {
		e.router.Unmount(route.Pattern())
		if err := e.router.Mount(route.Pattern(), route.Handler); err != nil {
			return fmt.Errorf("serve %s: %w", route.Pattern(), err)
		}
	}
	e.router.Unmount(mcpPath)
	return e.router.Mount(mcpPath, e.newMCP(hasKeys))
}

// newServer returns the server without the authentication and decompression of its own: those answer
// in plain text, and decompress before anybody is authenticated.
func (e *apiExtension) newServer(ctx context.Context, host component.Host, h http.Handler) (*http.Server, error) {
	cfg := e.cfg.HTTP
	cfg.Auth = configoptional.None[confighttp.AuthConfig]()
	cfg.CompressionAlgorithms = []string{}
	server, err := cfg.ToServer(ctx, host.GetExtensions(), e.set.TelemetrySettings, h)
	if err != nil {
		return nil, err
	}
	server.Handler = ingress.Secure(server.Handler)
	return server, nil
}

// url returns where the API is, with the port that was bound.
func (e *apiExtension) url() string {
	scheme := "http://"
	if e.cfg.HTTP.TLS.HasValue() {
		scheme = "https://"
	}
	if e.cfg.HTTP.NetAddr.Transport == "unix" {
		scheme = "unix://"
	}
	return scheme + e.listener.Addr().String()
}

// Ready accepts requests, now that all pipelines run.
func (e *apiExtension) Ready() error {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.listener == nil {
		return nil
	}
	server, listener, host := e.server, e.listener, e.host
	e.listener = nil
	e.open.Store(true)
	e.serving.Go(func() {
		if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
			componentstatus.ReportStatus(host, componentstatus.NewFatalErrorEvent(err))
		}
	})
	return nil
}

// NotReady ends in three steps: health checks say that the server is not ready, while requests are taken as before, for ShutdownDelay; then no more
// requests are taken; and those under way may end, at most within DrainTimeout.
func (e *apiExtension) NotReady() error {
	if e.open.Swap(false) && e.cfg.ShutdownDelay > 0 {
		e.set.Logger.Info("not ready any more; requests are taken until shutdown_delay is over", zap.Duration("shutdown_delay", e.cfg.ShutdownDelay))
		time.Sleep(e.cfg.ShutdownDelay)
	}
	return e.stop(context.Background())
}

// Shutdown does what NotReady does, if it has not been done.
func (e *apiExtension) Shutdown(ctx context.Context) error { return e.stop(ctx) }

func (e *apiExtension) stop(ctx context.Context) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.open.Store(false)
	if e.server == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, e.cfg.DrainTimeout)
	defer cancel()
	err := e.server.Shutdown(ctx)
	if err != nil {
		e.set.Logger.Warn("requests cut off at the end of drain_timeout", zap.Duration("drain_timeout", e.cfg.DrainTimeout))
		err = e.server.Close()
	}
	if e.listener != nil {
		err = errors.Join(err, e.listener.Close())
	}
	e.server, e.listener = nil, nil
	e.reporting()
	e.serving.Wait()
	return err
}

// Mount implements mount.Registrar.
func (e *apiExtension) Mount(pattern string, h http.Handler) error { return e.router.Mount(pattern, h) }

// Unmount implements mount.Registrar.
func (e *apiExtension) Unmount(pattern string) { e.router.Unmount(pattern) }

// Listening implements mount.Listeners.
func (e *apiExtension) Listening(l mount.Listener) (closed func()) { return e.listeners.add(l) }

// ReadSession implements mount.SessionReader.
func (e *apiExtension) ReadSession(ctx context.Context, projectID int64, sessionID uuid.UUID) (event.Event, error) {
	s := e.store.Load()
	if s == nil {
		return event.Event{}, fault.New(fault.Unavailable, "the store is not open")
	}
	return (*s).ReadSession(ctx, projectID, sessionID)
}

// key returns the YAML path of a setting of this extension, for errors.
func (e *apiExtension) key(name string) string {
	return fmt.Sprintf("extensions::%s::%s", e.set.ID, name)
}
