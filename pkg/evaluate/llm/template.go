package llm

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/spangrove/spangrove/pkg/rawjson"
)

// A template is a text with fields of an event in double braces: {{ inputs.question }}. It has no
// logic: nothing is computed, and what a field brings in is not looked at again.
//
// A field is a dotted path, read as in filters (rawjson.Lookup); array indexes are decimal, from 0. It begins with
// one of the fields of an event, with "event", the whole event, or with "ground_truth", which is
// feedback.ground_truth; or with "first" and "second", two answers to compare (see pair). Braces that
// a name does not follow, as in JSON, are text, and so are those that a backslash stands before.
type template []piece

// piece is text, or a field if it has a path.
type piece struct {
	text string
	path []string // nil: text
}

// maxPath bounds a field's path in bytes; no key of an event that a person writes is as long.
const maxPath = 500

// maxFields bounds the fields of a template: each is looked for in an event of any size.
const maxFields = 100

// maxInside bounds how far the end of braces is looked for.
const maxInside = maxPath + 64

// eventFields are what a path may begin with.
var eventFields = []string{
	"event", "ground_truth", "inputs", "outputs", "config", "metadata", "metrics", "feedback", "user_properties", "error",
	"event_id", "session_id", "parent_id", "event_type", "event_name", "source", "start_time", "end_time", "duration", "children_ids",
	"project", "project_id", first, second,
}

// parse reads a template. err tells the person who wrote it what is wrong: logic, as {{#if}} of Handlebars, and fields that
// events do not have. {"a": {{ inputs.n }}} has one field, and {{ 1 }} is text.
func parse(s string) (t template, err error) {
	var text strings.Builder
	fields := 0
	for {
		before, rest, found := strings.Cut(s, "{{")
		if escaped, ok := strings.CutSuffix(before, `\`); found && ok {
			text.WriteString(escaped + "{{")
			s = rest
			continue
		}
		text.WriteString(before)
		if !found {
			break
		}
		inside, _, closed := strings.Cut(rest[:min(len(rest), maxInside)], "}}")
		name := strings.TrimSpace(inside)
		if tag := strings.IndexAny(name, "#^/>!&%"); tag == 0 && closed {
			return nil, fmt.Errorf("{{%.40s}}: templates have no logic, only fields of the event, such as {{ inputs.question }}", inside)
		}
		if !closed || !isPath(name) {
			text.WriteString("{")
			s = s[len(before)+1:] // the next brace may open a field
			continue
		}
		path := strings.Split(name, ".")
		if !slices.Contains(eventFields, path[0]) {
			return nil, fmt.Errorf("{{ %.60s }}: begins with no field of an event; those are %s", name, strings.Join(eventFields, ", "))
		}
		if text.Len() > 0 {
			t = append(t, piece{text: text.String()})
			text.Reset()
		}
		if fields++; fields > maxFields {
			return nil, fmt.Errorf("must have at most %d fields", maxFields)
		}
		t = append(t, piece{path: path})
		s = rest[len(inside)+2:]
	}
	if text.Len() > 0 {
		t = append(t, piece{text: text.String()})
	}
	if t.names(first) != t.names(second) {
		return nil, fmt.Errorf("{{ %s }} and {{ %s }}: a prompt that compares two answers needs both", first, second)
	}
	return t, nil
}

// names reports whether a field of the template begins with root.
func (t template) names(root string) bool {
	return slices.ContainsFunc(t, func(p piece) bool { return p.path != nil && p.path[0] == root })
}

// isPath reports whether what stands in braces is meant as a field.
func isPath(name string) bool {
	if name == "" || len(name) > maxPath || strings.ContainsAny(name, "{}\n\r") {
		return false
	}
	c := name[0]
	return c == '_' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'
}

// absent is the error of a template that names what the event lacks.
type absent string

func (a absent) Error() string { return fmt.Sprintf("the event has no %s", string(a)) }

// tooLong is the error of a prompt that would be too long.
type tooLong int

func (max tooLong) Error() string {
	return fmt.Sprintf("with the event's fields it has more bytes than max_prompt_bytes, %d", int(max))
}

// markBytes is what the two tags around a value take: "<data-" and 16 digits and ">", twice, and a
// slash.
const markBytes = 2*(len("<data->")+16) + len("/")

// render puts the fields of event into the template. Texts, objects and arrays stand between
// marks that nothing inside of them can forge, so that a model can tell the evaluated material
// from what the metric asks: an opening and a closing tag with the first half of a hash over the
// whole prompt. mark is that tag's name, empty if there is no such field.
//
// The error is an absent if the event lacks a field, and a tooLong if the prompt would have more
// than max bytes.
func (t template) render(event json.RawMessage, max int) (prompt, mark string, err error) {
	type value struct {
		text   string
		marked bool
	}
	values := make([]value, len(t))
	h := sha256.New()
	some, size := false, 0
	for i, p := range t {
		v := value{text: p.text}
		if p.path != nil {
			raw := lookup(event, p.path)
			if rawjson.Null(raw) {
				return "", "", absent(strings.Join(p.path, "."))
			}
			if text, ok := rawjson.Text(raw); ok {
				v = value{text, true}
			} else {
				kind := rawjson.KindOf(raw)
				v = value{strings.TrimSpace(string(raw)), kind == '{' || kind == '['}
			}
		}
		some = some || v.marked
		if size += len(v.text); v.marked {
			size += markBytes
		}
		if size > max {
			return "", "", tooLong(max)
		}
		_, _ = fmt.Fprintf(h, "%d %t %s\n", len(v.text), v.marked, v.text)
		values[i] = v
	}
	if some {
		mark = "data-" + hex.EncodeToString(h.Sum(nil)[:8])
	}
	var b strings.Builder
	for _, v := range values {
		if v.marked {
			b.WriteString("<" + mark + ">" + v.text + "</" + mark + ">")
		} else {
			b.WriteString(v.text)
		}
	}
	return b.String(), mark, nil
}

// lookup returns the value that a path leads to, nothing if it is absent or an object or array
// without members that was asked for as a whole.
func lookup(event json.RawMessage, path []string) json.RawMessage {
	if path[0] == "event" {
		path = path[1:]
		if len(path) == 0 {
			return event
		}
	}
	if path[0] == "ground_truth" {
		path = slices.Concat([]string{"feedback"}, path)
	}
	field := rawjson.Get(event, path[0])
	if len(path) == 1 {
		if kind := rawjson.KindOf(field); (kind == '{' || kind == '[') && rawjson.Empty(field) {
			return nil
		}
		return field
	}
	return rawjson.Lookup(field, path[1:]...)
}
