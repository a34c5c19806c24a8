package events

import (
	"slices"

	"github.com/google/uuid"

	"github.com/spangrove/spangrove/pkg/event"
	"github.com/spangrove/spangrove/pkg/store/internal/sessiontree"
)

// correct corrects the part of each session's tree that the request brings. The writer corrects it
// again together with what is stored already.
func (p *writeBatch) correct() {
	if len(p.groups) == 1 {
		correctOne(p.groups[0].heads)
		return
	}
	bySession := map[uuid.UUID][]*head{}
	for _, g := range p.groups {
		bySession[g.session] = append(bySession[g.session], g.heads...)
	}
	for _, heads := range bySession {
		correctOne(heads)
	}
}

// correctOne corrects what one request brings of one session, before it is stored.
//
// A request with fewer than two model calls, without spans that have ids of their own and without corrections of the
// mapper has nothing to correct: that is told before the tree is built. Each event is restored to what its sender
// reported, and corrected anew from there, so that doing this again changes nothing.
func correctOne(heads []*head) {
	k := &sessiontree.Tree{Nodes: make([]sessiontree.Node, 0, len(heads))}
	var traces []int64
	corrected := false // by the mapper, for what may have been a copy of the span itself
	list := make([]*head, 0, len(heads))
	for _, h := range heads {
		if h.trace == 0 {
			continue
		}
		n := nodeOf(h)
		k.Add(n, h.spanID())
		list = append(list, h)
		traces = append(traces, n.Trace)
		corrected = corrected || h.ev.Wrapper || h.ev.Duplicate || h.ev.Filled
		if h.ev.Duplicate {
			k.SetDuplicate(n.ID, h.ev.DuplicateOf())
		}
	}
	if k.Calls() < 2 && len(k.Spans) == 0 && !corrected {
		return
	}
	k.Reindex()
	slices.Sort(traces)
	known := func(i int32) (event.Known, error) { return list[i].ev.Known(), nil }
	for _, c := range k.Corrections(slices.Compact(traces), nil) {
		h := list[c.Node]
		now, _ := c.AsEvent(known) // which returns no error
		h.ev.Restore()
		h.ev.Correct(now)
		if c.Parent != uuid.Nil {
			h.ev.ParentID = c.Parent
		}
		h.derive()
	}
}
