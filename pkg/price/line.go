package price

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
)

// A line of the built-in table is
//
//	name TAB provider TAB rates [TAB above TAB rates]…
//
// where rates are dollars per million tokens in the order of the kinds, separated by blanks, with
// "-" for a rate that is missing; missing ones at the end are left out. Names are in lower case,
// and the lines are sorted by them, byte by byte.

// maxTiers bounds the tiers of one model; no provider has more than a handful.
const maxTiers = 16

// appendLine appends a model's line with its newline.
func appendLine(dst []byte, name, provider string, r *Rates) []byte {
	dst = append(dst, name...)
	dst = append(dst, '\t')
	dst = append(dst, provider...)
	dst = append(dst, '\t')
	dst = appendRates(dst, &r.base)
	for _, t := range r.tiers {
		dst = append(dst, '\t')
		dst = strconv.AppendInt(dst, t.above, 10)
		dst = append(dst, '\t')
		dst = appendRates(dst, &t.rates)
	}
	return append(dst, '\n')
}

func appendRates(dst []byte, rates *[kinds]rate) []byte {
	last := kinds - 1
	for last >= 0 && !rates[last].known {
		last--
	}
	for i := 0; i <= last; i++ {
		if i > 0 {
			dst = append(dst, ' ')
		}
		if rates[i].known {
			dst = strconv.AppendFloat(dst, rates[i].usd, 'g', -1, 64)
		} else {
			dst = append(dst, '-')
		}
	}
	return dst
}

// parseLine reads what follows a name in its line. ok is false if the line is not in order,
// which only a damaged table has.
func parseLine(rest string) (provider string, r Rates, ok bool) {
	provider, rest, ok = strings.Cut(rest, "\t")
	if !ok {
		return "", Rates{}, false
	}
	base, rest, more := strings.Cut(rest, "\t")
	if r.base, ok = parseRates(base); !ok {
		return "", Rates{}, false
	}
	for more {
		var above, rates string
		above, rest, _ = strings.Cut(rest, "\t")
		rates, rest, more = strings.Cut(rest, "\t")
		t := tier{}
		var err error
		if t.above, err = strconv.ParseInt(above, 10, 64); err != nil {
			return "", Rates{}, false
		}
		if t.rates, ok = parseRates(rates); !ok {
			return "", Rates{}, false
		}
		r.tiers = append(r.tiers, t)
	}
	return provider, r, true
}

func parseRates(s string) (rates [kinds]rate, ok bool) {
	for i := 0; s != ""; i++ {
		var one string
		one, s, _ = strings.Cut(s, " ")
		if i == kinds {
			return rates, false
		}
		if one == "-" {
			continue
		}
		usd, err := strconv.ParseFloat(one, 64)
		if err != nil {
			return rates, false
		}
		rates[i] = rate{usd, true}
	}
	return rates, true
}

// order sorts a model's tiers.
func (r *Rates) order() {
	slices.SortFunc(r.tiers, func(a, b tier) int { return cmp.Compare(a.above, b.above) })
}
