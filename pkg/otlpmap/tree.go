package otlpmap

import (
	"slices"
	"strings"

	"github.com/spangrove/spangrove/pkg/otlpmap/internal/jsonscan"
	"github.com/spangrove/spangrove/pkg/rawjson"
)

// MaxIndexed is how many elements of an indexed family (llm.input_messages.0, .1, …) are
// gathered. Gaps are allowed. What is beyond stays under its own name. It bounds the work for a hostile span.
const MaxIndexed = 10_000

// tree is a family of flattened attributes, taken apart at the dots of their names. Node 0 is
// the root, so that 0 can stand for "none" wherever a child or a sibling is meant. The family
// gen_ai.prompt with
//
//	gen_ai.prompt.0.role = "user"
//	gen_ai.prompt.0.content = "Hi"
//
// is a root with the child "0", which has the children "role" and "content".
//
// Nodes refer to each other by number and stand in one slice that the next span uses again: a family of
// messages has hundreds of nodes, and a pointer tree would allocate each of them anew for every span.
type tree struct {
	nodes []node
	more  map[edge]int32 // children of nodes with many of them
	// The list of the last call of indexed, kept for its memory.
	order []int32
}

// node is a part of a name between two dots. Children keep the order in which they came.
type node struct {
	key               string
	first, last, next int32 // children and sibling, 0 for none
	children          int32
	attr              int32 // 1 + the index of the attribute that ends here, 0 for none
}

// edge is the way from a node to one of its children.
type edge struct {
	parent int32
	key    string
}

// reset empties the tree. The strings of the request must not be kept by it.
func (t *tree) reset() {
	clear(t.nodes)
	t.nodes = t.nodes[:0]
	t.more = nil
}

// plant builds the tree of the attributes of a family that are not yet in the event, and reports
// whether there are any. There is one tree at a time: it is valid until the next call.
func (b *eventBuilder) plant(fam int16) bool {
	t := &b.tree
	t.reset()
	t.nodes = append(t.nodes, node{})
	for i := range b.attrs {
		if a := &b.attrs[i]; a.fam == fam && !a.used {
			t.insert(a.path(), int32(i))
		}
	}
	return len(t.nodes) > 1
}

// insert adds an attribute under its path. Of two with the same path the last one counts; the
// path's parts beyond the depth that JSON may have stay together as one key.
func (t *tree) insert(path string, attr int32) {
	at := int32(0)
	for depth := 0; ; depth++ {
		i := strings.IndexByte(path, '.')
		if i < 0 || i+1 == len(path) || depth >= rawjson.MaxDepth-10 {
			break
		}
		at = t.grow(at, path[:i])
		path = path[i+1:]
	}
	t.nodes[t.grow(at, path)].attr = attr + 1
}

// manyChildren is the number of children from which they are found by a map. Below it a walk along the siblings
// is cheaper; above it a hostile request with 10,000 indexes would take quadratic time.
const manyChildren = 32

// grow returns the child of a node with that key, and adds it if there is none. It may move the nodes: pointers into
// t.nodes do not outlive it.
func (t *tree) grow(parent int32, key string) int32 {
	p := &t.nodes[parent]
	// The attributes of one element mostly follow each other: its node is the last child.
	if p.last != 0 && t.nodes[p.last].key == key {
		return p.last
	}
	if c := t.child(parent, key); c != 0 {
		return c
	}
	c := int32(len(t.nodes))
	if p.children++; p.children == manyChildren {
		if t.more == nil {
			t.more = map[edge]int32{}
		}
		for c := p.first; c != 0; c = t.nodes[c].next {
			t.more[edge{parent, t.nodes[c].key}] = c
		}
	}
	if p.children >= manyChildren {
		t.more[edge{parent, key}] = c
	}
	if p.last == 0 {
		p.first = c
	} else {
		t.nodes[p.last].next = c
	}
	p.last = c
	t.nodes = append(t.nodes, node{key: key})
	return c
}

// child returns a node's child by its key, 0 for none.
func (t *tree) child(parent int32, key string) int32 {
	p := &t.nodes[parent]
	if p.children >= manyChildren {
		return t.more[edge{parent, key}]
	}
	for c := p.first; c != 0; c = t.nodes[c].next {
		if t.nodes[c].key == key {
			return c
		}
	}
	return 0
}

// indexed returns the children whose keys are indexes, in the order of these, at most MaxIndexed. The
// list is valid until the next call.
func (t *tree) indexed(parent int32) []int32 {
	t.order = t.order[:0]
	return t.indexedInto(parent, t.order)
}

// indexedInto is indexed for a caller that walks several levels at once, and so needs a list for each.
func (t *tree) indexedInto(parent int32, list []int32) []int32 {
	sorted := true
	before := -1
	for c := t.nodes[parent].first; c != 0; c = t.nodes[c].next {
		n, ok := rawjson.Index(t.nodes[c].key)
		if !ok {
			continue
		}
		sorted = sorted && n > before
		before = n
		list = append(list, c)
	}
	if !sorted {
		slices.SortFunc(list, func(a, b int32) int {
			x, _ := rawjson.Index(t.nodes[a].key)
			y, _ := rawjson.Index(t.nodes[b].key)
			return x - y
		})
	}
	if len(list) > MaxIndexed {
		list = list[:MaxIndexed]
	}
	if parent == 0 {
		t.order = list
	}
	return list
}

// leaf returns the attribute that ends at a node, nil for none.
func (b *eventBuilder) leaf(n int32) *attr {
	if n == 0 || b.tree.nodes[n].attr == 0 {
		return nil
	}
	return &b.attrs[b.tree.nodes[n].attr-1]
}

// appendNode appends what is at and below a node as JSON and marks its attributes as used:
// children named 0 to n-1 become an array, others an object. A node that has both a value and
// children becomes its children; the value stays an attribute. The depth is bounded by insert.
func (b *eventBuilder) appendNode(dst []byte, n int32) []byte {
	t := &b.tree
	nd := &t.nodes[n]
	if nd.first == 0 {
		a := b.leaf(n)
		if a == nil {
			return append(dst, "null"...)
		}
		a.used = true
		return b.appendFlat(dst, a)
	}
	// As many indexes as children, and the last one is the highest: 0 to n-1, each once.
	if list := t.indexedInto(n, nil); len(list) == int(nd.children) && t.nodes[list[len(list)-1]].key == decimal(len(list)-1) {
		dst = append(dst, '[')
		for i, c := range list {
			if i > 0 {
				dst = append(dst, ',')
			}
			dst = b.appendNode(dst, c)
		}
		return append(dst, ']')
	}
	dst = append(dst, '{')
	for c := nd.first; c != 0; c = t.nodes[c].next {
		if c != nd.first {
			dst = append(dst, ',')
		}
		dst = appendKey(dst, t.nodes[c].key)
		dst = b.appendNode(dst, c)
	}
	return append(dst, '}')
}

// appendFlat appends a flattened value. SDKs write nested values as JSON text and None as the
// text null. Any other text stays text, also one that looks like a number, unless
// b.jsonLeaves is set: "42" may have been a string, {"a":1} hardly.
func (b *eventBuilder) appendFlat(dst []byte, a *attr) []byte {
	s := a.str()
	if s == "null" {
		return append(dst, s...)
	}
	if k := jsonscan.Kind(view(s)); k == '{' || k == '[' || b.jsonLeaves {
		if raw, ok := b.parse(a); ok {
			return append(dst, raw...)
		}
	}
	return b.appendValue(dst, a.val)
}
