package apiextension

import (
	"bufio"
	"context"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"go.opentelemetry.io/collector/component"

	"github.com/spangrove/spangrove/pkg/event"
	"github.com/spangrove/spangrove/pkg/project"
)

// watchedStore tells its subscribers of each session that it is sent.
type watchedStore struct {
	fakeStore
	sessions chan uuid.UUID
}

type storeWatch struct {
	s       watchedStore
	changed chan struct{}
}

func (s watchedStore) Watch(context.Context, int64, uuid.UUID) (event.Watch, error) {
	w := storeWatch{s, make(chan struct{}, 1)}
	w.changed <- struct{}{}
	return w, nil
}

func (watchedStore) Projects(context.Context, string, int, int) ([]project.Project, int, error) {
	return nil, 1, nil
}

func (w storeWatch) Changed() <-chan struct{} { return w.changed }

func (w storeWatch) Take(context.Context) (event.Change, bool, error) {
	return event.Change{SessionID: <-w.s.sessions, Kind: event.ChangeEvent}, true, nil
}

func (storeWatch) Close() {}

// Messages of a stream arrive one by one, uncompressed, past the time limits of requests, and the server's drain
// does not wait for the end of the stream.
func TestLive(t *testing.T) {
	s := watchedStore{sessions: make(chan uuid.UUID)}
	h := newHost()
	h[component.MustNewID("spangrove_store")] = storeExtension{store: s}
	e, err := newExtension(newSettings(), configured(func(c *Config) {
		c.DrainTimeout = time.Minute
		c.HTTP.WriteTimeout, c.HTTP.ReadTimeout = 100*time.Millisecond, 100*time.Millisecond
	}))
	if err != nil {
		t.Fatal(err)
	}
	url := startReady(t, e, h)
	req, err := http.NewRequestWithContext(t.Context(), "GET", url+"/v1/live?session=*", nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer good")
	req.Header.Set("Accept-Encoding", "gzip")
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	if res.StatusCode != 200 || res.Header.Get("Content-Encoding") != "" || res.Header.Get("Cache-Control") != "no-store" {
		t.Fatalf("%d %v", res.StatusCode, res.Header)
	}
	lines := bufio.NewScanner(res.Body)
	time.Sleep(300 * time.Millisecond)
	session := uuid.New()
	s.sessions <- session
	for lines.Scan() && !strings.HasPrefix(lines.Text(), "data:") {
	}
	if !strings.Contains(lines.Text(), session.String()) {
		t.Fatalf("the first message is %q, %v", lines.Text(), lines.Err())
	}
	began := time.Now()
	if err := e.NotReady(); err != nil {
		t.Error(err)
	}
	if took := time.Since(began); took > 30*time.Second {
		t.Errorf("the drain took %s", took)
	}
	for lines.Scan() {
	}
	if err := lines.Err(); err != nil {
		t.Errorf("the stream is broken off: %v", err)
	}
	// A stream needs a key, as everything else.
	if _, err := e.recheck(fakeAuth{})(req); err != nil {
		t.Errorf("a good key: %v", err)
	}
	req.Header.Set("Authorization", "Bearer "+project.NewSecret())
	if _, err := e.recheck(fakeAuth{})(req); err == nil {
		t.Error("an unknown key is good")
	}
}
