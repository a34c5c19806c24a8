package sessiontree

import (
	"slices"
	"testing"

	"github.com/google/uuid"

	"github.com/spangrove/spangrove/e2e/growth"
)

// calls returns the nodes of one call that two instrumentors report: a span of each, side by side.
func calls() []Node {
	id := func(n byte) uuid.UUID { return uuid.UUID{15: n} }
	return []Node{
		{ID: id(1), Trace: 1, Start: 0, End: 9},
		{ID: id(2), Parent: id(1), Trace: 1, Start: 1, End: 8, Call: 7, scope: 1, Flags: nodeModel | Messages},
		{ID: id(3), Parent: id(1), Trace: 1, Start: 2, End: 7, Call: 7, scope: 2, Flags: nodeModel},
	}
}

// TestCorrectionsInAnyOrder checks that one of two reports of a call is the other's duplicate, whichever came first.
func TestCorrectionsInAnyOrder(t *testing.T) {
	t.Parallel()
	for _, order := range [][]int{{0, 1, 2}, {0, 2, 1}, {1, 0, 2}, {1, 2, 0}, {2, 0, 1}, {2, 1, 0}} {
		nodes := calls()
		var k Tree
		for _, i := range order {
			k.Add(nodes[i], uuid.Nil)
		}
		of := map[uuid.UUID]uuid.UUID{}
		for _, c := range k.Corrections([]int64{1}, nil) {
			if c.DuplicateOf != uuid.Nil {
				of[k.Nodes[c.Node].ID] = c.DuplicateOf
			}
		}
		if len(of) != 1 || of[nodes[2].ID] != nodes[1].ID {
			t.Errorf("order %v: duplicates %v", order, of)
		}
	}
}

// TestCorrectionsName checks that a node that names its parent by a span gets the id of the parent's event.
func TestCorrectionsName(t *testing.T) {
	t.Parallel()
	parent, span, child := uuid.UUID{15: 1}, uuid.UUID{15: 2}, uuid.UUID{15: 3}
	for _, parentFirst := range []bool{true, false} {
		var k Tree
		if parentFirst {
			k.Add(Node{ID: parent, Trace: 1}, span)
		}
		k.Add(Node{ID: child, Parent: span, Trace: 1}, uuid.Nil)
		if !parentFirst {
			k.Add(Node{ID: parent, Trace: 1}, span)
		}
		list := k.Corrections([]int64{1}, nil)
		if len(list) != 1 || k.Nodes[list[0].Node].ID != child || list[0].Parent != parent {
			t.Errorf("parent first %v: corrections %+v", parentFirst, list)
		}
	}
}

// TestTrim checks that the newest nodes of a large tree stay and are found.
func TestTrim(t *testing.T) {
	t.Parallel()
	var k Tree
	id := func(n int) uuid.UUID {
		return uuid.UUID{12: byte(n >> 24), 13: byte(n >> 16), 14: byte(n >> 8), 15: byte(n)}
	}
	for n := range MaxSpans {
		k.Add(Node{ID: id(n + 1), Trace: 1}, uuid.Nil)
	}
	k.Reindex()
	if k.Trim(); len(k.Nodes) != MaxSpans || k.Partial {
		t.Fatalf("%d nodes, partial %v, at the bound", len(k.Nodes), k.Partial)
	}
	k.Add(Node{ID: id(MaxSpans + 1), Trace: 1}, uuid.Nil)
	if k.Trim(); len(k.Nodes) != MaxSpans/2 || !k.Partial {
		t.Fatalf("%d nodes, partial %v, beyond the bound", len(k.Nodes), k.Partial)
	}
	if k.find(id(1)) >= 0 {
		t.Error("the oldest node is still found")
	}
	if i := k.find(id(MaxSpans + 1)); i < 0 || k.Nodes[i].ID != id(MaxSpans+1) {
		t.Error("the newest node is not found")
	}
}

// TestDepths checks depths in a tree, and where parents form a ring.
func TestDepths(t *testing.T) {
	t.Parallel()
	id := func(n int) uuid.UUID { return uuid.UUID{15: byte(n)} }
	var k Tree
	for _, parent := range []int{0, 1, 2, 2, 6, 5, 5, 7, 9} { // of node 1, 2, …; 0: none. 5 and 6 are a ring, and 9 is its own parent
		k.Add(Node{ID: id(len(k.Nodes) + 1), Parent: id(parent), Trace: 1}, uuid.Nil)
	}
	for _, order := range [][]int32{{0, 1, 2, 3, 4, 5, 6, 7, 8}, {8, 7, 6, 5, 4, 3, 2, 1, 0}} {
		depth, got := k.depths(), make([]int, len(order))
		for _, i := range order {
			got[i] = depth(i)
		}
		if want := []int{0, 1, 2, 2, 0, 0, 1, 2, 0}; !slices.Equal(got, want) {
			t.Errorf("order %v: %v, want %v", order, got, want)
		}
	}
}

// Reports of one call that ended at once are told apart by their depths. They may stand at the end of a long chain, and there may be many of
// them: a request of 50,000 spans of one trace held the commit, and with it all senders, for minutes.
func TestDeepDuplicates(t *testing.T) {
	t.Parallel()
	id := func(n int) uuid.UUID {
		return uuid.UUID{12: byte(n >> 24), 13: byte(n >> 16), 14: byte(n >> 8), 15: byte(n)}
	}
	growth.Linear(t, 20_000, func(many int) func() {
		deep := many
		var k Tree
		for n := 1; n <= deep; n++ {
			k.Add(Node{ID: id(n), Parent: id(n - 1), Trace: 1}, uuid.Nil)
		}
		for n := deep + 1; n <= deep+many; n++ {
			k.Add(Node{ID: id(n), Parent: id(deep), Trace: 1, End: 9, Call: 7, scope: uint32(n % 2), Flags: nodeModel | Messages}, uuid.Nil)
		}
		k.Reindex()
		return func() {
			duplicates := 0
			for _, c := range k.Corrections([]int64{1}, nil) {
				if c.DuplicateOf != uuid.Nil {
					duplicates++
				}
			}
			if duplicates != many/2 {
				t.Errorf("%d duplicates", duplicates)
			}
		}
	})
}
