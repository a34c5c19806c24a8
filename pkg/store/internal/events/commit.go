package events

import (
	"context"
	"maps"
	"slices"

	"github.com/google/uuid"

	"github.com/spangrove/spangrove/pkg/event"
	"github.com/spangrove/spangrove/pkg/store/internal/live"
	"github.com/spangrove/spangrove/pkg/store/internal/sqldb"
	"github.com/spangrove/spangrove/pkg/store/internal/writer"
)

// Commit is one write transaction, with what it changes beyond the rows that are asked for: all that
// is written before it commits, and published afterwards.
//
// Requests that wait at the same time share one, batches first and then other changes. A request that fails takes the
// transaction with it, and all of them are tried again one by one. So a closure that gets a Commit may run several
// times (up to 20 if the database reports conflicts): it sets its results anew each time, and has no effect outside
// the transaction but what Publish does.
type Commit struct {
	s      *Store
	writer int // its number, for rows of which each writer has its own
	sqldb.Tx
	bulkTx
	trees  *treeFixer        // sessions whose trees are to be corrected
	fields *fieldIndexUpdate // keys that may be new
	Outbox *outbox           // events to be evaluated
	Counts eventCounts       // events and bytes, by project
	put    *writing          // the batches
	live   *live.Changes     // sessions that changed, for those who watch them; nil if nobody does
	runs   sessionChanges    // the same, for what is kept of runs; nil if nothing is

	payloads map[int64]float64   // when the earliest events began that got a payload, by project
	loose    map[writer.Key]bool // sessions of which a chunk was stored
	removes  bool                // chunks were recorded that are to be deleted afterwards

	deferred []writer.Key // events that updates were stored for, which wait
	recount  recount      // what memory counts and is to be counted anew
}

// recount says which of the rows that memory counts are counted anew when a transaction has done all else. Memory takes the counts over
// after the commit, instead of what the transaction would add to them. Where this process is the only writer, nothing can come
// between: no other transaction runs, and each that ran before has been published.
type recount struct {
	updates, logs bool

	pending  *waitingUpdates
	logParts *logCountsDelta
}

// read counts what was asked for.
func (r *recount) read(ctx context.Context, c sqldb.Conn) (err error) {
	if r.updates {
		if r.pending, err = readPending(ctx, c); err != nil {
			return err
		}
	}
	if r.logs {
		r.logParts, err = readLogCounts(ctx, c)
	}
	return err
}

// publish sets what memory counts.
func (r *recount) publish(s *Store) {
	if r.pending != nil {
		s.pending.set(r.pending)
	}
	if r.logParts != nil {
		s.logCounts.set(*r.logParts)
	}
}

// beginCommit begins the transaction of a writer, again if one failed before with the same requests.
func (s *Store) beginCommit(tx sqldb.Tx, writer int, again bool) *Commit {
	return &Commit{
		s:      s,
		writer: writer,
		Tx:     tx,
		bulkTx: s.bulk.begin(tx),
		trees:  newTreeFixer(s),
		fields: newFieldIndexUpdate(s),
		Outbox: newOutbox(s),
		Counts: eventCounts{},
		put:    &writing{s: s, force: again},
		live:   s.live.Collect(),
		runs:   s.outcomes.collect(),

		payloads: map[int64]float64{},
	}
}

// insertEvents inserts rows of events, and counts them.
func (c *Commit) insertEvents(ctx context.Context, heads []*head) error {
	for _, h := range heads {
		c.Counts.add(h.project, h.ev.Type, 1)
		c.Counts.Stored(h.project, h.bytes())
		if h.chunk != nil {
			c.storedPayload(h.project, h.ev.Start)
		}
	}
	return c.insertHeads(ctx, heads)
}

// sessionChanged records that a session changed, was added or went.
func (c *Commit) sessionChanged(project int64, session uuid.UUID, kind event.ChangeKind) {
	c.live.Add(project, session, kind)
	c.runs.add(project, session)
}

// moved records that events went from one session to another.
func (c *Commit) moved(project int64, from, to uuid.UUID) {
	c.trees.moved(project, from, to)
	c.unpacked(project, to)
	c.sessionChanged(project, from, event.ChangeSession)
	c.sessionChanged(project, to, event.ChangeSession)
}

// unpacked records that a chunk of a session was stored, which is to be packed once the session is at rest.
func (c *Commit) unpacked(project int64, session uuid.UUID) {
	if c.loose == nil {
		c.loose = map[writer.Key]bool{}
	}
	c.loose[writer.Key{Project: project, ID: session}] = true
}

// markUnpacked writes the sessions that wait to be packed, in one order for all writers.
func (c *Commit) markUnpacked(ctx context.Context) error {
	if len(c.loose) == 0 {
		return nil
	}
	list := slices.SortedFunc(maps.Keys(c.loose), writer.Key.Compare)
	return c.addUnpacked(ctx, list, c.s.options.Now().UnixMilli())
}

// dropped records that a session is gone.
func (c *Commit) dropped(project int64, session uuid.UUID) {
	c.trees.dropped(project, session)
	c.sessionChanged(project, session, event.ChangeSession)
}

// StoreBatches implements writer.Transaction.
func (c *Commit) StoreBatches(ctx context.Context, batches []writer.Batch) error {
	list := make([]*writeBatch, len(batches))
	for i, b := range batches {
		list[i] = b.(*writeBatch)
	}
	return c.put.storeBatches(ctx, c, list)
}

// Finish implements writer.Transaction: it corrects trees, and writes what has come together. The index of fields is last:
// its rows are shared by all sessions of a project, and are held for as short as possible.
func (c *Commit) Finish(ctx context.Context) error {
	if err := c.trees.apply(ctx, c); err != nil {
		return err
	}
	if err := c.put.reassignResults(ctx, c); err != nil {
		return err
	}
	if err := c.markUnpacked(ctx); err != nil {
		return err
	}
	if err := c.Counts.write(ctx, c, c.writer); err != nil {
		return err
	}
	if err := c.Outbox.write(ctx, c); err != nil {
		return err
	}
	if err := c.recount.read(ctx, c); err != nil {
		return err
	}
	return c.fields.write(ctx, c)
}

// Publish implements writer.Transaction: it updates the caches, and then tells those who watch sessions.
func (c *Commit) Publish() {
	c.committed()
	c.put.publish()
	for _, k := range c.deferred {
		c.s.pending.add(k)
	}
	c.recount.publish(c.s)
	c.trees.publish()
	c.fields.publish()
	c.s.usage.committed(c.Counts)
	c.s.swept.late(c.payloads)
	c.s.outcomes.publish(c.runs)
	c.s.live.Publish(c.live)
	if c.removes {
		c.s.removal.committed()
	}
}
