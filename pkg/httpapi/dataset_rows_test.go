package httpapi_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/spangrove/spangrove/pkg/dataset"
	"github.com/spangrove/spangrove/pkg/httpapi"
	"github.com/spangrove/spangrove/pkg/store"
)

// datasetAPI returns the API over a store with one dataset of n datapoints, of which every tenth has the tag "ten".
func datasetAPI(t *testing.T, n int) (api http.Handler, id string) {
	t.Helper()
	s, p := openStore(t, store.Options{}, "default")
	list := make([]dataset.Datapoint, n)
	for i := range list {
		list[i].Inputs = fmt.Appendf(nil, `{"n":%d}`, i)
		if i%10 == 0 {
			list[i].Metadata = []byte(`{"tags":["ten"],"f":"=1"}`)
		}
		list[i].Complete()
	}
	name := "many"
	id, _, err := s.CreateDatasetOf(t.Context(), p.ID, dataset.New(&dataset.Update{Name: &name}), list)
	if err != nil {
		t.Fatal(err)
	}
	mux := http.NewServeMux()
	for _, r := range httpapi.New(httpapi.Deps{Store: s}).Routes() {
		mux.Handle(r.Pattern(), r.Handler)
	}
	return mux, id
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
