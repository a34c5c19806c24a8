package expression

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// maxDiffs bounds the places that jsonDiff names.
const maxDiffs = 100

// jsonValid reports whether a value is JSON, or a text that is. A value that is no text was JSON before.
func jsonValid(value any) bool {
	text, ok := value.(string)
	return !ok || json.Valid([]byte(unfence(text)))
}

// unfence takes the JSON out of the fence that models like to put around it.
func unfence(text string) string {
	text = strings.TrimSpace(text)
	inner, ok := strings.CutPrefix(text, "```")
	if !ok {
		return text
	}
	_, inner, _ = strings.Cut(inner, "\n") // the language
	return strings.TrimSpace(strings.TrimSuffix(strings.TrimSpace(inner), "```"))
}

// asJSON returns the value that a text is the JSON of; any other value, and a text that is not JSON, is
// itself. So is one that would take more than there is left of work: then the meter ends the expression at its next charge.
func asJSON(m *meter, value any) any {
	if text, ok := value.(string); ok && jsonValid(text) && m.decoding(text) == nil {
		return decode(json.RawMessage(unfence(text)))
	}
	return value
}

// noLoader refuses what a schema refers to outside of itself.
type noLoader struct{}

func (noLoader) Load(address string) (any, error) {
	return nil, fmt.Errorf("a schema can refer to nothing outside of itself: %.100s", address)
}

// jsonMatches reports whether a value is valid by a JSON Schema, which is an object or its JSON:
//
//  1. The schema's size is counted, references followed. One that is recursive or refers elsewhere is refused.
//  2. What validation may cost is charged for: each part of the schema at each part of the value.
//  3. The schema is compiled and the value validated. Only its regular expressions are charged for then.
//
// A schema that is itself invalid is an error, and not a value that does not match.
func jsonMatches(m *meter, value, schema any) (bool, error) {
	if text, ok := value.(string); ok && !jsonValid(text) {
		return false, m.look(value)
	}
	value, schema = asJSON(m, value), asJSON(m, schema)
	size, err := expanded(schema, schema, nil, 0)
	if err != nil {
		return false, err
	}
	// The schema is written, read and compiled.
	if err := m.look(schema); err != nil {
		return false, err
	}
	if err := m.product(size, perPart); err != nil {
		return false, err
	}
	before := m.left
	if err := m.look(value); err != nil {
		return false, err
	}
	// Each part of the schema may look at each part of the value; uniqueItems at each pair.
	looked := before - m.left
	if err := m.product(size, looked/4); err != nil {
		return false, err
	}
	if text := jsonText(schema); strings.Contains(text, `"uniqueItems"`) {
		if err := m.product(looked/16, looked/16); err != nil {
			return false, err
		}
	}
	// The library wants its own number type, so both go through its reader.
	doc, err := jsonschema.UnmarshalJSON(strings.NewReader(jsonText(schema)))
	if err != nil {
		return false, fmt.Errorf("jsonMatches: the schema is not JSON: %w", err)
	}
	instance, err := jsonschema.UnmarshalJSON(strings.NewReader(jsonText(value)))
	if err != nil {
		return false, fmt.Errorf("jsonMatches: %w", err)
	}
	c := jsonschema.NewCompiler()
	c.UseLoader(noLoader{})
	over := false
	c.UseRegexpEngine(func(text string) (jsonschema.Regexp, error) {
		p, err := patternOf(text)
		return schemaPattern{p, m, &over}, err
	})
	if err := c.AddResource("schema", doc); err != nil {
		return false, fmt.Errorf("jsonMatches: %w", err)
	}
	compiled, err := c.Compile("schema")
	if err != nil {
		return false, fmt.Errorf("jsonMatches: the schema is invalid: %w", err)
	}
	var invalid *jsonschema.ValidationError
	err = compiled.Validate(instance)
	switch {
	case over:
		return false, errWork
	case err != nil && !errors.As(err, &invalid):
		return false, fmt.Errorf("jsonMatches: %w", err)
	}
	return invalid == nil, nil
}

// schemaPattern is a regular expression in a schema. Once the work is done it matches nothing, and
// over says so.
type schemaPattern struct {
	pattern
	m    *meter
	over *bool
}

// MatchString implements jsonschema.Regexp.
func (p schemaPattern) MatchString(text string) bool {
	if p.charge(p.m, text) != nil {
		*p.over = true
		return false
	}
	return p.pattern.MatchString(text)
}

// Bounds of a schema: its parts, counted as often as they are referred to, and how many references lead on to each other, all of which
// are remembered on the way. perPart is the work of making a part ready.
const (
	maxSchema     = 100_000
	maxReferences = 100
	perPart       = 1_000
)

// expanded counts the parts of a schema with all that it refers to in their places, n of which are
// counted already: so many parts may look at one part of a value. A schema that refers to itself
// has no such number and is refused. refs are the references on the way to the part.
func expanded(schema, part any, refs []string, n int) (int, error) {
	if n++; n > maxSchema {
		return n, fmt.Errorf("jsonMatches: the schema has more than %d parts, counted as often as they are referred to", maxSchema)
	}
	var err error
	switch v := part.(type) {
	case map[string]any:
		for key, member := range v {
			text, is := member.(string)
			switch {
			case key == "$dynamicRef" || key == "$recursiveRef" || is && key == "$id" && n > 1:
				return n, fmt.Errorf("jsonMatches: %s is not known here", key)
			case is && key == "$schema" && strings.Contains(text, "draft-04"): // its id is as $id
				return n, errors.New("jsonMatches: a schema is of draft 6 or later")
			case !is || key != "$ref":
				n, err = expanded(schema, member, refs, n)
			case text != "#" && !strings.HasPrefix(text, "#/"):
				return n, fmt.Errorf("jsonMatches: a schema refers to its own parts only, by #/…, not %.100q", text)
			case slices.Contains(refs, text):
				return n, fmt.Errorf("jsonMatches: the schema refers to itself by %.100q", text)
			case len(refs) >= maxReferences:
				return n, fmt.Errorf("jsonMatches: more than %d references of the schema lead on to each other", maxReferences)
			default:
				n, err = expanded(schema, referred(schema, text), append(slices.Clone(refs), text), n)
			}
			if err != nil {
				return n, err
			}
		}
	case []any:
		for _, element := range v {
			if n, err = expanded(schema, element, refs, n); err != nil {
				return n, err
			}
		}
	}
	return n, nil
}

// referred returns the part of a schema at a reference, # or #/a/b; nil if there is none.
func referred(schema any, ref string) any {
	part := schema
	for _, token := range strings.Split(ref, "/")[1:] {
		if plain, err := url.PathUnescape(token); err == nil {
			token = plain
		}
		token = strings.NewReplacer("~1", "/", "~0", "~").Replace(token)
		switch v := part.(type) {
		case map[string]any:
			part = v[token]
		case []any:
			i, err := strconv.Atoi(token)
			if err != nil || i < 0 || i >= len(v) {
				return nil
			}
			part = v[i]
		}
	}
	return part
}

// leaves calls f with each place of a value that has a plain value, or nothing in it.
func leaves(m *meter, path string, value any, f func(path, text string)) error {
	if err := m.charge(16 + 2*len(path)); err != nil {
		return err
	}
	below := func(key string) string {
		if path == "" {
			return key
		}
		return path + "." + key
	}
	switch v := value.(type) {
	case map[string]any:
		for key, member := range v {
			if err := leaves(m, below(key), member, f); err != nil {
				return err
			}
		}
		if len(v) == 0 {
			f(path, "{}")
		}
	case []any:
		for i, element := range v {
			if err := leaves(m, below(strconv.Itoa(i)), element, f); err != nil {
				return err
			}
		}
		if len(v) == 0 {
			f(path, "[]")
		}
	default:
		f(path, jsonText(value))
		return m.look(value)
	}
	return nil
}

// compared walks two values: how many places have the same in both, and those that differ, in order. {"a":1,"b":[2]} and
// {"a":1,"b":[3],"c":4} have the same at a and differ at b.0 and c.
func compared(m *meter, a, b any) (same int, differ []string, err error) {
	given := map[string]string{}
	if err := leaves(m, "", asJSON(m, a), func(path, text string) { given[path] = text }); err != nil {
		return 0, nil, err
	}
	err = leaves(m, "", asJSON(m, b), func(path, text string) {
		if got, ok := given[path]; ok && got == text {
			same++
		} else {
			differ = append(differ, path)
		}
		delete(given, path)
	})
	for path := range given {
		differ = append(differ, path)
	}
	slices.Sort(differ)
	return same, differ, err
}

// jsonSimilarity and jsonDiff are the functions of these names, see functions.
func jsonSimilarity(m *meter, a, b any) (float64, error) {
	same, differ, err := compared(m, a, b)
	return ratio(same, same+len(differ), 1), err
}

func jsonDiff(m *meter, a, b any) ([]string, error) {
	_, differ, err := compared(m, a, b)
	return differ[:min(len(differ), maxDiffs)], err
}
