package client_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"github.com/spangrove/spangrove/pkg/client"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m, goleak.IgnoreCurrent()) }

// reply is an answer of a scripted server. With status 0 the connection breaks.
type reply struct {
	status int
	header http.Header
	body   string
}

// scripted is a transport that gives one reply after the other, the last one for ever, and keeps
// what was sent, when.
type scripted struct {
	mu      sync.Mutex
	replies []reply
	bodies  []string
	times   []time.Time
	headers []http.Header
}

func (s *scripted) RoundTrip(r *http.Request) (*http.Response, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	text, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, err
	}
	s.bodies, s.times, s.headers = append(s.bodies, string(text)), append(s.times, time.Now()), append(s.headers, r.Header)
	next := s.replies[0]
	if len(s.replies) > 1 {
		s.replies = s.replies[1:]
	}
	if next.status == 0 {
		return nil, &net.OpError{Op: "dial", Err: errors.New("connection refused")}
	}
	header := next.header
	if header == nil {
		header = http.Header{}
	}
	return &http.Response{StatusCode: next.status, Header: header, Body: io.NopCloser(strings.NewReader(next.body)), Request: r}, nil
}

func (s *scripted) client(t *testing.T, opts ...client.Option) *client.Client {
	t.Helper()
	return must(client.New("http://server.test", "key", append([]client.Option{client.WithHTTPClient(&http.Client{Transport: s})}, opts...)...))(t)
}

var (
	good    = reply{status: 200, body: `{"success": true, "event_id": "x"}`}
	refused = reply{}
	asks    = func(status int, wait string) reply {
		return reply{status, http.Header{"Retry-After": {wait}}, `{"statusCode": 503, "message": "busy", "success": false, "errorCode": "UNAVAILABLE"}`}
	}
)

// TestRetries plays calls on a clock of its own.
func TestRetries(t *testing.T) {
	create := func(ctx context.Context, c *client.Client) error {
		_, err := c.Events.Create(ctx, client.EventInput{EventType: client.EventTool})
		return err
	}
	insert := func(ctx context.Context, c *client.Client) error {
		_, err := c.Datasets.Create(ctx, client.DatasetInput{Name: "d"})
		return err
	}
	remove := func(ctx context.Context, c *client.Client) error { return c.Datasets.Delete(ctx, "d") }
	retries := client.Retries{Count: 3, Base: time.Second, Max: 5 * time.Second}
	for _, tt := range []struct {
		name    string
		call    func(context.Context, *client.Client) error
		replies []reply
		sent    int
		least   time.Duration // the call takes at least, and at most
		most    time.Duration
		status  int // of the error, 0 if there is none
	}{
		{"at once", create, []reply{good}, 1, 0, 0, 0},
		{"no connection, then there is one", create, []reply{refused, good}, 2, 0, time.Second, 0},
		{"an answer that breaks off", create, []reply{{status: 200, body: `{`}}, 1, 0, 0, -1},
		{"500, then good", create, []reply{{status: 500}, good}, 2, 0, time.Second, 0},
		{"502, 504, 408, then good", create, []reply{{status: 502}, {status: 504}, {status: 408}, good}, 4, 0, 7 * time.Second, 0},
		{"never good", create, []reply{{status: 500}}, 4, 0, 7 * time.Second, 500},
		{"429 asks for 4 seconds", create, []reply{asks(429, "4"), good}, 2, 4 * time.Second, 5 * time.Second, 0},
		{"503 asks for a date", create, []reply{asks(503, "Sat, 01 Jan 2000 00:00:03 GMT"), good}, 2, 3 * time.Second, 4 * time.Second, 0},
		{"503 asks for a date that is over", create, []reply{asks(503, "Fri, 31 Dec 1999 00:00:03 GMT"), good}, 2, 0, time.Second, 0},
		{"503 asks for nonsense", create, []reply{asks(503, "soon"), good}, 2, 0, time.Second, 0},
		{"503 asks for too long", create, []reply{asks(503, "6"), good}, 1, 0, 0, 503},
		{"400 is for ever", create, []reply{{status: 400}, good}, 1, 0, 0, 400},
		{"501 is for ever", create, []reply{{status: 501}, good}, 1, 0, 0, 501},
		{"a redirect is for ever", create, []reply{{301, http.Header{"Location": {"https://server.test/"}}, ""}, good}, 1, 0, 0, 301},

		{"an id of the server's, no connection", insert, []reply{refused, good}, 2, 0, time.Second, 0},
		{"an id of the server's, 503", insert, []reply{asks(503, "1"), good}, 2, time.Second, 2 * time.Second, 0},
		{"an id of the server's, 429", insert, []reply{{status: 429}, good}, 2, 0, time.Second, 0},
		{"an id of the server's, 500", insert, []reply{{status: 500}, good}, 1, 0, 0, 500},
		{"an id of the server's, 504", insert, []reply{{status: 504}, good}, 1, 0, 0, 504},

		{"a delete that may have been done", remove, []reply{{status: 500}, {status: 404}}, 2, 0, time.Second, 0},
		{"a delete that has not been done", remove, []reply{asks(503, "1"), {status: 404}}, 2, time.Second, 2 * time.Second, 404},
		{"a delete of nothing", remove, []reply{{status: 404}}, 1, 0, 0, 404},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { // begins on 1 January 2000
				s := &scripted{replies: tt.replies}
				begin := time.Now()
				err := tt.call(t.Context(), s.client(t, client.WithRetries(retries)))
				took := time.Since(begin)
				if took < tt.least || took > tt.most {
					t.Errorf("it took %s, not %s to %s", took, tt.least, tt.most)
				}
				if (err == nil) != (tt.status == 0) || tt.status > 0 && status(err) != tt.status {
					t.Errorf("error %v, want status %d", err, tt.status)
				}
				equal(t, "requests", len(s.bodies), tt.sent)
				for _, body := range s.bodies {
					equal(t, "body", body, s.bodies[0])
				}
				equal(t, "key", s.headers[0].Get("Authorization"), "Bearer key")
			})
		})
	}
}

// TestLimits is what ends a call that is not done.
func TestLimits(t *testing.T) {
	read := func(ctx context.Context, c *client.Client) error { return c.Ready(ctx) }
	stream := func(ctx context.Context, c *client.Client) error {
		spans, err := c.OTLP.Session(ctx, "s", client.JSON, client.Page{})
		if err == nil {
			err = spans.Close()
		}
		return err
	}
	for name, call := range map[string]func(context.Context, *client.Client) error{"call": read, "stream": stream} {
		t.Run(name+" waits no longer than there is time", func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := &scripted{replies: []reply{asks(503, "8")}}
				begin := time.Now()
				err := call(t.Context(), s.client(t, client.WithTimeout(5*time.Second)))
				equal(t, "took", time.Since(begin), 0)
				equal(t, "status", status(err), 503)
				var e *client.Error
				if !errors.As(err, &e) || e.RetryAfter != 8*time.Second {
					t.Errorf("the error does not tell how long to wait: %v", err)
				}
			})
		})
		t.Run(name+" is cancelled while it waits", func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := &scripted{replies: []reply{asks(503, "8")}}
				ctx, cancel := context.WithCancel(t.Context())
				go func() { time.Sleep(time.Second); cancel() }()
				begin := time.Now()
				err := call(ctx, s.client(t))
				equal(t, "took", time.Since(begin), time.Second)
				if !errors.Is(err, context.Canceled) || status(err) != 503 {
					t.Errorf("it must tell that it was cancelled, and why it waited: %v", err)
				}
			})
		})
		t.Run(name+" ends when its time is over", func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				hangs := roundTrip(func(r *http.Request) (*http.Response, error) { <-r.Context().Done(); return nil, r.Context().Err() })
				c := must(client.New("http://server.test", "", client.WithHTTPClient(&http.Client{Transport: hangs})))(t)
				begin := time.Now()
				err := call(t.Context(), c)
				equal(t, "took", time.Since(begin), client.DefaultTimeout)
				if !errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Canceled) {
					t.Errorf("want a time limit that ran out: %v", err)
				}
				ctx, cancel := context.WithTimeout(t.Context(), time.Second)
				defer cancel()
				if err := call(ctx, c); !errors.Is(err, context.DeadlineExceeded) {
					t.Errorf("want the context's time limit: %v", err)
				}
			})
		})
	}
}

type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// TestConnections is what sockets do: refuse, and break in the middle of an answer.
func TestConnections(t *testing.T) {
	t.Parallel()
	quick := client.WithRetries(client.Retries{Count: 2, Base: time.Millisecond, Max: time.Millisecond})
	t.Run("breaks in the middle", func(t *testing.T) {
		var requests atomic.Int32
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			_, _ = io.Copy(io.Discard, r.Body)
			if requests.Add(1) == 1 { // the first is begun and broken off
				w.Header().Set("Content-Length", "100")
				_, _ = w.Write([]byte(`{"event_id":`))
				panic(http.ErrAbortHandler)
			}
			_, _ = w.Write([]byte(`{"event_id": "x", "result": {"insertedId": "y"}}`))
		}))
		defer server.Close()
		c := must(client.New(server.URL+"/", "", quick))(t)
		defer c.CloseIdleConnections()
		equal(t, "id", must(c.Events.Create(t.Context(), client.EventInput{EventType: client.EventTool}))(t), "x")
		equal(t, "requests", requests.Swap(0), 2)
		if id, err := c.Tools.Create(t.Context(), client.ToolInput{Name: "t"}); err == nil || requests.Load() != 1 {
			t.Errorf("a tool that may be stored was created again: %q, %v, %d requests", id, err, requests.Load())
		}
	})
	t.Run("an engine is being made ready", func(t *testing.T) {
		var requests atomic.Int32
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			_, _ = io.Copy(io.Discard, r.Body)
			_, _ = fmt.Fprintf(w, `{"success": %t, "loading": %t, "result": 1, "explanation": ""}`, requests.Load() > 0, requests.Add(1) == 1)
		}))
		defer server.Close()
		c := must(client.New(server.URL, "", quick))(t)
		defer c.CloseIdleConnections()
		r := must(c.Metrics.Run(t.Context(), client.MetricDefinition{Name: "m", Type: client.MetricPython}, nil))(t)
		equal(t, "run", [3]any{r.Success, r.Loading, requests.Load()}, [3]any{true, false, int32(2)})
	})
	t.Run("nobody listens", func(t *testing.T) {
		server := httptest.NewServer(nil)
		server.Close()
		c := must(client.New(server.URL, "", quick))(t)
		_, err := c.Tools.Create(t.Context(), client.ToolInput{Name: "t"})
		if err == nil || !strings.Contains(err.Error(), "refused") {
			t.Errorf("%v", err)
		}
	})
	t.Run("a redirect", func(t *testing.T) {
		server := httptest.NewServer(http.RedirectHandler("https://elsewhere.test/v1/tools", http.StatusMovedPermanently))
		defer server.Close()
		c := must(client.New(server.URL, ""))(t)
		defer c.CloseIdleConnections()
		_, err := c.Tools.Create(t.Context(), client.ToolInput{Name: "t"})
		if status(err) != http.StatusMovedPermanently || !strings.Contains(err.Error(), "https://elsewhere.test/v1/tools") {
			t.Errorf("%v", err)
		}
	})
}

func TestErrors(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		status int
		body   string
		want   client.Error
		text   string
	}{
		{400, `{"statusCode":400,"message":"events[3].inputs.a-b: must be an object","success":false,"errorCode":"VALIDATION_ERROR"}`,
			client.Error{Status: 400, Code: "VALIDATION_ERROR", Field: "events[3].inputs.a-b", Message: "must be an object"},
			"events[3].inputs.a-b: must be an object (400 VALIDATION_ERROR)"},
		{400, `{"message":"the query string is malformed: bad: escape","errorCode":"VALIDATION_ERROR"}`,
			client.Error{Status: 400, Code: "VALIDATION_ERROR", Message: "the query string is malformed: bad: escape"},
			"the query string is malformed: bad: escape (400 VALIDATION_ERROR)"},
		{404, `{"message":"x: y","errorCode":"NOT_FOUND"}`, client.Error{Status: 404, Code: "NOT_FOUND", Message: "x: y"}, "x: y (404 NOT_FOUND)"},
		{502, " <html>bad gateway</html>\n", client.Error{Status: 502, Message: "<html>bad gateway</html>"}, "<html>bad gateway</html> (502)"},
		{418, "", client.Error{Status: 418, Message: "I'm a teapot"}, "I'm a teapot (418)"},
		{599, "{}", client.Error{Status: 599, Message: "{}"}, "{} (599)"},
		{403, strings.Repeat("é", 600), client.Error{Status: 403, Message: strings.Repeat("é", 500) + "…"}, strings.Repeat("é", 500) + "… (403)"},
	} {
		s := &scripted{replies: []reply{{status: tt.status, body: tt.body}}}
		err := s.client(t, client.WithRetries(client.Retries{})).Ready(t.Context())
		var e *client.Error
		if !errors.As(err, &e) {
			t.Fatalf("%d: %v is no Error", tt.status, err)
		}
		equal(t, tt.body, *e, tt.want)
		equal(t, tt.body, err.Error(), "GET /v1/healthcheck: "+tt.text)
	}
}

func TestNew(t *testing.T) {
	t.Parallel()
	for _, wrong := range []string{"", "localhost:7420", "ftp://x", "http://", "http://user:secret@x", "ftp://user:secret@x", "user:secret@x", "http://user:secret@x:port", "http://x?a=b", "http://x#f", "http://x\x00"} {
		if _, err := client.New(wrong, ""); err == nil || strings.Contains(err.Error(), "secret") {
			t.Errorf("%q: %v", wrong, err)
		}
	}
	for name, wrong := range map[string]client.Option{
		"timeout": client.WithTimeout(-1), "client": client.WithHTTPClient(nil), "retries": client.WithRetries(client.Retries{Count: -1}), "answer": client.WithMaxAnswer(0),
	} {
		if _, err := client.New("http://x", "", wrong); err == nil {
			t.Errorf("a wrong %s was taken", name)
		}
	}
	if _, err := client.New("http://x", "key\nX-Other: y"); err == nil {
		t.Error("a key with a line break was taken")
	}
	equal(t, "server", must(client.New(" https://x/sub/ ", ""))(t).Server(), "https://x/sub")
	s := &scripted{replies: []reply{{status: 200, body: "{}"}}}
	check(t, s.client(t, client.WithUserAgent("shop/1")).Ready(t.Context()))
	equal(t, "user agent", s.headers[0].Get("User-Agent"), "shop/1")
}

// TestIDs refuses ids that would make the path of another operation.
func TestIDs(t *testing.T) {
	t.Parallel()
	s := &scripted{replies: []reply{good}}
	c := s.client(t)
	for _, id := range []string{"", ".", ".."} {
		if err := c.Datasets.Delete(t.Context(), id); err == nil {
			t.Errorf("%q was taken for an id", id)
		}
		if err := c.Datasets.Remove(t.Context(), "d", id); err == nil {
			t.Errorf("%q was taken for an id", id)
		}
	}
	if len(s.bodies) != 0 {
		t.Errorf("%d requests were sent", len(s.bodies))
	}
}

func TestWarnings(t *testing.T) {
	t.Parallel()
	var got []client.Warning
	s := &scripted{replies: []reply{good}}
	c := s.client(t, client.WithWarnings(func(w client.Warning) { got = append(got, w) }))
	large := strings.Repeat("x", client.LargeField)
	in := client.EventInput{EventID: "e", EventType: client.EventTool, Inputs: client.Object{"a": large}, Outputs: "small"}
	must(c.Events.Create(t.Context(), in))(t)
	equal(t, "warnings", got, []client.Warning{{ID: "e", Field: "inputs", Bytes: client.LargeField + len(`{"a":""}`)}})
	if !strings.Contains(s.bodies[0], large) {
		t.Error("the large field was not sent")
	}
	got = nil
	half := large[:client.LargeField/2]
	must(c.Events.CreateBatch(t.Context(), client.Batch{Events: []client.EventInput{
		{EventType: client.EventTool, Inputs: client.Object{"a": half}, Outputs: half}, {EventID: "f", EventType: client.EventTool, Outputs: large},
	}}))(t)
	equal(t, "warnings", got, []client.Warning{{ID: "f", Field: "outputs", Bytes: client.LargeField + 2}})
}
