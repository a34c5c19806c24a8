package scrub

import "strings"

// class is a set of bytes.
type class uint16

const (
	isDigit      class = 1 << iota
	isHex              // 0-9a-f, and upper case
	isAlnum            // letters and digits
	isURL              // and _ and -
	isDotted           // and .
	isBase64           // letters, digits, + / =
	isAnyBase64        // that of URLs, too: and _ -
	isSentBase64       // and %, for those that are escaped in URLs
	isPath             // letters, digits, _ - /
	isValue            // letters, digits, + /
	inRun              // all that a token may hold, and the escapes before it
)

var classes = func() (table [256]class) {
	add := func(set string, c class) {
		for i := range len(set) {
			table[set[i]] |= c
		}
	}
	const digits, hex, rest = "0123456789", "abcdefABCDEF", "ghijklmnopqrstuvwxyzGHIJKLMNOPQRSTUVWXYZ"
	add(digits, isDigit|isHex|isAlnum|isURL|isDotted|isBase64|isAnyBase64|isSentBase64|isPath|isValue|inRun)
	add(hex, isHex|isAlnum|isURL|isDotted|isBase64|isAnyBase64|isSentBase64|isPath|isValue|inRun)
	add(rest, isAlnum|isURL|isDotted|isBase64|isAnyBase64|isSentBase64|isPath|isValue|inRun)
	add("_-", isAnyBase64|isURL|isDotted|isPath|inRun)
	add(".", isDotted|inRun)
	add("+/=", isBase64|isAnyBase64|isSentBase64|inRun)
	add("%", isSentBase64)
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

// random reports whether s looks random: it changes between letters and digits, or between upper case, lower case and digits, more often
// than words with numbers in them do, such as production_database_2, backup-2024-01-15 and handleOAuth2CallbackUrls. Of random letters and
// digits, 95 in 100 do with 24 of them, 99 with 32.
func random(s string) bool {
	const other, digit, lower, upper = 0, 1, 2, 3
	kind := func(c byte) int {
		switch {
		case '0' <= c && c <= '9':
			return digit
		case 'a' <= c && c <= 'z':
			return lower
		case 'A' <= c && c <= 'Z':
			return upper
		}
		return other
	}
	n, digits, numbers, changes := 0, 0, 0, 0 // numbers are changes to or from digits
	last := other
	for i := range len(s) {
		k := kind(s[i])
		if k != other {
			n++
			if k == digit {
				digits++
			}
			if last != other && k != last {
				changes++
				if k == digit || last == digit {
					numbers++
				}
			}
		}
		last = k
	}
	return n >= 16 && (digits >= 2 && numbers >= 2+n/20 || digits >= 1 && changes*2 >= n)
}

// isBase32 reports whether s has the letters, of one case, and the digits of base32, and both.
func isBase32(s string) bool {
	return hasDigit(s) && !strings.ContainsAny(s, "0189") && (strings.ToLower(s) == s || strings.ToUpper(s) == s)
}
