package scenario

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"
)

// matcher compares answers with what must come back, and keeps what they set.
type matcher struct {
	vars     map[string]string
	problems []string
}

var (
	uuidText = regexp.MustCompile(`^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$`)
	special  = regexp.MustCompile(`^<(any|absent|uuid|number|string|object|set|contains)(?: (.*))?>$`)
)

// decode reads one JSON value, numbers as they are written.
func decode(text []byte) (any, error) {
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	var v any
	if err := d.Decode(&v); err != nil {
		return nil, err
	}
	if _, err := d.Token(); err != io.EOF {
		return nil, fmt.Errorf("text after the value")
	}
	return v, nil
}

func (m *matcher) wrong(at, format string, args ...any) {
	if at == "" {
		at = "the answer"
	}
	m.problems = append(m.problems, at+": "+fmt.Sprintf(format, args...))
}

// match says of each difference where it is.
func (m *matcher) match(at string, want, got any) {
	switch want := want.(type) {
	case map[string]any:
		members, ok := got.(map[string]any)
		if !ok {
			m.wrong(at, "%s, want an object", show(got))
			return
		}
		keys := make([]string, 0, len(want))
		for key := range want {
			keys = append(keys, key)
		}
		slices.Sort(keys)
		for _, key := range keys {
			v, there := members[key]
			below := strings.TrimPrefix(at+"."+key, ".")
			switch {
			case want[key] == "<absent>" && there:
				m.wrong(below, "%s, want nothing", show(v))
			case want[key] == "<absent>":
			case !there:
				m.wrong(below, "nothing, want %s", show(want[key]))
			default:
				m.match(below, want[key], v)
			}
		}
	case []any:
		elements, ok := got.([]any)
		if !ok || len(elements) != len(want) {
			m.wrong(at, "%s, want an array of %d", show(got), len(want))
			return
		}
		for i := range want {
			m.match(fmt.Sprintf("%s[%d]", at, i), want[i], elements[i])
		}
	case string:
		m.matchText(at, want, got)
	default:
		if want != got {
			m.wrong(at, "%s, want %s", show(got), show(want))
		}
	}
}

func (m *matcher) matchText(at, want string, got any) {
	text, isText := got.(string)
	parts := special.FindStringSubmatch(want)
	if parts == nil {
		if got != want {
			m.wrong(at, "%s, want %q", show(got), want)
		}
		return
	}
	ok := true
	switch parts[1] {
	case "uuid":
		ok = isText && uuidText.MatchString(text)
	case "number":
		_, ok = got.(json.Number)
	case "string":
		ok = isText
	case "object":
		_, ok = got.(map[string]any)
	case "contains":
		ok = isText && strings.Contains(text, parts[2])
	case "set":
		ok = isText
		m.vars[parts[2]] = text
	}
	if !ok {
		m.wrong(at, "%s, want %s", show(got), want)
	}
}

// show returns a value in few characters.
func show(v any) string {
	b, err := json.Marshal(v)
	if err != nil {
		return fmt.Sprint(v)
	}
	if len(b) > 300 {
		return string(b[:300]) + "…"
	}
	return string(b)
}
