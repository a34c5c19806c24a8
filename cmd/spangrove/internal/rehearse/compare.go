package rehearse

import (
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
)

// maxShown is how many differences of one answer are told.
const maxShown = 5

// Difference is a place where two answers to one question differ.
type Difference struct {
	Path   string `json:"path"` // such as sessions[3].cost; empty for the whole answer
	Before string `json:"before"`
	After  string `json:"after"`
}

// comparison collects how an answer differs from the one before.
type comparison struct {
	list  []Difference // the first few
	n     int          // of all
	added map[string]bool
	sums  bool // fractions may differ by roundoff
}

// compare compares answers, decoded with [json.Number]. A field that only the later one has is no difference, since versions add fields; it
// is listed by its path without positions.
func (c *comparison) compare(path string, before, after any) {
	switch b := before.(type) {
	case map[string]any:
		a, ok := after.(map[string]any)
		if !ok {
			break
		}
		for _, key := range slices.Sorted(maps.Keys(b)) {
			value, there := a[key]
			if there && opaque[key] && isText(b[key]) && isText(value) {
				continue
			}
			if !there {
				c.differ(join(path, key), b[key], absent{})
				continue
			}
			c.compare(join(path, key), b[key], value)
		}
		for key := range a {
			if _, there := b[key]; !there {
				c.added[unnumbered(join(path, key))] = true
			}
		}
		return
	case []any:
		a, ok := after.([]any)
		if !ok {
			break
		}
		if len(a) != len(b) {
			c.differ(path, fmt.Sprintf("%d entries", len(b)), fmt.Sprintf("%d entries", len(a)))
		}
		for i := range min(len(a), len(b)) {
			c.compare(fmt.Sprintf("%s[%d]", path, i), b[i], a[i])
		}
		return
	case json.Number:
		if a, ok := after.(json.Number); ok && c.sameNumber(b, a) {
			return
		}
	default:
		if before == after {
			return
		}
	}
	c.differ(path, before, after)
}

// opaque are fields whose text each server makes for itself: that there is one is compared, not what it says.
var opaque = map[string]bool{"next_cursor": true, "touched": true}

func isText(v any) bool {
	text, ok := v.(string)
	return ok && text != ""
}

// absent is the value of a field that is not there.
type absent struct{}

func (c *comparison) differ(path string, before, after any) {
	if c.n++; len(c.list) < maxShown {
		c.list = append(c.list, Difference{Path: path, Before: shown(before), After: shown(after)})
	}
}

// roundoff is by which part of itself a sum of fractions may differ: it depends on the order in which they are added, and that on what is
// indexed already. An event of ten million that is lost is ten thousand times as much.
const roundoff = 1e-11

// sameNumber reports whether two spellings are one number, or, of sums, fractions that differ by [roundoff] at most.
func (c *comparison) sameNumber(a, b json.Number) bool {
	if a == b {
		return true
	}
	x, err := strconv.ParseFloat(a.String(), 64)
	y, err2 := strconv.ParseFloat(b.String(), 64)
	switch {
	case err != nil || err2 != nil:
		return false
	case !c.sums || x == math.Trunc(x) && y == math.Trunc(y):
		return x == y
	}
	return math.Abs(x-y) <= roundoff*max(math.Abs(x), math.Abs(y))
}

func join(path, key string) string {
	if path == "" {
		return key
	}
	return path + "." + key
}

// unnumbered takes positions out of a path.
func unnumbered(path string) string {
	var b strings.Builder
	for i, part := range strings.Split(path, "[") {
		if i > 0 {
			_, part, _ = strings.Cut(part, "]")
			b.WriteString("[]")
		}
		b.WriteString(part)
	}
	return b.String()
}

// shownBytes bounds how much of a value is told.
const shownBytes = 120

func shown(value any) string {
	if _, ok := value.(absent); ok {
		return "not there"
	}
	text, ok := value.(string)
	if !ok {
		data, err := json.Marshal(value)
		if err != nil {
			return err.Error()
		}
		text = string(data)
	}
	if len(text) > shownBytes {
		text = strings.ToValidUTF8(text[:shownBytes], "") + "…"
	}
	return text
}
