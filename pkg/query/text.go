package query

import (
	"bytes"
	"encoding/json"
	"strings"

	"github.com/spangrove/spangrove/pkg/event"
	"github.com/spangrove/spangrove/pkg/fault"
	"github.com/spangrove/spangrove/pkg/rawjson"
	"github.com/spangrove/spangrove/pkg/words"
)

// textField is the field of filters on all that an event says: its name, its error, and the strings at any depth of
// inputs and outputs, keys aside. No event has it, so nothing but a filter can name it.
const textField = "text"

var textRoot = root{kind: kindAllText, spill: SpillError}

// MaxWords is how many words "matches words" may look for.
const MaxWords = 32

// setWords sets the words that an event's texts must have, in lower case and each once.
func (c *cond) setWords() error {
	seen := map[string]bool{}
	for word := range words.Split(c.only().text) {
		if word = strings.ToLower(word); !seen[word] {
			seen[word] = true
			c.words = append(c.words, word)
		}
	}
	switch {
	case len(c.words) == 0:
		return fault.InvalidField("value", "must have at least one word")
	case len(c.words) > MaxWords:
		return fault.InvalidField("value", "must have at most %d words", MaxWords)
	}
	return nil
}

// holdsFor reports whether the condition holds for s.
func (c *cond) holdsFor(s subject) bool {
	switch c.root.kind {
	case kindTotal, kindState:
		return c.holds(s.total(c))
	case kindAllText:
		if c.op == opWords {
			return c.hasWords(s.Event)
		}
		return c.anywhere(s.Event) != c.negate
	}
	return c.holds(c.lookup(s.Event))
}

// anywhere reports whether one of the texts of e contains the condition's.
func (c *cond) anywhere(e *event.Event) bool {
	want := c.only().text
	if strings.Contains(e.Name, want) || (e.Error != nil && *e.Error != "" && strings.Contains(*e.Error, want)) {
		return true
	}
	plain := plainRun(want)
	for _, raw := range []json.RawMessage{e.Inputs, e.Outputs} {
		// Most payloads show at a glance that they have no such text (see Needle).
		if plain != nil && !bytes.Contains(raw, plain) && !bytes.Contains(raw, []byte(`\u`)) {
			continue
		}
		if containsText(jsonValue(raw), want) {
			return true
		}
	}
	return false
}

// hasWords reports whether the texts of e have all of the condition's words, in whichever of them each may be.
func (c *cond) hasWords(e *event.Event) bool {
	missing := map[string]bool{}
	for _, word := range c.words {
		missing[word] = true
	}
	look := func(text string) bool {
		for word := range words.Split(text) {
			delete(missing, strings.ToLower(word))
			if len(missing) == 0 {
				return true
			}
		}
		return false
	}
	if look(e.Name) || (e.Error != nil && look(*e.Error)) {
		return true
	}
	return anyText(jsonValue(e.Inputs), look) || anyText(jsonValue(e.Outputs), look)
}

// anyText reports whether v is a string for which f is true, or an object or array with such a string in it at any
// depth, keys aside.
func anyText(v fieldValue, f func(text string) bool) bool {
	switch v.kind {
	case '"':
		return f(v.text)
	case '{':
		for _, m := range rawjson.Object(v.raw) {
			if anyText(jsonValue(m), f) {
				return true
			}
		}
	case '[':
		for _, m := range rawjson.Array(v.raw) {
			if anyText(jsonValue(m), f) {
				return true
			}
		}
	}
	return false
}

// plainRun returns the longest run of characters of a text that JSON writers spell one way, or else as \u and digits; nil if
// there is none.
func plainRun(text string) (best []byte) {
	for _, run := range bytes.FieldsFunc([]byte(text), escaped) {
		if len(run) > len(best) {
			best = run
		}
	}
	return best
}
