package event

import (
	"bytes"
	"slices"

	"github.com/google/uuid"
)

// Call is one instrumentor's report of a model's answer.
type Call struct {
	ID      uuid.UUID // of its event
	Scope   uint32    // the instrumentor, hashed; 0 if it gave no name
	End     float64   // Unix milliseconds
	Content Content
	Depth   func() int
}

// DuplicatesOf finds the duplicates among the calls of one session with one response id. For each
// call it returns the id of the event that the call duplicates, or zero.
//
// Of two calls by different instrumentors the one with less content is the duplicate, and if
// both hold as much, the one that ended later: it is nearer to the application. If both ended at
// once it is the one less deep in the tree, then the one with the greater id. Calls of one
// instrumentor are never each other's duplicates, since an answer that is asked for again keeps
// its id; each of them has at most one duplicate of each other instrumentor. The order of the
// list does not matter.
func DuplicatesOf(calls []Call) []uuid.UUID {
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
	var answers [][]int      // the calls that report one answer, the first of them first
	next := map[uint32]int{} // by scope: the first of answers that this scope has not reported
	for _, i := range order {
		c := &calls[i]
		at := next[c.Scope]
		for at < len(answers) && calls[answers[at][0]].Scope == c.Scope {
			at++
		}
		if at < len(answers) {
			answers[at] = append(answers[at], i)
			at++
		} else {
			answers = append(answers, []int{i})
		}
		next[c.Scope] = at
	}
	original := make([]uuid.UUID, len(calls))
	for _, reports := range answers {
		kept := reports[0]
		for _, i := range reports {
			if calls[i].Content > calls[kept].Content {
				kept = i
			}
		}
		for _, i := range reports {
			if i != kept {
				original[i] = calls[kept].ID
			}
		}
	}
	return original
}
