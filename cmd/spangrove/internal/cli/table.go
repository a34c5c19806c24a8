package cli

import (
	"encoding/json"
	"io"
	"strings"

	"github.com/rivo/uniseg"

	"github.com/spangrove/spangrove/pkg/rawjson"
)

// column is one of a table's.
type column struct {
	title string
	path  string                       // dotted, into the item; empty: the item
	show  func(json.RawMessage) string // nil: cell
	right bool                         // to the right, as numbers stand
	whole bool                         // never shortened, as what is copied
}

// table is rows under titles. Nothing in it wraps: where a terminal is too narrow, cells are
// shortened, the widest first, and then lines.
type table struct {
	columns []column
	rows    [][]string
	bare    bool // without titles
}

const (
	gap       = "  "
	ellipsis  = "…"
	leastCell = 8 // columns, to which a cell is shortened before a line is
)

func (t *table) add(item json.RawMessage) {
	row := make([]string, len(t.columns))
	for i, c := range t.columns {
		value := item
		if c.path != "" {
			value = rawjson.Path(item, strings.Split(c.path, ".")...)
		}
		if row[i] = "-"; c.show != nil {
			row[i] = clean(c.show(value))
		} else {
			row[i] = cell(value)
		}
	}
	t.rows = append(t.rows, row)
}

func (t *table) write(o *output) error {
	if len(t.rows) == 0 {
		return nil
	}
	var head []string
	if !t.bare {
		for _, c := range t.columns {
			head = append(head, strings.ToUpper(c.title))
		}
	}
	widths := t.widths(head, o.width)
	var b strings.Builder
	if head != nil {
		b.WriteString(o.bold(t.line(head, widths, o.width)) + "\n")
	}
	for _, row := range t.rows {
		b.WriteString(t.line(row, widths, o.width) + "\n")
	}
	_, err := io.WriteString(o.results, b.String())
	return err
}

// widths returns the widths of the columns, so that a line has at most limit if that can be; 0 is no limit.
func (t *table) widths(head []string, limit int) []int {
	widths := make([]int, len(t.columns))
	for _, row := range append(t.rows, head) {
		for i, text := range row {
			widths[i] = max(widths[i], uniseg.StringWidth(text))
		}
	}
	over := len(gap) * (len(widths) - 1)
	for _, w := range widths {
		over += w
	}
	for over -= limit; limit > 0 && over > 0; {
		widest := -1
		second := leastCell
		for i, w := range widths {
			switch {
			case t.columns[i].whole || w <= leastCell:
			case widest < 0:
				widest = i
			case w > widths[widest]:
				second, widest = max(second, widths[widest]), i
			default:
				second = max(second, w)
			}
		}
		if widest < 0 {
			break
		}
		cut := min(over, max(1, widths[widest]-second))
		widths[widest] -= cut
		over -= cut
	}
	return widths
}

func (t *table) line(cells []string, widths []int, limit int) string {
	var b strings.Builder
	for i, text := range cells {
		text = shorten(text, widths[i])
		space := strings.Repeat(" ", widths[i]-uniseg.StringWidth(text))
		switch {
		case t.columns[i].right:
			text = space + text
		case i < len(cells)-1:
			text += space
		}
		if i > 0 {
			b.WriteString(gap)
		}
		b.WriteString(text)
	}
	if limit == 0 {
		return b.String()
	}
	return shorten(b.String(), limit)
}

// shorten cuts a text to a width in columns of a terminal; what people take for one character,
// such as an emoji of several code points, is never cut apart.
func shorten(text string, width int) string {
	if uniseg.StringWidth(text) <= width {
		return text
	}
	room := width - uniseg.StringWidth(ellipsis)
	var b strings.Builder
	for state, rest := -1, text; rest != ""; {
		var cluster string
		var w int
		cluster, rest, w, state = uniseg.FirstGraphemeClusterInString(rest, state)
		if w > room {
			break
		}
		room -= w
		b.WriteString(cluster)
	}
	return b.String() + ellipsis
}

// titled returns columns that show members under their own names.
func titled(paths ...string) []column {
	var columns []column
	for _, p := range paths {
		columns = append(columns, column{title: strings.ReplaceAll(p[strings.LastIndexByte(p, '.')+1:], "_", " "), path: p})
	}
	return columns
}
