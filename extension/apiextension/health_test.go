package apiextension

import (
	"context"
	"net/http"
	"strings"
	"testing"
	"time"

	"go.opentelemetry.io/collector/component"
	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
	"go.uber.org/zap/zaptest/observer"

	"github.com/spangrove/spangrove/pkg/fault"
)

// sickStore cannot be written, or hangs.
type sickStore struct {
	fakeStore
	err   error
	stuck bool
}

func (s sickStore) Writable(context.Context) error { return s.err }
func (s sickStore) Stuck() bool                    { return s.stuck }

// Whether the process works and whether it can store what is sent are two questions.
func TestHealth(t *testing.T) {
	for name, tt := range map[string]struct {
		store             sickStore
		live, ready, open int
		message           string
	}{
		"well":      {sickStore{}, 200, 200, 200, `{"status":"ok"}`},
		"disk full": {sickStore{err: fault.New(fault.Unavailable, "disk full")}, 200, 503, 200, `"message":"disk full"`},
		"hangs":     {sickStore{stuck: true}, 503, 200, 200, `{"status":"ok"}`},
	} {
		t.Run(name, func(t *testing.T) {
			e, err := newExtension(newSettings(), configured(nil))
			if err != nil {
				t.Fatal(err)
			}
			h := newHost()
			h[component.MustNewID("spangrove_store")] = storeExtension{store: tt.store}
			url := startReady(t, e, h)
			for path, want := range map[string]int{"/livez": tt.live, "/readyz": tt.ready, "/healthcheck": tt.open} {
				got := call(t, http.MethodGet, url+path, "", nil)
				if got.status != want {
					t.Errorf("%s: %d %s, want %d", path, got.status, got.body, want)
				}
				if path == "/readyz" && !strings.Contains(got.body, tt.message) {
					t.Errorf("%s: %s, want %s", path, got.body, tt.message)
				}
			}
		})
	}
}

// Between the order to stop and the end of shutdown_delay, health checks send a load balancer elsewhere, and requests are still answered.
func TestShutdownDelay(t *testing.T) {
	const delay = 300 * time.Millisecond
	e, url := serve(t, func(c *Config) { c.ShutdownDelay = delay })
	began, stopped := time.Now(), make(chan error, 1)
	go func() { stopped <- e.NotReady() }()
	for e.open.Load() {
		time.Sleep(time.Millisecond)
	}
	for path, want := range map[string]int{"/readyz": 503, "/healthcheck": 503, "/livez": 200, "/v1/nothing": 404} {
		res, err := http.DefaultClient.Do(request(t, url+path))
		if err != nil {
			if time.Since(began) < delay {
				t.Errorf("%s within shutdown_delay: %v", path, err)
			}
			continue // this machine was too slow to look
		}
		res.Body.Close()
		if res.StatusCode != want {
			t.Errorf("%s: %d, want %d", path, res.StatusCode, want)
		}
	}
	if err := <-stopped; err != nil {
		t.Error(err)
	}
	if took := time.Since(began); took < delay {
		t.Errorf("stopped after %s", took)
	}
	if err := e.NotReady(); err != nil { // at once: nobody waits twice
		t.Error(err)
	}
}

func request(t *testing.T, url string) *http.Request {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer good")
	req.Close = true
	return req
}

// A sender that is refused is one line at once, and one an interval, with what to look for.
func TestRefusedSendersInTheLog(t *testing.T) {
	core, logs := observer.New(zapcore.WarnLevel)
	set := newSettings()
	set.Logger = zap.New(core)
	e, err := newExtension(set, configured(nil))
	if err != nil {
		t.Fatal(err)
	}
	url := startReady(t, e, newHost())
	for range 5 {
		call(t, http.MethodGet, url+"/v1/events", "sg_abcdefghijklmnopqrstuvwxyz234567", nil)
	}
	call(t, http.MethodGet, url+"/v1/events", "down", nil) // 503: the server's own
	call(t, http.MethodGet, url+"/nothing", "good", nil)
	refusals := func() []observer.LoggedEntry {
		return logs.Filter(func(l observer.LoggedEntry) bool { return strings.Contains(l.Message, "refused") }).All()
	}
	if got := refusals(); len(got) != 1 || got[0].Message != "a sender is refused" {
		t.Fatalf("said at once: %v", got)
	}
	e.flushReport()
	got := refusals()
	if len(got) != 2 || got[1].Message != "a sender was refused again" {
		t.Fatalf("said at the end of the interval: %v", got)
	}
	fields := got[1].ContextMap()
	if fields["requests"] != int64(4) || fields["status"] != int64(401) || fields["message"] != "unknown API key" ||
		fields["request"] != "GET /v1/events" || fields["key"] != "sg_abcdefg" {
		t.Errorf("fields %v", fields)
	}
}
