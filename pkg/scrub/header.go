package scrub

import (
	"encoding/base64"
	"strings"
)

// schemeBefore returns whether the word scheme stands before text[at:], with one or two spaces, or an encoded space,
// between them.
func schemeBefore(text string, at int, scheme string) bool {
	before := text[max(0, at-len(scheme)-4):at]
	trimmed := strings.TrimRight(before, " \t")
	if trimmed == before {
		return false
	}
	n := len(trimmed) - len(scheme)
	return n >= 0 && strings.EqualFold(trimmed[n:], scheme) && (n == 0 || !is(trimmed[n-1], isAlnum))
}

// findAfterScheme looks at a run as what follows Bearer or Basic in a header.
// Behind a header's name anything but a word is a token; elsewhere, "bearer" may be any word, and what follows it has to look random.
func (s *Scrubber) findAfterScheme(name, text string, from, to int, hits []hit) []hit {
	start := from
	bearer, basic := false, false
	if from > 0 && (text[from-1] == ' ' || text[from-1] == '\t') {
		bearer, basic = schemeBefore(text, from, "bearer"), schemeBefore(text, from, "basic")
	}
	if !bearer && !basic {
		// As environment variables have headers: Authorization=Bearer%20TOKEN.
		run := text[from:to]
		if strings.IndexByte(run, '%') < 0 {
			return hits
		}
		for _, space := range []string{"earer%20", "asic%20"} {
			if i := strings.Index(run, space); i > 0 {
				start = from + i + len(space)
				bearer, basic = run[i-1]|0x20 == 'b' && space[0] == 'e', run[i-1]|0x20 == 'b' && space[0] == 'a'
				break
			}
		}
	}
	value := text[start:to]
	if i := strings.IndexAny(value, `\%`); i >= 0 {
		value = value[:i]
	}
	value = strings.TrimRight(value, ".")
	switch {
	case bearer && s.bearer >= 0 && len(value) >= 16 && (random(value) || (hasDigit(value) || innerUpper(value)) && afterAuthorization(name, text, start)):
		return append(hits, hit{start, start + len(value), s.bearer})
	case basic && s.credentials >= 0 && isUserAndPassword(value):
		return append(hits, hit{start, start + len(value), s.credentials})
	}
	return hits
}

// afterAuthorization reports whether the scheme that ends before text[at:] follows the name of a header, such as Authorization: or
// "proxy-authorization":, with nothing but signs between them.
func afterAuthorization(name, text string, at int) bool {
	before := text[max(0, at-near):at]
	end := max(0, len(before)-len("bearer%20")) // or with spaces: of what is left of the scheme, only letters are skipped
	for end < len(before) && !strings.EqualFold(before[end:min(len(before), end+len("bearer"))], "bearer") {
		end++
	}
	before = strings.TrimRight(before[:end], " \t\"'`\\:=>,[{(")
	if before == "" {
		before = name
	}
	const header = "authorization"
	return len(before) >= len(header) && strings.EqualFold(before[len(before)-len(header):], header)
}

// innerUpper reports whether s has lower-case letters, and an upper-case one within a word: words with hyphens have not.
func innerUpper(s string) bool {
	for i := 1; i < len(s); i++ {
		if 'A' <= s[i] && s[i] <= 'Z' && 'a' <= s[i-1] && s[i-1] <= 'z' {
			return true
		}
	}
	return false
}

// isUserAndPassword reports whether s is what basic authentication sends: user:password in base64.
func isUserAndPassword(s string) bool {
	b, err := base64.StdEncoding.DecodeString(s)
	if err != nil {
		b, err = base64.RawStdEncoding.DecodeString(s)
	}
	if err != nil || len(b) == 0 {
		return false
	}
	colon := false
	for _, c := range b {
		if c < 0x20 || c == 0x7f {
			return false
		}
		colon = colon || c == ':'
	}
	return colon
}

// maxUserinfo bounds the user and password of a URL.
const maxUserinfo = 512

// findCredentials looks for user:password@ in URLs.
func (s *Scrubber) findCredentials(text string, hits []hit) []hit {
	for at := 0; ; {
		i := strings.Index(text[at:], "/")
		if i < 0 {
			return hits
		}
		at += i
		slash := at
		// A colon before, another slash behind, each with the backslashes of an escape.
		for at++; at < len(text) && text[at] == '\\'; at++ {
		}
		if at >= len(text) || text[at] != '/' {
			continue
		}
		at++
		colon := slash
		for colon > 0 && text[colon-1] == '\\' {
			colon--
		}
		if colon < 2 || text[colon-1] != ':' || !is(text[colon-2], isAlnum) {
			continue
		}
		sign := strings.IndexAny(text[at:min(len(text), at+maxUserinfo)], "/?#\"'<>{}` \t\r\n\\")
		if sign < 0 {
			sign = min(len(text)-at, maxUserinfo)
		}
		user := text[at : at+sign]
		sign = strings.LastIndexByte(user, '@')
		if sign < 0 || at+sign+1 >= len(text) {
			continue
		}
		user = user[:sign]
		if i := strings.IndexByte(user, ':'); i < 0 || i == len(user)-1 || strings.HasPrefix(user, "[scrubbed:") {
			continue
		}
		hits = append(hits, hit{at, at + sign, s.credentials})
		at += sign
	}
}
