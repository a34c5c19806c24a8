package query

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/spangrove/spangrove/pkg/fault"
	"github.com/spangrove/spangrove/pkg/rawjson"
)

// MaxProjections bounds the names of a projection.
const MaxProjections = 200

// Projection is the fields a caller wants of each event. The zero value wants all of them.
type Projection struct {
	fields map[string]part // nil: all fields, whole
}

// part is what is wanted of one field: the whole, or the values at some paths.
type part struct {
	whole bool
	paths [][]string
}

// ParseProjection reads the names of fields and dotted paths into JSON fields, array indexes
// included; event_id is always among them. No names are all fields. Errors are fault.Invalid
// on "projections[i]".
func ParseProjection(names []string) (Projection, error) {
	if len(names) == 0 {
		return Projection{}, nil
	}
	if len(names) > MaxProjections {
		return Projection{}, fault.InvalidField("projections", "must have at most %d names", MaxProjections)
	}
	p := Projection{fields: map[string]part{"event_id": {whole: true}}}
	for i, full := range names {
		if err := CheckPath(full); err != nil {
			return Projection{}, fault.In(fmt.Sprintf("projections[%d]", i), err)
		}
		name, rest, dotted := splitField(full)
		f := p.fields[name]
		if dotted {
			f.paths = append(f.paths, strings.Split(rest, "."))
		} else {
			f.whole = true
		}
		p.fields[name] = f
	}
	return p, nil
}

// Empty reports whether all fields are wanted.
func (p Projection) Empty() bool { return p.fields == nil }

// Has reports whether the top-level field, or something inside it, is wanted.
func (p Projection) Has(name string) bool {
	_, ok := p.fields[name]
	return ok || p.Empty()
}

// Whole reports whether the top-level field is wanted as it is.
func (p Projection) Whole(name string) bool { return p.Empty() || p.fields[name].whole }

// NeedPayload reports whether a wanted field is not in the head row. Fields that went to the
// payload for their size are for the store to know.
func (p Projection) NeedPayload() bool {
	if p.Empty() {
		return true
	}
	for name, f := range p.fields {
		if roots[name].kind == kindPayload || (f.whole && cold(name, nil)) {
			return true
		}
		for _, path := range f.paths {
			if cold(name, path) {
				return true
			}
		}
	}
	return false
}

// Cut returns what is wanted of the top-level JSON field name, whose value is raw: raw itself, the
// wanted parts of it, or nil.
func (p Projection) Cut(name string, raw json.RawMessage) json.RawMessage {
	if p.Whole(name) {
		return raw
	}
	f, ok := p.fields[name]
	if !ok {
		return nil
	}
	return Cut(raw, f.paths)
}

// Cut keeps of a JSON value only what the paths lead to, nested as it was; nil if they lead to
// nothing. Elements of an array before a wanted one become null, so that every value keeps its
// path; those after the last wanted one are left out. Paths are read as in filters
// (rawjson.Lookup).
func Cut(raw json.RawMessage, paths [][]string) json.RawMessage {
	var keep branch
	for _, path := range paths {
		if _, keys := rawjson.Resolve(raw, path); keys != nil {
			path = keys
		}
		keep.add(path)
	}
	return keep.cut(raw)
}

// branch is a tree of paths: what is wanted below one point of a value.
type branch struct {
	whole bool
	below map[string]*branch
}

// add adds a path below the branch.
func (b *branch) add(path []string) {
	for _, s := range path {
		if b.below == nil {
			b.below = map[string]*branch{}
		}
		next := b.below[s]
		if next == nil {
			next = &branch{}
			b.below[s] = next
		}
		b = next
	}
	b.whole = true
}

// cut returns of a value what the branch wants; nil if that is nothing.
func (b *branch) cut(raw json.RawMessage) json.RawMessage {
	if b.whole {
		return raw
	}
	switch rawjson.KindOf(raw) {
	case '{':
		var out rawjson.Builder
		for key, v := range rawjson.Object(raw) {
			if next := b.below[key]; next != nil {
				if kept := next.cut(v); kept != nil {
					out.Raw(key, kept)
				}
			}
		}
		return out.Bytes()
	case '[':
		return b.cutArray(raw)
	}
	return nil
}

// cutArray is cut of an array: [1,2,3,4] cut by the path 1 is [null,2]. Elements after the last index that is wanted are left
// out.
func (b *branch) cutArray(raw json.RawMessage) json.RawMessage {
	last := -1
	for s := range b.below {
		if i, ok := rawjson.Index(s); ok {
			last = max(last, i)
		}
	}
	out := json.RawMessage{'['}
	end := 0 // behind the last element kept
	for i, v := range rawjson.Array(raw) {
		if i > last {
			break
		}
		if i > 0 {
			out = append(out, ',')
		}
		var kept json.RawMessage
		if next := b.below[fmt.Sprint(i)]; next != nil {
			kept = next.cut(v)
		}
		if kept == nil {
			out = append(out, "null"...)
			continue
		}
		out = append(out, kept...)
		end = len(out)
	}
	if end == 0 {
		return nil
	}
	return append(out[:end], ']')
}
