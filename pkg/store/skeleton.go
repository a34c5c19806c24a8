package store

import (
	"slices"

	"github.com/google/uuid"

	"github.com/spangrove/spangrove/pkg/event"
)

// skeleton is the tree of one session, as far as its corrections need it.
type skeleton struct {
	version int64 // of the session's row
	nodes   []node
	spans   map[uuid.UUID]uuid.UUID // event ids by the ids of spans that have another one
	twins   map[uuid.UUID]uuid.UUID // of events that are marked as duplicates, the event they name
	part    bool                    // older events of the session are left out

	byID    map[uuid.UUID]int32 // made for more than fewNodes
	byTrace map[int64][]int32
	byCall  map[uint64][]int32
}

// fewNodes is up to how many nodes a skeleton is searched from end to end.
const fewNodes = 24

func (k *skeleton) add(n node, span uuid.UUID) {
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

func (k *skeleton) index(i int32) {
	n := &k.nodes[i]
	k.byID[n.id] = i
	k.byTrace[n.trace] = append(k.byTrace[n.trace], i)
	if n.call != 0 {
		k.byCall[n.call] = append(k.byCall[n.call], i)
	}
}

// replace gives a node its new facts. It may be one that was left out.
func (k *skeleton) replace(n node) {
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
func (k *skeleton) reindex() {
	k.byID, k.byTrace, k.byCall = nil, nil, nil
	if len(k.nodes) <= fewNodes {
		return
	}
	k.byID, k.byTrace, k.byCall = make(map[uuid.UUID]int32, len(k.nodes)), map[int64][]int32{}, map[uint64][]int32{}
	for i := range k.nodes {
		k.index(int32(i))
	}
}

func (k *skeleton) find(id uuid.UUID) int32 {
	if k.byID != nil {
		if i, ok := k.byID[id]; ok {
			return i
		}
		return -1
	}
	return int32(slices.IndexFunc(k.nodes, func(n node) bool { return n.id == id }))
}

// parent is the parent of node i in its trace, -1 for none.
func (k *skeleton) parent(i int32) int32 {
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

// misnamed is the id of a node's parent where the node names it by its span, else zero.
func (k *skeleton) misnamed(i int32) uuid.UUID {
	own, ok := k.spans[k.nodes[i].parent]
	if !ok || k.find(own) < 0 {
		return uuid.Nil
	}
	return own
}

func (k *skeleton) inTrace(trace int64) []int32 {
	if k.byID != nil {
		return k.byTrace[trace]
	}
	return k.all(func(n *node) bool { return n.trace == trace })
}

func (k *skeleton) ofCall(call uint64) []int32 {
	if k.byID != nil {
		return k.byCall[call]
	}
	return k.all(func(n *node) bool { return n.call == call })
}

func (k *skeleton) all(is func(*node) bool) (list []int32) {
	for i := range k.nodes {
		if is(&k.nodes[i]) {
			list = append(list, int32(i))
		}
	}
	return list
}

// calls is the number of model calls, wrappers among them.
func (k *skeleton) calls() (n int) {
	for i := range k.nodes {
		if k.nodes[i].isCall() {
			n++
		}
	}
	return n
}

// trim leaves out the oldest nodes of a skeleton that has grown too large.
func (k *skeleton) trim() {
	if len(k.nodes) <= maxSkeleton {
		return
	}
	k.nodes = slices.Clone(k.nodes[len(k.nodes)-maxSkeleton/2:])
	k.part = true
	k.reindex()
	for _, list := range []map[uuid.UUID]uuid.UUID{k.spans, k.twins} {
		for a, b := range list {
			if k.find(a) < 0 && k.find(b) < 0 {
				delete(list, a)
			}
		}
	}
}

// correction is how the event of a node should stand.
type correction struct {
	node    int32
	wrapper bool
	twin    uuid.UUID
	parent  uuid.UUID // zero: as it is
}

// corrections tells what stands otherwise than it should in the given traces, and among the
// calls that share a response id with one of theirs. Of a skeleton that is only a part, nothing
// is taken back: what it was for may be in the other part.
func (k *skeleton) corrections(traces []int64) (list []correction) {
	groups := map[uint64]bool{}
	wrapper := map[int32]bool{}
	for _, t := range traces {
		k.wrappers(k.inTrace(t), wrapper, groups)
	}
	isWrapper := func(i int32) bool {
		if w, ok := wrapper[i]; ok {
			return w
		}
		return k.nodes[i].marks&markWrapper != 0
	}
	twin := map[int32]uuid.UUID{}
	for call := range groups {
		k.twinsOf(call, isWrapper, twin)
	}
	consider := func(i int32) {
		n := &k.nodes[i]
		c := correction{node: i, wrapper: isWrapper(i), twin: twin[i], parent: k.misnamed(i)}
		if k.part {
			c.wrapper = c.wrapper || n.marks&markWrapper != 0
			if c.twin == uuid.Nil {
				c.twin = k.twins[n.id]
			}
		}
		if c.wrapper {
			c.twin = uuid.Nil
		}
		if c.wrapper != (n.marks&markWrapper != 0) || c.twin != k.twins[n.id] || c.parent != uuid.Nil {
			list = append(list, c)
		}
	}
	judged := map[int32]bool{}
	for i := range wrapper {
		judged[i] = true
	}
	for i := range twin {
		judged[i] = true
	}
	if len(k.spans) > 0 {
		for _, t := range traces {
			for _, i := range k.inTrace(t) {
				judged[i] = judged[i] || k.misnamed(i) != uuid.Nil
			}
		}
	}
	for i, is := range judged {
		if is {
			consider(i)
		}
	}
	slices.SortFunc(list, func(a, b correction) int { return int(a.node - b.node) })
	return list
}

// wrappers judges the model calls of one trace, and notes their response ids in groups.
func (k *skeleton) wrappers(list []int32, wrapper map[int32]bool, groups map[uint64]bool) {
	calls := 0
	for _, i := range list {
		if n := &k.nodes[i]; n.isCall() {
			calls++
			if n.call != 0 {
				groups[n.call] = true
			}
		}
	}
	if calls == 0 {
		return
	}
	place := make(map[int32]int32, len(list))
	for at, i := range list {
		place[i] = int32(at)
	}
	parent, model := make([]int32, len(list)), make([]bool, len(list))
	for at, i := range list {
		parent[at], model[at] = -1, k.nodes[i].isCall()
		if p := k.parent(i); p >= 0 {
			parent[at] = place[p]
		}
	}
	for at, is := range event.Wrappers(parent, model, func(a, b int32) bool {
		x, y := &k.nodes[list[a]], &k.nodes[list[b]]
		return earlier(x.start, x.id, y.start, y.id)
	}) {
		if model[at] {
			wrapper[list[at]] = is
		}
	}
}

// twinsOf judges the calls with one response id.
func (k *skeleton) twinsOf(call uint64, isWrapper func(int32) bool, twin map[int32]uuid.UUID) {
	var calls []event.Call
	var at []int32
	many := false // instrumentors
	for _, i := range k.ofCall(call) {
		n := &k.nodes[i]
		if !n.isCall() || isWrapper(i) {
			continue
		}
		calls = append(calls, event.Call{ID: n.id, Scope: n.scope, End: n.end, Depth: func() int { return k.depth(i) }})
		at = append(at, i)
		many = many || n.scope != calls[0].Scope
	}
	if !many {
		for _, i := range at {
			twin[i] = uuid.Nil
		}
		return
	}
	for j, of := range event.Twins(calls) {
		twin[at[j]] = of
	}
}

// depth is how many spans stand above node i, as far as they are known.
func (k *skeleton) depth(i int32) (d int) {
	for p := k.parent(i); p >= 0 && p != i && d < len(k.nodes); p = k.parent(p) {
		d++
	}
	return d
}
