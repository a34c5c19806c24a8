package store

import (
	"context"

	"github.com/google/uuid"

	"github.com/spangrove/spangrove/pkg/event"
	"github.com/spangrove/spangrove/pkg/price"
	"github.com/spangrove/spangrove/pkg/query"
)

// EventStore holds sessions and events.
type EventStore interface {
	// Chart sums up the events that match. Filters on the project itself are the caller's to
	// decide (query.InProject).
	Chart(ctx context.Context, projectID int64, c *query.Chart) (*query.ChartAnswer, error)
	// DeleteEvent deletes one event and its payload; its children stay, as orphans. The id of a
	// session deletes the session, and an implicit session ends with its last event. What
	// judges recorded of the event goes, too. Updates that wait for an event of this id are dropped,
	// which is enough for success. fault.NotFound if there is nothing.
	DeleteEvent(ctx context.Context, projectID int64, id uuid.UUID) error
	// PutAbout is Put for what a judge recorded of an event, as sessions of its own. Nothing stays of it if
	// the event is gone by then, or is deleted meanwhile, which is no error; nor if this process ends before
	// it returns.
	PutAbout(ctx context.Context, projectID int64, about uuid.UUID, b event.Batch) error
	// UsePrices sets the prices of model calls that are stored or changed from now on. Before, they
	// are the built-in ones.
	UsePrices(b *price.Book)
	// Ingesting reports whether events are being stored right now, others than those of evaluators.
	Ingesting() bool
	// Put stores a batch: all of it or nothing. When it returns nil, the batch is committed and
	// on disk. It is idempotent by event id: an event that is known already changes nothing but
	// what was empty before (event.Repeat). Errors are *fault.Error: Invalid names the field,
	// Unavailable says to try again, Limited that the project has stored all that it may. What
	// evaluation stores is not held to that, so that no answer is paid for twice.
	Put(ctx context.Context, projectID int64, b event.Batch) error
	// CheckStart returns a fault.Invalid about start_time if an event that is no span begins outside
	// the window of the store, so that a sender can be told before the event is on its way.
	CheckStart(e *event.Event) error
	// Event returns one event whole; the session event for a session's id, also where that id has
	// moved. fault.NotFound if there is none.
	Event(ctx context.Context, projectID int64, id uuid.UUID) (event.Event, error)
	// EventsByID returns those of the events that are there, in the order of ids, as a search does.
	EventsByID(ctx context.Context, projectID int64, ids []uuid.UUID) (*event.Set, error)
	// Update changes a stored event. An update of an event that is not there (yet) is kept and
	// applied when the event comes; pending reports that. Past the bound of waiting updates it is
	// fault.NotFound. An update of telemetry must not tell whether the event is there: past the bound it is
	// fault.Limited or fault.Unavailable either way, and yet applied if the event is there, so that trying it
	// again later loses nothing.
	Update(ctx context.Context, projectID int64, u event.Update) (pending bool, err error)
	// MetricNames lists the metrics that events of a project carry, sorted. What a metric holds
	// in addition to its value, such as its explanation, is not a metric.
	MetricNames(ctx context.Context, projectID int64) ([]string, error)
	// Search returns one page of the events that match, newest first (start time descending, then
	// id descending), and the exact number of all that match. Filters on the project itself are the
	// caller's to decide (query.InProject).
	//
	// It is a heavy read: fault.Limited if too many of the project wait, fault.Timeout if it takes too long.
	Search(ctx context.Context, projectID int64, q query.Search) (*event.Set, error)
	// DeleteSession deletes a session with all its events, and what judges recorded of them.
	// fault.NotFound if there is none. Events that arrive while it runs may survive it, as those of a new
	// session. Once a slice is deleted, the others follow, also if ctx ends, and by the next process if
	// this one does.
	DeleteSession(ctx context.Context, projectID int64, id uuid.UUID) error
	// ReadSession returns the session event as stored. fault.NotFound if there is none.
	ReadSession(ctx context.Context, projectID int64, sessionID uuid.UUID) (event.Event, error)
	// Session returns all events of a session, the session event among them, by start time.
	// fault.NotFound if there is no such session.
	Session(ctx context.Context, projectID int64, sessionID uuid.UUID) (*event.Set, error)
	// RecordSecret returns what those who record something in the store under an id or with a signature that
	// nobody outside may make use to make them: 32 random bytes, the same for the life of the database.
	RecordSecret(ctx context.Context) ([]byte, error)
	// StoredBytes returns how many bytes a project has stored: payloads as they are compressed, the texts
	// of rows, and 256 bytes for each row. Right after a deletion it may be too large, for some seconds
	// or as long as counting takes.
	StoredBytes(ctx context.Context, projectID int64) (int64, error)
	// CheckStored is fault.Limited if a project has stored all that it may, and nil for one that is
	// not there.
	CheckStored(ctx context.Context, projectID int64) error
	// Recount counts what a project has stored from its rows. It reads all of them.
	Recount(ctx context.Context, projectID int64) error
}
