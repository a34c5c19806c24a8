package spangrovereceiver

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/uuid"
	"go.opentelemetry.io/collector/client"
	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/config/configauth"
	"go.opentelemetry.io/collector/config/confighttp"
	"go.opentelemetry.io/collector/config/configoptional"
	"go.opentelemetry.io/collector/consumer"
	"go.opentelemetry.io/collector/consumer/consumertest"
	"go.opentelemetry.io/collector/pdata/plog"
	"go.opentelemetry.io/collector/pdata/ptrace"
	"go.opentelemetry.io/collector/receiver"
	"go.opentelemetry.io/collector/receiver/receivertest"
	"go.uber.org/goleak"

	"github.com/spangrove/spangrove/pkg/event"
	"github.com/spangrove/spangrove/pkg/fault"
	"github.com/spangrove/spangrove/pkg/fault/verdict"
	"github.com/spangrove/spangrove/pkg/mount"
	"github.com/spangrove/spangrove/pkg/project"
	"github.com/spangrove/spangrove/pkg/refused"
	"github.com/spangrove/spangrove/pkg/spancodec"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var acme = project.Project{ID: 7, PublicID: "p-acme", OrgID: "o-1", WorkspaceID: "w-1", Name: "acme"}

// fakeAPI stands for the API extension: it authenticates by the words "ingest" and "read",
// bounds bodies, and serves what is mounted.
type fakeAPI struct {
	component.StartFunc
	component.ShutdownFunc
	maxBody int64
	stored  map[uuid.UUID]event.Event

	mu      sync.Mutex
	routes  map[string]http.Handler
	refused []string // project, method, path, status, key and message
	ports   []mount.Listener
}

func (a *fakeAPI) Listening(l mount.Listener) func() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.ports = append(a.ports, l)
	return func() {
		a.mu.Lock()
		defer a.mu.Unlock()
		a.ports = slices.DeleteFunc(a.ports, func(o mount.Listener) bool { return o == l })
	}
}

func (a *fakeAPI) Refuse(projectID string, r refused.Request) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.refused = append(a.refused, fmt.Sprintf("%s: %s %s %d %q %s", projectID, r.Method, r.Path, r.Status, r.KeyPrefix, r.Message))
}

func (a *fakeAPI) Mount(pattern string, h http.Handler) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	if _, taken := a.routes[pattern]; taken {
		return fmt.Errorf("%s is already mounted", pattern)
	}
	a.routes[pattern] = h
	return nil
}

func (a *fakeAPI) Unmount(pattern string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	delete(a.routes, pattern)
}

func (a *fakeAPI) ReadSession(_ context.Context, projectID int64, id uuid.UUID) (event.Event, error) {
	if e, ok := a.stored[id]; ok && projectID == acme.ID {
		return e, nil
	}
	return event.Event{}, fault.New(fault.NotFound, "no such session")
}

func (a *fakeAPI) ProjectByPublicID(context.Context, string) (project.Project, error) {
	return acme, nil
}
func (a *fakeAPI) DefaultProject(context.Context) (project.Project, error) { return acme, nil }

func (a *fakeAPI) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	mux := http.NewServeMux()
	a.mu.Lock()
	for pattern, h := range a.routes {
		mux.Handle(pattern, h)
	}
	a.mu.Unlock()
	if scope := bearer(req.Header); scope != "" {
		req = req.WithContext(project.WithIdentity(req.Context(), identity(scope)))
	}
	req.Body = http.MaxBytesReader(w, req.Body, a.maxBody)
	mux.ServeHTTP(w, req)
}

func bearer(h map[string][]string) string {
	for _, name := range []string{"Authorization", "authorization"} {
		if v := h[name]; len(v) > 0 {
			return strings.TrimPrefix(v[0], "Bearer ")
		}
	}
	return ""
}

func identity(scope string) project.Identity {
	return project.Identity{Project: acme, KeyID: "k-1", KeyPrefix: "sg_k1", Scope: project.Scope(scope)}
}

// fakeAuth is an extensionauth.Server: the key is the scope, "down" cannot be checked.
type fakeAuth struct {
	component.StartFunc
	component.ShutdownFunc
}

func (fakeAuth) Authenticate(ctx context.Context, headers map[string][]string) (context.Context, error) {
	switch scope := bearer(headers); scope {
	case "":
		return ctx, errors.New("no key")
	case "over":
		return ctx, verdict.GRPC(&project.CallerError{Caller: identity("ingest"), Err: fault.New(fault.Limited, "too many requests")})
	case "sg_abcdefghijklmnopqrstuvwxyz234567":
		return ctx, verdict.GRPC(fault.New(fault.Unauthorized, "unknown API key"))
	case "down":
		return ctx, verdict.GRPC(fault.New(fault.Unavailable, "the store is down"))
	default:
		info := client.FromContext(ctx)
		id := identity(scope)
		info.Auth = &id
		return client.NewContext(ctx, info), nil
	}
}

type host struct {
	extensions map[component.ID]component.Component
}

func (h host) GetExtensions() map[component.ID]component.Component { return h.extensions }

// rig is a running receiver and what stands around it.
type rig struct {
	api        *fakeAPI
	apiURL     string
	httpURL    string
	grpcTarget string
	traces     *consumertest.TracesSink
	logs       *consumertest.LogsSink
	receiver   *spangroveReceiver
	fail       error // what the pipeline answers, if set
	leaves     int   // how many items of a push an exporter leaves out
	// If set, the next push closes entered and goes on when wait is closed.
	entered, wait chan struct{}
}

type options struct {
	config func(*Config)
	noLogs bool
	noAPI  bool
}

// start runs a receiver on free ports until the test ends.
func start(t *testing.T, opts options) *rig {
	t.Helper()
	r := &rig{
		api:    &fakeAPI{maxBody: defaultMaxBody, routes: map[string]http.Handler{}, stored: map[uuid.UUID]event.Event{}},
		traces: new(consumertest.TracesSink), logs: new(consumertest.LogsSink),
	}
	factory := NewFactory()
	cfg := factory.CreateDefaultConfig().(*Config)
	cfg.Protocols.GRPC.GetOrInsertDefault().NetAddr.Endpoint = "127.0.0.1:0"
	cfg.Protocols.HTTP.GetOrInsertDefault().NetAddr.Endpoint = "127.0.0.1:0"
	cfg.Protocols.GRPC.Get().Auth = configoptional.None[configauth.Config]()
	cfg.Protocols.HTTP.Get().Auth = configoptional.None[confighttp.AuthConfig]()
	cfg.API.Enabled = !opts.noAPI
	if opts.config != nil {
		opts.config(cfg)
	}
	h := host{map[component.ID]component.Component{
		component.MustNewID("spangrove_api"):  r.api,
		component.MustNewID("spangrove_auth"): fakeAuth{},
	}}
	next, err := consumer.NewTraces(func(ctx context.Context, td ptrace.Traces) error {
		if r.wait != nil {
			close(r.entered)
			<-r.wait
		}
		if r.fail != nil {
			return r.fail
		}
		mount.LeaveOut(ctx, r.leaves, "no room for them")
		return r.traces.ConsumeTraces(ctx, td)
	})
	if err != nil {
		t.Fatal(err)
	}
	set := settings()
	c, err := factory.CreateTraces(t.Context(), set, cfg, next)
	if err != nil {
		t.Fatal(err)
	}
	if !opts.noLogs {
		next, err := consumer.NewLogs(func(ctx context.Context, ld plog.Logs) error {
			mount.LeaveOut(ctx, r.leaves, "no room for them")
			return r.logs.ConsumeLogs(ctx, ld)
		})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := factory.CreateLogs(t.Context(), set, cfg, next); err != nil {
			t.Fatal(err)
		}
	}
	board := mount.WithBoard(t.Context(), func(n mount.Notice) {
		switch n.Topic {
		case mount.TopicOTLPGRPC:
			r.grpcTarget = n.Text
		case mount.TopicOTLPHTTP:
			r.httpURL = n.Text
		}
	})
	if err := c.Start(board, h); err != nil {
		t.Fatal(err)
	}
	r.receiver = c.(*spangroveReceiver)
	server := httptest.NewServer(r.api)
	r.apiURL = server.URL
	t.Cleanup(func() {
		server.Close()
		if err := c.Shutdown(context.Background()); err != nil {
			t.Error(err)
		}
		if used := r.receiver.budget.Used(); used != 0 {
			t.Errorf("%d bytes are still reserved", used)
		}
		http.DefaultClient.CloseIdleConnections()
	})
	return r
}

func settings() receiver.Settings {
	set := receivertest.NewNopSettings(componentType)
	set.ID = component.NewID(componentType)
	return set
}

type reply struct {
	status int
	header http.Header
	body   string
}

// post sends a body; headers come in pairs of name and value.
func post(t *testing.T, url string, body io.Reader, headers ...string) reply {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url, body)
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i+1 < len(headers); i += 2 {
		req.Header.Set(headers[i], headers[i+1])
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	b, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return reply{res.StatusCode, res.Header, string(b)}
}

func text(s string) io.Reader { return strings.NewReader(s) }

// chunked hides the length of a body.
func chunked(b []byte) io.Reader { return io.MultiReader(bytes.NewReader(b)) }

// events returns what the pipeline got as native events, in order.
func (r *rig) events(t *testing.T) []event.Event {
	t.Helper()
	var events []event.Event
	for _, td := range r.traces.AllTraces() {
		for _, rs := range td.ResourceSpans().All() {
			for _, ss := range rs.ScopeSpans().All() {
				if !spancodec.IsNative(ss.Scope()) {
					t.Errorf("scope %q is not native", ss.Scope().Name())
				}
				for _, span := range ss.Spans().All() {
					e, err := spancodec.Decode(span)
					if err != nil {
						t.Fatal(err)
					}
					events = append(events, e.Event)
				}
			}
		}
	}
	return events
}
