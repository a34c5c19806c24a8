package query

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/spangrove/spangrove/pkg/event"
	"github.com/spangrove/spangrove/pkg/fault"
	"github.com/spangrove/spangrove/pkg/rawjson"
)

// Filters on sessions may also ask for what the events of a session add up to (totals.cost and so on), and for its state. These
// are conditions like all others, over the session's row in SQL and over event.SessionTotals in Go. Every session has all totals, so that
// none is ever absent.

// totalsPrefix begins the fields of filters on totals.
const totalsPrefix = "totals."

// total is a number that the events of a session add up to.
type total struct {
	column string // of session s
	of     func(t *event.SessionTotals) float64
}

// totals are the fields of filters on totals; totalNames lists what stands behind totalsPrefix in them, for messages.
var (
	totals = map[string]total{
		"totals.cost":              {"s.cost", func(t *event.SessionTotals) float64 { return RoundCost(t.Cost) }},
		"totals.tokens":            {"s.total_tokens", func(t *event.SessionTotals) float64 { return t.Tokens }},
		"totals.prompt_tokens":     {"s.prompt_tokens", func(t *event.SessionTotals) float64 { return t.Prompt }},
		"totals.completion_tokens": {"s.completion_tokens", func(t *event.SessionTotals) float64 { return t.Completion }},
		"totals.errors":            {"s.num_errors", func(t *event.SessionTotals) float64 { return float64(t.Errors) }},
		"totals.events":            {"s.num_events", func(t *event.SessionTotals) float64 { return float64(t.Events) }},
		"totals.model_events":      {"s.num_model_events", func(t *event.SessionTotals) float64 { return float64(t.ModelEvents) }},
		"totals.tool_events":       {"s.num_tool_events", func(t *event.SessionTotals) float64 { return float64(t.ToolEvents) }},
		"totals.feedback":          {"s.num_feedback", func(t *event.SessionTotals) float64 { return float64(t.Feedback) }},
	}
	totalNames = "cost, tokens, prompt_tokens, completion_tokens, errors, events, model_events, tool_events, feedback"
)

// sql returns the total as a double, so that counts compare with fractions, too. A cost is rounded, as it is shown: the sum
// itself depends on the order in which events came.
func (t *total) sql(d Dialect) string {
	if t.column == "s.cost" {
		return d.rounded(t.column)
	}
	return asDouble(t.column)
}

// asDouble returns a count as a double: a parameter that it is compared with would else lose its fraction on PostgreSQL.
func asDouble(column string) string { return "CAST(" + column + " AS double precision)" }

// stateField is the field of filters on a session's state, and the states are those of its values. A session runs while only the
// begin of one of its events is known.
const (
	stateField   = "state"
	StateRunning = "running"
	StateEnded   = "ended"
)

// isRunning is the condition that session s runs.
const isRunning = "s.num_unfinished > 0"

// StateOf returns the state of a session.
func StateOf(t *event.SessionTotals) string {
	if t.Unfinished > 0 {
		return StateRunning
	}
	return StateEnded
}

// ParseSessionFilters reads the filters of a search of sessions as ParseFilters does. Beside the fields of the session event they may
// name the session's totals (totals.cost, totals.tokens, totals.errors and so on) and its state, in alternatives as well.
func ParseSessionFilters(raw json.RawMessage, field string) ([]Filter, error) {
	return parser(newSessionFilter).parse(raw, field)
}

// newSessionFilter is newFilter for a filter on sessions.
func newSessionFilter(f Filter) (Filter, error) {
	var err error
	switch {
	case f.Field == stateField:
		f.cond, err = newState(f)
	case strings.HasPrefix(f.Field, totalsPrefix):
		f.cond, err = newTotal(f)
	default:
		return newFilter(f)
	}
	if err != nil {
		return Filter{}, err
	}
	return f, nil
}

// newTotal is newCond for a filter on a total. Its value is a number whether or not its type says so.
func newTotal(f Filter) (cond, error) {
	c := cond{name: f.Field, root: root{kind: kindTotal}, typ: typeNumber}
	if _, ok := totals[f.Field]; !ok {
		return c, fault.InvalidField("field", "unknown total %.100q; must be one of %s", strings.TrimPrefix(f.Field, totalsPrefix), totalNames)
	}
	if f.Type != "" && f.Type != typeString && f.Type != typeNumber {
		return c, fault.InvalidField("type", "%.40q does not go with a total; must be number", f.Type)
	}
	if err := c.setOperator(f.Operator, "a total", "is", "is not", "is any of", "greater than", "less than"); err != nil {
		return c, err
	}
	return c, c.setPresent(f, "must be a number")
}

// newState is newCond for a filter on the state.
func newState(f Filter) (cond, error) {
	c := cond{name: stateField, root: root{kind: kindState}, typ: typeString}
	if f.Type != "" && f.Type != typeString {
		return c, fault.InvalidField("type", "%.40q does not go with state; must be string", f.Type)
	}
	if err := c.setOperator(f.Operator, "state", "is", "is not", "is any of"); err != nil {
		return c, err
	}
	const words = "must be one of " + StateRunning + ", " + StateEnded
	if err := c.setPresent(f, words); err != nil {
		return c, err
	}
	for _, v := range c.values {
		if v.text != StateRunning && v.text != StateEnded {
			return c, fault.InvalidField("value", words)
		}
	}
	return c, nil
}

// setOperator sets what is asked of a field that takes some operators alone.
func (c *cond) setOperator(operator, field string, allowed ...string) error {
	if !slices.Contains(allowed, operator) {
		return fault.InvalidField("operator", "%.40q does not go with %s; must be one of %s", operator, field, strings.Join(allowed, ", "))
	}
	o := operators[operator]
	c.op, c.negate = o.op, o.negate
	return nil
}

// setPresent sets the values of a condition on a field that is never absent, which null would ask for.
func (c *cond) setPresent(f Filter, wanted string) error {
	if operators[f.Operator].list {
		return c.setValues(f.Value)
	}
	switch rawjson.KindOf(f.Value) {
	case '"', '0':
		return c.setValue(f.Operator, f.Value)
	}
	return fault.InvalidField("value", "%s", wanted)
}

// stateVerdict is verdict for a condition on the state: one that both states meet, or none, needs no row.
func (c *cond) stateVerdict() verdict {
	running, ended := c.holds(textValue(StateRunning)), c.holds(textValue(StateEnded))
	if running == ended {
		return constant(running)
	}
	return bySQL
}

// stateSQL returns the text of a condition on the state that one of the two meets.
func (c *cond) stateSQL() string {
	if c.holds(textValue(StateRunning)) {
		return isRunning
	}
	return "NOT (" + isRunning + ")"
}

// subject is what filters are matched on: an event, and in a search of sessions what the session of a session event adds up to.
type subject struct {
	*event.Event
	totals *event.SessionTotals
}

// total returns the value of a condition on a total or the state; absent outside of a search of sessions.
func (s subject) total(c *cond) fieldValue {
	switch {
	case s.totals == nil:
		return fieldValue{}
	case c.root.kind == kindState:
		return textValue(StateOf(s.totals))
	}
	t := totals[c.name]
	return numberValue(t.of(s.totals))
}
