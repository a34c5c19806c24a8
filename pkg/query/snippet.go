package query

import (
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/spangrove/spangrove/pkg/event"
	"github.com/spangrove/spangrove/pkg/rawjson"
	"github.com/spangrove/spangrove/pkg/words"
)

// Bounds of what an event's snippets show.
const (
	MaxSnippets = 3  // an event
	snippetSide = 80 // characters on each side of a hit
)

// Snippet is a place in an event where a filter found its text.
type Snippet struct {
	Field  string // the path of the text; elements of arrays by their number, as in inputs.chat_history.0.content
	Before string // at most 80 characters
	Hit    string
	After  string // at most 80 characters
}

// FindSnippets returns where the filters that contain a text, or match words, find it in an event, in the order of the filters: the first
// place of a text in each field, and of each word one place. Filters that exclude a text find none.
func FindSnippets(fs []Filter, e *event.Event) []Snippet {
	var out []Snippet
	seen := map[string]bool{} // places that are among them
	for _, f := range fs {
		for _, c := range f.conds() {
			if len(out) < MaxSnippets && !c.negate && (c.op == opContains || c.op == opWords) {
				out = c.snippets(e, out, seen)
			}
		}
	}
	return out
}

func (c *cond) snippets(e *event.Event, out []Snippet, seen map[string]bool) []Snippet {
	missing := map[string]bool{}
	for _, word := range c.words {
		missing[word] = true
	}
	add := func(path, text string, from, to int) {
		if place := path + " " + strconv.Itoa(from); !seen[place] {
			seen[place] = true
			out = append(out, Snippet{path, lastRunes(text[:from], snippetSide), text[from:to], firstRunes(text[to:], snippetSide)})
		}
	}
	c.eachText(e, func(path, text string) bool {
		if c.op == opContains {
			want := c.only().text
			if i := strings.Index(text, want); i >= 0 {
				add(path, text, i, i+len(want))
			}
			return len(out) == MaxSnippets
		}
		end := 0
		for word := range words.Split(text) {
			from := end + strings.Index(text[end:], word)
			end = from + len(word)
			if low := strings.ToLower(word); missing[low] {
				delete(missing, low)
				add(path, text, from, end)
			}
			if len(missing) == 0 || len(out) == MaxSnippets {
				return true
			}
		}
		return false
	})
	return out
}

// eachText calls f with the texts that a condition looks into, until it returns true.
func (c *cond) eachText(e *event.Event, f func(path, text string) bool) {
	if c.root.kind != kindAllText {
		walkTexts(strings.Join(append([]string{c.name}, c.path...), "."), c.lookup(e), f)
		return
	}
	_ = f("event_name", e.Name) ||
		(e.Error != nil && f("error", *e.Error)) ||
		walkTexts("inputs", jsonValue(e.Inputs), f) ||
		walkTexts("outputs", jsonValue(e.Outputs), f)
}

// walkTexts calls f with the strings in v at any depth, keys aside, until it returns true; it reports whether it did.
func walkTexts(path string, v fieldValue, f func(path, text string) bool) bool {
	switch v.kind {
	case '"':
		return f(path, v.text)
	case '{':
		for key, m := range rawjson.Object(v.raw) {
			if walkTexts(path+"."+key, jsonValue(m), f) {
				return true
			}
		}
	case '[':
		for i, m := range rawjson.Array(v.raw) {
			if walkTexts(path+"."+strconv.Itoa(i), jsonValue(m), f) {
				return true
			}
		}
	}
	return false
}

// firstRunes returns the first n characters of a text.
func firstRunes(text string, n int) string {
	at := 0
	for range n {
		_, size := utf8.DecodeRuneInString(text[at:])
		at += size
	}
	return text[:at]
}

// lastRunes returns the last n characters of a text.
func lastRunes(text string, n int) string {
	at := len(text)
	for range n {
		_, size := utf8.DecodeLastRuneInString(text[:at])
		at -= size
	}
	return text[at:]
}
