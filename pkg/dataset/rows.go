package dataset

import (
	"encoding/json"
	"iter"
	"slices"
	"strings"

	"github.com/spangrove/spangrove/pkg/fault"
	"github.com/spangrove/spangrove/pkg/rawjson"
)

// maxFieldPath bounds a field and a value by which datapoints are chosen, in bytes.
const maxFieldPath = 1000

// RowFilter chooses datapoints of a dataset. What is empty does not count.
type RowFilter struct {
	Text  string // is in some text or name of the inputs, history, ground truth or metadata, in any case
	Field string // a dotted path such as metadata.split
	Value string // a value that Field must have, or an element of it if it is an array, as Values gives it
}

// Any reports whether the filter lets every datapoint through.
func (f *RowFilter) Any() bool { return f.Text == "" && f.Field == "" }

// Validate reports the first broken rule as a fault.Invalid that names the field.
func (f *RowFilter) Validate() error {
	switch {
	case len(f.Text) > maxFieldPath:
		return fault.InvalidField("text", "must be at most %d bytes", maxFieldPath)
	case len(f.Value) > maxFieldPath:
		return fault.InvalidField("value", "must be at most %d bytes", maxFieldPath)
	case f.Field == "" && f.Value != "":
		return fault.InvalidField("value", "needs a field")
	case f.Field == "":
		return nil
	}
	return CheckField("field", f.Field)
}

// CheckField refuses what is no dotted path into inputs, ground_truth or metadata. name is what the error calls it.
func CheckField(name, path string) error {
	part, key, _ := strings.Cut(path, ".")
	if !slices.Contains(keyedParts, part) || key == "" || len(path) > maxFieldPath {
		return fault.InvalidField(name, "must be a path such as metadata.split, below inputs, ground_truth or metadata, not %.60q", path)
	}
	return nil
}

// Match reports whether a datapoint is one of those that are chosen. One that is deleted never is, but by a filter that lets all through.
func (f *RowFilter) Match(p *Datapoint) bool {
	if f.Any() {
		return true
	}
	if p.Deleted {
		return false
	}
	if f.Field != "" && !slices.Contains(slices.Collect(p.Values(f.Field)), f.Value) {
		return false
	}
	if f.Text == "" {
		return true
	}
	lower := strings.ToLower(f.Text)
	for _, part := range []json.RawMessage{p.Inputs, p.GroundTruth, p.Metadata, p.History} {
		if containsText(part, lower, 0) {
			return true
		}
	}
	return false
}

// maxTextDepth is how deep words are looked for.
const maxTextDepth = 100

// containsText looks into the names and values of a JSON text for one that has lower, in any case.
func containsText(raw json.RawMessage, lower string, depth int) bool {
	if depth > maxTextDepth {
		return false
	}
	switch rawjson.KindOf(raw) {
	case '{':
		for key, v := range rawjson.Object(raw) {
			if strings.Contains(strings.ToLower(key), lower) || containsText(v, lower, depth+1) {
				return true
			}
		}
		return false
	case '[':
		for _, v := range rawjson.Array(raw) {
			if containsText(v, lower, depth+1) {
				return true
			}
		}
		return false
	}
	return strings.Contains(strings.ToLower(textOf(raw)), lower)
}

// textOf returns a string as its text, and any other value as its JSON.
func textOf(raw json.RawMessage) string {
	if text, ok := rawjson.Text(raw); ok {
		return text
	}
	return string(raw)
}

// keyedParts are the parts of a datapoint that are objects, as answers name them.
var keyedParts = []string{"inputs", "ground_truth", "metadata"}

// part returns a part of a datapoint by its name.
func (p *Datapoint) part(name string) json.RawMessage {
	switch name {
	case "inputs":
		return p.Inputs
	case "ground_truth":
		return p.GroundTruth
	case "metadata":
		return p.Metadata
	case "history":
		return p.History
	}
	return nil
}

// Values returns the values that a datapoint has at a dotted path such as metadata.tags: of an array each element once, a string as its text,
// other values as JSON. Objects, arrays in arrays and null are no values.
func (p *Datapoint) Values(path string) iter.Seq[string] {
	part, rest, _ := strings.Cut(path, ".")
	return valuesOf(rawjson.Lookup(p.part(part), strings.Split(rest, ".")...))
}

func valuesOf(raw json.RawMessage) iter.Seq[string] {
	return func(yield func(string) bool) {
		if !isList(raw) {
			if plain(raw) {
				yield(textOf(raw))
			}
			return
		}
		var seen []string
		for _, v := range rawjson.Array(raw) {
			text := textOf(v)
			if !plain(v) || slices.Contains(seen, text) {
				continue
			}
			if len(seen) == maxListed || !yield(text) {
				return
			}
			seen = append(seen, text)
		}
	}
}

// maxListed bounds the values of one array that count.
const maxListed = 1000

func isList(raw json.RawMessage) bool { return rawjson.KindOf(raw) == '[' }

func plain(raw json.RawMessage) bool {
	return !rawjson.Null(raw) && rawjson.KindOf(raw) != '{' && !isList(raw)
}
