package otlpmap

import (
	"slices"
	"strings"

	"github.com/google/uuid"
	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/ptrace"

	"github.com/spangrove/spangrove/pkg/event"
	"github.com/spangrove/spangrove/pkg/rawjson"
)

// attr is one attribute of a span, with what follows from its name, and what has become of it so far. Attributes
// belong to one mapState, so readers may change them.
type attr struct {
	key string
	val pcommon.Value
	// The slot or the family of the name, -1 for none; never both. A name in a slot that another attribute of the
	// span already has gets neither.
	slot slot
	fam  int16 // -1: not of a family
	// Where the path within the family starts in key: of llm.input_messages.0.role, at "0.role". restPruned
	// marks an attribute of which only a part is left.
	rest int16
	// Its value is in the event, so it does not stay in metadata under its own name.
	used bool
	// The event has only a part or a reading of its value (cut JSON, a Python literal), so it stays as well.
	repaired bool
	blank    bool // it has no value, or the empty string
	// Not all of it was read, and it is on the list of dropRedundant.
	unread bool

	parsed jsonState
	// Its place among the span's attributes, from 0.
	index int32
	json  []byte // the value as JSON, if parsed is isJSON
}

// str returns a string's text, "" for a value of any other type.
func (a *attr) str() string {
	if a.val.Type() != pcommon.ValueTypeStr {
		return ""
	}
	return a.val.Str()
}

// path returns the name within its family: "0.role" of llm.input_messages.0.role.
func (a *attr) path() string { return a.key[a.rest:] }

// span is a span of the request on its way to an event. mapState.collect fills it; the session of its trace is
// known only after mapState.resolve.
type span struct {
	src      ptrace.Span
	resource *resource
	scope    *requestScope
	trace    *trace
	first, n int // its attributes in mapState.attrs
	place    int // in the request, from 0

	// The span's own ids, as sent; of a pending copy, those of the span that it is a copy of.
	id, parent [8]byte
	// The id of its event: the sender's own, or else EventID.
	eventID uuid.UUID
	role    spanRole
	typ     event.Type
	wraps   bool // its attributes say that it is a chain: its usage is that of the calls below it
	// The convention that its scope announces, else the most specific one that its attributes show.
	by      convention
	pending bool // a copy of a span that has not ended
	// The key of the session that it names, "" if none. fixed: the key holds for this span alone, whatever the rest of
	// its trace names.
	key   string
	fixed bool
	// What its attributes are, as sets: their families, and the rules that have something to read.
	families familySet
	rules    ruleSet
	// Its strings that were cut to Options.MaxFieldBytes.
	truncated []cutOff

	slots *slotIndex // while the span is looked at, see mapState.indexSlots

	// The name it has for its session, and its source, or else that of its resource; "" if none.
	sessionName, own string
}

// slotIndex holds where a span's known attributes are: by slot, 1 + the index from span.first. There
// is one table for all spans, since a table for each is mostly empty and far larger than all
// else a span needs.
type slotIndex [maxSlots]int16

// indexSlots makes a span's attributes known by their slots, until the next span is indexed.
func (x *mapState) indexSlots(s *span) {
	x.clearSlots()
	for i, a := range x.attrsOf(s) {
		if a.slot >= 0 {
			x.slotIndex[a.slot] = int16(i + 1)
		}
	}
	s.slots, x.indexed = &x.slotIndex, s
}

// clearSlots empties the table by the attributes of the span that is in it, which is cheaper than to
// clear all of it.
func (x *mapState) clearSlots() {
	s := x.indexed
	if s == nil {
		return
	}
	for _, a := range x.attrs[s.first:min(s.first+s.n, len(x.attrs))] {
		if a.slot >= 0 {
			x.slotIndex[a.slot] = 0
		}
	}
	s.slots, x.indexed = nil, nil
}

// cutOff is a string that was longer than MaxFieldBytes, and how many bytes it had. Media and vectors that were left
// out are noted likewise, under "media" and "embedding".
type cutOff struct {
	key   string
	bytes int
}

// at returns the attribute in a slot, nil if the span has none or a blank one.
func (s *span) at(attrs []attr, i slot) *attr {
	if i < 0 || s.slots[i] == 0 {
		return nil
	}
	a := &attrs[s.slots[i]-1]
	if a.blank {
		return nil
	}
	return a
}

// text returns the first non-empty string of a list.
func (s *span) text(attrs []attr, list []slot) string {
	for _, i := range list {
		if a := s.at(attrs, i); a != nil {
			if t := a.str(); t != "" && !scrubbed(t) {
				return t
			}
		}
	}
	return ""
}

// scrubbed reports whether Logfire has put its notice in the place of a value whose key sounds like a secret's, as
// "session.id" does. Taken for a session, it would join all traces.
func scrubbed(value string) bool { return strings.HasPrefix(value, "[Scrubbed due to ") }

// any reports whether the span has an attribute of a list, also a blank one: a token count without a value
// still shows what the span is.
func (s *span) any(list []slot) bool {
	for _, i := range list {
		if s.slots[i] != 0 {
			return true
		}
	}
	return false
}

// maxFamilies is how many families one span's bit set can tell apart.
const maxFamilies = 192

// familySet are the families that a span has attributes of.
type familySet [maxFamilies / 64]uint64

// The sets are written and asked for every attribute and rule, so they are bits and not maps.
func (f *familySet) add(fam int16)      { f[fam/64] |= 1 << (fam % 64) }
func (f *familySet) has(fam int16) bool { return f[fam/64]&(1<<(fam%64)) != 0 }

// collectAttrs looks at each attribute of a span once: it finds its place in the tables, cuts strings that are too
// long, and gathers which rules have something to read. Afterwards the span's slots are indexed.
func (x *mapState) collectAttrs(s *span, opt *Options) {
	x.clearSlots()
	s.first = len(x.attrs)
	s.by = otel
	s.slots, x.indexed = &x.slotIndex, s
	x.names.reset()
	for k, v := range s.src.Attributes().All() {
		x.add(s, k, v, opt)
	}
	if s.src.Events().Len() > 0 {
		s.rules.join(&compiled.eventRule)
	}
	// Newer SDKs move messages off the span into this event, under the names they have there.
	for i := range s.src.Events().Len() {
		if e := s.src.Events().At(i); e.Name() == detailsEvent {
			for k, v := range e.Attributes().All() {
				x.add(s, k, v, opt)
			}
		}
	}
	s.n = len(x.attrs) - s.first
}

// detailsEvent is the span event, or log record, of the GenAI conventions that has the messages
// of a call as attributes.
const detailsEvent = "gen_ai.client.inference.operation.details"

// add notes one attribute of the span and finds its place in the tables. Of two in one slot the first counts; the
// other one is used if it has the same value, and else stays under its name.
func (x *mapState) add(s *span, key string, val pcommon.Value, opt *Options) {
	x.attrs = slices.Grow(x.attrs, 1)
	x.attrs = x.attrs[:len(x.attrs)+1]
	a := &x.attrs[len(x.attrs)-1] // clear: see reset
	a.key, a.val, a.slot, a.fam, a.blank, a.index = key, val, -1, -1, blank(val), int32(len(x.attrs)-1-s.first)
	switch p := x.place(key); {
	case p.slot >= 0:
		i := p.slot
		s.by = min(s.by, compiled.slotBy[i])
		if n := len(x.attrs) - s.first; s.slots[i] == 0 && n <= maxAttrs {
			a.slot = i
			s.slots[i] = int16(n)
			s.rules.join(&compiled.slotRules[i])
		} else {
			a.used = s.slots[i] != 0 && equal(x.attrs[s.first+int(s.slots[i])-1].val, val)
		}
	case p.fam >= 0:
		// Characters that no store can hold are replaced, so the name must be made unique here: it is
		// taken apart and becomes keys of an object.
		if p.odd {
			key, _ = x.names.name(key)
			a.key = key
		}
		a.fam, a.rest = p.fam, p.rest
		s.by = min(s.by, compiled.famBy[p.fam])
		if !s.families.has(p.fam) {
			s.families.add(p.fam)
			s.rules.join(&compiled.famRules[p.fam])
		}
	}
	if opt.MaxFieldBytes >= 0 && val.Type() == pcommon.ValueTypeStr && len(val.Str()) > opt.MaxFieldBytes {
		s.truncated = append(s.truncated, cutOff{key, len(val.Str())})
		a.val = pcommon.NewValueStr(rawjson.Prefix(val.Str(), opt.MaxFieldBytes))
	}
}

// maxAttrs bounds the attributes of a span that can stand in a slot, since slotIndex and eventBuilder.by number them
// by int16; the others are kept as they are.
const maxAttrs = 1<<15 - 2

// place is what the tables have for an attribute's name: its slot, or else its family and where
// the path within that starts. -1 for none.
type place struct {
	slot      slot
	fam, rest int16
	// The path is not plain ASCII (see plainKey).
	odd bool
}

// Bounds of the names that a mapState remembers the places of: an instrumentation sends the same
// few with every span.
const (
	keepPlaces    = 4096
	keepPlaceName = 256 // bytes
)

// place returns what the tables have for an attribute's name. Names that are not theirs are remembered, so
// that each is taken apart at its dots only once. The name is copied for that: the request's memory
// must not be kept by it.
func (x *mapState) place(key string) place {
	if i, ok := compiled.names[key]; ok {
		return place{slot: i, fam: -1}
	}
	if p, ok := x.places[key]; ok {
		return p
	}
	p := place{slot: -1, fam: -1}
	if i, ok := compiled.slotOf(key); ok {
		p.slot = i
	} else if fam, rest := familyOf(key); fam >= 0 {
		p.fam, p.rest, p.odd = fam, int16(rest), !plainKey(key[rest:])
	}
	if len(x.places) < keepPlaces && len(key) <= keepPlaceName {
		x.places[strings.Clone(key)] = p
	}
	return p
}

// slotOf finds the slot of a name: its own, or that of a name whose second part may be any. For
// "llm.openai.messages" it looks up "llm.?.messages".
func (t *tables) slotOf(key string) (slot, bool) {
	if i, ok := t.names[key]; ok {
		return i, true
	}
	head, rest, ok := strings.Cut(key, ".")
	if !ok || !t.anyPart[head] {
		return 0, false
	}
	_, rest, ok = strings.Cut(rest, ".")
	var buf [64]byte
	if !ok || len(head)+len(rest)+3 > len(buf) {
		return 0, false
	}
	name := append(append(append(buf[:0], head...), ".?."...), rest...)
	i, ok := t.names[string(name)]
	return i, ok
}

// familyParts is the number of dots after which a family's prefix may end.
const familyParts = 4

// familyOf finds the family of an attribute's name, the one with the longest prefix, and where
// the path within it starts. Of "llm.input_messages.0.role" that is the family "llm.input_messages" and the
// offset of "0.role". An indexed family takes a name only if a digit follows the prefix.
func familyOf(key string) (fam int16, rest int) {
	fam = -1
	if len(key) > maxPath {
		return fam, 0
	}
	at := 0
	for range familyParts {
		i := strings.IndexByte(key[at:], '.')
		if i < 0 || at+i+1 >= len(key) {
			break
		}
		at += i + 1
		if id, ok := compiled.families[key[:at-1]]; ok {
			if c := key[at]; compiled.open[id] || c >= '0' && c <= '9' {
				fam, rest = id, at
			}
		}
	}
	return fam, rest
}

// maxPath bounds the length of a name that is taken apart at its dots, in bytes. A longer one stays under its name.
const maxPath = 1 << 12
