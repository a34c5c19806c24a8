package queue

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

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
	Disputed State = "disputed" // the annotators are tied over a metric; as stored, also with one person more (Item.Shown)
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
	Scores  json.RawMessage // what was written on the event, explanations with it; nil: nothing yet
	Added   int64           // Unix milliseconds
	Updated int64           // of the last annotation, Unix milliseconds; 0: there was none
	// Annotations are by annotator, the first one first.
	Annotations []Annotation
	Claims      []Claim
	Skipped     []string // annotators who did not want it
	// Settlement is what somebody decided over the heads of the annotators; nil: nobody has.
	Settlement *Settlement
}

// Settlement is what a person decides of an item, whatever its annotators said.
type Settlement struct {
	Annotator string          `doc:"annotator"`
	Scores    json.RawMessage `doc:"scores"` // as those of an annotation; metrics that are left out stay as the annotators have it
	Comment   string          `doc:"comment"`
	At        int64           `doc:"at"` // Unix milliseconds
}

var settlementFields = rawjson.FieldsOf[Settlement]()

// Doc writes down the settlement.
func (s *Settlement) Doc() json.RawMessage { return settlementFields.Object(s) }

// SettlementFrom reads what Doc wrote.
func SettlementFrom(doc json.RawMessage) (s Settlement) {
	settlementFields.Read(doc, &s)
	return s
}

// Shown returns the state that people are told: an item that waits for one person more because its annotators are tied is Disputed, too.
func (it *Item) Shown() State {
	if it.State == Waiting && it.Slots > it.Needed {
		return Disputed
	}
	return it.State
}

// Written returns the scores that were written on the event, without their explanations; nil: nothing yet.
func (it *Item) Written() json.RawMessage {
	var b rawjson.Builder
	for name, value := range rawjson.Object(it.Scores) {
		if main, ok := strings.CutSuffix(name, explanationSuffix); ok && rawjson.Get(it.Scores, main) != nil && !it.gives(name) {
			continue
		}
		b.Raw(name, value)
	}
	if b.Len() == 0 {
		return nil
	}
	return b.Bytes()
}

// gives reports whether a person has given a metric a score.
func (it *Item) gives(metric string) bool {
	return it.Settlement != nil && rawjson.Get(it.Settlement.Scores, metric) != nil ||
		slices.ContainsFunc(it.Annotations, func(a Annotation) bool { return rawjson.Get(a.Scores, metric) != nil })
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
	return it.conclude(), nil
}

// Withdraw takes back what a person said, at a time in Unix milliseconds, and gives the person a claim on the item again, until the time
// until. patch are the members of the event's metrics to change, nil if there are none.
//
// fault.NotFound if the person has not annotated the item, fault.Conflict if it is settled.
func (it *Item) Withdraw(annotator string, until int64) (patch json.RawMessage, err error) {
	at := slices.IndexFunc(it.Annotations, func(a Annotation) bool { return a.Annotator == annotator })
	if at < 0 {
		return nil, &fault.Error{Kind: fault.NotFound, Msg: fmt.Sprintf("%.60q has not annotated event %s", annotator, it.EventID)}
	}
	if it.Settlement != nil {
		return nil, fault.New(fault.Conflict, "the item is settled: the settlement has to be taken back first")
	}
	it.Annotations = slices.Delete(it.Annotations, at, at+1)
	it.Claims = append(it.Claims, Claim{annotator, until})
	return it.conclude(), nil
}

// Claim gives a person a slot of the item until a time, in Unix milliseconds as now is, or renews the one that the person has. claimed is
// false if the person has annotated the item, and may change that without a claim.
//
// fault.Conflict if all slots are taken by others.
func (it *Item) Claim(annotator string, now, until int64) (claimed bool, err error) {
	if slices.ContainsFunc(it.Annotations, func(a Annotation) bool { return a.Annotator == annotator }) {
		return false, nil
	}
	own := slices.IndexFunc(it.Claims, func(c Claim) bool { return c.Annotator == annotator })
	if own >= 0 && it.Claims[own].Expires <= now {
		it.Claims = slices.Delete(it.Claims, own, own+1) // others may have got the slot meanwhile
		own = -1
	}
	if own < 0 {
		if err := it.admit(annotator, now); err != nil {
			return false, err
		}
		it.Claims = append(it.Claims, Claim{Annotator: annotator})
		own = len(it.Claims) - 1
	}
	it.Claims[own].Expires = until
	it.Skipped = slices.DeleteFunc(it.Skipped, func(name string) bool { return name == annotator })
	return true, nil
}

// Settle takes in what a person decides where annotators differ. What was written on the event becomes that, and the item is done. patch
// are the members of the event's metrics to change, nil if there are none.
//
// fault.Conflict if nobody has annotated the item, fault.Invalid if a metric is left out over which the annotators are tied.
func (it *Item) Settle(s Settlement) (patch json.RawMessage, err error) {
	if len(it.Annotations) == 0 {
		return nil, fault.New(fault.Conflict, "nobody has annotated the item: there is nothing to settle")
	}
	_, tied := decide(it.Annotations)
	for _, name := range tied {
		if rawjson.Get(s.Scores, name) == nil {
			return nil, fault.InvalidField("scores."+name, "is required: the annotators are tied over it")
		}
	}
	it.Settlement = &s
	return it.conclude(), nil
}

// Unsettle takes a settlement back: the item is as its annotators have it. fault.NotFound if there is none.
func (it *Item) Unsettle() (patch json.RawMessage, err error) {
	if it.Settlement == nil {
		return nil, fault.New(fault.NotFound, "the item is not settled")
	}
	it.Settlement = nil
	return it.conclude(), nil
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

// conclude finds out what the annotations and the settlement come to. While annotations are too few, nothing is written on the
// event; what was written before and is no longer agreed on becomes null there. Comments of who gave a score are its explanation on the
// event, and come and go with it.
func (it *Item) conclude() (patch json.RawMessage) {
	it.State, it.Slots = Waiting, it.Needed
	var agreed []agreedScore
	if it.Settlement != nil {
		agreed, _ = decide(it.Annotations)
		agreed = it.Settlement.over(agreed)
		it.State = Done
	} else if len(it.Annotations) >= it.Needed {
		var tied []string
		agreed, tied = decide(it.Annotations)
		switch {
		case len(tied) == 0:
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
	for _, s := range it.explained(agreed) {
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

// explanationSuffix ends the name of the member of an event's metrics that explains a score, as of other metrics' scores.
const explanationSuffix = "_explanation"

// MaxExplanation bounds the explanation of a score in bytes; what is longer is cut. It is on the event once for each metric.
const MaxExplanation = 10_000

// explained returns scores, each with its explanation behind it where there is one. A score of a metric that has the name of an explanation
// is left as it is.
func (it *Item) explained(agreed []agreedScore) []agreedScore {
	list := make([]agreedScore, 0, 2*len(agreed))
	for _, s := range agreed {
		list = append(list, s)
		name := s.metric + explanationSuffix
		text := it.explanation(s)
		if text != "" && !it.gives(name) {
			list = append(list, agreedScore{name, rawjson.AppendString(nil, text)})
		}
	}
	return list
}

// explanation returns why a score is what it is: the comment of who settled it, else those of the annotators who gave it, of all who gave a
// number that went into a mean. One comment stands alone, several have the annotators' names before them.
func (it *Item) explanation(s agreedScore) string {
	if it.Settlement != nil && rawjson.Get(it.Settlement.Scores, s.metric) != nil {
		return cut(strings.TrimSpace(it.Settlement.Comment))
	}
	var by, comments []string
	for _, a := range it.Annotations {
		given := rawjson.Get(a.Scores, s.metric)
		comment := strings.TrimSpace(a.Comment)
		if given == nil || comment == "" || rawjson.KindOf(s.value) != '0' && key(given) != key(s.value) {
			continue
		}
		by, comments = append(by, a.Annotator), append(comments, comment)
	}
	if len(comments) == 1 {
		return cut(comments[0])
	}
	for i := range comments {
		comments[i] = by[i] + ": " + comments[i]
	}
	return cut(strings.Join(comments, "\n"))
}

// cut returns a text with at most MaxExplanation bytes.
func cut(text string) string {
	if len(text) <= MaxExplanation {
		return text
	}
	text = text[:MaxExplanation-len("…")]
	for !utf8.ValidString(text) {
		text = text[:len(text)-1]
	}
	return text + "…"
}

// over returns scores with those of the settlement in the place of the annotators'.
func (s *Settlement) over(agreed []agreedScore) []agreedScore {
	for name, value := range rawjson.Object(s.Scores) {
		at := slices.IndexFunc(agreed, func(a agreedScore) bool { return a.metric == name })
		if at < 0 {
			agreed = append(agreed, agreedScore{name, value})
		} else {
			agreed[at].value = value
		}
	}
	return agreed
}

// Differ reports whether annotations give a metric different scores. Who has not given a metric a score does not differ over it.
func Differ(annotations []Annotation) bool {
	first := map[string]string{}
	for _, a := range annotations {
		for name, value := range rawjson.Object(a.Scores) {
			k := key(value)
			if before, ok := first[name]; ok && before != k {
				return true
			}
			first[name] = k
		}
	}
	return false
}

// Differences says which items people look for whose annotators differ.
type Differences string

// The differences. One that was settled counts as settled also if its annotators agree meanwhile.
const (
	Unsettled Differences = "unsettled"
	Settled   Differences = "settled"
)

// DifferencesOf reads the name of differences.
func DifferencesOf(name string) (Differences, bool) {
	d := Differences(name)
	return d, d == Unsettled || d == Settled
}

// decide returns the scores that annotations come to, in the order in which their metrics first
// stand there. Numbers count by their mean; of booleans and texts, the one that most have given.
// tied are the metrics of which there is none such, which are then left out.
func decide(annotations []Annotation) (agreed []agreedScore, tied []string) {
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
		} else {
			tied = append(tied, name)
		}
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
	return rawjson.AppendNumber(nil, rawjson.Rounded(sum)), true
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
