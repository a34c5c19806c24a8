package apiextension

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/klauspost/compress/zstd"
	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/component/componenttest"
	"go.opentelemetry.io/collector/config/confighttp"
	"go.opentelemetry.io/collector/config/configoptional"
	"go.opentelemetry.io/collector/extension"
	"go.opentelemetry.io/collector/extension/extensiontest"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	"go.uber.org/goleak"

	"github.com/spangrove/spangrove/pkg/audit"
	"github.com/spangrove/spangrove/pkg/evaluate"
	"github.com/spangrove/spangrove/pkg/evaluation"
	"github.com/spangrove/spangrove/pkg/event"
	"github.com/spangrove/spangrove/pkg/fault"
	"github.com/spangrove/spangrove/pkg/metric"
	"github.com/spangrove/spangrove/pkg/mount"
	"github.com/spangrove/spangrove/pkg/project"
	"github.com/spangrove/spangrove/pkg/wire"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// fakeStore holds one session and no more; what a test does not call is missing.
type fakeStore struct{ apiStore }

func (fakeStore) ReadSession(_ context.Context, _ int64, id uuid.UUID) (event.Event, error) {
	return event.Event{ID: id, SessionID: id, Name: "read back"}, nil
}

func (fakeStore) DefaultProject(context.Context) (project.Project, error) {
	return project.Project{ID: 1, PublicID: "p1"}, nil
}

func (fakeStore) Copies(context.Context, int64, uuid.UUID, int) ([]string, int, error) {
	return nil, 0, nil
}

func (fakeStore) CheckStored(context.Context, int64) error { return nil }

func (fakeStore) DeleteSession(context.Context, int64, uuid.UUID) error {
	return fault.New(fault.NotFound, "no such session")
}

func (fakeStore) Writable(context.Context) error { return nil }

func (fakeStore) Stuck() bool { return false }

func (fakeStore) RecordAudit(context.Context, audit.Entry) {}

func (fakeStore) RecordKeyUse(string, time.Time, string) {}

type storeExtension struct {
	component.Component
	store any
}

func (s storeExtension) Store() any { return s.store }

// fakeAuth knows the key "good"; "down" stands for a store that is away, "odd" for an
// authenticator that is not ours.
type fakeAuth struct{ component.Component }

func (fakeAuth) Authenticate(ctx context.Context, headers map[string][]string) (context.Context, error) {
	switch strings.TrimPrefix(strings.Join(headers["Authorization"], ""), "Bearer ") {
	case "good":
		return project.WithIdentity(ctx, project.Identity{Project: project.Project{ID: 7, PublicID: "p7"}, KeyPrefix: "sg_good", Scope: project.ScopeFull}), nil
	case "down":
		return ctx, fault.New(fault.Unavailable, "keys cannot be checked now")
	case "odd":
		return ctx, errors.New("oidc: token used before issued")
	}
	return ctx, fault.New(fault.Unauthorized, "unknown API key")
}

type host map[component.ID]component.Component

func (h host) GetExtensions() map[component.ID]component.Component { return h }

func newHost() host {
	return host{
		component.MustNewID("spangrove_store"): storeExtension{store: fakeStore{}},
		component.MustNewID("spangrove_auth"):  fakeAuth{},
	}
}

func configured(change func(*Config)) *Config {
	cfg := createDefaultConfig().(*Config)
	cfg.HTTP.NetAddr.Endpoint = "127.0.0.1:0"
	cfg.DrainTimeout = 5 * time.Second
	if change != nil {
		change(cfg)
	}
	return cfg
}

func newSettings() extension.Settings {
	set := extensiontest.NewNopSettings(componentType)
	set.ID = component.NewID(componentType)
	return set
}

// serve starts an extension on a free port and gives it with its URL.
func serve(t *testing.T, change func(*Config)) (*apiExtension, string) {
	t.Helper()
	e, err := newExtension(newSettings(), configured(change))
	if err != nil {
		t.Fatal(err)
	}
	url := startReady(t, e, newHost())
	return e, url
}

func startReady(t *testing.T, e *apiExtension, h host) (url string) {
	t.Helper()
	ctx := mount.WithBoard(t.Context(), func(n mount.Notice) { url = n.Text })
	for range 2 {
		if err := e.Start(ctx, h); err != nil {
			t.Fatal(err)
		}
	}
	for range 2 {
		if err := e.Ready(); err != nil {
			t.Fatal(err)
		}
	}
	t.Cleanup(func() {
		http.DefaultClient.CloseIdleConnections()
		if err := e.Shutdown(context.Background()); err != nil {
			t.Error(err)
		}
	})
	return url
}

type answer struct {
	status int
	header http.Header
	body   string
}

func call(t *testing.T, method, url, key string, body io.Reader, headers ...string) answer {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, url, body)
	if err != nil {
		t.Fatal(err)
	}
	if key != "" {
		req.Header.Set("Authorization", "Bearer "+key)
	}
	for i := 0; i < len(headers); i += 2 {
		req.Header.Set(headers[i], headers[i+1])
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return answer{res.StatusCode, res.Header, string(text)}
}

func TestRequests(t *testing.T) {
	e, url := serve(t, nil)
	echo := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			wire.WriteError(w, err)
			return
		}
		who, _ := project.IdentityFrom(r.Context())
		if who.Project.ID != 7 {
			body = []byte("nobody")
		}
		_, _ = w.Write(body)
	})
	for pattern, h := range map[string]http.Handler{
		"POST /events":    echo,
		"POST /v1/events": http.HandlerFunc(func(http.ResponseWriter, *http.Request) { panic("oh no") }),
	} {
		if err := e.Mount(pattern, h); err != nil {
			t.Fatal(err)
		}
	}
	session := uuid.NewString()
	for _, tt := range []struct {
		name, method, path, key string
		body                    string
		status                  int
		want                    string // contained in the body
	}{
		{"health", "GET", "/healthcheck", "", "", 200, `{"status":"ok"}`},
		{"health under v1", "GET", "/v1/healthcheck", "", "", 200, `{"status":"ok"}`},
		{"health with a wrong key", "GET", "/healthcheck", "bad", "", 200, `{"status":"ok"}`},
		{"ready", "GET", "/readyz", "", "", 200, `{"status":"ok"}`},
		{"live", "GET", "/livez", "", "", 200, `{"status":"ok"}`},
		{"no key", "GET", "/events", "", "", 401, `{"statusCode":401,"message":"unknown API key","success":false,"errorCode":"UNAUTHORIZED"}`},
		{"wrong key on no path", "GET", "/secret", "bad", "", 401, `"errorCode":"UNAUTHORIZED"`},
		{"keys cannot be checked", "GET", "/events", "down", "", 503, `"errorCode":"UNAVAILABLE"`},
		{"another authenticator", "GET", "/events", "odd", "", 401, `"message":"not authorized"`},
		{"mounted", "POST", "/events", "good", `{"a":1}`, 200, `{"a":1}`},
		{"not mounted", "POST", "/session/start", "good", `{}`, 503, `"errorCode":"UNAVAILABLE"`},
		{"OTLP not mounted", "POST", "/opentelemetry/v1/traces", "good", ``, 503, `"errorCode":"UNAVAILABLE"`},
		{"API", "DELETE", "/v1/sessions/" + session, "good", "", 404, `"message":"no such session"`},
		{"no path", "GET", "/nothing/here", "good", "", 404, `{"statusCode":404,"message":"no such path: GET /nothing/here","success":false,"errorCode":"NOT_FOUND"}`},
		{"wrong method", "GET", "/v1/traces", "good", "", 405, `"message":"GET is not possible here; try POST","success":false,"errorCode":"METHOD_NOT_ALLOWED"`},
		{"panic", "POST", "/v1/events", "good", "", 500, `{"statusCode":500,"message":"internal error","success":false,"errorCode":"INTERNAL_ERROR"}`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got := call(t, tt.method, url+tt.path, tt.key, strings.NewReader(tt.body))
			if got.status != tt.status || !strings.Contains(got.body, tt.want) {
				t.Errorf("%s %s: %d %s, want %d %s", tt.method, tt.path, got.status, got.body, tt.status, tt.want)
			}
			if tt.status >= 400 && got.header.Get("Content-Type") != "application/json" {
				t.Errorf("content type %q", got.header.Get("Content-Type"))
			}
			if tt.status == 503 && got.header.Get("Retry-After") == "" {
				t.Error("no Retry-After")
			}
		})
	}
	e.Unmount("POST /events")
	if got := call(t, "POST", url+"/events", "good", nil); got.status != 503 {
		t.Errorf("after Unmount: %d, want 503", got.status)
	}
}

func TestBodies(t *testing.T) {
	e, url := serve(t, func(c *Config) { c.HTTP.MaxRequestBodySize = 1000 })
	if err := e.Mount("POST /events", http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			wire.WriteError(w, err)
			return
		}
		_, _ = w.Write(body)
	})); err != nil {
		t.Fatal(err)
	}
	small, large := strings.Repeat("a", 900), strings.Repeat("a", 1001)
	for encoding, pack := range map[string]func(string) []byte{
		"": func(s string) []byte { return []byte(s) },
		"gzip": func(s string) []byte {
			var b bytes.Buffer
			w := gzip.NewWriter(&b)
			_, _ = io.WriteString(w, s)
			_ = w.Close()
			return b.Bytes()
		},
		"zstd": func(s string) []byte {
			w, _ := zstd.NewWriter(nil, zstd.WithEncoderConcurrency(1))
			defer w.Close()
			return w.EncodeAll([]byte(s), nil)
		},
	} {
		var headers []string
		if encoding != "" {
			headers = []string{"Content-Encoding", encoding}
		}
		if got := call(t, "POST", url+"/events", "good", bytes.NewReader(pack(small)), headers...); got.status != 200 || got.body != small {
			t.Errorf("%q: %d %.80s", encoding, got.status, got.body)
		}
		if got := call(t, "POST", url+"/events", "good", bytes.NewReader(pack(large)), headers...); got.status != 413 || !strings.Contains(got.body, `"errorCode":"PAYLOAD_TOO_LARGE"`) {
			t.Errorf("%q over the bound: %d %.80s", encoding, got.status, got.body)
		}
	}
	for _, tt := range []struct{ encoding, body string }{
		{"brotli", "x"}, {"gzip", "this is no gzip"}, {"deflate", "x"}, {"snappy", "x"}, {"gzip, gzip", "x"},
	} {
		got := call(t, "POST", url+"/events", "good", strings.NewReader(tt.body), "Content-Encoding", tt.encoding)
		if got.status != 400 || !strings.Contains(got.body, `"errorCode":"VALIDATION_ERROR"`) {
			t.Errorf("%s: %d %s", tt.encoding, got.status, got.body)
		}
	}
}

func TestWithoutKeys(t *testing.T) {
	_, url := serve(t, func(c *Config) { c.HTTP.Auth = configoptional.None[confighttp.AuthConfig]() })
	if got := call(t, "DELETE", url+"/v1/sessions/"+uuid.NewString(), "", nil); got.status != 404 {
		t.Errorf("%d %s, want the store's 404", got.status, got.body)
	}
}

// TestDrain checks that a request under way is answered though the order to stop came, and
// that nothing is taken afterwards.
func TestDrain(t *testing.T) {
	e, url := serve(t, nil)
	inside, leave := make(chan struct{}), make(chan struct{})
	if err := e.Mount("POST /events", http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		close(inside)
		<-leave
		_, _ = io.WriteString(w, "done")
	})); err != nil {
		t.Fatal(err)
	}
	answered := make(chan answer)
	go func() { answered <- call(t, "POST", url+"/events", "good", nil) }()
	<-inside
	stopped := make(chan error)
	go func() { stopped <- e.NotReady() }()
	for e.open.Load() { // until the drain has begun
		runtime.Gosched()
	}
	close(leave)
	if got := <-answered; got.status != 200 || got.body != "done" {
		t.Errorf("%d %s", got.status, got.body)
	}
	if err := <-stopped; err != nil {
		t.Error(err)
	}
	if res, err := http.Get(url + "/healthcheck"); err == nil {
		res.Body.Close()
		t.Error("still taking requests")
	}
}

func TestDrainTimeout(t *testing.T) {
	e, url := serve(t, func(c *Config) { c.DrainTimeout = time.Millisecond })
	inside := make(chan struct{})
	if err := e.Mount("POST /events", http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		close(inside)
		<-r.Context().Done()
	})); err != nil {
		t.Fatal(err)
	}
	cut := make(chan error)
	go func() {
		req, _ := http.NewRequestWithContext(t.Context(), "POST", url+"/events", nil)
		req.Header.Set("Authorization", "Bearer good")
		res, err := http.DefaultClient.Do(req)
		if err == nil {
			res.Body.Close()
		}
		cut <- err
	}()
	<-inside
	if err := e.NotReady(); err != nil {
		t.Error(err)
	}
	if err := <-cut; err == nil {
		t.Error("answered, though cut off")
	}
}

func TestLifecycle(t *testing.T) {
	t.Parallel()
	ext, err := NewFactory().Create(t.Context(), extensiontest.NewNopSettings(componentType), configured(nil))
	if err != nil {
		t.Fatal(err)
	}
	e := ext.(*apiExtension)
	if _, err := e.ReadSession(t.Context(), 1, uuid.New()); fault.Of(err) != fault.Unavailable {
		t.Errorf("ReadSession before Start: %v", err)
	}
	for _, stop := range []func() error{e.NotReady, func() error { return e.Shutdown(t.Context()) }, e.NotReady} {
		if err := stop(); err != nil {
			t.Errorf("stop before Start: %v", err)
		}
	}
	if err := e.Ready(); err != nil {
		t.Errorf("Ready without Start: %v", err)
	}
	for range 2 { // a stopped extension may start again
		if err := e.Start(t.Context(), newHost()); err != nil {
			t.Fatal(err)
		}
		if ev, err := e.ReadSession(t.Context(), 1, uuid.New()); err != nil || ev.Name != "read back" {
			t.Errorf("ReadSession: %+v, %v", ev, err)
		}
		if err := e.Shutdown(t.Context()); err != nil { // never ready
			t.Error(err)
		}
	}
	want := []component.ID{component.MustNewID("spangrove_store"), component.MustNewID("spangrove_auth")}
	if got := e.Dependencies(); len(got) != 2 || got[0] != want[0] || got[1] != want[1] {
		t.Errorf("Dependencies() = %v, want %v", got, want)
	}
}

func TestStartNamesTheSetting(t *testing.T) {
	first, url := serve(t, nil)
	_ = first
	taken := strings.TrimPrefix(url, "http://")
	without := func(id string) host { h := newHost(); delete(h, component.MustNewID(id)); return h }
	withOther := func(id string, c component.Component) host { h := newHost(); h[component.MustNewID(id)] = c; return h }
	for _, tt := range []struct {
		name   string
		host   host
		change func(*Config)
		want   string
	}{
		{"keys of another store", withOther("spangrove_auth", otherAuth{}), nil,
			`extensions::spangrove_api::auth::authenticator: it works with the store "spangrove_store/other", and this with "spangrove_store"`},
		{"an evaluator of another store", withOther("spangrove_evaluate", otherEvaluator{}), withEvaluator,
			`extensions::spangrove_api::evaluate: it works with the store "spangrove_store/other", and this with "spangrove_store"`},
		{"no store", without("spangrove_store"), nil, `extensions::spangrove_api::store: no extension "spangrove_store" runs`},
		{"no authenticator", without("spangrove_auth"), nil, `extensions::spangrove_api::auth::authenticator: no extension "spangrove_auth" runs`},
		{"no evaluator", newHost(), withEvaluator, `extensions::spangrove_api::evaluate: no extension "spangrove_evaluate" runs`},
		{"port taken", newHost(), func(c *Config) { c.HTTP.NetAddr.Endpoint = taken }, "extensions::spangrove_api::endpoint: listen tcp " + taken + ": bind: address already in use"},
	} {
		set := extensiontest.NewNopSettings(componentType)
		set.ID = component.NewID(componentType)
		e, err := newExtension(set, configured(tt.change))
		if err != nil {
			t.Fatal(err)
		}
		if err := e.Start(t.Context(), tt.host); err == nil || !strings.HasPrefix(err.Error(), tt.want) {
			t.Errorf("%s: %v, want %q", tt.name, err, tt.want)
		}
	}
}

// otherStore is what a component says that works with another store.
type otherStore struct{}

func (otherStore) StoreID() component.ID {
	return component.MustNewIDWithName("spangrove_store", "other")
}

type otherAuth struct {
	fakeAuth
	otherStore
}

type otherEvaluator struct {
	fakeEvaluator
	otherStore
}

func withEvaluator(c *Config) {
	id := component.MustNewID("spangrove_evaluate")
	c.Evaluate = &id
}

// fakeEvaluator gives every event the same score.
type fakeEvaluator struct{ component.Component }

func (fakeEvaluator) Check(*metric.Definition) error { return nil }

func (fakeEvaluator) Warnings(*metric.Definition) []string { return nil }

func (fakeEvaluator) Available(context.Context, int64) (evaluate.Available, error) {
	return evaluate.Available{Types: []metric.Type{metric.Python}, Providers: []string{"fake"}}, nil
}

func (fakeEvaluator) Run(_ context.Context, task evaluate.Task) ([]evaluation.Result, error) {
	return slices.Repeat([]evaluation.Result{{Success: true, Score: []byte("0.25")}}, len(task.Events)), nil
}

func TestEvaluator(t *testing.T) {
	set := extensiontest.NewNopSettings(componentType)
	e, err := newExtension(set, configured(withEvaluator))
	if err != nil {
		t.Fatal(err)
	}
	if got := e.Dependencies(); len(got) != 3 || got[2] != *e.cfg.Evaluate {
		t.Errorf("Dependencies() = %v, want the evaluator among them", got)
	}
	h := newHost()
	h[*e.cfg.Evaluate] = fakeEvaluator{}
	url := startReady(t, e, h)
	const body = `{"metric":{"name":"m","type":"PYTHON","criteria":"def m(event): return 1","return_type":"float"},"event":{}}`
	if got := call(t, "POST", url+"/v1/metrics/run", "good", strings.NewReader(body)); got.status != 200 || !strings.Contains(got.body, "0.25") {
		t.Errorf("POST /v1/metrics/run: %d %s, want the evaluator's score", got.status, got.body)
	}
}

func TestListeners(t *testing.T) {
	e, url := serve(t, func(c *Config) { c.HTTP.MaxRequestBodySize = 5 << 20 })
	api := mount.Listener{Topic: mount.TopicAPI, URL: url, MaxBytes: 5 << 20}
	closeOwn := e.Listening(mount.Listener{Topic: mount.TopicOTLPHTTP, MaxItems: 3})
	closeGRPC := e.Listening(mount.Listener{Topic: mount.TopicOTLPGRPC, URL: "http://127.0.0.1:4", MaxBytes: 9, MaxItems: 3})
	closeSame := e.Listening(mount.Listener{Topic: mount.TopicOTLPGRPC, URL: "http://127.0.0.1:4", MaxBytes: 9, MaxItems: 3})
	for _, step := range []struct {
		close func()
		want  []mount.Listener
	}{
		{func() {}, []mount.Listener{
			api,
			{Topic: mount.TopicOTLPGRPC, URL: "http://127.0.0.1:4", MaxBytes: 9, MaxItems: 3}, {Topic: mount.TopicOTLPGRPC, URL: "http://127.0.0.1:4", MaxBytes: 9, MaxItems: 3},
			{Topic: mount.TopicOTLPHTTP, URL: url, MaxBytes: 5 << 20, MaxItems: 3},
		}},
		{closeOwn, []mount.Listener{
			api,
			{Topic: mount.TopicOTLPGRPC, URL: "http://127.0.0.1:4", MaxBytes: 9, MaxItems: 3}, {Topic: mount.TopicOTLPGRPC, URL: "http://127.0.0.1:4", MaxBytes: 9, MaxItems: 3},
		}},
		{func() { closeGRPC(); closeGRPC() }, []mount.Listener{api, {Topic: mount.TopicOTLPGRPC, URL: "http://127.0.0.1:4", MaxBytes: 9, MaxItems: 3}}},
		{closeSame, []mount.Listener{api}},
	} {
		step.close()
		if got := e.listeners.list(); !slices.Equal(got, step.want) {
			t.Errorf("%+v, want %+v", got, step.want)
		}
	}
}

func TestMountErrors(t *testing.T) {
	t.Parallel()
	r := newRouter(mount.WritePatterns())
	nop := http.HandlerFunc(func(http.ResponseWriter, *http.Request) {})
	if err := r.Mount("POST /events", nop); err != nil {
		t.Fatal(err)
	}
	for _, pattern := range []string{"POST /events", "POST /events/{", "", "POST /session/{id}/{rest}/x/{"} {
		if err := r.Mount(pattern, nop); err == nil {
			t.Errorf("Mount(%q) twice, malformed or conflicting: no error", pattern)
		}
	}
	r.Unmount("POST /nothing")
	r.Unmount("POST /events")
	if err := r.Mount("POST /events", nop); err != nil {
		t.Errorf("mount again: %v", err)
	}
}

// An address that ends in a slash makes two of them before a path.
func TestDoubledSlashes(t *testing.T) {
	t.Parallel()
	r := newRouter(nil)
	err := r.Mount("POST /events/{id}", http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprint(w, r.PathValue("id"), " of ", r.Pattern)
	}))
	if err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]string{
		"//events/a": "a of POST /events/{id}", "/events///a": "a of POST /events/{id}", "//events//a%2F%2Fb?x=//": "a//b of POST /events/{id}", "/events/a": "a of POST /events/{id}",
	} {
		req := httptest.NewRequestWithContext(t.Context(), "POST", "http://127.0.0.1"+path, nil)
		w := httptest.NewRecorder()
		r.ServeHTTP(w, req)
		if w.Code != http.StatusOK || w.Body.String() != want {
			t.Errorf("%s: %d %s, want %s", path, w.Code, w.Body, want)
		}
	}
}

func TestTelemetry(t *testing.T) {
	tel := componenttest.NewTelemetry()
	t.Cleanup(func() { _ = tel.Shutdown(context.Background()) })
	set := extensiontest.NewNopSettings(componentType)
	set.TelemetrySettings = tel.NewTelemetrySettings()
	e, err := newExtension(set, configured(nil))
	if err != nil {
		t.Fatal(err)
	}
	url := startReady(t, e, newHost())
	call(t, "GET", url+"/v1/healthcheck", "", nil)
	call(t, "DELETE", url+"/v1/sessions/"+uuid.NewString(), "good", nil)
	call(t, "GET", url+"/some/thing", "good", nil)
	call(t, "GET", url+"/v1/events", "", nil)
	if err := e.NotReady(); err != nil { // after it, all requests are recorded
		t.Fatal(err)
	}
	m, err := tel.GetMetric("spangrove_api_request_duration")
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]int64{}
	for _, p := range m.Data.(metricdata.Histogram[float64]).DataPoints {
		route, _ := p.Attributes.Value("route")
		status, _ := p.Attributes.Value("status")
		got[route.AsString()] = status.AsInt64()
	}
	for route, status := range map[string]int64{"GET /healthcheck": 200, "DELETE /v1/sessions/{id}": 404, "unmatched": 404} {
		if _, ok := got[route]; !ok || route != "unmatched" && got[route] != status {
			t.Errorf("route %q: %v, want status %d", route, got, status)
		}
	}
}

// A page of another site reaches nothing of a server without keys, whatever name it has led here: browsers ask before few of its requests.
func TestOtherSitesWithoutKeys(t *testing.T) {
	_, url := serve(t, func(c *Config) {
		c.HTTP.Auth = configoptional.None[confighttp.AuthConfig]()
		c.HTTP.CORS = configoptional.Some(confighttp.CORSConfig{AllowedOrigins: []string{"https://friend.example"}})
	})
	for _, tt := range []struct {
		host, origin string
		status       int
	}{
		{"", "", 404},
		{"", "https://evil.example", 403},
		{"", "null", 403},
		{"evil.example:7420", "", 403},
		{"evil.example:7420", "http://evil.example:7420", 403},
		{"localhost:7420", "http://localhost:7420", 404},
		{"", "https://friend.example", 404},
	} {
		r, err := http.NewRequestWithContext(t.Context(), "DELETE", url+"/sessions/33333333-3333-4333-8333-333333333333", nil)
		if err != nil {
			t.Fatal(err)
		}
		r.Host = tt.host
		if tt.origin != "" {
			r.Header.Set("Origin", tt.origin)
		}
		res, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		_ = res.Body.Close()
		if res.StatusCode != tt.status {
			t.Errorf("host %q, origin %q: %d, want %d", tt.host, tt.origin, res.StatusCode, tt.status)
		}
	}
}
