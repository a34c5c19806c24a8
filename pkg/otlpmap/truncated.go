package otlpmap

import (
	"strings"

	"go.opentelemetry.io/collector/pdata/pcommon"
)

func contains(s, part string) bool { return strings.Contains(s, part) }

// repairTruncatedJSON reads JSON that was cut off, by a limit on the length of attributes or by ours: it
// closes what is open after the last whole value. A part of a conversation is worth more than
// a text that no one can read. A text that came cut off stays under its own name, too.
func (b *eventBuilder) repairTruncatedJSON(a *attr) ([]byte, bool) {
	if a.val.Type() != pcommon.ValueTypeStr {
		return nil, false
	}
	text := closeJSON(a.val.Str())
	if text == "" {
		return nil, false
	}
	raw, ok := b.clean(view(text))
	if ok {
		b.failed = append(b.failed, a.key)
		a.repaired = !cutShort(b.cuts, a.key)
	}
	return raw, ok
}

// closeJSON ends an object or an array that was cut off: in a string it closes the string,
// after an incomplete member it goes back to the last whole one. "" if there is nothing to
// close.
func closeJSON(s string) string {
	if k := kind(view(s)); k != '{' && k != '[' {
		return ""
	}
	var open []byte // closing brackets, outermost first
	type point struct {
		at, depth int
	}
	safe := point{at: -1} // after the last whole value, and how many brackets were open there
	inString, start := false, 0
	isKey := false
	expectKey := false
	for i := 0; i < len(s); i++ {
		c := s[i]
		if inString {
			switch c {
			case '\\':
				i++
			case '"':
				inString = false
				if !isKey {
					safe = point{i + 1, len(open)}
				}
			}
			continue
		}
		switch c {
		case '"':
			inString, start = true, i
			isKey = expectKey
			expectKey = false
		case '{':
			open = append(open, '}')
			expectKey = true
			safe = point{i + 1, len(open)}
		case '[':
			open = append(open, ']')
			expectKey = false
			safe = point{i + 1, len(open)}
		case '}', ']':
			if len(open) == 0 {
				return ""
			}
			open = open[:len(open)-1]
			safe = point{i + 1, len(open)}
			if len(open) == 0 {
				return "" // it is whole: some other error
			}
		case ',':
			if s[i-1] != ',' {
				safe = point{i, len(open)}
			}
			expectKey = open != nil && open[len(open)-1] == '}'
		}
		if len(open) > maxMendDepth {
			return ""
		}
	}
	var out strings.Builder
	if inString && !isKey {
		// Close the string itself, without half an escape.
		end := len(s)
		body := s[start+1:]
		for cut := 0; cut < 6 && cut < len(body); cut++ {
			if i := len(body) - 1 - cut; body[i] == '\\' {
				if slashes := len(body[:i+1]) - len(strings.TrimRight(body[:i+1], `\`)); slashes%2 == 1 && (cut < 1 || body[i+1] == 'u' && cut < 5) {
					end = start + 1 + i
				}
				break
			}
		}
		out.WriteString(s[:end])
		out.WriteByte('"')
	} else {
		if safe.at < 0 {
			return ""
		}
		out.WriteString(s[:safe.at])
		open = open[:min(safe.depth, len(open))]
	}
	for i := len(open) - 1; i >= 0; i-- {
		out.WriteByte(open[i])
	}
	return out.String()
}

// maxMendDepth bounds the brackets that closeJSON follows.
const maxMendDepth = 100
