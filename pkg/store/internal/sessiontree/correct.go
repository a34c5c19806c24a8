package sessiontree

import (
	"bytes"
	"cmp"
	"hash/fnv"
	"slices"

	"github.com/google/uuid"

	"github.com/spangrove/spangrove/pkg/event"
)

// Corrections of a tree: what each event should be, given all others of its session, and how that differs from what it
// is. Only differences, and calls whose sources have changed, leave this file: a commit seldom rewrites anything for it.
//
// Nothing is corrected step by step. The state that events should have is worked out anew from what their senders reported
// (Node.IsCall, not the type that the event has by now), which is why the order of arrival does not show and why a correction is
// taken back when its reason goes.

// correction is the state that the event of a node should have.
type correction struct {
	Node        int32
	wrapper     bool
	DuplicateOf uuid.UUID
	Parent      uuid.UUID // zero: as it is
	// Refill is set if what others know of the call is to be filled in again: accounts lists the nodes
	// of each report of the call, and sources is the hash of them all, 0 if there are none.
	Refill   bool
	accounts [][]int32
	sources  uint64
}

// AsEvent returns the correction as package event takes it; known returns what the event of a node knows.
func (c *correction) AsEvent(known func(node int32) (event.Known, error)) (event.Correction, error) {
	out := event.Correction{Wrapper: c.wrapper, DuplicateOf: c.DuplicateOf}
	if !c.Refill {
		return out, nil
	}
	accounts := make([][]event.Known, len(c.accounts))
	for i, nodes := range c.accounts {
		for _, n := range nodes {
			k, err := known(n)
			if err != nil {
				return out, err
			}
			accounts[i] = append(accounts[i], k)
		}
	}
	out.Known = event.JoinKnown(accounts)
	return out, nil
}

// NoteFilled records which events a call was filled from, once its correction is applied. What is recorded is in memory
// only: of a tree that was read from the database, each call that others report is filled again once, which changes no
// event if it is as before.
func (k *Tree) NoteFilled(c *correction) {
	id := k.Nodes[c.Node].ID
	switch {
	case c.wrapper || c.DuplicateOf != uuid.Nil, c.Refill && c.sources == 0: // it has nothing of others, or no longer
		delete(k.filled, id)
	case !c.Refill:
	default:
		if k.filled == nil {
			k.filled = map[uuid.UUID]uint64{}
		}
		k.filled[id] = c.sources
	}
}

// callAccounts maps the model spans of some traces to the calls that they report.
type callAccounts struct {
	k           *Tree
	of          map[int32]account
	duplicateOf map[int32]uuid.UUID
	// By the place of the event that stands for a call: the spans below it that report it, those
	// around it, and its duplicates.
	inner, outer, duplicates map[int32][]int32
}

// account is what a model span is to the call it reports: wrapper if another span stands for the call and this one becomes
// a chain or a duplicate, inner if it is below that one.
type account struct{ wrapper, inner bool }

// Corrections returns the corrections that the given traces need, and the
// calls that share a response id with one of theirs. What other events know of a call is filled in
// again where those are others than before or have changed. In a tree that is only partly loaded
// nothing is taken back: the reason for it may be in the other part.
//
//  1. Read which model spans of each trace report one call, and which of them stands for it.
//  2. Match those that stand for a call across traces, by the hash of the provider's response id.
//  3. Compare what each node's event should be with what it is, by its flags: only differences are listed.
//
// touched are events whose content changed; calls that are filled from one of them are filled again. The list is in the
// order of the nodes.
//
// It looks at the given traces and at those that share a call with them, not at the whole tree. Only a tree of so few nodes
// that it has no indexes (fewNodes) is gone through for each of them.
func (k *Tree) Corrections(traces []int64, touched map[uuid.UUID]bool) (list []correction) {
	a := &callAccounts{k: k, of: map[int32]account{}, duplicateOf: map[int32]uuid.UUID{},
		inner: map[int32][]int32{}, outer: map[int32][]int32{}, duplicates: map[int32][]int32{}}
	a.read(traces)
	a.match()
	consider := func(i int32, refilled bool) {
		n := &k.Nodes[i]
		c := correction{Node: i, wrapper: a.of[i].wrapper, DuplicateOf: a.duplicateOf[i], Parent: k.misnamed(i)}
		if k.Partial {
			c.wrapper = c.wrapper || n.Flags&Wrapper != 0
			if c.DuplicateOf == uuid.Nil {
				c.DuplicateOf = k.duplicates[n.ID]
			}
		}
		if refilled && !c.wrapper && c.DuplicateOf == uuid.Nil {
			a.refill(&c, touched)
		}
		if c.wrapper != (n.Flags&Wrapper != 0) || c.DuplicateOf != k.duplicates[n.ID] || c.Parent != uuid.Nil || c.Refill {
			list = append(list, c)
		}
	}
	for i := range a.of {
		consider(i, true)
	}
	if len(k.Spans) > 0 {
		for _, t := range traces {
			for _, i := range k.inTrace(t) {
				if _, call := a.of[i]; !call && k.misnamed(i) != uuid.Nil {
					consider(i, false)
				}
			}
		}
	}
	slices.SortFunc(list, func(a, b correction) int { return int(a.Node - b.Node) })
	return list
}

// read reads the calls of the traces, and of those that share a response id with one of them, and so on: a correction in one
// trace may change which event stands for a call that another trace reports as well.
func (a *callAccounts) read(traces []int64) {
	seen := make(map[int64]bool, len(traces))
	for _, t := range traces {
		seen[t] = true
	}
	todo, calls := slices.Clone(traces), map[uint64]bool{}
	for len(todo) > 0 {
		list := a.k.inTrace(todo[len(todo)-1])
		todo = todo[:len(todo)-1]
		a.readTrace(list)
		for _, i := range list {
			n := &a.k.Nodes[i]
			if n.Call == 0 || !n.IsCall() || calls[n.Call] {
				continue
			}
			calls[n.Call] = true
			for _, j := range a.k.ofCall(n.Call) {
				if t := a.k.Nodes[j].Trace; !seen[t] {
					seen[t] = true
					todo = append(todo, t)
				}
			}
		}
	}
}

// readTrace decides which of the calls of one trace are model events. A trace without a model call is left after one look at
// its nodes.
func (a *callAccounts) readTrace(list []int32) {
	k := a.k
	if !slices.ContainsFunc(list, func(i int32) bool { return k.Nodes[i].IsCall() }) {
		return
	}
	place := make(map[int32]int32, len(list))
	for at, i := range list {
		place[i] = int32(at)
	}
	spans := make([]event.Span, len(list))
	for at, i := range list {
		n := &k.Nodes[i]
		spans[at] = event.Span{Parent: -1, Model: n.IsCall(), Content: n.content()}
		if p := k.parent(i); p >= 0 {
			spans[at].Parent = place[p]
		}
	}
	told := event.Accounts(spans, func(a, b int32) bool {
		x, y := &k.Nodes[list[a]], &k.Nodes[list[b]]
		return Earlier(x.Start, x.ID, y.Start, y.ID)
	})
	for at, i := range list {
		if !spans[at].Model {
			continue
		}
		x := told[at]
		a.of[i] = account{x.Wrapper, x.Inner}
		switch {
		case x.Of < 0:
		case x.Inner:
			of := list[x.Of]
			a.inner[of] = append(a.inner[of], i)
			a.duplicateOf[i] = k.Nodes[of].ID
		default:
			a.outer[list[x.Of]] = append(a.outer[list[x.Of]], i)
		}
	}
	for _, m := range []map[int32][]int32{a.inner, a.outer} {
		for _, of := range list {
			if len(m[of]) > 1 {
				a.sort(m[of])
			}
		}
	}
}

// sort puts nodes into an order of their own.
func (a *callAccounts) sort(list []int32) {
	slices.SortFunc(list, func(i, j int32) int {
		return bytes.Compare(a.k.Nodes[i].ID[:], a.k.Nodes[j].ID[:])
	})
}

// call returns the hash of the response id of the call that node i stands for, as any of its accounts
// reports it; if none does, that of a failed call.
func (a *callAccounts) call(i int32) (hash uint64, failed bool) {
	for _, failed := range []bool{false, true} {
		for _, list := range [][]int32{{i}, a.inner[i], a.outer[i]} {
			for _, j := range list {
				if n := &a.k.Nodes[j]; n.Call != 0 && n.failed == failed {
					return n.Call, failed
				}
			}
		}
	}
	return 0, false
}

// match finds the duplicates among the events that stand for calls.
func (a *callAccounts) match() {
	type call struct {
		hash   uint64
		failed bool
	}
	groups := map[call][]int32{}
	for i, x := range a.of {
		if x.wrapper {
			continue
		}
		if c, failed := a.call(i); c != 0 {
			groups[call{c, failed}] = append(groups[call{c, failed}], i)
		}
	}
	depth := a.k.depths()
	for c, list := range groups {
		if !c.failed {
			a.matchOne(list, depth)
			continue
		}
		for _, atOnce := range a.overlapping(list) {
			a.matchOne(atOnce, depth)
		}
	}
	for _, list := range a.duplicates {
		a.sort(list)
	}
}

// overlapping takes a list apart where nothing of it was under way: a failed call that is tried again
// is another one. There is no response id that would tell the tries apart, and their key is the same. The list is sorted by
// start time, and parts are slices of it.
func (a *callAccounts) overlapping(list []int32) (parts [][]int32) {
	nodes := a.k.Nodes
	slices.SortFunc(list, func(i, j int32) int { return cmp.Compare(nodes[i].Start, nodes[j].Start) })
	first, end := 0, nodes[list[0]].End
	for at, i := range list {
		if nodes[i].Start > end {
			parts = append(parts, list[first:at])
			first = at
		}
		end = max(end, nodes[i].End)
	}
	return append(parts, list[first:])
}

// matchOne finds the duplicates among the events that report one call, or calls with one id. A list of a single
// instrumentor is left alone before anything is made of it: it is what sessions with one instrumentor consist of.
func (a *callAccounts) matchOne(list []int32, depth func(i int32) int) {
	k := a.k
	scope := k.Nodes[list[0]].scope
	if !slices.ContainsFunc(list, func(i int32) bool { return k.Nodes[i].scope != scope }) {
		return // of one instrumentor
	}
	calls := make([]event.Call, len(list))
	for at, i := range list {
		n := &k.Nodes[i]
		calls[at] = event.Call{ID: n.ID, Scope: n.scope, End: n.End, Content: n.content(), Depth: func() int { return depth(i) }}
	}
	for at, of := range event.DuplicatesOf(calls) {
		if of != uuid.Nil {
			a.duplicateOf[list[at]] = of
			kept := k.find(of)
			a.duplicates[kept] = append(a.duplicates[kept], list[at])
		}
	}
}

// refill sets which accounts fill the event of c, if they have changed. They are in the order of trust, since the first one that
// knows something wins: spans below the call, then duplicates elsewhere, each with what is below it, then the spans around the
// call. sources is 0 only if there are no accounts.
func (a *callAccounts) refill(c *correction, touched map[uuid.UUID]bool) {
	add := func(nodes ...int32) {
		if len(nodes) > 0 {
			c.accounts = append(c.accounts, nodes)
		}
	}
	add(a.inner[c.Node]...)
	for _, i := range a.duplicates[c.Node] {
		add(i)
		add(a.inner[i]...)
	}
	for _, i := range a.outer[c.Node] {
		add(i)
	}
	n := &a.k.Nodes[c.Node]
	changed := touched[n.ID]
	if len(c.accounts) > 0 {
		h := fnv.New64a()
		for _, nodes := range c.accounts {
			for _, i := range nodes {
				id := a.k.Nodes[i].ID
				_, _ = h.Write(id[:])
				changed = changed || touched[id]
			}
			_, _ = h.Write([]byte{0})
		}
		c.sources = h.Sum64() | 1
	} else {
		changed = n.Flags&Filled != 0
	}
	c.Refill = changed || c.sources != a.k.filled[n.ID]
}

// Earlier reports whether a is before b: by time, and then by id.
func Earlier(a float64, aID uuid.UUID, b float64, bID uuid.UUID) bool {
	if a != b {
		return a < b
	}
	return bytes.Compare(aID[:], bID[:]) < 0
}
