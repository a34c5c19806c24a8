package otlpmap

import (
	"strconv"

	"github.com/spangrove/spangrove/pkg/event"
	"github.com/spangrove/spangrove/pkg/otlpmap/internal/jsonscan"
)

// asMembers fills a whole object: flattened attributes are rebuilt into it, of a JSON object,
// its members are taken. A key that is already there keeps its value.
//
//	honeyhive_inputs.a.b = 1          → inputs {"a":{"b":1}}
//	honeyhive_inputs = {"a":{"b":1}}  → the same
//
// Outputs need not be an object: outputs.0, outputs.1, … become a list (see eventBuilder.whole). Inputs that are
// none become inputs.value.
var asMembers = reader{
	name: "members", about: "rebuilt from dots, or a JSON object's members; keys that are there stay",
	whole: func(b *eventBuilder, t target, a *attr) {
		raw, ok := b.parse(a)
		if ok && jsonscan.Kind(raw) == '{' {
			b.spread(t.bucket, raw, a)
			return
		}
		switch {
		case t.bucket == bucketOutputs && b.mayBeWhole():
			b.whole = b.appendFlat(nil, a)
			a.used = true
		case t.bucket == bucketInputs && b.obj[bucketInputs].empty():
			b.put(fieldInputValue, b.appendFlat(nil, a))
			a.used = true
		}
	},
	family: func(b *eventBuilder, t target, fam int16) {
		if !b.plant(fam) {
			return
		}
		root := &b.tree.nodes[0]
		// All children are indexes from 0 on: the outputs are a list.
		if t.bucket == bucketOutputs && b.mayBeWhole() {
			if list := b.tree.indexed(0); len(list) == int(root.children) && b.tree.nodes[list[len(list)-1]].key == decimal(len(list)-1) {
				b.whole = b.appendNode(nil, 0)
				return
			}
		}
		for c := root.first; c != 0; c = b.tree.nodes[c].next {
			// The parameters come up a level, before the members that stand beside them.
			if t.bucket == bucketInputs && b.tree.nodes[c].key == paramsLevel {
				for p := b.tree.nodes[c].first; p != 0; p = b.tree.nodes[p].next {
					b.memberNode(t.bucket, p)
				}
			}
			b.memberNode(t.bucket, c)
		}
	},
}

// mayBeWhole reports whether the outputs may become what is not an object: neither the span nor, where attributes
// are added to a native event, the event has any.
func (b *eventBuilder) mayBeWhole() bool {
	return b.obj[bucketOutputs].empty() && b.whole == nil && !b.hasOutputs
}

// paramsLevel is the level that SDKs before 1.0 put between inputs and a function's parameters.
const paramsLevel = "_params_"

// memberNode adds one member of a tree to a bucket. If the bucket has it already, its attributes stay unused.
func (b *eventBuilder) memberNode(bucket int, n int32) {
	nd := &b.tree.nodes[n]
	if bucket == bucketInputs && nd.key == paramsLevel && nd.first != 0 {
		return
	}
	if a := b.leaf(n); a != nil && bucket == bucketHot && nd.first == 0 {
		// SDKs from 1.0 repeat the event's own type and name here.
		v := a.str()
		ownType := nd.key == "event_type" && v == string(b.s.typ)
		ownName := nd.key == "event_name" && v != "" && v == b.s.text(b.attrs, compiled.lists[givenNameKeys])
		if ownType || ownName {
			a.used = true
			return
		}
	}
	if b.has(bucket, nd.key) {
		return // its attributes stay
	}
	at := len(b.arena)
	b.arena = b.appendNode(b.arena, n)
	b.member(bucket, nd.key, b.arena[at:])
}

// has reports whether a bucket has a member of that name, or will have: fields that are written last (see
// writtenLast) count as there.
func (b *eventBuilder) has(bucket int, key string) bool {
	if bucket == bucketHot && event.ColdKey(key) {
		bucket = bucketCold
	}
	if field, ok := fieldIDs[bucket][key]; ok {
		return writtenLast(field) || b.filled(field)
	}
	return b.obj[bucket].keys.has(key)
}

// same reports whether a bucket has that member because of an attribute with that very text. Then nothing is lost if
// val is left out.
func (b *eventBuilder) same(bucket int, key string, val []byte) bool {
	field, ok := fieldIDs[bucket][key]
	if !ok || !b.filled(field) || b.by[field] == 0 {
		return false
	}
	return b.attrs[b.by[field]-1].str() == unquoted(val)
}

// asTree fills one field with a family of attributes, rebuilt into an object.
var asTree = reader{
	name: "object", about: "rebuilt from dots into one object, or a JSON value",
	whole: func(b *eventBuilder, t target, a *attr) {
		if b.filled(t.field) {
			b.keep(a)
			return
		}
		b.put(t, b.appendFlat(nil, a))
		a.used = true
	},
	family: func(b *eventBuilder, t target, fam int16) {
		if !b.filled(t.field) && b.plant(fam) {
			b.put(t, b.appendNode(nil, 0))
		}
	},
}

// spread adds to a bucket the members of a JSON object that came in one attribute. The attribute is used if all
// of them found a place or are there already; otherwise it is left to dropRedundant, which keeps those that did not.
func (b *eventBuilder) spread(bucket int, raw []byte, a *attr) {
	all := true
	for c := jsonscan.Members(raw); c.Next(); {
		switch {
		case b.member(bucket, keyText(c.Key), c.Val):
			if b.partly(a) {
				b.texts.add(b, c.Val)
			}
		case !b.same(bucket, keyText(c.Key), c.Val):
			all = false
		}
	}
	if all && !b.partly(a) {
		a.used = true
	} else {
		b.keep(a)
	}
}

// keyText returns a member's name without its escapes. Names that the tables know are not copied.
func keyText(key []byte) string {
	if name, ok := compiled.memberNames[string(key)]; ok {
		return name
	}
	for _, c := range key {
		if c == '\\' {
			return unquoted(append(append([]byte{'"'}, key...), '"'))
		}
	}
	return string(key)
}

// nameMembers collects the names of all settings and fields.
func (t *tables) nameMembers() {
	t.memberNames = map[string]string{}
	for name := range settings {
		t.memberNames[name] = name
	}
	for _, ids := range fieldIDs {
		for name := range ids {
			t.memberNames[name] = name
		}
	}
}

// decimal returns n as the key of a tree's node.
func decimal(n int) string { return strconv.Itoa(n) }
