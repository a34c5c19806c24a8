package query

import (
	"slices"
	"strings"

	"github.com/spangrove/spangrove/pkg/event"
)

// A filter with Any set is an alternative: it holds if all filters of one of its lists do. Lists hold no further
// alternatives. The methods of this file answer for both kinds of filters.

// holds reports whether the filter holds for s.
func (f *Filter) holds(s subject) bool {
	if f.Any == nil {
		return f.cond.holdsFor(s)
	}
	return slices.ContainsFunc(f.Any, func(list []Filter) bool { return allHold(list, s) })
}

// allHold reports whether all filters hold for s.
func allHold(fs []Filter, s subject) bool {
	return !slices.ContainsFunc(fs, func(f Filter) bool { return !f.holds(s) })
}

// allows reports whether an event of the type may pass the filter, as far as filters on the type tell.
func (f *Filter) allows(t event.Type) bool {
	if f.Any == nil {
		return f.cond.root.kind != kindType || f.cond.holds(textValue(string(t)))
	}
	return slices.ContainsFunc(f.Any, func(list []Filter) bool {
		return !slices.ContainsFunc(list, func(f Filter) bool { return !f.allows(t) })
	})
}

// conds returns the conditions of the filter, of an alternative those of all its lists.
func (f *Filter) conds() []*cond {
	if f.Any == nil {
		return []*cond{&f.cond}
	}
	var list []*cond
	for i := range f.Any {
		for j := range f.Any[i] {
			list = append(list, f.Any[i][j].conds()...)
		}
	}
	return list
}

// reads returns the spill bits of the fields that a filter looks at that is left to Go. There, no condition looks at the row of a
// session by itself.
func (f *Filter) reads() (bits uint32) {
	for _, c := range f.conds() {
		if bits |= c.reads(); c.sessionTotal() != nil {
			bits |= SpillRollup
		}
	}
	return bits
}

// verdict returns who decides the filter. An alternative is left to Go if one of its conditions is, unless what
// the others say is enough for it.
func (f *Filter) verdict() verdict {
	if f.Any == nil {
		return f.cond.verdict()
	}
	result := isNever
	for _, list := range f.Any {
		switch v := listVerdict(list); v {
		case isAlways:
			return isAlways
		case byGo:
			result = byGo
		case bySQL:
			if result == isNever {
				result = bySQL
			}
		}
	}
	return result
}

// listVerdict returns who decides whether all filters of a list hold.
func listVerdict(fs []Filter) verdict {
	result := isAlways
	for i := range fs {
		switch fs[i].verdict() {
		case isNever:
			return isNever
		case byGo:
			result = byGo
		case bySQL:
			if result == isAlways {
				result = bySQL
			}
		}
	}
	return result
}

// sql returns the filter's text, which can stand between ANDs, and the spill bits of the fields it looks at. It is called
// only for a filter whose verdict is bySQL. Lists that never hold are left out, and within a list what always holds: no argument
// may be added that does not appear in the text.
func (f *Filter) sql(b *Builder, projectID int64) (text string, reads uint32) {
	if f.Any == nil {
		return f.cond.sql(b, projectID)
	}
	var either []string
	for _, list := range f.Any {
		if listVerdict(list) == isNever {
			continue
		}
		var both []string
		for i := range list {
			c := &list[i].cond
			if c.verdict() == isAlways {
				continue
			}
			if narrow := c.narrowSQL(b); narrow != "" {
				both = append(both, narrow)
			}
			text, bits := c.sql(b, projectID)
			both, reads = append(both, text), reads|bits
		}
		if len(both) == 1 {
			either = append(either, both[0])
		} else {
			either = append(either, "("+strings.Join(both, " AND ")+")")
		}
	}
	if len(either) == 1 {
		return either[0], reads
	}
	return "(" + strings.Join(either, " OR ") + ")", reads
}

// narrowSQL returns a condition on an indexed column that holds wherever the filter does; "" if there is none.
func (f *Filter) narrowSQL(b *Builder) string {
	if f.Any != nil {
		return ""
	}
	return f.cond.narrowSQL(b)
}
