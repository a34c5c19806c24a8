package scrub

import (
	"encoding/json"
	"strconv"
	"strings"

	"github.com/spangrove/spangrove/pkg/rawjson"
)

// looksLikeJSON reports whether text begins and ends as an object, an array or a string of JSON does.
func looksLikeJSON(text string) bool {
	first, last := 0, len(text)-1
	for first <= last && isSpace(text[first]) {
		first++
	}
	for last > first && isSpace(text[last]) {
		last--
	}
	if first >= last {
		return false
	}
	switch text[first] {
	case '{':
		return text[last] == '}'
	case '[':
		return text[last] == ']'
	case '"':
		return text[last] == '"'
	}
	return false
}

func isSpace(c byte) bool { return c == ' ' || c == '\t' || c == '\n' || c == '\r' }

// maxNesting is that of the JSON that is walked.
const maxNesting = 1000

func validJSON(text string) bool { return json.Valid([]byte(text)) }

// mayHide reports whether JSON may hold secrets that are seen only once it is decoded: those with escaped slashes or
// letters, cards with escapes between their digits, cards as bare numbers, and matches of own patterns.
func (s *Scrubber) mayHide(text string) bool {
	backslash := strings.IndexByte(text, '\\')
	if backslash < 0 {
		return false
	}
	if len(s.own) > 0 || strings.Contains(text[backslash:], `\/`) {
		return true
	}
	for rest := text[max(0, backslash-1):]; ; {
		i := strings.Index(rest, `\u`)
		if i < 0 || i+6 >= len(rest) {
			return false
		}
		if strings.HasPrefix(rest[i+2:], "00") && '2' <= rest[i+4] && rest[i+4] <= '7' {
			return true
		}
		// Between two groups of a card's digits.
		if s.card >= 0 && i > 0 && is(rest[i-1], isDigit) && (is(rest[i+6], isDigit) || rest[i+6] == '\\' || rest[i+6] == ' ') {
			return true
		}
		rest = rest[i+2:]
	}
}

// level is an object or an array that is being walked.
type level struct {
	object bool
	key    string         // of the member, or of the array
	placed map[string]int // keys that were scrubbed, and how often
}

// unnamed is the name of keys, and of what stands in JSON under none: a number alone is an id there rather than what a person wrote.
const unnamed = "key"

// walk scrubs the strings of valid JSON, keys included. name is the key under which it stands.
func (s *Scrubber) walk(name, text string, n Counts, depth int) string {
	var out []byte // nil as long as nothing has changed
	done := 0
	replace := func(from, to int, quoted string) {
		out = append(out, text[done:from]...)
		out = rawjson.AppendString(out, quoted)
		done = to
	}
	if name == "" {
		name = unnamed
	}
	levels := []level{{key: name}}
	isKey := false
	for i := 0; i < len(text); {
		top := &levels[len(levels)-1]
		switch c := text[i]; c {
		case '{', '[':
			if len(levels) > maxNesting {
				return s.replace(text, s.find(name, text, nil), n)
			}
			levels = append(levels, level{object: c == '{', key: top.key})
			isKey = c == '{'
			i++
		case '}', ']':
			levels = levels[:len(levels)-1]
			isKey = false
			i++
		case ',':
			isKey = top.object
			i++
		case ':':
			isKey = false
			i++
		case ' ', '\t', '\r', '\n':
			i++
		case '"':
			end := stringEnd(text, i)
			value := decode(text[i:end])
			if isKey {
				top.key = tail(value)
				if scrubbed := s.text(unnamed, value, n, depth+1); scrubbed != value {
					replace(i, end, top.unique(scrubbed))
				}
			} else if scrubbed := s.text(top.key, value, n, depth+1); scrubbed != value {
				replace(i, end, scrubbed)
			}
			i = end
		default:
			end := i + 1
			for end < len(text) && strings.IndexByte(",]} \t\r\n:", text[end]) < 0 {
				end++
			}
			if s.card >= 0 && all(text[i:end], isDigit) && end-i >= minCardDigits && namesCard(top.key) && isCard(text[i:end]) {
				replace(i, end, s.placeholder(s.card))
				n[s.card]++
			}
			i = end
		}
	}
	if out == nil {
		return text
	}
	return string(append(out, text[done:]...))
}

// unique returns a key that no other scrubbed key of the object has.
func (l *level) unique(key string) string {
	if l.placed == nil {
		l.placed = map[string]int{}
	}
	return Unique(l.placed, key)
}

// Unique returns key, or for a repetition key with a number behind it, so that two secrets that were keys of one object do
// not become one member. placed is what the object has so far.
func Unique(placed map[string]int, key string) string {
	placed[key]++
	if placed[key] == 1 {
		return key
	}
	return key + " " + strconv.Itoa(placed[key])
}

// stringEnd returns the end of the JSON string that begins at i.
func stringEnd(text string, i int) int {
	for i++; i < len(text); i++ {
		switch text[i] {
		case '"':
			return i + 1
		case '\\':
			i++
		}
	}
	return len(text)
}

// decode returns the value of a JSON string.
func decode(quoted string) string {
	if strings.IndexByte(quoted, '\\') < 0 {
		return quoted[1 : len(quoted)-1]
	}
	value, ok := rawjson.Text([]byte(quoted))
	if !ok { // half of a surrogate pair
		var s string
		_ = json.Unmarshal([]byte(quoted), &s) // it is valid JSON
		return s
	}
	return value
}
