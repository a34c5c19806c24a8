package httpapi_test

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/uuid"

	"github.com/spangrove/spangrove/pkg/event"
	"github.com/spangrove/spangrove/pkg/fault"
	"github.com/spangrove/spangrove/pkg/httpapi"
	"github.com/spangrove/spangrove/pkg/project"
	"github.com/spangrove/spangrove/pkg/refused"
)

// watched is a store whose subscribers a test tells of changes.
type watched struct {
	fake
	changed chan struct{}
	session uuid.UUID

	mu      sync.Mutex
	waiting int // changes that nobody has taken
	ended   error
	closed  bool
}

func (f *watched) Watch(_ context.Context, projectID int64, session uuid.UUID) (event.Watch, error) {
	f.projectID, f.session = projectID, session
	return f, f.err
}

func (f *watched) Changed() <-chan struct{} { return f.changed }

func (f *watched) Take(context.Context) (event.Change, bool, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	n := f.waiting
	f.waiting = 0
	return event.Change{SessionID: sessionID, Touched: int64(n), Kind: event.ChangeEvent}, n > 0, f.ended
}

func (f *watched) Close() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.closed = true
}

// change makes n changes.
func (f *watched) change(n int) {
	f.mu.Lock()
	f.waiting += n
	f.mu.Unlock()
	select {
	case f.changed <- struct{}{}:
	default:
	}
}

// page is one who reads a stream.
type page struct {
	*httptest.ResponseRecorder
	mu    sync.Mutex
	at    []time.Duration // when something came, since the beginning
	begin time.Time
	stuck time.Duration // how long the reader takes for each message
}

func (p *page) Write(b []byte) (int, error) {
	time.Sleep(p.stuck)
	p.mu.Lock()
	defer p.mu.Unlock()
	p.at = append(p.at, time.Since(p.begin))
	return p.ResponseRecorder.Write(b)
}

func (p *page) text() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.Body.String()
}

// open begins a stream of one session in a bubble. over is closed when it has ended.
func open(t *testing.T, f *watched, d httpapi.Deps, stuck time.Duration) (
	s *httpapi.Server, p *page, leave context.CancelFunc, over chan struct{}) {
	t.Helper()
	return openSession(t, f, d, stuck, sessionID.String())
}

func openSession(t *testing.T, f *watched, d httpapi.Deps, stuck time.Duration, session string) (
	s *httpapi.Server, p *page, leave context.CancelFunc, over chan struct{}) {
	t.Helper()
	f.changed = make(chan struct{}, 1)
	d.Store = f
	s = httpapi.New(d)
	p = &page{ResponseRecorder: httptest.NewRecorder(), begin: time.Now(), stuck: stuck}
	ctx, leave := context.WithCancel(t.Context())
	over = make(chan struct{})
	for _, r := range s.Routes() {
		if r.Pattern() != "GET /v1/live" {
			continue
		}
		go func() {
			defer close(over)
			r.Handler.ServeHTTP(p, httptest.NewRequestWithContext(ctx, "GET", "/v1/live?session="+session, nil))
		}()
	}
	synctest.Wait()
	return s, p, leave, over
}

func TestLive(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &watched{}
		_, p, leave, over := open(t, f, httpapi.Deps{}, 0)
		if f.projectID != shop.ID || f.session != sessionID {
			t.Errorf("watches session %s of project %d", f.session, f.projectID)
		}
		h := p.Header()
		if h.Get("Content-Type") != "text/event-stream" || h.Get("Cache-Control") != "no-store" || !p.Flushed {
			t.Errorf("headers %v, flushed: %t", h, p.Flushed)
		}
		f.change(1)
		synctest.Wait()
		const want = "retry: 2000\n\nevent: change\n" +
			"data: {\"session_id\":\"11111111-1111-4111-8111-111111111111\",\"touched\":1,\"kind\":\"event\"}\n\n"
		if p.text() != want {
			t.Errorf("the stream is %q, want %q", p.text(), want)
		}
		time.Sleep(31 * time.Second)
		synctest.Wait()
		if got := strings.TrimPrefix(p.text(), want); got != ": ping\n\n: ping\n\n" {
			t.Errorf("in 31 s without a change there came %q", got)
		}
		leave()
		<-over
		if !f.closed {
			t.Error("the subscription stays when the caller leaves")
		}
	})
}

// However many changes there are, at most four messages a second are sent, and none is lost; one who reads slowly gets fewer.
func TestLiveIsSlowedDown(t *testing.T) {
	for _, tt := range []struct {
		name  string
		stuck time.Duration
		most  int
	}{{"a quick reader", 0, 41}, {"a slow reader", 2 * time.Second, 5}} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := &watched{}
				_, p, leave, over := open(t, f, httpapi.Deps{}, tt.stuck)
				for range 10_000 {
					f.change(1)
					time.Sleep(time.Millisecond)
				}
				time.Sleep(5 * time.Second)
				leave()
				<-over
				if f.waiting > 0 {
					t.Errorf("%d changes were not told of", f.waiting)
				}
				messages := strings.Count(p.text(), "event: change")
				if messages > tt.most || messages < tt.most/2 {
					t.Errorf("%d messages, want at most %d", messages, tt.most)
				}
				for i := 2; i < len(p.at); i++ {
					if p.at[i]-p.at[i-1] < 250*time.Millisecond {
						t.Fatalf("messages %s and %s after the beginning", p.at[i-1], p.at[i])
					}
				}
			})
		})
	}
}

// A stream ends with the server, with the store, and with the key that began it.
func TestLiveEnds(t *testing.T) {
	ends := func(t *testing.T, over chan struct{}, within time.Duration) {
		t.Helper()
		began := time.Now()
		<-over
		if took := time.Since(began); took > within {
			t.Errorf("the stream ended after %s", took)
		}
	}
	t.Run("server", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			s, _, _, over := open(t, &watched{}, httpapi.Deps{}, 0)
			s.EndStreams()
			s.EndStreams()
			ends(t, over, 0)
		})
	})
	t.Run("store", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			f := &watched{ended: errors.New("closed")}
			_, _, _, over := open(t, f, httpapi.Deps{}, 0)
			f.change(1)
			ends(t, over, 0)
		})
	})
	for _, tt := range []struct {
		name string
		err  error
		who  int64
		goes bool // the stream goes on
	}{
		{"key", fault.New(fault.Unauthorized, "revoked"), 0, false},
		{"scope", nil, 0, false},
		{"another project", nil, 99, false},
		{"keys that cannot be checked", fault.New(fault.Unavailable, "away"), 0, true},
		{"a key that is good", nil, shop.ID, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				recheck := func(r *http.Request) (context.Context, error) {
					who := project.Identity{Project: project.Project{ID: tt.who}, Scope: project.ScopeRead}
					if tt.who == 0 {
						who.Scope = project.ScopeIngest
					}
					return project.WithIdentity(r.Context(), who), tt.err
				}
				_, p, leave, over := open(t, &watched{}, httpapi.Deps{Recheck: recheck}, 0)
				if tt.goes {
					time.Sleep(40 * time.Second)
					synctest.Wait()
					if n := strings.Count(p.text(), "ping"); n != 2 {
						t.Errorf("%d pings", n)
					}
					leave()
				}
				ends(t, over, 15*time.Second)
			})
		})
	}
}

// Who watches all sessions is told of refused requests, of the caller's own project and, where there is no other, of unknown callers.
func TestLiveTellsOfRefusals(t *testing.T) {
	for _, tt := range []struct {
		session string
		add     string // whose request was refused
		told    bool
	}{{"*", shop.PublicID, true}, {"*", "", true}, {"*", "prj_2", false}, {sessionID.String(), shop.PublicID, false}} {
		t.Run(tt.session+tt.add, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				log := refused.NewLog(nil)
				log.Add(tt.add, refused.Request{Message: "before the stream"})
				_, p, leave, over := openSession(t, &watched{}, httpapi.Deps{Refusals: log}, 0, tt.session)
				time.Sleep(2 * time.Second)
				log.Add(tt.add, refused.Request{Message: "wrong"})
				log.Add(tt.add, refused.Request{Message: "wrong"})
				time.Sleep(3 * time.Second)
				leave()
				<-over
				const message = "event: change\ndata: {\"session_id\":null,\"touched\":"
				if n := strings.Count(p.text(), message); n > 1 || (n == 1) != tt.told || tt.told && !strings.Contains(p.text(), `"kind":"refusal"`) {
					t.Errorf("the stream is %q", p.text())
				}
			})
		})
	}
}

func TestLiveRefuses(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ query, message string }{
		{"", `session: is required: the id of a session, or \"*\" for all`},
		{"?session=", `session: is required`},
		{"?session=x", `session: \"x\" is not a UUID`},
		{"?session=00000000-0000-0000-0000-000000000000", "session: "},
		{"?sessions=*", "unknown parameter"},
	} {
		if status, body := ask(t, serve(&fake{}), "GET /v1/live"+tt.query, ""); status != 400 || !strings.Contains(body, tt.message) {
			t.Errorf("%s: %d %s", tt.query, status, body)
		}
	}
	f := &watched{fake: fake{err: &fault.Error{Kind: fault.Limited, Msg: "too many"}}}
	if status, body := ask(t, serve(f), "GET /v1/live?session=*", ""); status != 429 || f.session != uuid.Nil {
		t.Errorf("%d %s for session %s", status, body, f.session)
	}
	f = &watched{}
	if status, body := ask(t, serve(f), "HEAD /v1/live?session=*", ""); status != 200 || !f.closed {
		t.Errorf("HEAD: %d %s", status, body)
	}
}
