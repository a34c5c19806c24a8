package scrub

import "strings"

// class is a set of bytes.
type class uint16

const (
	isDigit  class = 1 << iota
	isHex          // 0-9a-f, and upper case
	isAlnum        // letters and digits
	isURL          // and _ and -
	isDotted       // and .
	isBase64       // letters, digits, + / =
	isPath         // letters, digits, _ - /
	isValue        // letters, digits, + /
	inRun          // all that a token may hold, and the escapes before it
)

var classes = func() (table [256]class) {
	add := func(set string, c class) {
		for i := range len(set) {
			table[set[i]] |= c
		}
	}
	const digits, hex, rest = "0123456789", "abcdefABCDEF", "ghijklmnopqrstuvwxyzGHIJKLMNOPQRSTUVWXYZ"
	add(digits, isDigit|isHex|isAlnum|isURL|isDotted|isBase64|isPath|isValue|inRun)
	add(hex, isHex|isAlnum|isURL|isDotted|isBase64|isPath|isValue|inRun)
	add(rest, isAlnum|isURL|isDotted|isBase64|isPath|isValue|inRun)
	add("_-", isURL|isDotted|isPath|inRun)
	add(".", isDotted|inRun)
	add("+/=", isBase64|inRun)
	add("+/", isValue)
	add("/", isPath)
	add(`~%\`, inRun)
	return table
}()

func is(c byte, set class) bool { return classes[c]&set != 0 }

// all reports whether every byte of s is of the class.
func all(s string, set class) bool { return span(s, set) == len(s) }

// span returns how many bytes at the beginning of s are of the class.
func span(s string, set class) int {
	for i := range len(s) {
		if classes[s[i]]&set == 0 {
			return i
		}
	}
	return len(s)
}

func hasDigit(s string) bool { return strings.ContainsAny(s, "0123456789") }

func isUpperOrDigit(s string) bool { return strings.ToUpper(s) == s }

func oneDot(s string) bool { return strings.Count(s, ".") == 1 }

// mixed reports whether s has a digit, and letters of both cases, as random text of some length does.
func mixed(s string) bool {
	return hasDigit(s) && strings.ToUpper(s) != s && strings.ToLower(s) != s
}

// random reports whether s looks random: it changes between letters and digits more often than words with numbers in them do,
// such as production_database_2 and backup-2024-01-15. Nearly all random text of 16 letters and digits and more does.
func random(s string) bool {
	digits, changes, n := 0, 0, 0
	for i := range len(s) {
		if !is(s[i], isAlnum) {
			continue
		}
		n++
		if is(s[i], isDigit) {
			digits++
		}
		if i > 0 && is(s[i-1], isAlnum) && is(s[i], isDigit) != is(s[i-1], isDigit) {
			changes++
		}
	}
	return n >= 16 && digits >= 2 && changes >= 2+n/20
}
