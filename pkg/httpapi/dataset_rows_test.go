package httpapi_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/spangrove/spangrove/pkg/dataset"
	"github.com/spangrove/spangrove/pkg/httpapi"
	"github.com/spangrove/spangrove/pkg/store"
)

// datasetAPI returns the API over a store with one dataset of n datapoints, of which every tenth has the tag "ten".
func datasetAPI(t *testing.T, n int) (api http.Handler, id string) {
	t.Helper()
	s, p := openStore(t, store.Options{}, "default")
	return routesOf(s), manyDatapoints(t, s, p.ID, n)
}

// manyDatapoints stores a dataset of n datapoints, of which every tenth has the tag "ten".
func manyDatapoints(t *testing.T, s *store.Store, project int64, n int) (id string) {
	t.Helper()
	list := make([]dataset.Datapoint, n)
	for i := range list {
		list[i].Inputs = fmt.Appendf(nil, `{"n":%d}`, i)
		if i%10 == 0 {
			list[i].Metadata = []byte(`{"tags":["ten"],"f":"=1"}`)
		}
		list[i].Complete()
	}
	name := "many"
	id, _, err := s.CreateDatasetOf(t.Context(), project, dataset.New(&dataset.Update{Name: &name}), list)
	if err != nil {
		t.Fatal(err)
	}
	return id
}

func routesOf(s httpapi.Store) http.Handler {
	mux := http.NewServeMux()
	for _, r := range httpapi.New(httpapi.Deps{Store: s}).Routes() {
		mux.Handle(r.Pattern(), r.Handler)
	}
	return mux
}

func TestExportDataset(t *testing.T) {
	t.Parallel()
	api, id := datasetAPI(t, 1201)
	get := func(query string) string {
		t.Helper()
		w := httptest.NewRecorder()
		api.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), "GET", "/v1/datasets/"+id+"/export?"+query, nil))
		if w.Code != http.StatusOK {
			t.Fatalf("%s: %d %s", query, w.Code, w.Body)
		}
		return w.Body.String()
	}
	lines := strings.Split(strings.TrimSpace(get("")), "\n")
	if len(lines) != 1201 || !strings.Contains(lines[1200], `"inputs":{"n":1200}`) {
		t.Errorf("%d lines, the last %s", len(lines), lines[len(lines)-1])
	}
	rows := strings.Split(strings.TrimSuffix(get("format=csv&field=metadata.tags&value=ten"), "\r\n"), "\r\n")
	if len(rows) != 122 || rows[0] != "id,inputs.n,metadata.tags,metadata.f" {
		t.Fatalf("%d rows, the first %s", len(rows), rows[0])
	}
	_, last, _ := strings.Cut(rows[121], ",")
	if d := cmp.Diff(`1200,"[""ten""]",'=1`, last); d != "" {
		t.Errorf("the last row (-want +got)\n%s", d)
	}
}

// vanishing is a store in which the dataset is deleted, with its rows, when its first datapoints have been read.
type vanishing struct {
	*store.Store
	gone bool
}

func (v *vanishing) DatapointsIn(ctx context.Context, project int64, id string, version, after int64, limit int) ([]dataset.Datapoint, int64, error) {
	list, next, err := v.Store.DatapointsIn(ctx, project, id, version, after, limit)
	if v.gone || err != nil {
		return list, next, err
	}
	v.gone = true
	if err := v.DeleteDataset(ctx, project, id); err != nil {
		return nil, 0, err
	}
	for rest := list; len(rest) > 0; { // rows are deleted in slices
		if rest, _, err = v.Store.DatapointsIn(ctx, project, id, version, 0, 1); err != nil {
			return nil, 0, err
		}
		time.Sleep(time.Millisecond)
	}
	return list, next, nil
}

// A file of a dataset that is deleted while it is written is broken off, and not taken for all of it.
func TestExportOfDeletedDataset(t *testing.T) {
	t.Parallel()
	for _, format := range []string{"jsonl", "csv"} {
		s, p := openStore(t, store.Options{}, "default")
		id := manyDatapoints(t, s, p.ID, 1201)
		api := httptest.NewServer(routesOf(&vanishing{Store: s}))
		defer api.Close()
		answer, err := api.Client().Get(api.URL + "/v1/datasets/" + id + "/export?format=" + format) //nolint:noctx // a test's own server
		if err != nil {
			t.Fatal(err)
		}
		defer answer.Body.Close()
		body, err := io.ReadAll(answer.Body)
		if err == nil && answer.StatusCode == http.StatusOK {
			t.Errorf("%s: %d lines, as if they were all", format, bytes.Count(body, []byte("\n")))
		}
	}
}

// slow is a store whose datapoints take their time.
type slow struct{ *store.Store }

func (s slow) DatapointsIn(ctx context.Context, project int64, id string, version, after int64, limit int) ([]dataset.Datapoint, int64, error) {
	time.Sleep(30 * time.Millisecond)
	return s.Store.DatapointsIn(ctx, project, id, version, after, limit)
}

// A file that takes longer than answers may take comes to its end.
func TestExportOfLargeDataset(t *testing.T) {
	t.Parallel()
	s, p := openStore(t, store.Options{}, "default")
	id := manyDatapoints(t, s, p.ID, 1201)
	api := httptest.NewUnstartedServer(routesOf(slow{s}))
	api.Config.WriteTimeout = 20 * time.Millisecond
	api.Start()
	defer api.Close()
	answer, err := api.Client().Get(api.URL + "/v1/datasets/" + id + "/export") //nolint:noctx // a test's own server
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	body, err := io.ReadAll(answer.Body)
	if n := bytes.Count(body, []byte("\n")); err != nil || n != 1201 {
		t.Errorf("%d of 1201 lines: %v", n, err)
	}
}
