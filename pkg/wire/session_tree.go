package wire

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/google/uuid"

	"github.com/spangrove/spangrove/pkg/event"
	"github.com/spangrove/spangrove/pkg/fault"
	"github.com/spangrove/spangrove/pkg/project"
	"github.com/spangrove/spangrove/pkg/query"
	"github.com/spangrove/spangrove/pkg/rawjson"
)

// orphanMark is added to the metadata of an event that is shown under the session because its
// parent is not there.
var orphanMark = json.RawMessage(`{"orphan":true}`)

// Tree asks for the part of a session's tree to show.
type Tree struct {
	// At is the event to begin with; zero is the session event.
	At uuid.UUID
	// WithEvent adds the key "event" to the first node: the event alone, as clients of the
	// single-event operation read it.
	WithEvent bool
}

// WriteTree streams the events of one session as nested nodes: an event's fields and
// "children", by start time. set holds all events of the session. It is NotFound if At is not
// among them; any other error is that of a Load or of the connection. The stream is not closed.
//
//	{"event_id": …, "children": [{"event_id": …, "children": []}]}
func WriteTree(ctx context.Context, s *Stream, set *event.Set, t Tree, p *project.Project) error {
	root, top := event.Tree(set.Events)
	first := &event.Node{Index: root, Children: top}
	if t.At != uuid.Nil && (root < 0 || set.Events[root].ID != t.At) {
		if first = find(set.Events, top, t.At); first == nil {
			return fault.New(fault.NotFound, "no event %s", t.At)
		}
	}
	if first.Index < 0 {
		return fmt.Errorf("a session of %d events has no session event", len(set.Events))
	}
	w := treeWriter{s: s, set: set, p: p}
	return w.write(ctx, first, t.WithEvent)
}

// find returns the node of the event with the given id, nil if it is not in the tree. Like write it does not recurse.
func find(events []event.Event, top []*event.Node, id uuid.UUID) *event.Node {
	left := append([]*event.Node(nil), top...)
	for len(left) > 0 {
		n := left[len(left)-1]
		if events[n.Index].ID == id {
			return n
		}
		left = append(left[:len(left)-1], n.Children...)
	}
	return nil
}

// treeWriter writes the nodes of one tree. Events are loaded one at a time.
type treeWriter struct {
	s   *Stream
	set *event.Set
	p   *project.Project
}

// write walks the tree with a stack of its own: a session may be one chain of 100,000 events,
// which recursion would turn into a goroutine stack of that depth.
func (w *treeWriter) write(ctx context.Context, first *event.Node, withEvent bool) error {
	if err := w.open(ctx, first, withEvent); err != nil {
		return err
	}
	// A level is the children of one node, and how many of them are written.
	type level struct {
		nodes []*event.Node
		next  int
	}
	stack := []level{{nodes: first.Children}}
	for len(stack) > 0 {
		l := &stack[len(stack)-1]
		if l.next == len(l.nodes) {
			w.s.text("]}")
			stack = stack[:len(stack)-1]
			continue
		}
		if l.next > 0 {
			w.s.text(",")
		}
		n := l.nodes[l.next]
		l.next++
		if err := w.open(ctx, n, false); err != nil {
			return err
		}
		stack = append(stack, level{nodes: n.Children})
	}
	return w.s.flushFull()
}

// open writes a node up to the start of its children. Nothing of the event is kept.
func (w *treeWriter) open(ctx context.Context, n *event.Node, withEvent bool) error {
	e, err := w.s.load(ctx, w.set, n.Index)
	if err != nil {
		return err
	}
	metadata := e.Metadata
	if n.Orphan {
		metadata = rawjson.Merge(metadata, orphanMark)
	}
	w.s.buf = appendFields(w.s.buf, &e, w.p, query.Projection{}, metadata)
	if withEvent {
		w.s.text(`,"event":`)
		w.s.buf = AppendEvent(w.s.buf, &e, w.p)
	}
	w.s.text(`,"children":[`)
	return w.s.flushFull()
}
