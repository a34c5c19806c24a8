package query

import (
	"encoding/json"
	"math"

	"github.com/spangrove/spangrove/pkg/fault"
	"github.com/spangrove/spangrove/pkg/rawjson"
)

// Bounds of a page of events.
const (
	DefaultLimit = 1000
	MaxLimit     = 1000
	// MaxPage keeps the number of rows before a page within what a database counts.
	MaxPage = 1_000_000_000_000
)

// PageRule is how an operation reads limit and page.
type PageRule struct {
	Default int  // limit if none is given
	Max     int  // highest limit
	Clamp   bool // a higher limit means the highest, instead of an error
	// Ordered says that the operation also reads sort, order, cursor, total and snippets.
	Ordered bool
}

// The rules of the event reads: older clients export up to 7500 at once, and get 1000.
var (
	SearchPages  = PageRule{Default: DefaultLimit, Max: MaxLimit}
	OrderedPages = PageRule{Default: DefaultLimit, Max: MaxLimit, Ordered: true}
	ExportPages  = PageRule{Default: DefaultLimit, Max: MaxLimit, Clamp: true}
	SpanPages    = PageRule{Default: DefaultLimit, Max: MaxLimit, Clamp: true, Ordered: true}
)

// Parse reads limit and page from JSON: whole numbers (also 10.0) or strings of them; nothing
// and null are the defaults. Errors are fault.Invalid on the field "limit" or "page".
func (r PageRule) Parse(limit, page json.RawMessage) (limitN, pageN int, err error) {
	if limitN, err = whole(limit, "limit", r.Default, r.Max, r.Clamp); err != nil {
		return 0, 0, err
	}
	pageN, err = whole(page, "page", 1, MaxPage, false)
	return limitN, pageN, err
}

// WholeNumber reads a whole number from 1 to highest; missing is the answer for nothing and null. Errors are fault.Invalid naming the field.
func WholeNumber(raw json.RawMessage, field string, missing, highest int) (int, error) {
	return whole(raw, field, missing, highest, false)
}

// whole reads a whole number from 1 to highest; missing is the answer for nothing and null.
func whole(raw json.RawMessage, field string, missing, highest int, clamp bool) (int, error) {
	if rawjson.Null(raw) {
		return missing, nil
	}
	f, ok := rawjson.Number(raw)
	if text, isText := rawjson.Text(raw); isText {
		f, ok = parseNumber(text)
	}
	switch {
	case !ok || f != math.Trunc(f):
		return 0, fault.InvalidField(field, "must be a whole number")
	case f < 1:
		return 0, fault.InvalidField(field, "must be 1 or more")
	case f > float64(highest) && clamp:
		return highest, nil
	case f > float64(highest):
		return 0, fault.InvalidField(field, "must be at most %d", highest)
	}
	return int(f), nil
}
