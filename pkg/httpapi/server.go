package httpapi

import (
	"context"
	"io"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/google/uuid"
	"go.uber.org/zap"

	"github.com/spangrove/spangrove/pkg/evaluate"
	"github.com/spangrove/spangrove/pkg/event"
	"github.com/spangrove/spangrove/pkg/mount"
	"github.com/spangrove/spangrove/pkg/project"
	"github.com/spangrove/spangrove/pkg/query"
	"github.com/spangrove/spangrove/pkg/refused"
	"github.com/spangrove/spangrove/pkg/wire"
)

// Reader is what the handlers read from.
type Reader interface {
	// Search returns one page of the events that match, newest first (start time descending, then
	// id descending), and the exact number of all that match. Filters on the project itself are the
	// caller's to decide (query.InProject).
	//
	// It is a heavy read: fault.Limited if too many of the project wait, fault.Timeout if it takes too long.
	Search(ctx context.Context, projectID int64, q query.Search) (*event.Set, error)
	// Session returns all events of a session, by start time, the session event among them, whose metadata
	// carries the totals of the session. fault.NotFound if there is no such session.
	Session(ctx context.Context, projectID int64, sessionID uuid.UUID) (*event.Set, error)
	// Event returns one event whole; the session event for a session's id, also where that id has
	// moved. fault.NotFound if there is none.
	Event(ctx context.Context, projectID int64, eventID uuid.UUID) (event.Event, error)
	// EventsByID returns those of the events that are there, in the order of ids.
	EventsByID(ctx context.Context, projectID int64, ids []uuid.UUID) (*event.Set, error)
	// SearchSessions returns a page of sessions in the order that q names, by keyset: the page begins after q.After. Sessions of
	// judges are among them. Where q.Counted is set, Total is the exact number of all that match.
	//
	// It is a heavy read, as Search is.
	SearchSessions(ctx context.Context, projectID int64, q query.SessionSearch) (*event.SessionSet, error)
	// Chart sums up the events that match. Filters on the project itself are the caller's to
	// decide (query.InProject).
	Chart(ctx context.Context, projectID int64, c *query.Chart) (*query.ChartAnswer, error)
	// Charts answers several charts of one range. Why one of them has no answer stands in its place, if that is for its caller to mend.
	Charts(ctx context.Context, projectID int64, set *query.ChartSet) (*query.ChartTable, error)
	// Values counts the values of a field among the newest events that match, a bounded number of them, which the
	// answer tells. Filters on the project itself are the caller's to decide (query.InProject). It is a heavy read.
	Values(ctx context.Context, projectID int64, q *query.ValueQuery) (*query.ValueAnswer, error)
}

// Writer is what the handlers change stored events with.
type Writer interface {
	// Update changes a stored event. An update of an event that is not there (yet) is kept and
	// applied when the event comes; pending reports that. Past the bound of waiting updates it is
	// fault.NotFound. An update of telemetry must not tell whether the event is there: past the bound it is
	// fault.Limited or fault.Unavailable either way, and yet applied if the event is there, so that trying it
	// again later loses nothing.
	Update(ctx context.Context, projectID int64, u event.Update) (pending bool, err error)
	// DeleteEvent deletes one event and its payload; its children stay, as orphans. The id of a
	// session deletes the session, and an implicit session ends with its last event. What
	// judges recorded of the event goes, too. Updates that wait for an event of this id are dropped,
	// which is enough for success. fault.NotFound if there is nothing.
	DeleteEvent(ctx context.Context, projectID int64, eventID uuid.UUID) error
	// DeleteSession deletes a session with all its events, and what judges recorded of them.
	// fault.NotFound if there is none. Events that arrive while it runs may survive it, as those of a new
	// session. Once a slice is deleted, the others follow, also if ctx ends, and by the next process if
	// this one does.
	DeleteSession(ctx context.Context, projectID int64, sessionID uuid.UUID) error
	// Copies lists the datapoints that were made of an event, or, if id is a session's, of any event in it,
	// oldest first: at most limit of them, and counts all. It finds none for an id that is not there.
	Copies(ctx context.Context, projectID int64, id uuid.UUID, limit int) (datapoints []string, total int, err error)
	// DeleteCopies deletes the datapoints that Copies lists, and counts them.
	DeleteCopies(ctx context.Context, projectID int64, id uuid.UUID) (int, error)
}

// Store is what the handlers ask of a store. The small interfaces say what each method promises.
type Store interface {
	Reader
	Live
	Writer
	Tools
	Configurations
	Metrics
	MetricReports
	Evaluations
	Backfills
	Datasets
	Datapoints
	Charts
	Views
	Alerts
	Comments
	Dashboards
	Deletions
	Queues
	Runs
	RunScores
	Schemas
	Projects
	Keys
	Limits
	Retention
	Usage
	ServerStatus
	Index
	Audit
	mount.Projects // DefaultProject is whose the data is on a server without keys
}

// Deps is what a Server works with.
type Deps struct {
	Store Store
	// Evaluator runs metrics. If it is nil, only metrics run that need nothing but the event.
	Evaluator Evaluator
	// Providers keeps the model providers that judges ask. If it is nil, none can be set up.
	Providers Providers
	// Playground asks models for people. If it is nil, nobody can.
	Playground Playground
	// Alerts makes alerts and tests them. If it is nil, none can be made.
	Alerts AlertKeeper
	// ReadBody reads the body of a request of a project, named by its public id, within a budget;
	// release frees what it took, also after an error. If it is nil, there is no budget.
	ReadBody func(r *http.Request, projectID string) (body []byte, release func(), err error)
	// Scrub replaces secrets in the body of an update of an event. If it is nil, none are.
	Scrub func(body []byte) []byte
	// Forward sends an update of an event to the server that has the events, and returns its answer; its errors are faults.
	// If it is nil, this one has them.
	Forward func(ctx context.Context, eventID uuid.UUID, body []byte) (answer []byte, err error)
	// Recheck authenticates a request anew: a stream ends with its caller's key. If it is nil, streams go on.
	Recheck func(r *http.Request) (context.Context, error)
	// Refusals keeps the requests that were refused. If it is nil, the server keeps its own.
	Refusals *refused.Log
	// Listeners returns where the server listens. If it is nil, nobody is told.
	Listeners func() []mount.Listener
	// MaxBody is the most bytes of a request's body, after decompression; 0: there is no bound.
	MaxBody int64
	// Logger gets internal errors. If it is nil, nothing is logged.
	Logger *zap.Logger
	// Version is the server's, as getMe shows it.
	Version string
	// Now is the time from which relative date ranges count. If it is nil, it is the clock.
	Now func() time.Time
}

// Server has the handlers.
type Server struct {
	Deps
	trees   *trees
	status  *statusCache
	started time.Time
	ended   chan struct{} // closed by EndStreams
	endOnce sync.Once
}

// New returns a server. Of d only Store is required.
func New(d Deps) *Server {
	if d.Logger == nil {
		d.Logger = zap.NewNop()
	}
	if d.Evaluator == nil {
		d.Evaluator = evaluate.Builtin()
	}
	if d.ReadBody == nil {
		d.ReadBody = func(r *http.Request, _ string) ([]byte, func(), error) {
			body, err := io.ReadAll(r.Body)
			return body, func() {}, err
		}
	}
	if d.Now == nil {
		d.Now = time.Now
	}
	if d.Refusals == nil {
		d.Refusals = refused.NewLog(nil)
	}
	return &Server{Deps: d, trees: newTrees(), status: newStatusCache(), started: d.Now(), ended: make(chan struct{})}
}

// Route is one method and path of the API.
type Route struct {
	Method    string
	Path      string // in net/http's form: "/events/{id}"
	Operation string // operationId in openapi.yaml
	// Parameters are the names that its query string may have, in addition to those that clients send everywhere.
	Parameters []string
	// Scope is what a key must allow; Handler checks it.
	Scope   project.Scope
	Dialect wire.Dialect
	// Audit is the action by which the audit log knows the route; empty: it has no entries of it.
	Audit   string
	Handler http.Handler
}

// Pattern returns the route as net/http's mux takes it: "GET /events/{id}".
func (r Route) Pattern() string { return r.Method + " " + r.Path }

// apiOperation is a handler with its paths, each served as it stands and under /v1.
type apiOperation struct {
	id     string
	method string
	paths  []string
	scope  project.Scope
	handle func(*Server, *call) error
}

var operations = []apiOperation{
	{"getSession", http.MethodGet, []string{"/sessions/{id}", "/session/{id}"}, project.ScopeRead, (*Server).getSession},
	{"searchSessions", http.MethodPost, []string{"/sessions/search"}, project.ScopeRead, (*Server).searchSessions},
	{"exportSessions", http.MethodPost, []string{"/sessions/export"}, project.ScopeRead, (*Server).exportSessions},
	{"getSessionOTLP", http.MethodGet, []string{"/sessions/{id}/otlp", "/session/{id}/otlp"}, project.ScopeRead, (*Server).getSessionOTLP},
	{"deleteSession", http.MethodDelete, []string{"/sessions/{id}", "/session/{id}"}, project.ScopeFull, (*Server).deleteSession},
	{"listEvents", http.MethodGet, []string{"/events"}, project.ScopeRead, (*Server).listEvents},
	{"searchEvents", http.MethodPost, []string{"/events/search"}, project.ScopeRead, (*Server).searchEvents},
	{"exportEvents", http.MethodPost, []string{"/events/export"}, project.ScopeRead, (*Server).exportEvents},
	{"searchOTLP", http.MethodPost, []string{"/events/otlp"}, project.ScopeRead, (*Server).searchOTLP},
	{"getEventOTLP", http.MethodGet, []string{"/events/{id}/otlp"}, project.ScopeRead, (*Server).getEventOTLP},
	{"queryCharts", http.MethodPost, []string{"/events/chart"}, project.ScopeRead, (*Server).queryCharts},
	{"chartEvents", http.MethodGet, []string{"/events/chart"}, project.ScopeRead, (*Server).chartEvents},
	{"listEventValues", http.MethodPost, []string{"/events/values"}, project.ScopeRead, (*Server).eventValues},
	{"getEvent", http.MethodGet, []string{"/events/{id}"}, project.ScopeRead, (*Server).getEvent},
	{"updateEvent", http.MethodPut, []string{"/events"}, project.ScopeIngest, (*Server).updateEvent},
	{"updateEventById", http.MethodPut, []string{"/events/{id}"}, project.ScopeIngest, (*Server).updateEventByID},
	{"deleteEvent", http.MethodDelete, []string{"/events/{id}"}, project.ScopeFull, (*Server).deleteEvent},
	{"getMe", http.MethodGet, []string{"/me"}, project.ScopeAny, (*Server).getMe},
	{"getOpenAPI", http.MethodGet, []string{"/openapi.yaml"}, project.ScopeRead, (*Server).getOpenAPI},
}

// Routes lists every route, in the order of the table.
func (s *Server) Routes() []Route {
	var routes []Route
	for _, op := range slices.Concat(operations, treeOperations, liveOperations, resourceOperations) {
		for _, path := range op.paths {
			for _, d := range []struct {
				dialect wire.Dialect
				prefix  string
			}{{wire.V0, ""}, {wire.V1, "/v1"}} {
				routes = append(routes, Route{
					Method: op.method, Path: d.prefix + path, Operation: op.id, Parameters: parameters[op.id],
					Scope: op.scope, Dialect: d.dialect, Audit: audited[op.id].action, Handler: s.handler(op, d.dialect),
				})
			}
		}
	}
	return routes
}
