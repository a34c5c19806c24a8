// Package jsonrepair closes JSON text that was cut off.
package jsonrepair

import "strings"

// Close ends an object or an array that was cut off: in a string it closes the string,
// after an incomplete member it goes back to the last whole one. It returns "" if there is nothing to
// close, or s is no object or array.
//
//	{"a":"so far       → {"a":"so far"}
//	{"a":1,"b":[2,3    → {"a":1,"b":[2]}    3 may be the beginning of 34
//	{"a":1,"na         → {"a":1}
//	[{"a":1},{"b":     → [{"a":1},{}]
//
// Text that is wrong in another way may stay wrong: the caller must check the result.
func Close(s string) string {
	if start := strings.TrimLeft(s, " \t\r\n"); start == "" || start[0] != '{' && start[0] != '[' {
		return ""
	}
	var open []byte // closing brackets, outermost first
	type point struct {
		at, depth int
	}
	// safe is the end of the last whole value, and how many brackets were open there. What comes after it is given up
	// unless it is a string that can be closed.
	safe := point{at: -1}
	// start is the opening quote of the last string. A string is a key if it comes where an object expects one; a key
	// that was cut off is of no use.
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
		if len(open) > maxDepth {
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

// maxDepth bounds the brackets that Close follows: rawjson.MaxDepth, beyond which the result would be refused.
const maxDepth = 100
