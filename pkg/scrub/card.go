package scrub

import (
	"strings"
)

const (
	minCardDigits = 13
	maxCardDigits = 19
	// maxCardRegion bounds the digits and separators around a place that are looked at as one.
	maxCardRegion = 64
)

// findCard looks for payment cards in the digits around text[at]: as one number, or in the groups that are printed on
// cards, with a space or a hyphen between them.
func (s *Scrubber) findCard(name, text string, at int, hits []hit) []hit {
	if at < 0 || at >= len(text) || !is(text[at], isDigit) && !(isSeparator(text[at]) && at+1 < len(text) && is(text[at+1], isDigit)) {
		return hits
	}
	if !is(text[at], isDigit) {
		at++
	}
	from, to := at, at+1
	for from > 0 && at-from < maxCardRegion {
		if is(text[from-1], isDigit) {
			from--
		} else if from > 1 && isSeparator(text[from-1]) && is(text[from-2], isDigit) {
			from -= 2
		} else {
			break
		}
	}
	for to < len(text) && to-at < maxCardRegion {
		if is(text[to], isDigit) {
			to++
		} else if to+1 < len(text) && isSeparator(text[to]) && is(text[to+1], isDigit) {
			to += 2
		} else {
			break
		}
	}
	if to-from < minCardDigits {
		return hits
	}
	return s.cardsIn(name, text, from, to, hits)
}

// findCardsWithin looks at each number within a run, such as that of card=4111111111111111.
func (s *Scrubber) findCardsWithin(name, text string, from, to int, hits []hit) []hit {
	for i := from; i < to; {
		if !is(text[i], isDigit) {
			i++
			continue
		}
		n := span(text[i:to], isDigit)
		if n >= minCardDigits && n <= maxCardDigits {
			hits = s.cardsIn(name, text, i, i+n, hits)
		} else if n == 4 && i+5 < to && text[i+n] == '-' {
			before := len(hits)
			if hits = s.findCard(name, text, i, hits); len(hits) > before {
				n = max(n, hits[len(hits)-1].to-i)
			}
		}
		i += n
	}
	return hits
}

func isSeparator(c byte) bool { return c == ' ' || c == '-' }

// printedGroups are how cards have their digits printed, the longer ones first.
var printedGroups = [][]int{{4, 4, 4, 4, 3}, {4, 4, 4, 4}, {4, 6, 5}, {4, 6, 4}}

// cardsIn looks for cards in text[from:to], digits and single separators.
func (s *Scrubber) cardsIn(name, text string, from, to int, hits []hit) []hit {
	type group struct{ from, to int }
	var room [16]group
	groups := room[:0]
	for i := from; i < to; {
		n := span(text[i:to], isDigit)
		groups = append(groups, group{i, i + n})
		i += n + 1
	}
	for g := 0; g < len(groups); g++ {
		one := groups[g]
		if n := one.to - one.from; n >= minCardDigits && n <= maxCardDigits {
			if standsAlone(text, one.from, one.to) && isCard(text[one.from:one.to]) && !namesNumber(name, text, one.from) {
				hits = append(hits, hit{one.from, one.to, s.card})
			}
			continue
		}
		for _, sizes := range printedGroups {
			if g+len(sizes) > len(groups) {
				continue
			}
			fits := true
			for i, size := range sizes {
				at := groups[g+i]
				fits = fits && at.to-at.from == size && (i == 0 || text[at.from-1] == text[one.to])
			}
			last := groups[g+len(sizes)-1]
			if !fits || !standsAlone(text, one.from, last.to) {
				continue
			}
			digits := strings.NewReplacer(" ", "", "-", "").Replace(text[one.from:last.to])
			if isCard(digits) {
				hits = append(hits, hit{one.from, last.to, s.card})
				g += len(sizes) - 1
				break
			}
		}
	}
	return hits
}

// standsAlone reports whether digits are neither part of a word nor of a decimal number. An escape before them, such as \n,
// is no part of them.
func standsAlone(text string, from, to int) bool {
	if to < len(text) && (is(text[to], isAlnum) || text[to] == '_' || text[to] == '.' && to+1 < len(text) && is(text[to+1], isDigit)) {
		return false
	}
	if from == 0 {
		return true
	}
	c := text[from-1]
	if is(c, isAlnum) {
		return from > 1 && text[from-2] == '\\' && strings.IndexByte("nrtbf", c) >= 0
	}
	return c != '_' && !(c == '.' && from > 1 && is(text[from-2], isDigit))
}

// isCard reports whether digits are the number of a payment card: the beginning and length of an issuer's, and Luhn's sum.
func isCard(digits string) bool {
	n := len(digits)
	if n < minCardDigits || n > maxCardDigits {
		return false
	}
	head := 0 // the first four digits
	for i := range 4 {
		head = head*10 + int(digits[i]-'0')
	}
	two, three := head/100, head/10
	known := false
	switch {
	case head/1000 == 4: // Visa
		known = n == 13 || n == 16 || n == 19
	case two >= 51 && two <= 55, head >= 2221 && head <= 2720: // Mastercard
		known = n == 16
	case two == 34, two == 37: // American Express
		known = n == 15
	case three >= 300 && three <= 305, two == 36, two == 38, two == 39: // Diners Club
		known = n == 14 || n == 16
	case head == 6011, three >= 644 && three <= 649, two == 65: // Discover
		known = n >= 16
	case head >= 3528 && head <= 3589: // JCB
		known = n >= 16
	case two == 62, two == 81: // UnionPay
		known = n >= 16
	case head == 5018, head == 5020, head == 5038, head == 5893, head == 6304, head == 6759, head >= 6761 && head <= 6763: // Maestro
		known = true
	}
	return known && luhn(digits)
}

func luhn(digits string) bool {
	sum := 0
	for i := range len(digits) {
		d := int(digits[len(digits)-1-i] - '0')
		if i%2 == 1 {
			if d *= 2; d > 9 {
				d -= 9
			}
		}
		sum += d
	}
	return sum%10 == 0
}

// otherNumbers are words that say of a number that it is no card's.
var otherNumbers = map[string]bool{
	"id": true, "ids": true, "uid": true, "uuid": true, "guid": true, "order": true, "orders": true, "invoice": true, "ticket": true,
	"tracking": true, "shipment": true, "trace": true, "span": true, "session": true,
	"timestamp": true, "time": true, "ts": true, "epoch": true, "unix": true, "at": true, "nanos": true, "ns": true, "micros": true, "us": true,
	"ms": true, "millis": true, "seq": true, "sequence": true, "offset": true, "version": true, "revision": true, "isbn": true, "imei": true,
	"serial": true, "phone": true, "tel": true, "snowflake": true, "hash": true, "seed": true, "tokens": true, "cost": true,
}

// fillers may stand between such a word and its number.
var fillers = map[string]bool{"number": true, "no": true, "nr": true, "is": true, "was": true, "the": true, "num": true}

// namesNumber reports whether the name of a text, or the words before a place in it, say that the number there is another
// one than a card's: the id of an order, a time.
func namesNumber(name, text string, at int) bool {
	before := text[max(0, at-32):at]
	if strings.TrimSpace(before) == "" {
		before = name
	}
	words := wordsOf(before)
	if key := strings.TrimRight(before, " "); len(key) > 1 && key[len(key)-1] == ':' && key[len(key)-2] == '"' && len(words) > 0 {
		return !namesCard(words[len(words)-1]) && !namesCard(key) // a bare number of JSON that was cut off, or has text around it
	}
	for i := len(words) - 1; i >= 0 && i >= len(words)-3; i-- {
		if otherNumbers[words[i]] {
			return true
		}
		if !fillers[words[i]] {
			return false
		}
	}
	return false
}

// namesCard reports whether a name says that what stands under it is the number of a payment card.
func namesCard(name string) bool {
	for _, w := range wordsOf(name) {
		switch w {
		case "card", "cards", "pan", "cc", "ccnum", "creditcard", "cardnumber", "credit":
			return true
		}
	}
	return false
}

// wordsOf returns the words of a name or a text in lower case: orderID and order_id are order and id.
func wordsOf(text string) (words []string) {
	from := -1
	flush := func(to int) {
		if from >= 0 {
			words = append(words, strings.ToLower(text[from:to]))
		}
		from = -1
	}
	for i := range len(text) {
		c := text[i]
		switch {
		case !is(c, isAlnum):
			flush(i)
		case from >= 0 && 'A' <= c && c <= 'Z' && 'a' <= text[i-1] && text[i-1] <= 'z':
			flush(i)
			from = i
		case from < 0:
			from = i
		}
	}
	flush(len(text))
	return words
}
