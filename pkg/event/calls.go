package event

import (
	"bytes"
	"slices"

	"github.com/google/uuid"
)

// Wrappers finds among the spans of one trace and one session the model calls that only wrap
// another one: those with a model call below them. parent gives each span's parent by its place
// in the list, or a negative number where that is no span of the list; model says which are
// model calls. A cycle of parents is cut at its earliest span, as Tree does.
//
// It takes time in proportion to the number of spans.
func Wrappers(parent []int32, model []bool, earlier func(a, b int32) bool) []bool {
	parent = slices.Clone(parent)
	wrapper := make([]bool, len(parent))
	const fresh, onPath, done = 0, 1, 2
	state := make([]uint8, len(parent))
	var path []int32
	for start := range parent {
		path = path[:0]
		i := int32(start)
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
			parent[first] = -1
		}
		for _, j := range path {
			state[j] = done
		}
	}
	above := make([]bool, len(parent)) // spans that have a model call below them
	for i := range parent {
		if !model[i] {
			continue
		}
		for p := parent[i]; p >= 0 && !above[p]; p = parent[p] {
			above[p] = true
		}
	}
	for i := range above {
		wrapper[i] = above[i] && model[i]
	}
	return wrapper
}

// Call is one instrumentor's account of an answer that a model gave.
type Call struct {
	ID    uuid.UUID // of its event
	Scope uint32    // the instrumentor, hashed; 0 if it gave no name
	End   float64   // Unix milliseconds
	Depth func() int
}

// Twins tells which of the calls of one session with one response id are told twice: for each
// call the id of the event it duplicates, or zero.
//
// Of two calls by different instrumentors the one that ended later is the duplicate: it is
// nearer to the application. If both ended at once it is the one less deep in the tree, then
// the one with the greater id. Calls of one instrumentor are never each other's duplicates,
// since an answer that is asked for again keeps its id; each of them has at most one duplicate
// of each other instrumentor. The order of the list says nothing.
func Twins(calls []Call) []uuid.UUID {
	order := make([]int, len(calls))
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(x, y int) int {
		a, b := &calls[x], &calls[y]
		switch {
		case a.End < b.End:
			return -1
		case a.End > b.End:
			return 1
		}
		if d := b.Depth() - a.Depth(); d != 0 {
			return d
		}
		return bytes.Compare(a.ID[:], b.ID[:])
	})
	twin := make([]uuid.UUID, len(calls))
	var kept []int           // calls that count, in order
	next := map[uint32]int{} // by scope: the first of kept that this scope has not told
	for _, i := range order {
		c := &calls[i]
		at := next[c.Scope]
		for at < len(kept) && calls[kept[at]].Scope == c.Scope {
			at++
		}
		if at < len(kept) {
			twin[i] = calls[kept[at]].ID
			at++
		} else {
			kept = append(kept, i)
		}
		next[c.Scope] = at
	}
	return twin
}
