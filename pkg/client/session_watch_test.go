package client_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/spangrove/spangrove/pkg/client"
)

// streams is a transport that gives one stream after the other; an empty one says nothing and goes on.
type streams struct{ list []string }

func (s *streams) RoundTrip(r *http.Request) (*http.Response, error) {
	if len(s.list) == 0 {
		return &http.Response{StatusCode: 403, Body: io.NopCloser(strings.NewReader("{}")), Header: http.Header{}}, nil
	}
	body := io.NopCloser(strings.NewReader(s.list[0]))
	if s.list[0] == "" {
		body = silent{r.Context()}
	}
	s.list = s.list[1:]
	return &http.Response{StatusCode: 200, Body: body, Header: http.Header{}}, nil
}

// silent is a stream that goes on without a word.
type silent struct{ ctx context.Context }

func (s silent) Read([]byte) (int, error) {
	<-s.ctx.Done()
	return 0, s.ctx.Err()
}

func (silent) Close() error { return nil }

// A stream that ends or falls silent is begun again, which is told of, until the server refuses it.
func TestWatch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &streams{list: []string{
			"retry: 2000\n\n: ping\n\nevent: change\ndata: {\"session_id\":\"s\",\"touched\":5,\"kind\":\"event\"}\n\n" +
				"event: reset\ndata: {}\n\nevent: ch",
			"",
			"event: later\ndata: {}\n\nevent:change\ndata:{\"session_id\":null,\n" + "data:\"touched\":6,\"kind\":\"session\"}\n\n",
		}}
		c, err := client.New("http://127.0.0.1:1", "key", client.WithHTTPClient(&http.Client{Transport: s}))
		check(t, err)
		var got []string
		begin := time.Now()
		for change, err := range c.Sessions.Watch(t.Context(), client.AllSessions) {
			if err != nil {
				got = append(got, fmt.Sprint(status(err)))
				continue
			}
			got = append(got, fmt.Sprintf("%t %s %v %s", change.Reset, change.SessionID, change.Touched, change.Kind))
		}
		equal(t, "changes", got, []string{"true  0 ", "false s 5 event", "true  0 ", "true  0 ", "true  0 ", "false  6 session", "403"})
		if took := time.Since(begin); took < 45*time.Second || took > 60*time.Second {
			t.Errorf("it took %s to give up a silent stream", took)
		}
	})
}
