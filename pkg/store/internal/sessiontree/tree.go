// Package sessiontree holds the tree of a session's events in memory and finds what must be corrected in
// it: wrappers of model calls, duplicates that several instrumentations reported, spans that name their
// parent by an id that is not the event's.
//
// A tree is built of nodes in any order. Corrections lists the rows that must change so that the
// result does not depend on the order in which events arrived.
//
// An example: an agent framework and the provider's client both report one call, and so does a gateway in another trace.
//
//	as reported                          as corrected
//	session                              session
//	├─ agent            chain            ├─ agent       chain
//	│  └─ ChatModel     model            │  └─ ChatModel   chain: a wrapper, its usage is aggregate_usage
//	│     └─ openai     model  r-1       │     └─ openai   model: the call, filled with what the others know
//	└─ gateway          model  r-1       └─ gateway     model, marked as a duplicate of openai
//
// Which event stands for a call, and what a duplicate is, package event decides (Accounts, DuplicatesOf). Nothing here
// reads or writes a database.
package sessiontree

import (
	"slices"

	"github.com/google/uuid"
)

// MaxSpans is how many spans of one session the corrections look at: beyond any trace,
// and below what a service that never ends its session piles up. Of more than that the newest count, and the tree is Partial.
const MaxSpans = 50_000

// Tree is the tree of one session, as far as its corrections need it. It is not safe for concurrent use. A node is named by
// its place in Nodes, which changes only when the tree is trimmed.
type Tree struct {
	Version    int64 // of the session's row
	Nodes      []Node
	Spans      map[uuid.UUID]uuid.UUID // event ids by the ids of spans that have another one
	duplicates map[uuid.UUID]uuid.UUID // of events that are marked as duplicates, the event they name
	Partial    bool                    // older events of the session are left out: what they are the reason for must stay
	filled     map[uuid.UUID]uint64    // of calls that others report, too, the hash of those that filled them last

	ByID    map[uuid.UUID]int32 // made for more than fewNodes
	byTrace map[int64][]int32
	byCall  map[uint64][]int32
}

// fewNodes is up to how many nodes a tree is searched from end to end.
const fewNodes = 24

// Add adds a node; span is the id by which its children name it, where it has another one.
func (k *Tree) Add(n Node, span uuid.UUID) {
	i := int32(len(k.Nodes))
	k.Nodes = append(k.Nodes, n)
	if span != uuid.Nil && span != n.ID {
		if k.Spans == nil {
			k.Spans = map[uuid.UUID]uuid.UUID{}
		}
		k.Spans[span] = n.ID
	}
	if k.ByID != nil {
		k.index(i)
	}
}

func (k *Tree) index(i int32) {
	n := &k.Nodes[i]
	k.ByID[n.ID] = i
	k.byTrace[n.Trace] = append(k.byTrace[n.Trace], i)
	if n.Call != 0 {
		k.byCall[n.Call] = append(k.byCall[n.Call], i)
	}
}

// Replace replaces a node. It does nothing if the node was left out. Of the indexes that of calls follows: which call an event
// reports may become known later, or change.
func (k *Tree) Replace(n Node) {
	i := k.find(n.ID)
	if i < 0 {
		return
	}
	old := k.Nodes[i].Call
	k.Nodes[i] = n
	if k.ByID != nil && old != n.Call {
		k.byCall[old] = slices.DeleteFunc(k.byCall[old], func(j int32) bool { return j == i })
		if n.Call != 0 {
			k.byCall[n.Call] = append(k.byCall[n.Call], i)
		}
	}
}

// Reindex makes the indexes, or drops them where there is little to find: most sessions are small, and looking through a few
// nodes is cheaper than making three maps.
func (k *Tree) Reindex() {
	k.ByID, k.byTrace, k.byCall = nil, nil, nil
	if len(k.Nodes) <= fewNodes {
		return
	}
	k.ByID, k.byTrace, k.byCall = make(map[uuid.UUID]int32, len(k.Nodes)), map[int64][]int32{}, map[uint64][]int32{}
	for i := range k.Nodes {
		k.index(int32(i))
	}
}

// find returns the place of a node, -1 if it is not there.
func (k *Tree) find(id uuid.UUID) int32 {
	if k.ByID != nil {
		if i, ok := k.ByID[id]; ok {
			return i
		}
		return -1
	}
	return int32(slices.IndexFunc(k.Nodes, func(n Node) bool { return n.ID == id }))
}

// parent returns the parent of node i in its trace, -1 for none. A span names its parent by the id that follows from the
// parent's span, which is not the parent's if that brought an id of its own.
func (k *Tree) parent(i int32) int32 {
	n := &k.Nodes[i]
	if n.Parent == uuid.Nil {
		return -1
	}
	p := k.find(n.Parent)
	if p < 0 {
		if own, ok := k.Spans[n.Parent]; ok {
			p = k.find(own)
		}
	}
	if p >= 0 && k.Nodes[p].Trace != n.Trace {
		return -1
	}
	return p
}

// misnamed returns the id of a node's parent where the node names it by its span, else zero.
func (k *Tree) misnamed(i int32) uuid.UUID {
	own, ok := k.Spans[k.Nodes[i].Parent]
	if !ok || k.find(own) < 0 {
		return uuid.Nil
	}
	return own
}

// inTrace returns the nodes of a trace.
func (k *Tree) inTrace(trace int64) []int32 {
	if k.ByID != nil {
		return k.byTrace[trace]
	}
	return k.all(func(n *Node) bool { return n.Trace == trace })
}

// ofCall returns the nodes that report the call of this hash, in all traces.
func (k *Tree) ofCall(call uint64) []int32 {
	if k.ByID != nil {
		return k.byCall[call]
	}
	return k.all(func(n *Node) bool { return n.Call == call })
}

func (k *Tree) all(is func(*Node) bool) (list []int32) {
	for i := range k.Nodes {
		if is(&k.Nodes[i]) {
			list = append(list, int32(i))
		}
	}
	return list
}

// Calls returns the number of model calls, wrappers among them.
func (k *Tree) Calls() (n int) {
	for i := range k.Nodes {
		if k.Nodes[i].IsCall() {
			n++
		}
	}
	return n
}

// Trim leaves out the oldest nodes of a tree that has grown too large, half of them at once, so that it is not done again for
// each event that follows.
func (k *Tree) Trim() {
	if len(k.Nodes) <= MaxSpans {
		return
	}
	k.Nodes = slices.Clone(k.Nodes[len(k.Nodes)-MaxSpans/2:])
	k.Partial = true
	k.Reindex()
	for id := range k.filled {
		if k.find(id) < 0 {
			delete(k.filled, id)
		}
	}
	for _, list := range []map[uuid.UUID]uuid.UUID{k.Spans, k.duplicates} {
		for a, b := range list {
			if k.find(a) < 0 && k.find(b) < 0 {
				delete(list, a)
			}
		}
	}
}

// depths returns a function that returns how many spans stand above a node, as far as they are known. Spans whose parents form a ring
// have none above them. It remembers what it has found, so that the depths of all nodes together take one walk through the tree.
func (k *Tree) depths() func(i int32) int {
	known := map[int32]int{}
	return func(i int32) int {
		var path []int32
		on := map[int32]int{} // places in path
		above := -1
		for p := i; p >= 0; p = k.parent(p) {
			if d, ok := known[p]; ok {
				above = d
				break
			}
			if at, ring := on[p]; ring {
				for _, r := range path[at:] {
					known[r] = 0
				}
				path, above = path[:at], 0
				break
			}
			on[p] = len(path)
			path = append(path, p)
		}
		for _, p := range slices.Backward(path) {
			above++
			known[p] = above
		}
		return known[i]
	}
}

// SetDuplicate records that a node's event is marked as the duplicate of another one, zero: of none.
func (k *Tree) SetDuplicate(id, of uuid.UUID) {
	if of == uuid.Nil {
		delete(k.duplicates, id)
		return
	}
	if k.duplicates == nil {
		k.duplicates = map[uuid.UUID]uuid.UUID{}
	}
	k.duplicates[id] = of
}
