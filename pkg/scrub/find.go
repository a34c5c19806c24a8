package scrub

import "strings"

const (
	// shortest is the length of the shortest text that can hold a secret: "a://b:c@d".
	shortest = 9
	// stride is how far the quick pass goes at a time. A run of that length cannot lie between two steps, and no token is
	// shorter.
	stride = 12
)

// find appends the secrets in a text, in no order.
func (s *Scrubber) find(name, text string, hits []hit) []hit {
	hits = s.findInRuns(name, text, hits)
	if s.credentials >= 0 {
		hits = s.findCredentials(text, hits)
	}
	if s.privateKey >= 0 {
		hits = s.findPrivateKeys(text, hits)
		hits = s.findPuTTYKeys(text, hits)
	}
	if s.email >= 0 {
		hits = s.findEmails(text, hits)
	}
	for i := range s.own {
		hits = s.own[i].find(text, hits)
	}
	return hits
}

// findInRuns is the quick pass: it looks at long runs of bytes that tokens are made of, and at digits.
func (s *Scrubber) findInRuns(name, text string, hits []hit) []hit {
	end := 0 // of the last run
	for i := min(stride-1, len(text)-1); i < len(text); i += stride {
		c := text[i]
		if !is(c, inRun) {
			if (c == ' ' || c >= 0x80) && s.card >= 0 {
				hits = s.findCardAround(name, text, i, hits)
			}
			continue
		}
		from, to := i, i+1
		for from > end && is(text[from-1], inRun) {
			from--
		}
		for to < len(text) && is(text[to], inRun) {
			to++
		}
		if to-from >= stride {
			hits = s.findTokens(name, text, from, to, hits)
		}
		if s.card >= 0 {
			if is(text[to-1], isDigit) {
				hits = s.findCard(name, text, to-1, hits)
			}
			if to-from >= stride {
				hits = s.findCardsWithin(name, text, from, to, hits)
			}
		}
		end, i = to, to
	}
	return hits
}

// findTokens looks at the words of a run: all that begin after something that is no letter or digit.
func (s *Scrubber) findTokens(name, text string, from, to int, hits []hit) []hit {
	first := len(hits)
	hits = s.findAfterScheme(name, text, from, to, hits)
	if s.telegram >= 0 && from > 0 && text[from-1] == ':' {
		hits = s.findTelegram(text, from, to, hits)
	}
	noJWT := 0 // none begins before
	for p := from; p < to; {
		switch c := text[p]; {
		case is(c, isAlnum):
			if h, ok := s.token(text, p, to, &noJWT); ok {
				hits, p = append(hits, h), h.to
				continue
			}
			for p++; p < to && is(text[p], isAlnum); p++ {
			}
		case c == '\\':
			end := escapeEnd(text, p, to)
			// What looks like an escape may be a folder, C:\new, so a word may begin at its letter.
			for p++; p < end; p++ {
				if is(text[p], isAlnum) {
					if h, ok := s.token(text, p, to, &noJWT); ok {
						hits, end = append(hits, h), h.to
					}
					break
				}
			}
			p = end
		case c == '%' && p+2 < to && is(text[p+1], isHex) && is(text[p+2], isHex):
			p += 3
		default:
			p++
		}
	}
	if to-from >= shortestNamed {
		if s.azure >= 0 {
			hits = s.findAzureClient(text, from, to, hits)
		}
		hits = s.findNamed(name, text, from, to, hits)
	}
	if s.apiKey >= 0 && to-from >= minVariable {
		hits = s.findAPIKeys(name, text, from, to, hits, first)
	}
	return hits
}

// findTelegram looks at a run behind a colon as the second part of a bot's token: the bot's number, a colon, and 35 bytes.
func (s *Scrubber) findTelegram(text string, from, to int, hits []hit) []hit {
	begin := from - 1
	for begin > 0 && is(text[begin-1], isDigit) && from-begin <= 11 {
		begin--
	}
	n := span(text[from:to], isURL)
	if digits := from - 1 - begin; digits < 8 || digits > 10 || n != 35 || !random(text[from:from+n]) {
		return hits
	}
	return append(hits, hit{begin, from + n, s.telegram})
}

// escapeEnd returns the end of the escape, of JSON or of a programming language, that begins at the backslashes at p.
func escapeEnd(text string, p, to int) int {
	for p < to && text[p] == '\\' {
		p++
	}
	if p == to {
		return to
	}
	switch text[p] {
	case 'n', 'r', 't', 'b', 'f':
		return p + 1
	case 'u':
		if p+5 <= to && all(text[p+1:p+5], isHex) {
			return p + 5
		}
	}
	return p
}

// token returns the token that begins at p. noJWT is where a search for a JSON web token that failed has ended.
func (s *Scrubber) token(text string, p, to int, noJWT *int) (hit, bool) {
	for _, i := range s.byFirst[text[p]] {
		t := &s.tokens[i]
		if !strings.HasPrefix(text[p:], t.prefix) || s.common[i] && p > 0 && joins(text[p-1]) {
			continue
		}
		body := text[p+len(t.prefix):]
		// No more than that is looked at before it is clear that this is a token, so that many prefixes in a row
		// do not each cost the whole run.
		n := span(body[:min(len(body), t.max+1)], t.class)
		if n < t.min || n > t.max && t.max != unbounded || n <= t.max && n < len(body) && is(body[n], isAlnum) {
			continue
		}
		if t.check != nil && !t.check(body[:n]) {
			continue
		}
		if n > t.max {
			n += span(body[n:], t.class)
		}
		return hit{p, p + len(t.prefix) + n, s.ruleOf[i]}, true
	}
	if text[p] == 'e' && s.jwt >= 0 && p >= *noJWT && isObject(text[p:to]) {
		if n := jwtLen(text[p:to]); n > 0 {
			return hit{p, p + n, s.jwt}, true
		}
		*noJWT = p + span(text[p:to], isURL)
	}
	return hit{}, false
}

// jwtLen returns the length of the JSON web token at the beginning of s, where an object begins, or 0: three parts of base64url, or five, the first
// of which is a JSON object, and of three the second, too. The signature may be empty.
func jwtLen(s string) int {
	end, parts, second := 0, 0, 0
	for parts < 5 {
		n := span(s[end:], isURL)
		if parts < 2 && n < 8 {
			return 0
		}
		end += n
		parts++
		if end == len(s) || s[end] != '.' {
			break
		}
		if parts == 1 {
			second = end + 1
		}
		if parts == 3 && end+1 < len(s) && !is(s[end+1], isURL) {
			break // the full stop of a sentence
		}
		end++
	}
	if parts < 3 || parts < 5 && !isObject(s[second:]) {
		return 0
	}
	return end
}

// isObject reports whether s begins as a JSON object does in base64.
func isObject(s string) bool {
	return strings.HasPrefix(s, "eyJ") || strings.HasPrefix(s, "eyAi") || strings.HasPrefix(s, "ewog") || strings.HasPrefix(s, "ewoJ") || strings.HasPrefix(s, "ew0K")
}
