package event

import (
	"bytes"
	"encoding/json"

	"github.com/spangrove/spangrove/pkg/rawjson"
)

// Content grades what a span reports of a model call.
type Content uint8

// The grades, from the least to the most.
const (
	NoContent Content = iota // names, counts and ids only
	ToolsOnly                // the tools that were offered, too
	Messages                 // what was asked or answered
)

// firstIsSet reports whether the first member of an object is surely not empty. It looks at the
// beginning of the text only: what models are asked is long, and stands there first.
func firstIsSet(object json.RawMessage) bool {
	rest, ok := bytes.CutPrefix(object, []byte(`{"`))
	if !ok {
		return false
	}
	end := bytes.IndexByte(rest, '"')
	if end < 0 || bytes.IndexByte(rest[:end], '\\') >= 0 || len(rest) < end+4 || rest[end+1] != ':' {
		return false
	}
	switch val := rest[end+2:]; val[0] {
	case '"':
		return val[1] != '"'
	case '[', '{':
		return bytes.IndexByte([]byte(" \t\r\n]}"), val[1]) < 0
	}
	return false
}

// unspoken are the members of a model's outputs that are there without an answer.
var unspoken = map[string]bool{"role": true, "finish_reason": true, "index": true}

// Content returns the grade of what e reports of a model call.
func (e *Event) Content() Content {
	if firstIsSet(e.Inputs) {
		return Messages
	}
	for _, v := range rawjson.Object(e.Inputs) {
		if !rawjson.Empty(v) {
			return Messages
		}
	}
	if rawjson.KindOf(e.Outputs) != '{' && !rawjson.Empty(e.Outputs) {
		return Messages
	}
	for k, v := range rawjson.Object(e.Outputs) {
		if !unspoken[k] && !rawjson.Empty(v) {
			return Messages
		}
	}
	if !rawjson.Empty(rawjson.Get(e.Config, "tools")) {
		return ToolsOnly
	}
	return NoContent
}

// Span is one span of a trace, as far as Accounts looks at it.
type Span struct {
	Parent  int32 // its place in the list; negative: no span of the list
	Model   bool  // a model call, as its sender reported it
	Content Content
}

// Account is what one span is to a model call that other spans of its trace report, too.
type Account struct {
	// Wrapper: another span above or below reports the call, so this one is a chain.
	Wrapper bool
	// Inner: that one is above.
	Inner bool
	// Of is the place of the span that stands for the call, negative if there is none or if the
	// span wraps several.
	Of int32
}

// Accounts decides which of the spans of one trace and one session are model events. Of a model
// call and those below it, the one nearest to the model is, unless one above holds more content
// than all below it: then that one is, and it reports what they report. A cycle of parents is cut at
// its earliest span, as Tree does.
//
// It takes time in proportion to the number of spans.
func Accounts(spans []Span, earlier func(a, b int32) bool) []Account {
	// Three passes over the trees instead of recursion: a trace may be one chain of 100,000 spans.
	parent := make([]int32, len(spans))
	for i := range spans {
		parent[i] = spans[i].Parent
	}
	cutCycles(parent, earlier, func(i int32) { parent[i] = -1 })
	order := childrenFirst(parent)
	list := make([]Account, len(spans))
	below := make([]int8, len(spans)) // the highest content of a model call below, -1: there is none
	for i := range below {
		below[i], list[i].Of = -1, -1
	}
	// Upwards: a model call is a wrapper if one below it reports at least as much. If both report the same,
	// the lower one stands for the call, which is nearer to the model.
	for _, i := range order {
		most := below[i]
		if spans[i].Model {
			list[i].Wrapper = below[i] >= int8(spans[i].Content)
			most = max(most, int8(spans[i].Content))
		}
		if p := parent[i]; p >= 0 {
			below[p] = max(below[p], most)
		}
	}
	// Downwards: what stands below a call that is not a wrapper belongs to that call.
	for at := range order {
		i := order[len(order)-1-at]
		p := parent[i]
		if p < 0 {
			continue
		}
		switch {
		case list[p].Inner || list[p].Of >= 0:
			list[i].Of = list[p].Of // of a step between, for those below it
		case spans[p].Model && !list[p].Wrapper:
			list[i].Of = p
		}
		if spans[i].Model && list[i].Of >= 0 {
			list[i].Wrapper, list[i].Inner = true, true
		}
	}
	// Upwards again: a wrapper stands for the call below it if there is exactly one. A wrapper of several is a step
	// of its own, and its counts are not those of any of them.
	const several = -2
	one := make([]int32, len(spans)) // the only model event at or below, -1: none
	for i := range one {
		one[i] = -1
	}
	for _, i := range order {
		switch {
		case !spans[i].Model:
			list[i].Of = -1
		case !list[i].Wrapper:
			one[i] = i
		case !list[i].Inner && one[i] >= 0:
			list[i].Of = one[i]
		}
		p := parent[i]
		if p < 0 || one[i] == -1 {
			continue
		}
		if one[p] == -1 {
			one[p] = one[i]
		} else {
			one[p] = several
		}
	}
	return list
}

// childrenFirst returns the nodes of a forest ordered so that each comes after all below it.
func childrenFirst(parent []int32) []int32 {
	open := make([]int32, len(parent)) // children that have not come yet
	for _, p := range parent {
		if p >= 0 {
			open[p]++
		}
	}
	order := make([]int32, 0, len(parent))
	for i := range parent {
		if open[i] == 0 {
			order = append(order, int32(i))
		}
	}
	for at := 0; at < len(order); at++ {
		if p := parent[order[at]]; p >= 0 {
			if open[p]--; open[p] == 0 {
				order = append(order, p)
			}
		}
	}
	return order
}
