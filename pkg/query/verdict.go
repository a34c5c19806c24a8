package query

// verdict is who decides a condition. A condition that the field's type alone decides, such as "duration is true", needs
// no row.
type verdict uint8

const (
	// Decided by the condition's SQL, on rows that have not spilled.
	bySQL verdict = iota
	// Decided by Match: the field is not in the head row, or the databases would not read it alike.
	byGo
	// Holds for every event, or for none.
	isAlways
	isNever
)

// constant returns the verdict of a condition that does not depend on the event.
func constant(truth bool) verdict {
	if truth {
		return isAlways
	}
	return isNever
}

// verdict returns who decides the condition, before any argument is added for it. constant(c.negate) is the verdict where the
// positive condition cannot hold: a number is never a boolean.
func (c *cond) verdict() verdict {
	switch c.root.kind {
	case 0: // of a Filter that nothing checked
		return isNever
	case kindProject:
		return constant(c.negate)
	case kindPayload, kindAllText:
		return byGo
	case kindTotal:
		return bySQL
	case kindState:
		return c.stateVerdict()
	case kindUUID:
		switch {
		case c.op == opExists && c.name != "parent_id":
			return constant(!c.negate)
		case c.op == opExists:
			return bySQL
		case c.typ != typeString && c.typ != typeID, c.op == opIs && len(c.ids()) == 0:
			return constant(c.negate)
		}
		return bySQL
	case kindType:
		switch n := len(c.typeCodes()); n {
		case 0, len(typeCodes):
			return constant(n > 0)
		}
		return bySQL
	case kindNumber:
		switch {
		case c.op == opExists:
			return constant(!c.negate)
		case c.typ == typeNumber, c.typ == typeDatetime, (c.typ == typeString || c.typ == typeID) && c.op != opContains && len(c.numbers()) > 0:
			return bySQL
		}
		return constant(c.negate)
	case kindText:
		switch {
		case c.op == opExists && c.root.spill == 0:
			return constant(!c.negate)
		case c.op == opExists:
			return bySQL
		case c.typ == typeDatetime:
			return byGo
		case c.typ != typeString && c.typ != typeID:
			return constant(c.negate)
		}
		return bySQL
	default:
		return c.jsonVerdict()
	}
}

// jsonVerdict is verdict for the JSON columns of the head.
func (c *cond) jsonVerdict() verdict {
	switch {
	case c.op == opExists && c.path == nil:
		return bySQL
	case c.path == nil && c.op != opContains:
		return constant(c.negate) // an object is no string, number, boolean or time
	case cold(c.name, c.path), c.typ == typeDatetime, !plainPath(c.path):
		return byGo
	}
	return bySQL
}
