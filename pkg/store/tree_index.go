package store

import (
	"slices"

	"github.com/google/uuid"
)

// maxTreeSpans is how many spans of one session the corrections look at: beyond any trace,
// and below what a service that never ends its session piles up.
const maxTreeSpans = 50_000

// sessionTree is the tree of one session, as far as its corrections need it.
type sessionTree struct {
	version    int64 // of the session's row
	nodes      []node
	spans      map[uuid.UUID]uuid.UUID // event ids by the ids of spans that have another one
	duplicates map[uuid.UUID]uuid.UUID // of events that are marked as duplicates, the event they name
	partial    bool                    // older events of the session are left out
	filled     map[uuid.UUID]uint64    // of calls that others report, too, the hash of those that filled them last

	byID    map[uuid.UUID]int32 // made for more than fewNodes
	byTrace map[int64][]int32
	byCall  map[uint64][]int32
}

// fewNodes is up to how many nodes a tree is searched from end to end.
const fewNodes = 24

func (k *sessionTree) add(n node, span uuid.UUID) {
	i := int32(len(k.nodes))
	k.nodes = append(k.nodes, n)
	if span != uuid.Nil && span != n.id {
		if k.spans == nil {
			k.spans = map[uuid.UUID]uuid.UUID{}
		}
		k.spans[span] = n.id
	}
	if k.byID != nil {
		k.index(i)
	}
}

func (k *sessionTree) index(i int32) {
	n := &k.nodes[i]
	k.byID[n.id] = i
	k.byTrace[n.trace] = append(k.byTrace[n.trace], i)
	if n.call != 0 {
		k.byCall[n.call] = append(k.byCall[n.call], i)
	}
}

// replace replaces a node. It does nothing if the node was left out.
func (k *sessionTree) replace(n node) {
	i := k.find(n.id)
	if i < 0 {
		return
	}
	old := k.nodes[i].call
	k.nodes[i] = n
	if k.byID != nil && old != n.call {
		k.byCall[old] = slices.DeleteFunc(k.byCall[old], func(j int32) bool { return j == i })
		if n.call != 0 {
			k.byCall[n.call] = append(k.byCall[n.call], i)
		}
	}
}

// reindex makes the indexes, or drops them where there is little to find.
func (k *sessionTree) reindex() {
	k.byID, k.byTrace, k.byCall = nil, nil, nil
	if len(k.nodes) <= fewNodes {
		return
	}
	k.byID, k.byTrace, k.byCall = make(map[uuid.UUID]int32, len(k.nodes)), map[int64][]int32{}, map[uint64][]int32{}
	for i := range k.nodes {
		k.index(int32(i))
	}
}

func (k *sessionTree) find(id uuid.UUID) int32 {
	if k.byID != nil {
		if i, ok := k.byID[id]; ok {
			return i
		}
		return -1
	}
	return int32(slices.IndexFunc(k.nodes, func(n node) bool { return n.id == id }))
}

// parent returns the parent of node i in its trace, -1 for none.
func (k *sessionTree) parent(i int32) int32 {
	n := &k.nodes[i]
	if n.parent == uuid.Nil {
		return -1
	}
	p := k.find(n.parent)
	if p < 0 {
		if own, ok := k.spans[n.parent]; ok {
			p = k.find(own)
		}
	}
	if p >= 0 && k.nodes[p].trace != n.trace {
		return -1
	}
	return p
}

// misnamed returns the id of a node's parent where the node names it by its span, else zero.
func (k *sessionTree) misnamed(i int32) uuid.UUID {
	own, ok := k.spans[k.nodes[i].parent]
	if !ok || k.find(own) < 0 {
		return uuid.Nil
	}
	return own
}

func (k *sessionTree) inTrace(trace int64) []int32 {
	if k.byID != nil {
		return k.byTrace[trace]
	}
	return k.all(func(n *node) bool { return n.trace == trace })
}

func (k *sessionTree) ofCall(call uint64) []int32 {
	if k.byID != nil {
		return k.byCall[call]
	}
	return k.all(func(n *node) bool { return n.call == call })
}

func (k *sessionTree) all(is func(*node) bool) (list []int32) {
	for i := range k.nodes {
		if is(&k.nodes[i]) {
			list = append(list, int32(i))
		}
	}
	return list
}

// calls returns the number of model calls, wrappers among them.
func (k *sessionTree) calls() (n int) {
	for i := range k.nodes {
		if k.nodes[i].isCall() {
			n++
		}
	}
	return n
}

// trim leaves out the oldest nodes of a tree that has grown too large.
func (k *sessionTree) trim() {
	if len(k.nodes) <= maxTreeSpans {
		return
	}
	k.nodes = slices.Clone(k.nodes[len(k.nodes)-maxTreeSpans/2:])
	k.partial = true
	k.reindex()
	for id := range k.filled {
		if k.find(id) < 0 {
			delete(k.filled, id)
		}
	}
	for _, list := range []map[uuid.UUID]uuid.UUID{k.spans, k.duplicates} {
		for a, b := range list {
			if k.find(a) < 0 && k.find(b) < 0 {
				delete(list, a)
			}
		}
	}
}

// depth returns how many spans stand above node i, as far as they are known.
func (k *sessionTree) depth(i int32) (d int) {
	for p := k.parent(i); p >= 0 && p != i && d < len(k.nodes); p = k.parent(p) {
		d++
	}
	return d
}

// setDuplicate records that a node's event is marked as the duplicate of another one, zero: of none.
func (k *sessionTree) setDuplicate(id, of uuid.UUID) {
	if of == uuid.Nil {
		delete(k.duplicates, id)
		return
	}
	if k.duplicates == nil {
		k.duplicates = map[uuid.UUID]uuid.UUID{}
	}
	k.duplicates[id] = of
}
