package mcpserver

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
	"unicode"

	"github.com/spangrove/spangrove/pkg/client"
	"github.com/spangrove/spangrove/pkg/rawjson"
)

// visible writes as escapes what a reader cannot see, and a model can: control characters other than line breaks and tabs, and
// characters of format such as marks of direction and tags. Joiners stay, which emoji and scripts need.
func visible(s string) string {
	hidden := func(r rune) bool {
		switch r {
		case '\n', '\t', '\u200c', '\u200d':
			return false
		}
		return unicode.Is(unicode.Cc, r) || unicode.Is(unicode.Cf, r) || unicode.Is(unicode.Zl, r) || unicode.Is(unicode.Zp, r) || unicode.Is(unicode.Co, r)
	}
	s = strings.ToValidUTF8(s, "\ufffd")
	if strings.IndexFunc(s, hidden) < 0 {
		return s
	}
	var b strings.Builder
	for _, r := range s {
		if hidden(r) {
			fmt.Fprintf(&b, `\u{%x}`, r)
			continue
		}
		b.WriteRune(r)
	}
	return b.String()
}

// line returns a text as one line of at most so many bytes.
func line(s string, most int) string {
	if len(s) > 8*most { // the rest would not be shown
		s = s[:8*most]
	}
	return shorten(visible(strings.Join(strings.Fields(s), " ")), most)
}

// shorten cuts a text to at most so many bytes, with an ellipsis at the cut.
func shorten(s string, most int) string {
	const ellipsis = "…"
	if len(s) <= most {
		return s
	}
	return rawjson.Prefix(s, max(0, most-len(ellipsis))) + ellipsis
}

// took writes milliseconds as a person reads them.
func took(ms float64) string {
	switch {
	case ms < 1000:
		return number(ms) + " ms"
	case ms < 120_000:
		return number(ms/1000) + " s"
	case ms < 2*3_600_000:
		return number(ms/60_000) + " min"
	}
	return number(ms/3_600_000) + " h"
}

// number writes a number with about three digits that say something, and all digits of a whole one.
func number(f float64) string {
	if f == math.Trunc(f) && math.Abs(f) < 1e15 {
		return strconv.FormatFloat(f, 'f', -1, 64)
	}
	digits := 2
	for small := math.Abs(f); small < 1 && small > 0 && digits < 8; small *= 10 {
		digits++
	}
	return strings.TrimRight(strings.TrimRight(strconv.FormatFloat(f, 'f', digits, 64), "0"), ".")
}

// optional is number, or a dash for none.
func optional(f *float64) string {
	if f == nil {
		return "-"
	}
	return number(*f)
}

// at writes a time of the API.
func at(millis float64) string {
	if millis == 0 {
		return "-"
	}
	return client.Time(millis).Format("2006-01-02T15:04:05.000Z")
}

// day writes a time that a list shows, empty for none.
func day(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Format(time.RFC3339)
}

// count writes a number of things.
func count(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return strconv.Itoa(n) + " " + many
}
