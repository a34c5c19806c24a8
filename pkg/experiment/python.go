package experiment

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode/utf16"
)

// pythonJSON writes values as Python's json.dumps(value, sort_keys=True) does, to the byte: ids
// are made of that text.
type pythonJSON struct{ buf []byte }

// value appends v. Of numbers, json.Number and those of Go's floating types that are whole keep
// their point, as Python's floats do; values other than those of JSON are written by encoding/json
// first.
func (p *pythonJSON) value(v any) error {
	switch v := v.(type) {
	case nil:
		p.text("null")
	case bool:
		p.text(strconv.FormatBool(v))
	case string:
		p.string(v)
	case int:
		p.buf = strconv.AppendInt(p.buf, int64(v), 10)
	case int64:
		p.buf = strconv.AppendInt(p.buf, v, 10)
	case float64:
		p.float(v)
	case json.Number:
		return p.number(v)
	case map[string]any:
		p.text("{")
		for i, key := range slices.Sorted(maps.Keys(v)) { // by bytes, which is by code points, as Python sorts
			if i > 0 {
				p.text(", ")
			}
			p.string(key)
			p.text(": ")
			if err := p.value(v[key]); err != nil {
				return fmt.Errorf("%s: %w", key, err)
			}
		}
		p.text("}")
	case []any:
		p.text("[")
		for i, e := range v {
			if i > 0 {
				p.text(", ")
			}
			if err := p.value(e); err != nil {
				return err
			}
		}
		p.text("]")
	default:
		raw, err := json.Marshal(v)
		if err != nil {
			return err
		}
		d := json.NewDecoder(bytes.NewReader(raw))
		d.UseNumber()
		var plain any
		if err := d.Decode(&plain); err != nil {
			return err
		}
		return p.value(plain)
	}
	return nil
}

func (p *pythonJSON) text(s string) { p.buf = append(p.buf, s...) }

// number appends a number of JSON: whole ones digit for digit, others as a float.
func (p *pythonJSON) number(n json.Number) error {
	if !strings.ContainsAny(string(n), ".eE") {
		if n == "-0" {
			n = "0"
		}
		p.text(string(n))
		return nil
	}
	f, err := strconv.ParseFloat(string(n), 64)
	if err != nil && !math.IsInf(f, 0) { // which is what Python reads, too
		return err
	}
	p.float(f)
	return nil
}

// float appends a float as Python's repr does: the shortest digits that read back equal, with
// an exponent below 1e-4 and from 1e16 on, and always with a point or an exponent.
func (p *pythonJSON) float(f float64) {
	switch a := math.Abs(f); {
	case math.IsNaN(f):
		p.text("NaN")
	case math.IsInf(f, 1):
		p.text("Infinity")
	case math.IsInf(f, -1):
		p.text("-Infinity")
	case a != 0 && (a < 1e-4 || a >= 1e16):
		p.buf = strconv.AppendFloat(p.buf, f, 'e', -1, 64)
	default:
		at := len(p.buf)
		p.buf = strconv.AppendFloat(p.buf, f, 'f', -1, 64)
		if !bytes.ContainsRune(p.buf[at:], '.') {
			p.text(".0")
		}
	}
}

// string appends a text in ASCII, the rest as \u and the code units of UTF-16.
func (p *pythonJSON) string(s string) {
	p.text(`"`)
	for _, r := range s {
		switch {
		case r == '"' || r == '\\':
			p.buf = append(p.buf, '\\', byte(r))
		case r >= ' ' && r <= '~':
			p.buf = append(p.buf, byte(r))
		case r == '\n':
			p.text(`\n`)
		case r == '\r':
			p.text(`\r`)
		case r == '\t':
			p.text(`\t`)
		case r == '\b':
			p.text(`\b`)
		case r == '\f':
			p.text(`\f`)
		default:
			for _, unit := range utf16.Encode([]rune{r}) {
				p.buf = fmt.Appendf(p.buf, `\u%04x`, unit)
			}
		}
	}
	p.text(`"`)
}
