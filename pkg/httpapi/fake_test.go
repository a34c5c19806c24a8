package httpapi_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/spangrove/spangrove/pkg/audit"
	"github.com/spangrove/spangrove/pkg/event"
	"github.com/spangrove/spangrove/pkg/httpapi"
	"github.com/spangrove/spangrove/pkg/project"
	"github.com/spangrove/spangrove/pkg/query"
)

var (
	sessionID = uuid.MustParse("11111111-1111-4111-8111-111111111111")
	eventID   = uuid.MustParse("22222222-2222-4222-8222-222222222222")
	shop      = project.Project{ID: 7, PublicID: "prj_1", OrgID: "org_1", WorkspaceID: "ws_1", Name: "shop"}
)

// fake is a store whose answers a test sets, mostly to fail on purpose. It remembers what it
// was asked.
type fake struct {
	unfaked

	set     *event.Set
	event   event.Event
	pending bool
	err     error

	mu        sync.Mutex // of projectID: a comparison reads both runs at the same time
	projectID int64
	search    query.Search
	update    event.Update
	deleted   []uuid.UUID
}

func (f *fake) Charts(_ context.Context, projectID int64, _ *query.ChartSet) (*query.ChartTable, error) {
	return nil, f.asked(projectID)
}

func (f *fake) Chart(_ context.Context, projectID int64, _ *query.Chart) (*query.ChartAnswer, error) {
	f.projectID = projectID
	return &query.ChartAnswer{}, f.err
}

func (f *fake) Values(_ context.Context, projectID int64, _ *query.ValueQuery) (*query.ValueAnswer, error) {
	f.projectID = projectID
	return &query.ValueAnswer{}, f.err
}

func (f *fake) Search(_ context.Context, projectID int64, q query.Search) (*event.Set, error) {
	f.projectID, f.search = projectID, q
	return f.set, f.err
}

func (f *fake) Session(_ context.Context, projectID int64, _ uuid.UUID) (*event.Set, error) {
	f.projectID = projectID
	return f.set, f.err
}

func (f *fake) Event(_ context.Context, projectID int64, _ uuid.UUID) (event.Event, error) {
	f.projectID = projectID
	return f.event, f.err
}

func (f *fake) EventsByID(_ context.Context, projectID int64, _ []uuid.UUID) (*event.Set, error) {
	f.projectID = projectID
	return f.set, f.err
}

func (f *fake) SearchSessions(_ context.Context, projectID int64, _ query.SessionSearch) (*event.SessionSet, error) {
	f.projectID = projectID
	return &event.SessionSet{}, f.err
}

func (f *fake) Watch(_ context.Context, projectID int64, _ uuid.UUID) (event.Watch, error) {
	f.projectID = projectID
	return nil, f.err
}

func (f *fake) Update(_ context.Context, projectID int64, u event.Update) (bool, error) {
	f.projectID, f.update = projectID, u
	return f.pending, f.err
}

func (f *fake) DeleteEvent(_ context.Context, projectID int64, id uuid.UUID) error {
	f.projectID, f.deleted = projectID, append(f.deleted, id)
	return f.err
}

func (f *fake) Copies(_ context.Context, projectID int64, _ uuid.UUID, _ int) ([]string, int, error) {
	f.projectID = projectID
	return nil, 0, f.err
}

func (f *fake) DeleteCopies(_ context.Context, projectID int64, _ uuid.UUID) (int, error) {
	f.projectID = projectID
	return 0, f.err
}

func (f *fake) DeleteSession(ctx context.Context, projectID int64, id uuid.UUID) error {
	return f.DeleteEvent(ctx, projectID, id)
}

func (f *fake) DefaultProject(context.Context) (project.Project, error) { return shop, nil }

func (f *fake) CheckStored(context.Context, int64) error { return nil }

func (f *fake) RecordAudit(context.Context, audit.Entry) {}

// unfaked is what no test asks of a fake: it panics.
type unfaked interface {
	httpapi.Projects
	httpapi.Keys
	httpapi.Limits
	httpapi.Retention
	httpapi.Usage
	httpapi.ServerStatus
	httpapi.Index
	httpapi.Audit
}

// both is what a store and the providers of judges must do for the API.
type both interface {
	httpapi.Store
	httpapi.Providers
	httpapi.Playground
	httpapi.AlertKeeper
}

// serve mounts every route over s. On a request without an identity the project is shop.
func serve(s both) http.Handler {
	server := httpapi.New(httpapi.Deps{Store: s, Providers: s, Playground: s, Alerts: s, Now: func() time.Time { return time.UnixMilli(1_800_000_000_000) }})
	mux := http.NewServeMux()
	for _, r := range server.Routes() {
		mux.Handle(r.Pattern(), r.Handler)
	}
	return mux
}

// ask sends one request and gives status and body.
func ask(t *testing.T, h http.Handler, request, body string) (int, string) {
	t.Helper()
	method, target, _ := strings.Cut(request, " ")
	w := httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), method, target, strings.NewReader(body)))
	return w.Code, w.Body.String()
}
