package events

import (
	"context"

	"github.com/google/uuid"

	"github.com/spangrove/spangrove/pkg/diagnosis"
	"github.com/spangrove/spangrove/pkg/store/internal/record"
	"github.com/spangrove/spangrove/pkg/store/internal/sqldb"
	"github.com/spangrove/spangrove/pkg/store/internal/writer"
)

// Bulk is what the databases do differently with the rows of events: where they are, and
// statements that write many at once.
type Bulk interface {
	// open reads what the database holds, and takes the filters of ids and the clock's day.
	open(ctx context.Context, ids *idFilter, today func() int32) error
	// begin returns the statements of one transaction.
	begin(tx sqldb.Tx) bulkTx
	// ready makes room for events of these days. It runs outside any transaction. anew is set if
	// a transaction failed since it was called.
	ready(ctx context.Context, days []int32, anew bool) error
	// ahead makes room for events of now and of the days to come, so that no commit has to wait for it. It runs in the background.
	ahead(ctx context.Context) error
	// tidy frees the room of what is not stored any more.
	tidy(ctx context.Context) error
	// days lists the days that filters are to be built for, newest first, farDay among them.
	days(ctx context.Context) ([]projectDay, error)
	// filterOf returns whose filter has the ids of the events of a day of a project.
	filterOf(of projectDay) projectDay
	// idsOf calls f with each id that the filter of a day must have.
	idsOf(ctx context.Context, day projectDay, f func(uuid.UUID) error) error
	// farDays returns the days on which an id may stand that is not found by day. Where a statement
	// finds ids on all days, it returns none.
	farDays(ctx context.Context, c sqldb.Conn, project int64, id uuid.UUID) ([]int32, error)
	// lastSeq returns the last place that was handed out in the order in which events came.
	lastSeq(ctx context.Context, c sqldb.Conn) (int64, error)
	// indexSeq brings the index of these places up to date, where the database does that some time after events are stored.
	indexSeq(ctx context.Context) error
	// settle waits until all transactions have ended that were under way when it was called.
	settle(ctx context.Context) error
	// chunksByDay reports whether a chunk is found by its day and id, and not by its id alone.
	chunksByDay() bool
	// checks returns what is looked at of this database alone, and mends puts right what they find, by name.
	checks() []diagnosis.Check
	mends() []diagnosis.Mend
	// unfindable returns those of the events of a day that are not found by their ids.
	unfindable(ctx context.Context, c sqldb.Conn, project int64, day int32, ids []uuid.UUID) ([]uuid.UUID, error)
	// withoutSession is the condition that there is no row for the session of an event, e.
	withoutSession() string
	// firstEvent joins session s with the first of its events e, in an order, that meets a condition.
	firstEvent(condition, order string) string
	// unpacked lists sessions of which chunks wait to be packed, those that no commit after before stored one of.
	unpacked(ctx context.Context, before int64, limit int) ([]looseSession, error)
}

// bulkTx is the part of a transaction for the rows of events.
type bulkTx interface {
	// upsertTraces records which session each trace belongs to: the stored one, or that of a
	// smaller rank. It sets the rows to what is stored afterwards, and former to the session
	// that gave way to another one.
	upsertTraces(ctx context.Context, traces []*traceRow) error
	// upsertSessions adds each delta to its session's row, making the row if there is none,
	// and sets state to the row as it is afterwards.
	upsertSessions(ctx context.Context, deltas []*sessionDelta) error
	// nextChunkID hands out an unused chunk id.
	nextChunkID(ctx context.Context) (int64, error)
	insertChunks(ctx context.Context, chunks []record.Chunk) error
	// packChunks puts chunks of one day, whose rows the transaction holds, into a pack, which is inserted already.
	packChunks(ctx context.Context, day int32, pack int64, ids []int64, places [][]byte) error
	// addUnpacked records that chunks of these sessions were stored at a time.
	addUnpacked(ctx context.Context, sessions []writer.Key, ms int64) error
	// insertHeads inserts rows. errConflict if another writer of the same database inserted
	// one of the keys meanwhile.
	insertHeads(ctx context.Context, heads []*head) error
	// deleteHeads deletes the rows of events of one day, and calls gone with the type of each that was there.
	deleteHeads(ctx context.Context, project int64, day int32, ids []uuid.UUID, gone func(typ int)) error
	// addIDs keeps, for findEvents and the filters, where events are found that this transaction
	// stores on a day; removeIDs undoes it for rows that it took from a day.
	addIDs(ctx context.Context, project int64, day int32, ids ...uuid.UUID) error
	removeIDs(ctx context.Context, project int64, day int32, ids ...uuid.UUID) error
	// findEvents looks for ids of one project in the given places, and returns the day of each id
	// that is there. It takes a bounded number of statements for each id, whatever is stored.
	findEvents(ctx context.Context, projectID int64, ids []idDays) (map[uuid.UUID]int32, error)
	// moveEvents puts all events of a session but its session event under another session; if
	// trace is not 0, those of that trace whose session is not their own.
	moveEvents(ctx context.Context, projectID int64, from, to uuid.UUID, trace int64) error
	// moveIDs lists a slice of the ids of a day that has no filter by id, so that the day need not be
	// looked at: those after an id, nil for the first. It returns the last of them; nil means
	// that the day is done.
	moveIDs(ctx context.Context, day projectDay, after []byte) (last []byte, err error)
	// committed updates what is in memory once the transaction has committed.
	committed()
}

// idDays is an id and the days on which it may stand.
type idDays struct {
	id   uuid.UUID
	days []int32 // nil, and far is not set: any day
	far  bool    // also where ids are not found by day
}
