package httpapi_test

import (
	"bufio"
	"context"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"

	"github.com/spangrove/spangrove/pkg/event"
	"github.com/spangrove/spangrove/pkg/fault"
	"github.com/spangrove/spangrove/pkg/httpapi"
	"github.com/spangrove/spangrove/pkg/query"
	"github.com/spangrove/spangrove/pkg/store"
)

// exportStore counts searches, and fails from one of them on.
type exportStore struct {
	*store.Store
	searches atomic.Int32
	fails    func(ctx context.Context, n int32) error
}

func (s *exportStore) Search(ctx context.Context, projectID int64, q query.Search) (*event.Set, error) {
	n := s.searches.Add(1)
	if s.fails != nil {
		if err := s.fails(ctx, n); err != nil {
			return nil, err
		}
	}
	return s.Store.Search(ctx, projectID, q)
}

// exportAPI returns a server over a store with n events in sessions of ten.
func exportAPI(t *testing.T, n int) (*httptest.Server, *exportStore) {
	t.Helper()
	s, p := openStore(t, store.Options{}, "default")
	var list []event.Incoming
	for i := range n {
		e := event.Incoming{Event: event.Event{
			ID: uuid.New(), SessionID: uuid.NewSHA1(uuid.Nil, fmt.Append(nil, i/10)), Type: event.TypeTool, Name: fmt.Sprintf("=e%05d", i), Source: "export",
			Start: 1767355200000 + float64(i), Duration: 1.25, Inputs: fmt.Appendf(nil, `{"q":"a, b","n":%d}`, -i), Metadata: []byte(`{"cost":0.50,"a.b":"c"}`),
		}}
		e.Complete(time.UnixMilli(1767355200000))
		if list = append(list, e); len(list) == 500 || i == n-1 {
			if err := s.Put(t.Context(), p.ID, event.Batch{Events: list}); err != nil {
				t.Fatal(err)
			}
			list = nil
		}
	}
	x := &exportStore{Store: s}
	mux := http.NewServeMux()
	for _, r := range httpapi.New(httpapi.Deps{Store: x}).Routes() {
		mux.Handle(r.Pattern(), r.Handler)
	}
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close)
	return server, x
}

func export(t *testing.T, server *httptest.Server, path, body string) (*http.Response, string, error) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, server.URL+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	res, err := server.Client().Do(r)
	if err != nil {
		return nil, "", err
	}
	defer func() { _ = res.Body.Close() }()
	text, err := io.ReadAll(res.Body)
	return res, string(text), err
}

const toolsOnly = `"filters":[{"field":"event_type","operator":"is","value":"tool","type":"string"}]`

func TestExportEvents(t *testing.T) {
	t.Parallel()
	server, _ := exportAPI(t, 2503)
	res, text, err := export(t, server, "/v1/events/export", `{`+toolsOnly+`,"format":"csv","order":"asc","columns":["event_name","metadata.cost","inputs.n","inputs.q","metadata.a.b","error"]}`)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"text/csv; charset=utf-8", `attachment; filename="events.csv"`},
		[]string{res.Header.Get("Content-Type"), res.Header.Get("Content-Disposition")}); diff != "" {
		t.Error(diff)
	}
	rows, err := csv.NewReader(strings.NewReader(text)).ReadAll()
	if err != nil || len(rows) != 2504 {
		t.Fatal(len(rows), err)
	}
	for i, row := range rows {
		want := []string{"event_name", "metadata.cost", "inputs.n", "inputs.q", "metadata.a.b", "error"}
		if i > 0 {
			want = []string{fmt.Sprintf("'=e%05d", i-1), "0.50", fmt.Sprint(1 - i), "a, b", "c", ""}
		}
		if diff := cmp.Diff(want, row); diff != "" {
			t.Fatalf("row %d: %s", i, diff)
		}
	}
	_, text, err = export(t, server, "/v1/events/export", `{`+toolsOnly+`,"format":"jsonl","columns":["metadata.cost","event_name","error"]}`)
	lines := strings.Split(text, "\n")
	if err != nil || len(lines) != 2504 || lines[0] != `{"metadata.cost":0.50,"event_name":"=e02502"}` || lines[2503] != "" {
		t.Error(len(lines), lines[0], err)
	}
	_, text, err = export(t, server, "/events/export", `{`+toolsOnly+`,"format":"jsonl","sort":"duration","order":"asc"}`)
	seen := map[string]bool{}
	for s := bufio.NewScanner(strings.NewReader(text)); s.Scan(); {
		var e struct {
			ID     string          `json:"event_id"`
			Inputs json.RawMessage `json:"inputs"`
			End    float64         `json:"end_time"`
		}
		// The end keeps its fraction: only answers that older clients read have none.
		if err := json.Unmarshal(s.Bytes(), &e); err != nil || len(e.Inputs) < 10 || e.End != math.Trunc(e.End)+0.25 {
			t.Fatal(s.Text(), err)
		}
		seen[e.ID] = true
	}
	if err != nil || len(seen) != 2503 {
		t.Error(len(seen), err)
	}
}

func TestExportSessions(t *testing.T) {
	t.Parallel()
	server, _ := exportAPI(t, 30)
	_, text, err := export(t, server, "/v1/sessions/export", `{"format":"csv","order":"asc","columns":["session_name","num_events","tokens.total","inputs.q"]}`)
	want := "session_name,num_events,tokens.total,inputs.q\r\n"
	rows := strings.Split(text, "\r\n")
	if err != nil || len(rows) != 5 || !strings.HasPrefix(text, want) || !strings.HasPrefix(rows[1], "'=e00000,10,0,") {
		t.Errorf("%q %v", text, err)
	}
	_, text, err = export(t, server, "/v1/sessions/export", `{"sort":"events"}`)
	if err != nil || strings.Count(text, "\n") != 3 || !strings.HasPrefix(text, `{"session_id":"`) {
		t.Errorf("%q %v", text, err)
	}
}

// A file that cannot be written to its end is never taken for a whole one.
func TestExportBreaksOff(t *testing.T) {
	t.Parallel()
	server, s := exportAPI(t, 2503)
	s.fails = func(_ context.Context, n int32) error {
		if n > 2 {
			return fault.New(fault.Timeout, "too slow")
		}
		return nil
	}
	res, text, err := export(t, server, "/v1/events/export", `{"format":"jsonl"}`)
	if err == nil || res == nil || res.StatusCode != http.StatusOK || strings.Count(text, "\n") > 2503 {
		t.Errorf("%d lines: %v", strings.Count(text, "\n"), err)
	}
	s.fails = func(context.Context, int32) error { return fault.New(fault.Timeout, "too slow") }
	res, text, err = export(t, server, "/v1/events/export", `{"format":"jsonl"}`)
	if err != nil || res.StatusCode != http.StatusGatewayTimeout || res.Header.Get("Content-Disposition") != "" || !strings.Contains(text, "too slow") {
		t.Error(res.StatusCode, text, err)
	}
}

// A page that has to wait for other reads is asked for again, and the rows stay whole and once each.
func TestExportWaits(t *testing.T) {
	t.Parallel()
	server, s := exportAPI(t, 2503)
	s.fails = func(_ context.Context, n int32) error {
		if n == 2 {
			return fault.New(fault.Limited, "too many reads")
		}
		return nil
	}
	_, text, err := export(t, server, "/v1/events/export", `{"format":"jsonl",`+toolsOnly+`}`)
	if err != nil || strings.Count(text, "\n") != 2503 {
		t.Error(strings.Count(text, "\n"), err)
	}
}

// Who leaves ends the export.
func TestExportLeft(t *testing.T) {
	t.Parallel()
	server, s := exportAPI(t, 2503)
	ctx, leave := context.WithCancel(t.Context())
	s.fails = func(ctx context.Context, n int32) error {
		if n == 2 {
			leave()
			<-ctx.Done()
		}
		return nil
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, server.URL+"/v1/events/export", strings.NewReader(`{"format":"jsonl"}`))
	if err != nil {
		t.Fatal(err)
	}
	res, err := server.Client().Do(r)
	if err == nil {
		_, err = io.Copy(io.Discard, res.Body)
		_ = res.Body.Close()
	}
	if err == nil {
		t.Error("the export went on to its end")
	}
	server.Close() // waits for the handler
	if n := s.searches.Load(); n != 2 {
		t.Errorf("%d pages were read, want 2", n)
	}
}
