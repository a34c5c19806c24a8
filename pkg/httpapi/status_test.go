package httpapi_test

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/spangrove/spangrove/pkg/fault"
	"github.com/spangrove/spangrove/pkg/httpapi"
	"github.com/spangrove/spangrove/pkg/project"
	"github.com/spangrove/spangrove/pkg/status"
	"github.com/spangrove/spangrove/pkg/store"
)

// brokenStore can be told to fail, with an error that names a secret.
type brokenStore struct {
	*store.Store
	writes, reads error
	free          int64
	checks        int
}

func (s *brokenStore) CheckWrite(ctx context.Context) error {
	s.checks++
	if s.writes != nil {
		return s.writes
	}
	return s.Store.CheckWrite(ctx)
}

func (s *brokenStore) Database(ctx context.Context) (status.Database, string, error) {
	d, synchronous, err := s.Store.Database(ctx)
	d.Disk = &status.Disk{FreeBytes: s.free, TotalBytes: 1 << 40}
	return d, synchronous, err
}

func (s *brokenStore) State(ctx context.Context, projectID int64) (status.State, error) {
	if s.reads != nil {
		return status.State{}, s.reads
	}
	return s.Store.State(ctx, projectID)
}

// What is wrong is told to everybody who may read, and neither how the database says so nor what others have.
func TestStatusTellsWhatIsWrong(t *testing.T) {
	t.Parallel()
	const secret = "planted-password"
	s, shop := openStore(t, store.Options{}, "shop")
	if _, err := s.EnsureProject(t.Context(), "another"); err != nil {
		t.Fatal(err)
	}
	cause := errors.New("connect to postgres://user:" + secret + "@host/db")
	for _, tt := range []struct {
		name  string
		store brokenStore
		want  string
	}{
		{"all is well", brokenStore{free: 1 << 39}, ""},
		{"not writable", brokenStore{free: 1 << 39, writes: fault.Wrap(fault.Unavailable, cause, "%s", secret)}, "store_not_writable"},
		{"not readable", brokenStore{free: 1 << 39, reads: fault.Wrap(fault.Unavailable, cause, "%s", secret)}, "store_not_readable"},
		{"little of the disk is free", brokenStore{free: 1 << 29}, "disk_low"},
		{"others read much", brokenStore{free: 1 << 39, reads: fault.New(fault.Limited, "too many reads")}, ""},
	} {
		tt.store.Store = s
		mux := http.NewServeMux()
		for _, r := range httpapi.New(httpapi.Deps{Store: &tt.store}).Routes() {
			mux.Handle(r.Pattern(), r.Handler)
		}
		get := func(path string, scope project.Scope) string {
			ctx := project.WithIdentity(t.Context(), project.Identity{Project: shop, Scope: scope})
			w := httptest.NewRecorder()
			mux.ServeHTTP(w, httptest.NewRequestWithContext(ctx, "GET", path, nil))
			if w.Code != http.StatusOK {
				t.Fatalf("%s: %s: %d %s", tt.name, path, w.Code, w.Body)
			}
			if strings.Contains(w.Body.String(), secret) {
				t.Errorf("%s: %s tells the secret: %s", tt.name, path, w.Body)
			}
			return w.Body.String()
		}
		for _, scope := range []project.Scope{project.ScopeAdmin, project.ScopeRead} {
			var got status.Status
			if err := json.Unmarshal([]byte(get("/v1/server/status", scope)), &got); err != nil {
				t.Fatal(err)
			}
			var codes []string
			for _, p := range got.Problems {
				codes = append(codes, p.Code)
			}
			if strings.Join(codes, " ") != tt.want {
				t.Errorf("%s, scope %s: %q, want %q", tt.name, scope, codes, tt.want)
			}
			if whole := got.Store.Disk != nil || got.Store.Directory != "" || got.Ingest != nil || got.Commits.Total != nil; whole != (scope == project.ScopeAdmin) {
				t.Errorf("%s: scope %s sees %+v", tt.name, scope, got)
			}
			if text := get("/v1/server/diagnosis", scope); tt.want != "" && !strings.Contains(text, "- Problem: "+tt.want+" (error): ") {
				t.Errorf("%s: the diagnosis does not say so:\n%s", tt.name, text)
			}
		}
		if tt.store.checks == 0 || tt.store.checks >= 4 {
			t.Errorf("%s: the store was written %d times for four answers", tt.name, tt.store.checks)
		}
	}
}
