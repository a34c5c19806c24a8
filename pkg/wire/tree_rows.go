package wire

import (
	"context"
	"slices"
	"strconv"
	"strings"

	"github.com/google/uuid"

	"github.com/spangrove/spangrove/pkg/event"
	"github.com/spangrove/spangrove/pkg/fault"
	"github.com/spangrove/spangrove/pkg/rawjson"
)

// Bounds of the texts in a TreeRow, in bytes.
const (
	maxRowName  = 300
	maxRowError = 200
)

// TreeRow is an event of a session's tree without what it says: what a page needs to draw it.
type TreeRow struct {
	ID     uuid.UUID
	Parent uuid.UUID // as it is shown: zero for the session event, the session's id for what stands below it
	// At is the place of the parent among the rows, -1 if it is not among them.
	At       int
	Type     event.Type
	Name     string  // at most 300 bytes
	Start    float64 // Unix milliseconds
	Duration float64 // milliseconds
	Running  bool    // a copy of a span that has not ended
	Error    string  // at most 200 bytes; empty: none
	Tokens   *float64
	Cost     *float64
	Children int // directly below
	Below    int // at all levels below
	// Note is empty, or says why the event stands below the session: "orphan" if its parent is not there (yet), "cycle" if
	// it was its own ancestor.
	Note string
}

// TreePart says which rows of a session's tree are asked for.
type TreePart struct {
	Limit  int
	Below  uuid.UUID // only what stands below this event; zero: all
	After  uuid.UUID // and of its children only those after this one
	Around uuid.UUID // instead: the way to this event, its neighbours, and what stands below it
}

// TreeGap is a place in a list of TreeRows where events are missing that stand between a row and the sibling before it.
type TreeGap struct {
	Row    uuid.UUID
	Events int
}

// TreeRows returns rows of a session's tree, parents before their children and children by start time. set holds all events of
// the session. If there are more than the limit, those of the upper levels are returned, and of one level the
// first; the numbers of children and of rows below show where others are. whole says that none is missing. Only with Around
// are events missing before a row: gaps says how many. The error is that of a Load, fault.NotFound if Below, After or Around is
// not there, or fault.Invalid if Around stands below more events than Limit.
func TreeRows(ctx context.Context, set *event.Set, part TreePart) (rows []TreeRow, gaps []TreeGap, whole bool, err error) {
	root, top := event.Tree(set.Events)
	t := treeRows{set: set, root: root, below: make([]int32, len(set.Events)), parents: make([]int32, len(set.Events))}
	t.count(top)
	first := top
	var shown []bool
	switch {
	case part.Around != uuid.Nil:
		shown, gaps, err = t.around(top, part)
	case part.Below != uuid.Nil:
		if first, err = t.after(top, part); err == nil {
			shown, whole = t.choose(first, part)
		}
	default:
		shown, whole = t.choose(first, part)
	}
	if err != nil {
		return nil, nil, false, err
	}
	var list []*event.Node
	if root >= 0 && part.Below == uuid.Nil {
		list = append(list, &event.Node{Index: root, Children: top})
	}
	list = t.preorder(list, first, shown)
	rows = make([]TreeRow, len(list))
	at := make(map[int]int, len(list)) // rows by index of the event
	for i, n := range list {
		at[n.Index] = i
		if rows[i], err = t.row(ctx, n); err != nil {
			return nil, nil, false, err
		}
		rows[i].At = -1
		if p, ok := at[int(t.parents[n.Index])]; ok && n.Index != root {
			rows[i].At = p
		}
	}
	if part.Around != uuid.Nil {
		whole = len(rows) == len(set.Events)
	}
	return rows, gaps, whole, nil
}

// treeRows is the tree of one session.
type treeRows struct {
	set     *event.Set
	root    int
	below   []int32 // how many stand below an event, by its index
	parents []int32 // index of the parent that an event is shown under, by its index; of the top level the session event
	known   map[uuid.UUID]bool
}

// count fills below and parents, with a stack of its own: a session may be one chain of 100,000 events.
func (t *treeRows) count(top []*event.Node) {
	var order []*event.Node
	left := append([]*event.Node(nil), top...)
	for _, n := range top {
		t.parents[n.Index] = int32(t.root)
	}
	for len(left) > 0 {
		n := left[len(left)-1]
		left = left[:len(left)-1]
		order = append(order, n)
		for _, child := range n.Children {
			t.parents[child.Index] = int32(n.Index)
		}
		left = append(left, n.Children...)
	}
	for i := len(order) - 1; i >= 0; i-- { // children before their parents
		n := order[i]
		if p := t.parents[n.Index]; p >= 0 {
			t.below[p] += t.below[n.Index] + 1
		}
	}
}

// after returns the children of part.Below that stand after part.After.
func (t *treeRows) after(top []*event.Node, part TreePart) ([]*event.Node, error) {
	children := top
	if t.root < 0 || t.set.Events[t.root].ID != part.Below {
		n := find(t.set.Events, top, part.Below)
		if n == nil {
			return nil, fault.New(fault.NotFound, "no event %s in the session", part.Below)
		}
		children = n.Children
	}
	if part.After == uuid.Nil {
		return children, nil
	}
	for i, n := range children {
		if t.set.Events[n.Index].ID == part.After {
			return children[i+1:], nil
		}
	}
	return nil, fault.New(fault.NotFound, "no event %s directly below %s", part.After, part.Below)
}

// choose returns which events are shown, level by level up to the limit; nil if all are.
func (t *treeRows) choose(first []*event.Node, part TreePart) (shown []bool, whole bool) {
	left := part.Limit
	if part.Below == uuid.Nil && t.root >= 0 {
		left--
	}
	n := 0
	for _, f := range first {
		n += 1 + int(t.below[f.Index])
	}
	if n <= left {
		return nil, true
	}
	shown = make([]bool, len(t.set.Events))
	t.showLevels(shown, first, left)
	return shown, false
}

// showLevels shows nodes and what is below them, level by level, as long as there are rows left.
func (t *treeRows) showLevels(shown []bool, level []*event.Node, left int) {
	for len(level) > 0 && left > 0 {
		var next []*event.Node
		for _, n := range level {
			if left == 0 {
				break
			}
			left--
			shown[n.Index] = true
			next = append(next, n.Children...)
		}
		level = next
	}
}

// around shows the events above part.Around, of its siblings as many before it as after it, for which it takes half of the rows
// that are left, and what is below it. gaps says how many events are missing before the first that is shown of each level.
func (t *treeRows) around(top []*event.Node, part TreePart) (shown []bool, gaps []TreeGap, err error) {
	shown = make([]bool, len(t.set.Events))
	if t.root >= 0 && t.set.Events[t.root].ID == part.Around {
		t.showLevels(shown, top, part.Limit-1)
		return shown, nil, nil
	}
	target := find(t.set.Events, top, part.Around)
	if target == nil {
		return nil, nil, fault.New(fault.NotFound, "no event %s in the session", part.Around)
	}
	way := map[int]bool{} // the event and those above it, but for the session event
	for at := target.Index; at >= 0 && at != t.root; at = int(t.parents[at]) {
		way[at] = true
	}
	left := part.Limit - len(way)
	if t.root >= 0 {
		left--
	}
	if left < 0 {
		return nil, nil, fault.InvalidField("around", "stands below %d events, more than the limit %d", len(way), part.Limit)
	}
	for level := top; len(level) > 0; {
		at := slices.IndexFunc(level, func(n *event.Node) bool { return way[n.Index] })
		from, to := at, at+1
		if level[at] == target {
			from = max(0, at-left/4)
			to = min(len(level), at+1+left/4)
		}
		missing := 0
		for _, n := range level[:from] {
			missing += 1 + int(t.below[n.Index])
		}
		if missing > 0 {
			gaps = append(gaps, TreeGap{Row: t.set.Events[level[from].Index].ID, Events: missing})
		}
		for _, n := range level[from:to] {
			shown[n.Index] = true
		}
		if level[at] == target {
			left -= to - from - 1
			break
		}
		level = level[at].Children
	}
	t.showLevels(shown, target.Children, left)
	return shown, gaps, nil
}

// preorder appends the nodes that are shown, and below each of them its children.
func (t *treeRows) preorder(list, first []*event.Node, shown []bool) []*event.Node {
	var left []*event.Node
	push := func(nodes []*event.Node) {
		for i := len(nodes) - 1; i >= 0; i-- {
			if shown == nil || shown[nodes[i].Index] {
				left = append(left, nodes[i])
			}
		}
	}
	push(first)
	for len(left) > 0 {
		n := left[len(left)-1]
		left = left[:len(left)-1]
		list = append(list, n)
		push(n.Children)
	}
	return list
}

// row returns the row of an event, but for At.
func (t *treeRows) row(ctx context.Context, n *event.Node) (r TreeRow, err error) {
	e := t.set.Events[n.Index]
	if t.set.Complete != nil && !t.set.Complete(n.Index) {
		if e, err = t.set.Load(ctx, n.Index); err != nil {
			return r, err
		}
	}
	r = TreeRow{
		ID: e.ID, Type: e.Type, Name: cut(e.Name, maxRowName), Start: e.Start, Duration: e.Duration, Running: e.Unfinished,
		Children: len(n.Children), Below: int(t.below[n.Index]),
	}
	if p := t.parents[n.Index]; n.Index != t.root && p >= 0 {
		r.Parent = t.set.Events[p].ID
	}
	if e.Error != nil {
		r.Error = cut(*e.Error, maxRowError)
	}
	if n.Orphan {
		r.Note = t.whyOrphan(&e)
	}
	r.Tokens, r.Cost = usage(&e)
	return r, nil
}

// whyOrphan tells a parent that is not there from one that stands below the event itself.
func (t *treeRows) whyOrphan(e *event.Event) string {
	if t.known == nil {
		t.known = make(map[uuid.UUID]bool, len(t.set.Events))
		for i := range t.set.Events {
			t.known[t.set.Events[i].ID] = true
		}
	}
	if t.known[e.ParentID] {
		return "cycle"
	}
	return "orphan"
}

// usage returns the tokens and the cost that an event adds to its session, as the session's totals count them: of a session
// event the totals, of a model call that is reported twice only one, and of other events none.
func usage(e *event.Event) (tokens, cost *float64) {
	if e.Type != event.TypeModel && !e.IsSession() {
		return nil, nil
	}
	members := map[string]float64{}
	for key, raw := range rawjson.Object(e.Metadata) {
		switch key {
		case event.DuplicateKey:
			if !rawjson.Null(raw) {
				return nil, nil
			}
		case "total_tokens", "prompt_tokens", "completion_tokens", "input_tokens", "output_tokens", "cost":
			if n, ok := rawjson.Number(raw); ok {
				members[key] = n
			}
		}
	}
	if n, ok := members["cost"]; ok {
		cost = &n
	}
	if n, ok := members["total_tokens"]; ok {
		return &n, cost
	}
	in, out := members["prompt_tokens"], members["completion_tokens"]
	if in == 0 {
		in = members["input_tokens"]
	}
	if out == 0 {
		out = members["output_tokens"]
	}
	if n := in + out; n > 0 {
		tokens = &n
	}
	return tokens, cost
}

// cut returns a text of at most max bytes, which ends in "…" if it was longer.
func cut(text string, max int) string {
	if len(text) <= max {
		return text
	}
	return strings.ToValidUTF8(text[:max-len("…")], "") + "…"
}

// TreeColumns are the columns of a row as AppendTreeRow writes it with the parent's place.
var TreeColumns = []string{"event_id", "parent", "type", "name", "start_time", "duration", "state", "error", "tokens", "cost", "children", "below", "note"}

// TreeChangeColumns are the columns of a row as AppendTreeRow writes it with the parent's id.
var TreeChangeColumns = append([]string{"event_id", "parent_id"}, TreeColumns[2:]...)

// AppendTreeRow appends a row as an array in the order of TreeColumns, or of TreeChangeColumns if byID is set. What has
// no value is null.
func AppendTreeRow(dst []byte, r *TreeRow, byID bool) []byte {
	dst = append(dst, '[')
	dst = appendID(dst, r.ID)
	dst = append(dst, ',')
	switch {
	case !byID:
		dst = strconv.AppendInt(dst, int64(r.At), 10)
	case r.Parent == uuid.Nil:
		dst = append(dst, "null"...)
	default:
		dst = appendID(dst, r.Parent)
	}
	dst = append(dst, ',')
	dst = rawjson.AppendString(dst, string(r.Type))
	dst = append(dst, ',')
	dst = rawjson.AppendString(dst, r.Name)
	dst = append(dst, ',')
	dst = rawjson.AppendNumber(dst, r.Start)
	dst = append(dst, ',')
	dst = rawjson.AppendNumber(dst, r.Duration)
	state := `,"ended",`
	if r.Running {
		state = `,"running",`
	}
	dst = append(dst, state...)
	dst = appendTextOrNull(dst, r.Error)
	dst = append(dst, ',')
	dst = appendNumberOrNull(dst, r.Tokens)
	dst = append(dst, ',')
	dst = appendNumberOrNull(dst, r.Cost)
	dst = append(dst, ',')
	dst = strconv.AppendInt(dst, int64(r.Children), 10)
	dst = append(dst, ',')
	dst = strconv.AppendInt(dst, int64(r.Below), 10)
	dst = append(dst, ',')
	dst = appendTextOrNull(dst, r.Note)
	return append(dst, ']')
}

func appendTextOrNull(dst []byte, text string) []byte {
	if text == "" {
		return append(dst, "null"...)
	}
	return rawjson.AppendString(dst, text)
}

func appendNumberOrNull(dst []byte, n *float64) []byte {
	if n == nil {
		return append(dst, "null"...)
	}
	return rawjson.AppendNumber(dst, *n)
}
