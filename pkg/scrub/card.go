package scrub

import (
	"slices"
	"strings"
)

const (
	minCardDigits = 13
	maxCardDigits = 19
	// maxCardRegion bounds the digits and separators around a place that are looked at as one.
	maxCardRegion = 64
)

// findCard looks for payment cards in the digits around the one at text[at]: as one number, or in the groups that are printed on
// cards, with spaces or a hyphen between them.
func (s *Scrubber) findCard(name, text string, at int, hits []hit) []hit {
	from, to := at, at+1
	for from > 0 && at-from < maxCardRegion {
		if is(text[from-1], isDigit) {
			from--
			continue
		}
		gap := gapBefore(text, from)
		if gap == 0 || from == gap || !is(text[from-gap-1], isDigit) {
			break
		}
		from -= gap + 1
	}
	for to < len(text) && to-at < maxCardRegion {
		if is(text[to], isDigit) {
			to++
			continue
		}
		gap := gapAt(text, to)
		if gap == 0 || to+gap == len(text) || !is(text[to+gap], isDigit) {
			break
		}
		to += gap + 1
	}
	if to-from < minCardDigits {
		return hits
	}
	return s.cardsIn(name, text, from, to, hits)
}

// findCardAround looks for a card in whose gaps between groups text[at] may be.
func (s *Scrubber) findCardAround(name, text string, at int, hits []hit) []hit {
	for i := at - 1; i >= 0 && i > at-maxGap; i-- {
		switch c := text[i]; {
		case is(c, isDigit):
			return s.findCard(name, text, i, hits)
		case c != ' ' && c < 0x80:
			return hits
		}
	}
	return hits
}

// findCardsWithin looks at each number within a run, such as that of card=4111111111111111.
func (s *Scrubber) findCardsWithin(name, text string, from, to int, hits []hit) []hit {
	for i := from; i < to; {
		if !is(text[i], isDigit) {
			i++
			continue
		}
		n := span(text[i:to], isDigit)
		if !beginsCard(text[i]) {
			i += n
			continue
		}
		if n >= minCardDigits && n <= maxCardDigits {
			hits = s.cardsIn(name, text, i, i+n, hits)
		} else if n == 4 && i+5 < to && (text[i+n] == '-' || text[i+n] == '\\') {
			before := len(hits)
			if hits = s.findCard(name, text, i, hits); len(hits) > before {
				n = max(n, hits[len(hits)-1].to-i)
			}
		}
		i += n
	}
	return hits
}

// maxGap is the length of the longest gap between two groups of digits: two spaces of three bytes.
const maxGap = 6

// spaces and hyphens are those that stand between the groups of a card; those of Unicode come from pages and from word processors.
var (
	spaces  = []string{" ", "\u00a0", "\u2007", "\u2009", "\u202f"}
	hyphens = []string{"-", "\u2010", "\u2011", "\u2012", "\u2013"}
)

// gapAt returns the length of the gap between two groups that may begin at text[at:]: a hyphen, or one or two spaces.
func gapAt(text string, at int) int {
	switch c := text[at]; {
	case c == '-':
		return 1
	case c == '\\':
		n, _ := escapedGap(text[at:])
		return n
	case c != ' ' && c < 0x80:
		return 0
	}
	for _, sign := range hyphens[1:] {
		if strings.HasPrefix(text[at:], sign) {
			return len(sign)
		}
	}
	n := 0
	for range 2 {
		for _, sign := range spaces {
			if strings.HasPrefix(text[at+n:], sign) {
				n += len(sign)
				break
			}
		}
	}
	return n
}

// escapedGap returns the length of the escape of JSON that s begins with, if it is that of a space or a hyphen of Unicode, and whether of a hyphen.
// Programs write them so in JSON that is all ASCII; they are seen where it was cut off.
func escapedGap(s string) (n int, hyphen bool) {
	const length = len(`\u00a0`)
	if len(s) < length || s[1] != 'u' {
		return 0, false
	}
	switch strings.ToLower(s[2:length]) {
	case "00a0", "2007", "2009", "202f":
		return length, false
	case "2010", "2011", "2012", "2013":
		return length, true
	}
	return 0, false
}

// gapBefore is gapAt for the gap that may end before text[at:].
func gapBefore(text string, at int) int {
	switch c := text[at-1]; {
	case c == '-':
		return 1
	case c != ' ' && c < 0x80:
		return 0
	}
	for _, sign := range hyphens[1:] {
		if strings.HasSuffix(text[:at], sign) {
			return len(sign)
		}
	}
	n := 0
	for range 2 {
		for _, sign := range spaces {
			if strings.HasSuffix(text[:at-n], sign) {
				n += len(sign)
				break
			}
		}
	}
	return n
}

// printedGroups are how cards have their digits printed, the longer ones first. All begin with four.
var printedGroups = [][]int{{4, 4, 4, 4, 3}, {4, 4, 4, 4}, {4, 6, 5}, {4, 6, 4}}

// cardsIn looks for cards in text[from:to], digits and the gaps between their groups.
func (s *Scrubber) cardsIn(name, text string, from, to int, hits []hit) []hit {
	type group struct {
		from, to int
		hyphen   bool // before it
	}
	var room [16]group
	groups := room[:0]
	hyphen := false
	for i := from; i < to; {
		n := span(text[i:to], isDigit)
		groups = append(groups, group{i, i + n, hyphen})
		if i += n; i < to {
			gap := gapAt(text, i)
			if hyphen = text[i] == '-' || text[i] >= 0x80 && slices.Contains(hyphens, text[i:i+gap]); text[i] == '\\' {
				_, hyphen = escapedGap(text[i:])
			}
			i += gap
		}
	}
	for g := 0; g < len(groups); g++ {
		one := groups[g]
		if !beginsCard(text[one.from]) {
			continue
		}
		if n := one.to - one.from; n >= minCardDigits && n <= maxCardDigits {
			if standsAlone(text, one.from, one.to) && isCard(text[one.from:one.to]) &&
				!namesNumber(name, text, one.from) && !isMeasure(text[one.to:]) && cardContext(name, text, one.from, one.to) {
				hits = append(hits, hit{one.from, one.to, s.card})
			}
			continue
		} else if n != printedGroups[0][0] {
			continue
		}
		for _, sizes := range printedGroups {
			if g+len(sizes) > len(groups) {
				continue
			}
			fits := true
			for i, size := range sizes {
				at := groups[g+i]
				fits = fits && at.to-at.from == size && (i == 0 || at.hyphen == groups[g+1].hyphen)
			}
			last := groups[g+len(sizes)-1]
			if !fits || !standsAlone(text, one.from, last.to) {
				continue
			}
			var digits [maxCardDigits]byte
			n := 0
			for i := range sizes {
				n += copy(digits[n:], text[groups[g+i].from:groups[g+i].to])
			}
			if isCard(string(digits[:n])) {
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

// beginsCard reports whether any issuer's numbers begin with a digit.
func beginsCard(digit byte) bool { return '2' <= digit && digit <= '6' || digit == '8' }

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
	"customer": true, "customers": true, "user": true, "tweet": true, "status": true, "post": true, "message": true, "account": true, "member": true,
	"item": true, "product": true, "sku": true, "request": true, "job": true, "run": true, "transaction": true, "duration": true, "took": true,
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

// units are those of numbers that are no card's.
var units = map[string]bool{
	"ns": true, "us": true, "ms": true, "s": true, "sec": true, "seconds": true, "nanoseconds": true, "microseconds": true, "milliseconds": true,
	"bytes": true, "kb": true, "mb": true, "gb": true, "tokens": true, "wei": true, "satoshi": true,
}

// isMeasure reports whether the text behind a number begins with a unit.
func isMeasure(after string) bool {
	after = strings.TrimLeft(after[:min(len(after), 16)], " ")
	return units[strings.ToLower(after[:span(after, isAlnum)])]
}

// cardWords are those that stand near a card's number.
var cardWords = map[string]bool{
	"card": true, "cards": true, "creditcard": true, "debitcard": true, "cardnumber": true, "cardno": true, "pan": true, "cc": true, "ccnum": true,
	"credit": true, "debit": true, "visa": true, "mastercard": true, "amex": true, "maestro": true, "diners": true, "jcb": true, "unionpay": true,
	"pay": true, "pays": true, "paid": true, "paying": true, "payment": true, "payments": true, "charge": true, "charged": true, "billing": true,
	"checkout": true, "cvv": true, "cvv2": true, "cvc": true, "expiry": true, "expires": true,
	"karte": true, "kreditkarte": true, "kartennummer": true, "carte": true, "tarjeta": true, "carta": true, "kaart": true, "karta": true,
}

// cardLetters are parts of such words in other scripts.
var cardLetters = []string{"cartão", "карт", "カード", "卡", "카드"}

// textNames end the names of texts that people and models write, in which a number may be all that there is: an answer to the question for the card.
var textNames = map[string]bool{
	"content": true, "text": true, "message": true, "body": true, "input": true, "inputs": true, "output": true, "outputs": true,
	"prompt": true, "completion": true, "question": true, "query": true, "answer": true, "response": true, "reply": true, "number": true,
}

// cardContext reports whether what is around the digits text[from:to] speaks of a card: a word, the month and year behind them, or nothing at all
// where people write. Every fortieth id of 16 digits has an issuer's beginning and Luhn's sum.
func cardContext(name, text string, from, to int) bool {
	const far = 48
	before, after := text[max(0, from-near):from], text[to:min(len(text), to+far)]
	for _, part := range []string{name, before, after} {
		for _, w := range wordsOf(part) {
			if cardWords[w] {
				return true
			}
		}
		for _, letters := range cardLetters {
			if strings.Contains(part, letters) {
				return true
			}
		}
	}
	after = strings.TrimLeft(after, " ,;|")
	if len(after) > 3 && strings.EqualFold(after[:3], "exp") { // exp 12/29, Exp. Date: 12/29
		after = after[min(len(after), 3+max(0, strings.IndexAny(after[3:min(len(after), 20)], "0123456789"))):]
	}
	if isExpiry(after) {
		return true
	}
	if from > near || len(text)-to > far || strings.TrimSpace(text[:from]) != "" || strings.Trim(text[to:], " .\t\r\n") != "" {
		var ok bool
		if name, ok = memberName(before, text[to:min(len(text), to+far)]); !ok {
			return false
		}
	}
	words := wordsOf(name)
	for len(words) > 0 && all(words[len(words)-1], isDigit) { // the place in a list
		words = words[:len(words)-1]
	}
	if n := len(words); n > 1 && words[n-1] == "value" { // input.value
		words = words[:n-1]
	}
	return len(words) == 0 || textNames[words[len(words)-1]]
}

// memberName returns the name of the member of a JSON object whose whole value is between before and after, also where quotes are escaped.
func memberName(before, after string) (string, bool) {
	for trimmed := ""; trimmed != after; {
		trimmed, after = after, strings.TrimPrefix(strings.TrimPrefix(strings.TrimLeft(after, " ."), `\n`), `\r`)
	}
	if !strings.HasPrefix(strings.TrimLeft(after, `\`), `"`) {
		return "", false
	}
	before, quote := strings.CutSuffix(strings.TrimRight(before, " "), `"`)
	before, colon := strings.CutSuffix(strings.TrimRight(before, ` \`), ":")
	before, end := strings.CutSuffix(strings.TrimRight(before, " "), `"`)
	before = strings.TrimRight(before, `\`)
	return before[strings.LastIndexByte(before, '"')+1:], quote && colon && end
}

// isExpiry reports whether s begins with the month and the year until which a card is valid, such as 12/29.
func isExpiry(s string) bool {
	month := span(s, isDigit)
	return (month == 1 || month == 2) && month+2 < len(s) && (s[month] == '/' || s[month] == '-') && is(s[month+1], isDigit) && is(s[month+2], isDigit)
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
		case from < 0 && i > 0 && text[i-1] == '\\' && strings.IndexByte("nrtbf", c) >= 0: // an escape before a word
		case from < 0:
			from = i
		}
	}
	flush(len(text))
	return words
}
