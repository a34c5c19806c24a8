package store

import (
	"context"

	"github.com/google/uuid"

	"github.com/spangrove/spangrove/pkg/event"
	"github.com/spangrove/spangrove/pkg/price"
	"github.com/spangrove/spangrove/pkg/project"
	"github.com/spangrove/spangrove/pkg/query"
	"github.com/spangrove/spangrove/pkg/status"
)

// EventStore holds sessions and events. What the API asks of it is documented there.
type EventStore interface {
	// See httpapi.Reader.
	Search(ctx context.Context, projectID int64, q query.Search) (*event.Set, error)
	Session(ctx context.Context, projectID int64, sessionID uuid.UUID) (*event.Set, error)
	Event(ctx context.Context, projectID int64, id uuid.UUID) (event.Event, error)
	EventsByID(ctx context.Context, projectID int64, ids []uuid.UUID) (*event.Set, error)
	SearchSessions(ctx context.Context, projectID int64, q query.SessionSearch) (*event.SessionSet, error)
	Chart(ctx context.Context, projectID int64, c *query.Chart) (*query.ChartAnswer, error)
	Charts(ctx context.Context, projectID int64, set *query.ChartSet) (*query.ChartTable, error)
	Values(ctx context.Context, projectID int64, q *query.ValueQuery) (*query.ValueAnswer, error)
	// See httpapi.Live.
	Watch(ctx context.Context, projectID int64, session uuid.UUID) (event.Watch, error)
	// See httpapi.Writer.
	Update(ctx context.Context, projectID int64, u event.Update) (pending bool, err error)
	DeleteEvent(ctx context.Context, projectID int64, id uuid.UUID) error
	DeleteSession(ctx context.Context, projectID int64, id uuid.UUID) error
	// See httpapi.Schemas.
	MetricNames(ctx context.Context, projectID int64) ([]string, error)
	// See httpapi.Limits.
	StoredBytes(ctx context.Context, projectID int64) (int64, error)
	CheckStored(ctx context.Context, projectID int64) error
	// See httpapi.Usage.
	DatabaseBytes(ctx context.Context) (int64, error)
	EventCount(ctx context.Context, projectID int64) (int64, error)
	Usage(ctx context.Context, projectID int64) (project.Usage, error)
	// See httpapi.Index.
	IndexState(ctx context.Context, projectID int64) (project.Index, error)
	RebuildIndex(ctx context.Context, projectID int64) error
	// See httpapi.ServerStatus.
	Activity(projectID int64) status.Activity
	Database(ctx context.Context) (d status.Database, synchronous string, err error)
	State(ctx context.Context, projectID int64) (status.State, error)
	CheckWrite(ctx context.Context) error
	Space(ctx context.Context) (status.Space, error)
	// See httpapi.Retention.
	PreviewRetention(ctx context.Context, projectID int64, rule project.RetentionRule) (project.Removal, error)
	// PutAbout is Put for what a judge recorded of an event, as sessions of its own. Nothing stays of it if
	// the event is gone by then, or is deleted meanwhile, which is no error; nor if this process ends before
	// it returns.
	PutAbout(ctx context.Context, projectID int64, about uuid.UUID, b event.Batch) error
	// UsePrices sets the prices of model calls that are stored or changed from now on. Before, they
	// are the built-in ones.
	UsePrices(b *price.Book)
	// Ingesting reports whether events are being stored right now, others than those of evaluators.
	Ingesting() bool
	// Writable returns nil if what is sent now can be stored, as far as is known, and otherwise a fault.Unavailable that tells why
	// not. It may be asked often: the database is asked at most once a second.
	Writable(ctx context.Context) error
	// Stuck reports whether a transaction has been running for so long that it will hardly end.
	Stuck() bool
	// Put stores a batch: all of it or nothing. When it returns nil, the batch is committed and
	// on disk. It is idempotent by event id: an event that is known already changes nothing but
	// what was empty before (event.Repeat). Errors are *fault.Error: Invalid names the field,
	// Unavailable says to try again, Limited that the project has stored all that it may. What
	// evaluation stores is not held to that, so that no answer is paid for twice.
	Put(ctx context.Context, projectID int64, b event.Batch) error
	// CheckStart returns a fault.Invalid about start_time if an event that is no span begins outside
	// the window of the store, so that a sender can be told before the event is on its way.
	CheckStart(e *event.Event) error
	// ReadSession returns the session event as stored. fault.NotFound if there is none.
	ReadSession(ctx context.Context, projectID int64, sessionID uuid.UUID) (event.Event, error)
	// RecordSecret returns what those who record something in the store under an id or with a signature that
	// nobody outside may make use to make them: 32 random bytes, the same for the life of the database.
	RecordSecret(ctx context.Context) ([]byte, error)
	// Seal builds segments of all events that are stored by now. The store does so by itself soon after.
	Seal(ctx context.Context) error
	// Recount counts what a project has stored from its rows. It reads all of them.
	Recount(ctx context.Context, projectID int64) error
	// Pack compresses again what waits for that, which is otherwise done once a session is at rest (Options.PackAfter).
	Pack(ctx context.Context) error
}
