package run

import (
	"cmp"
	"encoding/json"
	"math"
	"slices"
	"strings"

	"github.com/google/uuid"

	"github.com/spangrove/spangrove/pkg/rawjson"
)

const (
	// MaxMetrics bounds the metrics that Outcomes have. Beyond it they are counted: a sender may put anything into names.
	MaxMetrics = 100
	// maxText bounds a text among the scores in bytes. Longer ones are explanations, and no category.
	maxText = 200
)

// Outcomes are what the sessions of a run came to: the numbers of a comparison, in columns, without the JSON they came in.
type Outcomes struct {
	Sessions []Outcome // in order of start time
	Metrics  []Column  // by name, then by kind
	Omitted  int       // metrics beyond MaxMetrics
}

// Outcome is what a session of a run came to.
type Outcome struct {
	ID        uuid.UUID
	Datapoint string  // "" if none is known
	Start     float64 // Unix milliseconds
	Duration  float64 // milliseconds
	Cost      float64 // US dollars, if HasCost
	Tokens    float64
	HasCost   bool
	HasError  bool
	Running   bool // an event has begun and not ended
}

// Place returns the session's place among those of its run.
func (o *Outcome) Place() Place { return Place{o.Start, o.ID} }

// Column is all values of one metric of one kind of events.
type Column struct {
	Name    string
	Kind    Kind      // of sessions, without a name
	At      []int32   // the session of each value, ascending
	Values  []float64 // NaN for a text
	Texts   []string  // of each value, "" for a number; nil if all are numbers
	Boolean bool      // all numbers are true or false, and there are some
	Numbers int       // how many values are no texts
}

// Bytes returns about how much memory they take.
func (o *Outcomes) Bytes() int {
	n := 200
	for i := range o.Sessions {
		n += 72 + len(o.Sessions[i].Datapoint)
	}
	for i := range o.Metrics {
		n += 150 + 12*len(o.Metrics[i].At) + 32*len(o.Metrics[i].Texts)
	}
	return n
}

// columnBuilder collects a column.
type columnBuilder struct {
	Column
	booleans int
	texts    map[string]string // each once
}

// OutcomesOf puts what a run's events carry beside what is known of its sessions, which come in any order. Sessions without scores that match
// what was asked for are left out, as in the result of the run.
func OutcomesOf(s *Scores, sessions map[uuid.UUID]Outcome) *Outcomes {
	out := &Outcomes{}
	for _, id := range s.Sessions {
		o := sessions[id] // zero of one that went meanwhile
		o.ID, o.Datapoint = id, s.Datapoints[id]
		out.Sessions = append(out.Sessions, o)
	}
	slices.SortFunc(out.Sessions, func(a, b Outcome) int { return a.Place().Compare(b.Place()) })
	at := make(map[uuid.UUID]int32, len(out.Sessions))
	for i := range out.Sessions {
		at[out.Sessions[i].ID] = int32(i)
	}
	columns := map[key]*columnBuilder{}
	for _, e := range s.Events {
		i, ok := at[e.Session]
		if !ok {
			continue
		}
		for name, raw := range rawjson.Object(e.Metrics) {
			k := keyOf(name, e.Kind)
			c := columns[k]
			if c == nil {
				c = &columnBuilder{Column: Column{Name: k.metric, Kind: k.kind}}
				columns[k] = c
			}
			c.add(i, raw)
		}
	}
	for _, c := range columns {
		if len(c.At) > 0 {
			out.Metrics = append(out.Metrics, c.column())
		}
	}
	slices.SortFunc(out.Metrics, func(a, b Column) int {
		return cmp.Or(strings.Compare(a.Name, b.Name), CompareKinds(a.Kind, b.Kind))
	})
	return out.cut()
}

// cut leaves out the metrics beyond MaxMetrics: those of texts alone first, which most are explanations.
func (o *Outcomes) cut() *Outcomes {
	if len(o.Metrics) <= MaxMetrics {
		return o
	}
	o.Omitted = len(o.Metrics) - MaxMetrics
	for _, texts := range []bool{true, false} {
		for i := len(o.Metrics) - 1; i >= 0 && len(o.Metrics) > MaxMetrics; i-- {
			if !texts || o.Metrics[i].Numbers == 0 {
				o.Metrics = slices.Delete(o.Metrics, i, i+1)
			}
		}
	}
	o.Metrics = slices.Clip(o.Metrics)
	return o
}

func (c *columnBuilder) add(session int32, raw json.RawMessage) {
	if v, ok := valueOf(raw); ok {
		c.At, c.Values = append(c.At, session), append(c.Values, bounded(v.Number))
		c.Numbers++
		if rawjson.KindOf(raw) != '0' {
			c.booleans++
		}
		if c.Texts != nil {
			c.Texts = append(c.Texts, "")
		}
		return
	}
	text, ok := rawjson.Text(raw)
	if !ok || text == "" || len(text) > maxText {
		return
	}
	if c.texts == nil {
		c.texts = map[string]string{}
		c.Texts = make([]string, len(c.At), max(8, cap(c.At)))
	}
	if same, ok := c.texts[text]; ok {
		text = same
	} else {
		c.texts[text] = text
	}
	c.At, c.Values, c.Texts = append(c.At, session), append(c.Values, math.NaN()), append(c.Texts, text)
}

// column returns the values in the order of their sessions.
func (c *columnBuilder) column() Column {
	c.Boolean = c.Numbers > 0 && c.booleans == c.Numbers
	if !slices.IsSorted(c.At) {
		order := make([]int32, len(c.At))
		for i := range order {
			order[i] = int32(i)
		}
		slices.SortStableFunc(order, func(a, b int32) int { return cmp.Compare(c.At[a], c.At[b]) })
		c.At, c.Values = permuted(c.At, order), permuted(c.Values, order)
		if c.Texts != nil {
			c.Texts = permuted(c.Texts, order)
		}
	}
	c.At, c.Values = slices.Clip(c.At), slices.Clip(c.Values)
	return c.Column
}

func permuted[T any](list []T, order []int32) []T {
	out := make([]T, len(list))
	for i, from := range order {
		out[i] = list[from]
	}
	return out
}

// of returns the range of the values of a session.
func (c *Column) of(session int32) (from, to int) {
	from, _ = slices.BinarySearch(c.At, session)
	to = from
	for to < len(c.At) && c.At[to] == session {
		to++
	}
	return from, to
}
