package scrub

import (
	"regexp/syntax"
	"strings"
)

// find appends what an own pattern matches.
func (p *pattern) find(text string, hits []hit) []hit {
	if p.literal != "" && !strings.Contains(text, p.literal) {
		return hits
	}
	for _, m := range p.re.FindAllStringSubmatchIndex(text, -1) {
		from, to := m[0], m[1]
		if len(m) > 2 && m[2] >= 0 {
			from, to = m[2], m[3]
		}
		if from < to {
			hits = append(hits, hit{from, to, p.rule})
		}
	}
	return hits
}

// literalOf returns the longest text that every match of a pattern holds, as far as that is easily seen. A pattern that has
// one costs next to nothing where text does not hold it.
func literalOf(pattern string) string {
	re, err := syntax.Parse(pattern, syntax.Perl)
	if err != nil {
		return ""
	}
	return required(re.Simplify())
}

func required(re *syntax.Regexp) (longest string) {
	switch re.Op {
	case syntax.OpLiteral:
		if re.Flags&syntax.FoldCase == 0 {
			return string(re.Rune)
		}
	case syntax.OpCapture, syntax.OpPlus:
		return required(re.Sub[0])
	case syntax.OpConcat:
		for _, sub := range re.Sub {
			if text := required(sub); len(text) > len(longest) {
				longest = text
			}
		}
	}
	return longest
}

const maxLocalPart = 64 // of an e-mail address, RFC 5321

// findEmails looks for e-mail addresses.
func (s *Scrubber) findEmails(text string, hits []hit) []hit {
	for at := 0; ; at++ {
		i := strings.IndexByte(text[at:], '@')
		if i < 0 {
			return hits
		}
		at += i
		from := at
		for from > 0 && at-from < maxLocalPart && (is(text[from-1], isDotted) || text[from-1] == '+' || text[from-1] == '%' || text[from-1] == '\'') {
			from--
		}
		if from > 0 && text[from-1] == '\\' && from < at {
			from = escapeEnd(text, from-1, at)
		}
		for from < at && !is(text[from], isAlnum) && text[from] != '_' {
			from++
		}
		to, dot := at+1, 0
		for to < len(text) && to-at < 255 && (is(text[to], isDotted) && text[to] != '_') {
			if text[to] == '.' {
				dot = to
			}
			to++
		}
		for to > at+1 && !is(text[to-1], isAlnum) { // the full stop of a sentence
			to--
			if dot == to {
				dot = at + 1 + strings.LastIndexByte(text[at+1:to], '.')
			}
		}
		if from == at || dot <= at+1 || to-dot < 3 || hasDigit(text[dot:to]) {
			continue
		}
		hits = append(hits, hit{from, to, s.email})
	}
}
