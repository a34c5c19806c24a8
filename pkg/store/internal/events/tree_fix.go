package events

import (
	"bytes"
	"context"
	"fmt"
	"slices"

	"github.com/google/uuid"

	"github.com/spangrove/spangrove/pkg/event"
	"github.com/spangrove/spangrove/pkg/fault"
	"github.com/spangrove/spangrove/pkg/store/internal/sessiontree"
	"github.com/spangrove/spangrove/pkg/store/internal/sqldb"
	"github.com/spangrove/spangrove/pkg/store/internal/writer"
)

// treeFixer records which sessions a transaction changed and, before it commits, corrects their
// trees so that the result does not depend on the order in which events arrive.
//
// The common case costs next to nothing: a session that is new and came in one request was
// corrected before it reached the writer, and is only kept in memory for the next. A session that
// was there before is found in memory, or read once.
//
// Its methods added, changed, removed, moved and dropped only record; apply reads, corrects and writes. Corrections are
// themselves changes of events: applying keeps them from being recorded as new ones.
type treeFixer struct {
	s         *Store
	sessions  map[writer.Key]*changedSession
	applying  bool
	responses []responseKey // response ids that may belong to another event now
}

// changedSession is one session that a transaction changed.
type changedSession struct {
	key     writer.Key
	fresh   bool  // the transaction made its row
	before  int64 // Version of its row before the transaction, and now
	version int64
	calls   int64 // model calls it has now, as their senders reported them
	locked  bool  // this transaction has changed the row: no other can until it ends

	added   []addedNode
	parts   []batchPart // what brought them
	changes []addedNode // events that changed in place
	reload  bool        // events went: the tree in memory is of no use
	gone    bool        // the session is deleted
	// result is the tree as the transaction leaves it. It goes to the cache after the commit.
	result *sessiontree.Tree
}

// addedNode is a node with the id of its span, under which its children may name it, and the event that it
// is marked as a duplicate of; both may be zero.
type addedNode struct {
	sessiontree.Node
	span, duplicateOf uuid.UUID
}

// batchPart is what one request brought of one session, corrected in itself.
type batchPart struct {
	batch   *writeBatch
	session uuid.UUID
}

// spans counts what the request brought of the session, as far as it can be part of a tree.
func (p batchPart) spans() (n int) {
	for _, g := range p.batch.groups {
		if g.part.session != p.session {
			continue
		}
		for _, h := range g.heads {
			if h.trace != 0 {
				n++
			}
		}
	}
	return n
}

func newTreeFixer(s *Store) *treeFixer {
	return &treeFixer{s: s, sessions: map[writer.Key]*changedSession{}}
}

func (r *treeFixer) of(key writer.Key) *changedSession {
	x := r.sessions[key]
	if x == nil {
		x = &changedSession{key: key}
		r.sessions[key] = x
	}
	return x
}

// upserted records the rows of sessions that were just written. From then on the row is locked (PostgreSQL) or the only
// writer is this one (SQLite), so the version before the transaction is the row's, less the one that the write added.
// A later write of the same transaction does not change what was before.
func (r *treeFixer) upserted(deltas []*sessionDelta) {
	for _, d := range deltas {
		x := r.of(writer.Key{Project: d.project, ID: d.id})
		x.gone = false // or made again
		if !x.locked {
			x.locked, x.fresh, x.before = true, d.state.fresh, d.state.version-1
		}
		// The row may be written again by a later step (a trace that moves here), so these two are always the latest.
		x.version, x.calls = d.state.version, d.state.calls
	}
}

// added records an event that was just inserted.
func (r *treeFixer) added(h *head, by batchPart) {
	// Native events name their parent themselves and are never corrected: they must not make the session's tree be read.
	if h.trace == 0 {
		return
	}
	x := r.of(writer.Key{Project: h.project, ID: h.session})
	x.added = append(x.added, addedOf(h))
	if !slices.Contains(x.parts, by) {
		x.parts = append(x.parts, by)
	}
}

func addedOf(h *head) addedNode {
	a := addedNode{Node: nodeOf(h), span: h.spanID()}
	if h.ev.Duplicate {
		a.duplicateOf = h.ev.DuplicateOf()
	}
	return a
}

// changed records that an event changed in place, if that matters to the tree.
func (r *treeFixer) changed(before, after *head) {
	// While apply runs, a rewrite is the correction itself. Recording it would ask for another round, without end.
	if after.trace == 0 || r.applying {
		return
	}
	// An update of metrics or feedback changes nothing that a node holds, and most updates are of these. A call
	// whose content changed matters although its node is the same: other events may have been filled from it.
	if b, a := nodeOf(before), nodeOf(after); b != a || a.IsCall() && !before.ev.SameKnown(after.ev) {
		x := r.of(writer.Key{Project: after.project, ID: after.session})
		x.changes = append(x.changes, addedOf(after))
		x.reload = x.reload || b.Call != 0 && b.Call != a.Call // those that reported the call before, in any trace, are without it
	}
}

// removed records that an event was deleted. The session's tree is dropped from memory and read again.
func (r *treeFixer) removed(project int64, session uuid.UUID) {
	r.of(writer.Key{Project: project, ID: session}).reload = true
}

// moved records that events went from one session to another.
func (r *treeFixer) moved(project int64, from, to uuid.UUID) {
	r.of(writer.Key{Project: project, ID: from}).reload = true
	r.of(writer.Key{Project: project, ID: to}).reload = true
}

// dropped records that a session is gone.
func (r *treeFixer) dropped(project int64, session uuid.UUID) {
	x := r.of(writer.Key{Project: project, ID: session})
	*x = changedSession{key: x.key, gone: true}
}

// apply corrects the trees of the changed sessions. It may be called again after more changes.
func (r *treeFixer) apply(ctx context.Context, tx *Commit) error {
	r.applying = true
	defer func() { r.applying = false }()
	for _, x := range r.sorted() {
		// A session that was deleted or moved away has no row to lock and no events to correct.
		if x.gone {
			continue
		}
		if err := r.applyOne(ctx, tx, x); err != nil {
			return fmt.Errorf("correct the tree of session %s: %w", x.key.ID, err)
		}
		// What is applied must not be applied twice. The result stays: a second call goes on from it and not from
		// the cache, out of which the tree has been taken.
		x.added, x.changes, x.parts, x.reload = nil, nil, nil, false
	}
	return nil
}

// sorted returns the changed sessions in the order of their keys, in which all transactions lock rows.
func (r *treeFixer) sorted() []*changedSession {
	list := make([]*changedSession, 0, len(r.sessions))
	for _, x := range r.sessions {
		list = append(list, x)
	}
	slices.SortFunc(list, func(a, b *changedSession) int { return a.key.Compare(b.key) })
	return list
}

// applyOne corrects the tree of one session, by the cheapest way that is right:
//
//   - Nothing but native events came: the tree in memory stays, under the row's new version.
//   - The session is new and all of its spans came in one request: they were corrected before they were written
//     (writeBatch.correct), and the tree is only kept.
//   - Else the tree is taken from memory, if it is of the version that the row had, or read, and corrected.
func (r *treeFixer) applyOne(ctx context.Context, tx *Commit, x *changedSession) error {
	if x.reload || len(x.changes) > 0 {
		// Other processes must not take what they remember for what is there now.
		// On PostgreSQL the statement also locks the session's row before the tree is read. Every rewrite of an event ends with a
		// write of that row, so another transaction has either committed by now, and is read, or waits here and corrects after us.
		ok, err := sqldb.One(ctx, tx, `UPDATE session
			SET version = version + 1
			WHERE project_id = $1 AND session_id = $2
			RETURNING version, num_calls`,
			[]any{x.key.Project, tx.ID(x.key.ID)}, &x.version, &x.calls)
		// Without a row, the session went in this transaction or before it. Nothing of it may stay in the cache.
		if err != nil || !ok {
			x.gone = true
			return err
		}
		if !x.locked {
			// The cached tree is of the version before this statement, unless a step before this one counted already.
			x.before = x.version - 1
		}
	} else if len(x.added) == 0 {
		// Only the version of the cached tree is out of date. take gives nothing if another process has written the
		// session since; it is then read when the next span comes, not now for nothing.
		if x.result == nil && x.locked && !x.fresh {
			x.result = r.s.trees.take(x.key, x.before)
		}
		if x.result != nil {
			x.result.Version = x.version
		}
		return nil // its events are not spans
	}
	k, all, err := r.tree(ctx, tx, x)
	if err != nil || k == nil {
		return err
	}
	// Only this version of the row makes the tree valid. If another server writes the session after this commit,
	// the row's version moves on and the cached tree is not used.
	k.Version = x.version
	x.result = k
	if x.fresh && !x.reload && len(x.changes) == 0 && x.whole() {
		if x.hasCorrections() { // the request is corrected already: what filled its calls is only noted
			for _, c := range k.Corrections(x.traces(), nil) {
				k.NoteFilled(&c)
			}
		}
		return nil
	}
	return r.correct(ctx, tx, x, k, all)
}

// whole reports whether the spans that were added are those of one request, and all it brought of the
// session: none of them was a repeat, or went to the session that its trace turned out to have,
// after the others had been corrected for its sake.
func (x *changedSession) whole() bool {
	return len(x.parts) == 1 && x.parts[0].session == x.key.ID && x.parts[0].spans() == len(x.added)
}

// hasCorrections reports whether a span that was added came corrected, for the sake of others of its
// request.
func (x *changedSession) hasCorrections() bool {
	return slices.ContainsFunc(x.added, func(a addedNode) bool {
		return a.Flags&(sessiontree.Wrapper|sessiontree.Duplicate|sessiontree.Filled) != 0
	})
}

// hasCustomIDs reports whether an added span, or the parent of one, has an event id that differs
// from the id derived from its span. Parents are found by the anchors of log parts, which are kept
// for PendingTTL.
func (x *changedSession) hasCustomIDs(ctx context.Context, tx *Commit) (bool, error) {
	var parents []uuid.UUID
	for _, a := range x.added {
		if a.span != uuid.Nil && a.span != a.ID {
			return true, nil
		}
		if a.Parent != uuid.Nil {
			parents = append(parents, a.Parent)
		}
	}
	slices.SortFunc(parents, func(a, b uuid.UUID) int { return bytes.Compare(a[:], b[:]) })
	for part := range slices.Chunk(slices.Compact(parents), sqldb.IDsPerQuery) {
		var n int
		cond, args := tx.AnyID("span_id", 3, part)
		// Hash zero marks an anchor: a row that leads from the id derived from a span to the event's own id.
		ok, err := sqldb.One(ctx, tx, `SELECT 1 FROM log_part WHERE project_id = $1 AND hash = $2 AND `+cond+` LIMIT 1`,
			append([]any{x.key.Project, tx.ID(uuid.Nil)}, args...), &n)
		if err != nil || ok {
			return ok, err
		}
	}
	return false, nil
}

// tree returns the session's tree as the transaction left it; all reports whether any of its traces
// may have changed. Nil if there is nothing to correct and nothing to keep.
//
// A tree in memory belongs to the transaction once it is taken: no other sees it change, and if the transaction fails it
// is not put back, so that the next one reads the session.
func (r *treeFixer) tree(ctx context.Context, tx *Commit, x *changedSession) (k *sessiontree.Tree, all bool, err error) {
	switch {
	case x.reload:
		r.s.trees.drop(x.key)
	case x.result != nil:
		k = x.result
	case x.fresh:
		// This transaction made the session's row, so no span of it is stored but those that it has added.
		k = &sessiontree.Tree{Nodes: make([]sessiontree.Node, 0, len(x.added))}
	default:
		k = r.s.trees.take(x.key, x.before)
	}
	if k != nil {
		for _, a := range x.added {
			k.Add(a.Node, a.span)
			k.SetDuplicate(a.ID, a.duplicateOf)
		}
		for _, a := range x.changes {
			k.Replace(a.Node)
			k.SetDuplicate(a.ID, a.duplicateOf)
		}
		if k.ByID == nil {
			k.Reindex()
		}
		// A session that never ends would grow without bound here. Beyond MaxSpans the oldest half goes, and the
		// tree is partial: corrections then take nothing back, since the reason may be among what was left out.
		k.Trim()
		return k, false, nil
	}
	if x.calls < 2 && !x.reload && len(x.changes) == 0 && !x.hasCorrections() {
		// Whatever came, it is no second call.
		// A call alone can neither wrap nor repeat another one. That spares reading the trees of sessions that have
		// no model calls or one, which the row's count tells without a look at their events.
		if renames, err := x.hasCustomIDs(ctx, tx); err != nil || !renames {
			return nil, false, err
		}
	}
	k, err = r.s.loadTree(ctx, tx, x.key)
	return k, x.reload, err
}

// traces returns those in which the transaction changed something.
func (x *changedSession) traces() (list []int64) {
	for i := range x.added {
		list = append(list, x.added[i].Trace)
	}
	for i := range x.changes {
		list = append(list, x.changes[i].Trace)
	}
	slices.Sort(list)
	return slices.Compact(list)
}

// changedIDs returns which events the transaction added or changed.
func (x *changedSession) changedIDs() map[uuid.UUID]bool {
	set := make(map[uuid.UUID]bool, len(x.added)+len(x.changes))
	for i := range x.added {
		set[x.added[i].ID] = true
	}
	for i := range x.changes {
		set[x.changes[i].ID] = true
	}
	return set
}

// correct rewrites the events of a session that need correction.
func (r *treeFixer) correct(ctx context.Context, tx *Commit, x *changedSession, k *sessiontree.Tree, all bool) error {
	traces := x.traces()
	if all {
		// After a deletion or a move any trace may have lost the event that stood for a call.
		for i := range k.Nodes {
			traces = append(traces, k.Nodes[i].Trace)
		}
		slices.Sort(traces)
		traces = slices.Compact(traces)
	}
	find := func(i int32) (*Stored, error) {
		e, err := r.s.Find(ctx, tx, x.key.Project, k.Nodes[i].ID)
		// The tree names an event that is not there: another transaction deleted it after the tree was read. The
		// whole transaction is tried again, with a tree that is read anew.
		if fault.IsNotFound(err) {
			return nil, sqldb.ErrConflict
		}
		return e, err
	}
	known := func(i int32) (event.Known, error) {
		e, err := find(i)
		if err != nil {
			return event.Known{}, err
		}
		return e.Known(), nil
	}
	// One correction is one rewritten row, with its payload in a chunk of its own if that changed. The list holds
	// differences only, so for a tree that is right already it is empty.
	for _, c := range k.Corrections(traces, x.changedIDs()) {
		n := &k.Nodes[c.Node]
		old, err := find(c.Node)
		if err != nil {
			return err
		}
		want, err := c.AsEvent(known)
		if err != nil {
			return err
		}
		now := old.Event
		// Without Refill the correction carries nothing to fill in, and what an earlier one filled in stays. In a
		// partial tree the event that it came from may be among the spans that were left out.
		now.Recorrect(want, k.Partial || !c.Refill)
		if c.Parent != uuid.Nil {
			now.ParentID, n.Parent = c.Parent, c.Parent
		}
		if !now.Same(&old.Event) {
			if err := r.s.Rewrite(ctx, tx, x.key.Project, old, &now); err != nil {
				return err
			}
			r.noteResponses(x.key.Project, &old.Event, &now)
		}
		// The node follows its event. Tools and Messages tell what the sender reported, which no correction changes.
		n.Flags = n.Flags&(sessiontree.Tools|sessiontree.Messages) | sessiontree.Flags(now.Type, flagsOf(&now))
		if now.Duplicate {
			k.SetDuplicate(n.ID, c.DuplicateOf)
		} else {
			k.SetDuplicate(n.ID, uuid.Nil)
		}
		k.NoteFilled(&c)
	}
	return nil
}

// noteResponses records the response ids that may belong to another event now.
func (r *treeFixer) noteResponses(project int64, old, now *event.Event) {
	was, is := responseOf(old), responseOf(now)
	if was == is && old.Duplicate == now.Duplicate {
		return
	}
	// Both ids: evaluations that name the old one may belong to another event now, those that name the new one to this.
	for _, id := range []string{was, is} {
		if id != "" {
			r.responses = append(r.responses, responseKey{project, id})
		}
	}
}

// publish keeps what the transaction committed.
func (r *treeFixer) publish() {
	for key, x := range r.sessions {
		// A tree that was taken out of the cache and is no result here stays out: the next transaction reads the session.
		switch {
		case x.gone:
			r.s.trees.drop(key)
		case x.result != nil:
			r.s.trees.put(key, x.result)
		}
	}
}

// nodeOf returns the node of a row.
func nodeOf(h *head) sessiontree.Node {
	e := h.ev
	n := sessiontree.Node{ID: e.ID, Parent: h.parent, Trace: h.trace, Start: e.Start, End: e.End, Flags: sessiontree.Flags(e.Type, h.spill)}
	n.SetDuplicateKey(h.duplicateKey)
	return n
}
