package event

import (
	"bytes"
	"sort"

	"github.com/google/uuid"
)

// Node is an event of a session's tree, by its place in the list the tree was made of.
type Node struct {
	Index    int
	Orphan   bool // its parent is not there (yet), or stood in a cycle: shown under the session
	Children []*Node
}

// Tree arranges the events of one session. Children come in order of start time, then id.
//
// root is the index of the session event, or -1 if there is none. An event whose parent is
// absent is shown directly under the session, marked as an orphan until its parent comes. A
// cycle of parents is cut at its earliest start; that event shows under the session too.
// The top level is returned: the children of the session.
func Tree(events []Event) (root int, top []*Node) {
	root = -1
	nodes := make([]Node, len(events))
	byID := make(map[uuid.UUID]int, len(events))
	for i := range events {
		nodes[i].Index = i
		byID[events[i].ID] = i
		if events[i].IsSession() {
			root = i
		}
	}
	parent := make([]int, len(events)) // index, -1: the session, -2: none (the session itself)
	for i := range events {
		e := &events[i]
		p, ok := byID[e.ParentID]
		switch {
		case i == root:
			parent[i] = -2
		case e.ParentID == e.SessionID || e.ParentID == uuid.Nil || (ok && p == root):
			parent[i] = -1
		case !ok || p == i:
			parent[i], nodes[i].Orphan = -1, true
		default:
			parent[i] = p
		}
	}
	cutCycles(parent, func(a, b int) bool { return before(&events[a], &events[b]) }, func(i int) {
		parent[i], nodes[i].Orphan = -1, true
	})
	for i := range nodes {
		switch p := parent[i]; p {
		case -2:
		case -1:
			top = append(top, &nodes[i])
		default:
			nodes[p].Children = append(nodes[p].Children, &nodes[i])
		}
	}
	order := func(list []*Node) {
		sort.Slice(list, func(a, b int) bool { return before(&events[list[a].Index], &events[list[b].Index]) })
	}
	order(top)
	for i := range nodes {
		order(nodes[i].Children)
	}
	return root, top
}

func before(a, b *Event) bool {
	if a.Start != b.Start {
		return a.Start < b.Start
	}
	return bytes.Compare(a.ID[:], b.ID[:]) < 0
}

// cutCycles calls cut with the earliest node of each cycle of parents, a negative parent being none. cut must set
// that node's parent to a negative value.
func cutCycles[I int | int32](parent []I, earlier func(a, b I) bool, cut func(I)) {
	const fresh, onPath, done = 0, 1, 2
	state := make([]uint8, len(parent))
	var path []I
	for start := range parent {
		path = path[:0]
		i := I(start)
		for i >= 0 && state[i] == fresh {
			state[i] = onPath
			path = append(path, i)
			i = parent[i]
		}
		if i >= 0 && state[i] == onPath {
			first := i
			for j := parent[i]; j != i; j = parent[j] {
				if earlier(j, first) {
					first = j
				}
			}
			cut(first)
		}
		for _, j := range path {
			state[j] = done
		}
	}
}

// Below lists an event and all below it, parents before their children, as places in the list
// of the session's events. Zero, or the session's id, stands for the session event, if it is there,
// and all others. For an event that is not there, the result is empty.
func Below(events []Event, at uuid.UUID) []int {
	root, top := Tree(events)
	list := make([]int, 0, len(events))
	left := make([]*Node, 0, len(top))
	below := func(nodes []*Node) {
		for i := len(nodes) - 1; i >= 0; i-- {
			left = append(left, nodes[i])
		}
	}
	all := at == uuid.Nil || root >= 0 && events[root].ID == at
	if all && root >= 0 {
		list = append(list, root)
	}
	// A stack, not recursion: a session may be one chain of 100,000 events.
	below(top)
	for len(left) > 0 {
		n := left[len(left)-1]
		left = left[:len(left)-1]
		switch {
		case all:
			list = append(list, n.Index)
		case events[n.Index].ID == at:
			all, left, list = true, left[:0], append(list, n.Index)
		}
		below(n.Children)
	}
	return list
}
