package httpapi_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/spangrove/spangrove/pkg/event"
	"github.com/spangrove/spangrove/pkg/httpapi"
	"github.com/spangrove/spangrove/pkg/sample"
	"github.com/spangrove/spangrove/pkg/store"
	"github.com/spangrove/spangrove/pkg/wire"
)

// Samples that are loaded again on another day are still there once, as they were, and all of them can be deleted.
func TestSamplesOfAnotherDay(t *testing.T) {
	t.Parallel()
	s, p := openStore(t, store.Options{}, "shop")
	mux := http.NewServeMux()
	for _, r := range httpapi.New(httpapi.Deps{Store: s}).Routes() {
		mux.Handle(r.Pattern(), r.Handler)
	}
	var first string
	for _, day := range []int{-40, -1, 0} {
		now := time.Now().AddDate(0, 0, day)
		b, err := wire.DecodeBatch(sample.Batch(now), wire.Strict, now)
		if err != nil {
			t.Fatal(err)
		}
		if err := s.Put(t.Context(), p.ID, event.Batch{Events: b.Events}); err != nil {
			t.Fatal(err)
		}
		status, body := ask(t, mux, "POST /v1/sessions/search", `{"total":"exact"}`)
		if status != 200 || !strings.Contains(body, `"total":5`) {
			t.Fatalf("%d %s", status, body)
		}
		if first == "" {
			first = body
		}
		if body != first {
			t.Errorf("loading them again changed them:\n%s\n%s", first, body)
		}
	}
	if status, body := ask(t, mux, "DELETE /v1/samples", ""); status != 200 || body != `{"deleted":5}` {
		t.Errorf("%d %s", status, body)
	}
	if _, body := ask(t, mux, "POST /v1/events/search", `{}`); !strings.Contains(body, `"totalEvents":0`) {
		t.Errorf("something is left: %s", body)
	}
}
