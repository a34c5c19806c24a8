package httpapi_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/spangrove/spangrove/pkg/httpapi"
	"github.com/spangrove/spangrove/pkg/project"
	"github.com/spangrove/spangrove/pkg/refused"
	"github.com/spangrove/spangrove/pkg/store"
)

// Requests of unknown callers are for who manages all projects, and for everybody who may read while there is one project only.
func TestWhoSeesUnknownCallers(t *testing.T) {
	t.Parallel()
	s, shop := openStore(t, store.Options{}, "shop")
	log := refused.NewLog(nil)
	log.Add("", refused.Request{Method: "POST", Path: "/v1/traces", Status: 401, Message: "unknown API key", KeyPrefix: "sg_abcdefg"})
	mux := http.NewServeMux()
	for _, r := range httpapi.New(httpapi.Deps{Store: s, Refusals: log}).Routes() {
		mux.Handle(r.Pattern(), r.Handler)
	}
	sees := func(p project.Project, scope project.Scope) bool {
		t.Helper()
		ctx := project.WithIdentity(t.Context(), project.Identity{Project: p, Scope: scope})
		w := httptest.NewRecorder()
		mux.ServeHTTP(w, httptest.NewRequestWithContext(ctx, "GET", "/v1/server/refusals", nil))
		if w.Code != http.StatusOK {
			t.Fatalf("%d %s", w.Code, w.Body)
		}
		return strings.Contains(w.Body.String(), `"path":"/v1/traces","status":401,"message":"unknown API key","key_prefix":"sg_abcdefg","count":1}`)
	}
	if !sees(shop, project.ScopeRead) || !sees(shop, project.ScopeAdmin) {
		t.Error("the only project does not see the requests of unknown callers")
	}
	other, err := s.EnsureProject(t.Context(), "another")
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range []project.Project{shop, other} {
		if sees(p, project.ScopeRead) || sees(p, project.ScopeFull) {
			t.Errorf("one of several projects, %s, sees the requests of unknown callers", p.Name)
		}
		if !sees(p, project.ScopeAdmin) {
			t.Errorf("the admin in %s does not see the requests of unknown callers", p.Name)
		}
	}
}
