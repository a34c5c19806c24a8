package queue

import (
	"encoding/json"
	"fmt"
	"slices"

	"github.com/google/uuid"

	"github.com/spangrove/spangrove/pkg/fault"
	"github.com/spangrove/spangrove/pkg/rawjson"
)

// State is where an item stands.
type State string

// The states. An item that somebody took out of its queue stays as Removed, so that filters do
// not bring it back.
const (
	Waiting  State = "waiting"  // it lacks annotations
	Done     State = "done"     // its scores are on the event
	Disputed State = "disputed" // the annotators are tied over a metric, also with one person more
	Removed  State = "removed"
)

// StateOf reads the name of a state that lists know.
func StateOf(name string) (State, bool) {
	s := State(name)
	return s, slices.Contains([]State{Waiting, Done, Disputed, Removed}, s)
}

// maxDisputed bounds the annotations of an item over which people cannot agree.
const maxDisputed = 2 * MaxAnnotators

// Item is an event in a queue.
type Item struct {
	EventID uuid.UUID
	State   State
	Needed  int             // annotators, as the queue asked when the item entered
	Slots   int             // how many may annotate it while it waits: one more than Needed if they are tied
	Scores  json.RawMessage // what was written on the event; nil: nothing yet
	Added   int64           // Unix milliseconds
	Updated int64           // of the last annotation, Unix milliseconds; 0: there was none
	// Annotations are by annotator, the first one first.
	Annotations []Annotation
	Claims      []Claim
	Skipped     []string // annotators who did not want it
}

// Live leaves of the claims those that have not run out at a time in Unix milliseconds.
func (it *Item) Live(now int64) Item {
	live := *it
	live.Claims = slices.DeleteFunc(slices.Clone(it.Claims), func(c Claim) bool { return c.Expires <= now })
	return live
}

// Claim is an annotator's hold on one slot of an item.
type Claim struct {
	Annotator string
	Expires   int64 // Unix milliseconds
}

// Annotate takes in what a person says, at a time in Unix milliseconds: it replaces what that
// person said before, or takes a slot of the item, the one that the person has claimed or a free
// one. patch are the members of the event's metrics to change, nil if there are none.
//
// fault.Conflict, and no change, if all slots are taken by others.
func (it *Item) Annotate(a Annotation, now int64) (patch json.RawMessage, err error) {
	at := slices.IndexFunc(it.Annotations, func(b Annotation) bool { return b.Annotator == a.Annotator })
	if at < 0 {
		if err := it.admit(a.Annotator, now); err != nil {
			return nil, err
		}
		a.Created = now
		it.Annotations = append(it.Annotations, a)
		it.Updated = now
	} else if old := &it.Annotations[at]; !old.same(&a) {
		old.Scores, old.Comment, old.Updated = a.Scores, a.Comment, now
		it.Updated = now
	}
	it.Claims = slices.DeleteFunc(it.Claims, func(c Claim) bool { return c.Annotator == a.Annotator })
	it.Skipped = slices.DeleteFunc(it.Skipped, func(name string) bool { return name == a.Annotator })
	return it.settle(), nil
}

// admit returns an error if somebody who has not annotated the item may not do so.
func (it *Item) admit(annotator string, now int64) error {
	taken := len(it.Annotations)
	for _, c := range it.Claims {
		switch {
		case c.Annotator == annotator:
			return nil // also when it has run out or the item is done meanwhile: the work is not lost
		case c.Expires > now:
			taken++
		}
	}
	switch {
	case it.State == Disputed && len(it.Annotations) < maxDisputed, taken < it.Slots:
		return nil
	case it.State == Done:
		return fault.New(fault.Conflict, "the item has the %d annotations it needs", it.Needed)
	default:
		return fault.New(fault.Conflict, "all %d annotations of the item are given or claimed by others", it.Slots)
	}
}

// settle finds out what the annotations come to. While they are too few, nothing is written on the
// event; what was written before and is no longer agreed on becomes null there.
func (it *Item) settle() (patch json.RawMessage) {
	it.State, it.Slots = Waiting, it.Needed
	var agreed []agreedScore
	if len(it.Annotations) >= it.Needed {
		var tied bool
		agreed, tied = decide(it.Annotations)
		switch {
		case !tied:
			it.State = Done
		case len(it.Annotations) > it.Needed:
			it.State = Disputed
		default:
			it.Slots, agreed = it.Needed+1, nil
		}
	}
	var now, change rawjson.Builder
	left := map[string]string{} // on the event, by name
	for name, value := range rawjson.Object(it.Scores) {
		left[name] = string(value)
	}
	for _, s := range agreed {
		now.Raw(s.metric, s.value)
		if left[s.metric] != string(s.value) {
			change.Raw(s.metric, s.value)
		}
		delete(left, s.metric)
	}
	for name := range rawjson.Object(it.Scores) {
		if _, ok := left[name]; ok {
			change.Raw(name, json.RawMessage("null"))
		}
	}
	it.Scores = now.Bytes()
	return change.Bytes()
}

// agreedScore is what annotators agree on.
type agreedScore struct {
	metric string
	value  json.RawMessage
}

// decide returns the scores that annotations come to, in the order in which their metrics first
// stand there. Numbers count by their mean; of booleans and texts, the one that most have given.
// tied says that there is none such of a metric, which is then left out.
func decide(annotations []Annotation) (agreed []agreedScore, tied bool) {
	var names []string
	given := map[string][]json.RawMessage{}
	for _, a := range annotations {
		for name, value := range rawjson.Object(a.Scores) {
			if given[name] == nil {
				names = append(names, name)
			}
			given[name] = append(given[name], value)
		}
	}
	for _, name := range names {
		value, ok := mean(given[name])
		if !ok {
			value, ok = most(given[name])
		}
		if ok {
			agreed = append(agreed, agreedScore{name, value})
		}
		tied = tied || !ok
	}
	return agreed, tied
}

// mean returns the mean of numbers; ok is false if not all are numbers. Equal numbers keep the first one's digits.
func mean(values []json.RawMessage) (m json.RawMessage, ok bool) {
	var sum, first float64
	same := true
	for i, v := range values {
		n, ok := rawjson.Number(v)
		if !ok {
			return nil, false
		}
		if i == 0 {
			first = n
		}
		same = same && n == first
		sum += n / float64(len(values)) // not divided last: the sum may be beyond what a double holds
	}
	if same {
		return values[0], true
	}
	return rawjson.AppendNumber(nil, sum), true
}

// most returns the value that more have given than any other.
func most(values []json.RawMessage) (value json.RawMessage, ok bool) {
	count, best := map[string]int{}, 0
	for _, v := range values {
		count[key(v)]++
	}
	for _, v := range values {
		switch n := count[key(v)]; {
		case n > best:
			value, best, ok = v, n, true
		case n == best && key(v) != key(value):
			ok = false
		}
	}
	return value, ok
}

// Missing returns the error for an event that is not in a queue.
func Missing(event uuid.UUID) error {
	return fault.New(fault.NotFound, "the queue has no event %s", event)
}

// Unclaimed returns the error for a claim that somebody does not have.
func Unclaimed(annotator string, event uuid.UUID) error {
	return &fault.Error{Kind: fault.NotFound, Msg: fmt.Sprintf("%.60q has no claim on event %s", annotator, event)}
}
