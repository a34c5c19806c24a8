package alert

import (
	"math"
	"strconv"
	"strings"
)

// Unit is what figures are counted in, so that people can read them.
type Unit string

// The units. A figure that has none, such as a number of tokens, is a plain number.
const (
	Milliseconds Unit = "ms"
	Dollars      Unit = "usd"
	Rate         Unit = "rate" // the part of true among true and false: 1 is 100 %
)

// Measures says what an alert measures, for people.
type Measures struct {
	Name   string // such as "p95 of duration"
	Filter string // of which events, as the filter bar of the pages has it; empty: of all
	Unit   Unit   // empty: there is none
	Metric string // the metric whose average it is, which is a rate if its scores are true or false; empty: it is none
}

// Figure returns a figure for people, with its unit and at most a few digits that count: "1.58 s", "$0.042", "97.5%".
func (u Unit) Figure(v float64) string {
	if v < 0 {
		return "-" + u.Figure(-v)
	}
	switch u {
	case Milliseconds:
		return duration(v)
	case Dollars:
		return dollars(v)
	case Rate:
		return strconv.FormatFloat(math.Round(v*1000)/10, 'f', -1, 64) + "%"
	}
	return number(v)
}

// FigureBeside returns a figure for people who see it beside another one: if both read the same and are not, with as many digits as
// tell them apart.
func (u Unit) FigureBeside(v, other float64) string {
	text := u.Figure(v)
	if v == other || text != u.Figure(other) {
		return text
	}
	if v < 0 {
		return "-" + u.FigureBeside(-v, -other)
	}
	if u == Rate {
		v, other = v*100, other*100
	}
	for digits := 1; ; digits++ {
		text = strconv.FormatFloat(v, 'g', digits, 64)
		if digits == 17 || text != strconv.FormatFloat(other, 'g', digits, 64) {
			break
		}
	}
	if plain, err := strconv.ParseFloat(text, 64); err == nil {
		text = strconv.FormatFloat(plain, 'f', -1, 64)
	}
	switch u {
	case Milliseconds:
		return text + " ms"
	case Dollars:
		return "$" + text
	case Rate:
		return text + "%"
	}
	return text
}

// duration writes milliseconds as the pages do: "0.4 ms", "350 ms", "1.23 s", "1 m 15 s". Each bound is where a number would round up to
// the next unit.
func duration(ms float64) string {
	switch {
	case ms == 0:
		return "0 ms"
	case ms < 0.95:
		return strconv.FormatFloat(ms, 'g', 1, 64) + " ms"
	case ms < 999.5:
		return strconv.FormatFloat(ms, 'f', 0, 64) + " ms"
	case ms < 9995:
		return strconv.FormatFloat(ms/1000, 'f', 2, 64) + " s"
	case ms < 59_500:
		return strconv.FormatFloat(ms/1000, 'f', 1, 64) + " s"
	}
	seconds := math.Round(ms / 1000)
	if seconds < 3600 {
		return twoUnits(seconds, 60, "m", "s")
	}
	return twoUnits(math.Round(seconds/60), 60, "h", "m")
}

// twoUnits writes a number of small units, of which many make a large one.
func twoUnits(n, many float64, large, small string) string {
	text := strconv.FormatFloat(math.Floor(n/many), 'f', 0, 64) + " " + large
	if rest := math.Mod(n, many); rest > 0 {
		text += " " + strconv.FormatFloat(rest, 'f', 0, 64) + " " + small
	}
	return text
}

// dollars writes an amount with cents, or below one dollar with two digits that count.
func dollars(v float64) string {
	if v == 0 || v >= 1 {
		return "$" + strings.TrimSuffix(strconv.FormatFloat(v, 'f', 2, 64), ".00")
	}
	digits := min(8, max(2, 1-int(math.Floor(math.Log10(v)))))
	return "$" + strconv.FormatFloat(v, 'f', digits, 64)
}
