package mcpserver

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// bounds are how much of a value is shown: characters of a text, items of a list or keys of an object, and levels.
type bounds struct{ text, list, depth int }

// cutter writes values as lines of "path: value", and makes JSON values of the same extent.
type cutter struct {
	bounds
	text strings.Builder
	cuts []cut
}

// maxKey is how many bytes of a key are shown.
const maxKey = 200

// value adds the value at a path from an offset on, and returns what is shown of it.
func (c *cutter) value(v any, path string, offset, depth int) any {
	switch v := v.(type) {
	case string:
		return c.string(v, path, offset)
	case rawText:
		return c.string(string(v), path, offset)
	case []any:
		return c.array(v, path, offset, depth)
	case map[string]any:
		return c.object(v, path, offset, depth)
	case json.Number:
		c.line(path, shorten(v.String(), c.bounds.text+20))
		if len(v) > c.bounds.text+20 {
			return shorten(v.String(), c.bounds.text+20) // as a text: a number that is cut would be another one
		}
		return v
	}
	c.line(path, fmt.Sprint(orNull(v)))
	return v
}

func orNull(v any) any {
	if v == nil {
		return "null"
	}
	return v
}

func (c *cutter) string(s, path string, offset int) string {
	length := utf8.RuneCountInString(s)
	s = skipRunes(s, offset)
	end := len(s)
	if n := length - offset; n > c.bounds.text {
		end = len(s) - len(skipRunes(s, c.bounds.text))
	}
	shown := s[:end]
	what := visible(shown)
	if strings.Contains(what, "\n") {
		what = "\n    " + strings.ReplaceAll(what, "\n", "\n    ")
	}
	if end < len(s) {
		what += c.cut(path, offset+c.bounds.text, length, "characters")
	}
	c.line(path, what)
	return shown
}

// skipRunes returns what comes after so many characters of a text.
func skipRunes(s string, n int) string {
	for ; n > 0 && s != ""; n-- {
		_, size := utf8.DecodeRuneInString(s)
		s = s[size:]
	}
	return s
}

func (c *cutter) array(v []any, path string, offset, depth int) any {
	if len(v) == 0 {
		c.line(path, "[]")
		return v
	}
	if depth >= c.depth {
		return c.deep(path, len(v), "items")
	}
	shown := []any{}
	for i := offset; i < len(v); i++ {
		if len(shown) == c.list {
			c.line(path, c.cut(path, i, len(v), "items"))
			break
		}
		shown = append(shown, c.value(v[i], path+"."+strconv.Itoa(i), 0, depth+1))
	}
	return shown
}

func (c *cutter) object(v map[string]any, path string, offset, depth int) any {
	if len(v) == 0 {
		c.line(path, "{}")
		return v
	}
	if depth >= c.depth {
		return c.deep(path, len(v), "keys")
	}
	shown := map[string]any{}
	keys := slices.Sorted(maps.Keys(v))
	for i := offset; i < len(keys); i++ {
		if len(shown) == c.list {
			c.line(path, c.cut(path, i, len(keys), "keys"))
			break
		}
		key := shorten(keys[i], maxKey)
		shown[key] = c.value(v[keys[i]], path+"."+key, 0, depth+1)
	}
	return shown
}

// deep leaves out a value that lies too deep.
func (c *cutter) deep(path string, n int, unit string) any {
	c.line(path, c.cut(path, 0, n, unit))
	return "…"
}

// cut notes a cut, and returns the words that mark it.
func (c *cutter) cut(path string, offset, of int, unit string) string {
	c.cuts = append(c.cuts, cut{path, offset, of, unit})
	return fmt.Sprintf("…[cut: %d of %d %s; read on with path %q, offset %d]", offset, of, unit, visible(path), offset)
}

func (c *cutter) line(path, what string) {
	c.text.WriteString(visible(strings.Join(strings.Fields(path), " ")) + ": " + what + "\n")
}
