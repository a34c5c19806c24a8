package httpapi_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/spangrove/spangrove/pkg/audit"
	"github.com/spangrove/spangrove/pkg/fault"
	"github.com/spangrove/spangrove/pkg/httpapi"
	"github.com/spangrove/spangrove/pkg/playground"
)

// models answer as a test wants.
type models struct {
	fake
	chat  func(ctx context.Context, q *playground.Request, tell func(playground.Event) error) error
	entry audit.Entry
}

func (m *models) Chat(ctx context.Context, _ int64, q *playground.Request, tell func(playground.Event) error) error {
	return m.chat(ctx, q, tell)
}

func (m *models) RecordAudit(_ context.Context, e audit.Entry) { m.entry = e }

const oneQuestion = `{"provider": "own", "model": "m", "messages": [{"role": "user", "content": "Oslo?"}]}`

// run asks and gives the answer once it has ended.
func (m *models) run(ctx context.Context, body string) (*httpapi.Server, *httptest.ResponseRecorder, chan struct{}) {
	s := httpapi.New(httpapi.Deps{Store: m, Playground: m})
	w, over := httptest.NewRecorder(), make(chan struct{})
	for _, r := range s.Routes() {
		if r.Pattern() == "POST /v1/playground/run" {
			go func() {
				defer close(over)
				r.Handler.ServeHTTP(w, httptest.NewRequestWithContext(ctx, "POST", "/v1/playground/run", strings.NewReader(body)))
			}()
		}
	}
	return s, w, over
}

func TestPlayground(t *testing.T) {
	t.Parallel()
	text := func(s string) playground.Event { return playground.Event{Delta: &playground.Delta{Text: s}} }
	for _, tt := range []struct {
		name, body string
		chat       func(context.Context, *playground.Request, func(playground.Event) error) error
		status     int
		says       string // with blanks for newlines
		outcome    string
	}{
		{"a stream", oneQuestion, func(_ context.Context, q *playground.Request, tell func(playground.Event) error) error {
			for _, word := range []string{q.Model, " ", q.Messages[0].Text()} {
				if err := tell(text(word)); err != nil {
					return err
				}
			}
			return tell(playground.Event{Done: &playground.Done{Finish: "stop"}})
		}, 200, `event: delta data: {"text":"m"}  event: delta data: {"text":" "}  event: delta data: {"text":"Oslo?"}  event: done`, audit.Success},
		{"an error before it begins", oneQuestion, func(context.Context, *playground.Request, func(playground.Event) error) error {
			return fault.New(fault.Limited, "too many")
		}, 429, "too many", "RATE_LIMITED"},
		{"an error after it has begun", oneQuestion, func(_ context.Context, _ *playground.Request, tell func(playground.Event) error) error {
			_ = tell(text("a"))
			return fault.New(fault.Unavailable, "no more")
		}, 200, `data: {"text":"a"}  event: error data: {"failure":"server","message":"no more","temporary":true}`, audit.Success},
		{"an error that nobody outside is told", oneQuestion, func(_ context.Context, _ *playground.Request, tell func(playground.Event) error) error {
			_ = tell(text("a"))
			return context.DeadlineExceeded
		}, 200, `"message":"The server could not go on; its log tells why."`, audit.Success},
		{"no request", `{"messages": []}`, nil, 400, "messages: is required", "VALIDATION_ERROR"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			m := &models{chat: tt.chat}
			_, w, over := m.run(t.Context(), tt.body)
			<-over
			if got := strings.ReplaceAll(w.Body.String(), "\n", " "); w.Code != tt.status || !strings.Contains(got, tt.says) {
				t.Errorf("%d %s, want %d %s", w.Code, got, tt.status, tt.says)
			}
			if kind := w.Header().Get("Content-Type"); (kind == "text/event-stream") != (tt.status == 200) {
				t.Errorf("it is %s", kind)
			}
			if m.entry.Action != audit.PlaygroundRun || m.entry.Outcome != tt.outcome || tt.status == 200 && m.entry.Target != "own/m" {
				t.Errorf("the audit log has %+v", m.entry)
			}
		})
	}
}

// TestPlaygroundEnds: a run ends with its caller and with the server, and is pinged while the model thinks.
func TestPlaygroundEnds(t *testing.T) {
	t.Parallel()
	for name, end := range map[string]func(*httpapi.Server, context.CancelFunc){
		"caller": func(_ *httpapi.Server, leave context.CancelFunc) { leave() },
		"server": func(s *httpapi.Server, _ context.CancelFunc) { s.EndStreams() },
	} {
		synctest.Test(t, func(t *testing.T) {
			stopped := false
			m := &models{chat: func(ctx context.Context, _ *playground.Request, _ func(playground.Event) error) error {
				<-ctx.Done()
				stopped = true
				return ctx.Err()
			}}
			ctx, leave := context.WithCancel(t.Context())
			defer leave()
			s, w, over := m.run(ctx, oneQuestion)
			time.Sleep(31 * time.Second)
			synctest.Wait()
			end(s, leave)
			<-over
			body := w.Body.String()
			if !stopped || w.Code != http.StatusOK || strings.Count(body, ": ping\n") != 2 {
				t.Errorf("%s: stopped %v, %d %q", name, stopped, w.Code, body)
			}
			if name == "server" && !strings.Contains(body, "The server stops; the answer is not whole.") {
				t.Errorf("%q", body)
			}
		})
	}
}
