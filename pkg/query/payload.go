package query

import "slices"

// NeedPayload reports whether Match needs more of an event than its head row holds: inputs,
// outputs, config or cold metadata. Reading a payload means decompressing it, so the store asks first. Fields that
// went to the payload for their size are in Plan.Reads.
func NeedPayload(fs []Filter) bool { return anyCond(fs, (*cond).needPayload) }

// LookInPayloads reports whether filters look for what columns do not have: texts of inputs and outputs, or anywhere. Where words do not
// lead to the events, payloads must be read to decide them.
func LookInPayloads(fs []Filter) bool {
	return anyCond(fs, func(c *cond) bool { return c.needPayload() && !c.memberInColumns() })
}

func (c *cond) needPayload() bool {
	return c.root.kind == kindPayload || c.root.kind == kindAllText || cold(c.name, c.path)
}

// anyCond reports whether a condition of the filters, or of one of their alternatives, is so.
func anyCond(fs []Filter, is func(c *cond) bool) bool {
	return slices.ContainsFunc(fs, func(f Filter) bool { return slices.ContainsFunc(f.conds(), is) })
}

// Needle returns a text that the stored JSON of a matching event's payload must hold, for passing
// over payloads without parsing them: the longest run of characters, from the values that
// inputs, outputs or config must contain, that JSON writers spell one way, or else as \u and
// digits. For contains "refund/policy" that is "refund", as "/" may be stored as "\/". A payload that holds
// neither the needle nor `\u` cannot match. nil if there is none: then every payload must be parsed.
func Needle(fs []Filter) []byte {
	var best []byte
	for _, f := range fs {
		c := f.cond // of an alternative, none: what one list says need not hold
		if c.root.kind != kindPayload || c.negate || c.typ != typeString || len(c.values) != 1 {
			continue
		}
		v := c.only()
		// "5" is also the number 5.0, which is spelled otherwise.
		if c.op != opContains && (c.op != opIs || !v.plainText()) {
			continue
		}
		if run := plainRun(v.text); len(run) > len(best) {
			best = run
		}
	}
	return best
}

// escaped reports whether some JSON writers put a backslash before the character.
func escaped(r rune) bool {
	switch r {
	case '/', '"', '\\', '<', '>', '&', '\'':
		return true
	}
	return r < ' ' || r > '~'
}
