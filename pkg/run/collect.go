package run

import (
	"bytes"
	"encoding/json"
	"maps"
	"slices"

	"github.com/google/uuid"

	"github.com/spangrove/spangrove/pkg/rawjson"
)

// MaxKinds bounds the kinds of events that Scores name.
const MaxKinds = 10_000

// KindSet collects the kinds of events, at most MaxKinds of them: a sender may put anything into names. Beyond the bound kinds are left out,
// in no defined order.
type KindSet map[Kind]bool

// Add adds a kind.
func (s KindSet) Add(k Kind) {
	if len(s) < MaxKinds {
		s[k] = true
	}
}

// Sorted returns the kinds in order, nil if there are none.
func (s KindSet) Sorted() []Kind { return slices.SortedFunc(maps.Keys(s), CompareKinds) }

// Collector makes Scores of the events of a run, which may come in any order.
type Collector struct {
	rows       []scoredPlace
	first      map[uuid.UUID]Place // of each session, its earliest event
	named      map[uuid.UUID]Place // of each session with a datapoint, the event that names it
	datapoints map[uuid.UUID]string
}

type scoredPlace struct {
	Place
	Scored
}

// NewCollector returns a Collector without events.
func NewCollector() *Collector {
	return &Collector{first: map[uuid.UUID]Place{}, named: map[uuid.UUID]Place{}, datapoints: map[uuid.UUID]string{}}
}

// Add takes an event, which may name its session's datapoint in its metadata. Its scores count only
// if it matches what was asked for. The metrics are copied. A session event's name of the datapoint
// takes precedence over that of any other event, and then that of the earliest.
func (c *Collector) Add(at Place, e Scored, metadata json.RawMessage, matches bool) {
	if d := datapointOf(metadata); d != "" {
		c.name(at, e.Session, d)
	}
	if first, ok := c.first[e.Session]; !ok || at.Compare(first) < 0 {
		c.first[e.Session] = at
	}
	if matches {
		e.Metrics = bytes.Clone(e.Metrics)
		c.rows = append(c.rows, scoredPlace{at, e})
	}
}

// Unnamed returns those of sessions whose datapoint no event has named so far.
func (c *Collector) Unnamed(sessions []uuid.UUID) (unnamed []uuid.UUID) {
	for _, id := range sessions {
		if c.datapoints[id] == "" {
			unnamed = append(unnamed, id)
		}
	}
	return unnamed
}

// AddUnscored takes another event of one of the Unnamed sessions: the earliest that names a
// datapoint decides.
func (c *Collector) AddUnscored(at Place, session uuid.UUID, metadata json.RawMessage) {
	if d := datapointOf(metadata); d != "" {
		c.name(at, session, d)
	}
}

func (c *Collector) name(at Place, session uuid.UUID, datapoint string) {
	if named, ok := c.named[session]; ok && at.ID != session && (named.ID == session || at.Compare(named) >= 0) {
		return
	}
	c.named[session], c.datapoints[session] = at, datapoint
}

// Scores returns the scores in order of start time, without Kinds. Sessions are those with an event
// that matches.
func (c *Collector) Scores() *Scores {
	out := &Scores{Datapoints: c.datapoints}
	slices.SortFunc(c.rows, func(a, b scoredPlace) int { return a.Place.Compare(b.Place) })
	shown := map[uuid.UUID]bool{}
	for _, x := range c.rows {
		if !shown[x.Session] {
			shown[x.Session] = true
			out.Sessions = append(out.Sessions, x.Session)
		}
		if !rawjson.Empty(x.Metrics) {
			out.Events = append(out.Events, x.Scored)
		}
	}
	slices.SortFunc(out.Sessions, func(a, b uuid.UUID) int { return c.first[a].Compare(c.first[b]) })
	return out
}

// datapointOf returns the datapoint that an event's metadata names, or "".
func datapointOf(metadata json.RawMessage) string {
	d, _ := rawjson.Text(rawjson.Get(metadata, "datapoint_id"))
	return d
}
