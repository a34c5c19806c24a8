package query

import "slices"

// HasIndex reports whether one of the filters, all of which must hold, leads to few rows by an index: that of an event's id, a session's or a
// run's. A user may have many events, which an index gives in order but does not count.
func HasIndex(fs []Filter, counted bool) bool {
	return slices.ContainsFunc(fs, func(f Filter) bool {
		c := &f.cond
		if f.Any != nil || c.op != opIs || c.negate {
			return false
		}
		return (c.root.kind == kindUUID && c.name != "parent_id") || c.promoted() == runColumn || (c.promoted() != "" && !counted)
	})
}

// IndexSQL returns a condition on the users of events e, which an index has, that holds wherever the filters do; "" if they name none.
func IndexSQL(b *Builder, fs []Filter) string {
	for i := range fs {
		c := &fs[i].cond
		if fs[i].Any == nil && !c.negate && c.typ == typeString && c.promoted() == userColumn {
			return userColumn + " " + isOneOf(args(b, texts(c.values)))
		}
	}
	return ""
}
