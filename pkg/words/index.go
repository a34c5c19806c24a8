package words

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"math/bits"
	"sort"
	"strings"
	"unicode/utf8"

	"github.com/spangrove/spangrove/pkg/column"
)

// version is that of the directory and of what Split returns. An index of another one is built again.
const version = 1

// directory is what an index leads with.
type directory struct {
	Version int    `json:"version"`
	Parts   []part `json:"parts"`
}

// part is the index of consecutive rows.
type part struct {
	First      int               `json:"first"`
	Rows       int               `json:"rows"`
	Pages      []page            `json:"pages"`
	Unsearched [numFields][]byte `json:"unsearched"` // rows with text that is not in the index
}

// page is a number of words with their rows: two of the pages of Built.
type page struct {
	Number int  `json:"number"`
	Pieces bool `json:"pieces,omitempty"`
}

// Directory is a decoded one.
type Directory struct{ directory }

// ReadDirectory reads the directory of an index. column.ErrDamaged if it is none, or of another version.
func ReadDirectory(data []byte) (*Directory, error) {
	raw, err := column.Open(data)
	if err != nil {
		return nil, err
	}
	d := &Directory{}
	if err := json.Unmarshal(raw, &d.directory); err != nil {
		return nil, fmt.Errorf("%w: %w", column.ErrDamaged, err)
	}
	if d.Version != version {
		return nil, fmt.Errorf("%w: version %d", column.ErrDamaged, d.Version)
	}
	for _, p := range d.Parts {
		if p.First < 0 || p.Rows < 0 || p.First+p.Rows > Rows {
			return nil, column.ErrDamaged
		}
	}
	return d, nil
}

// Texts are the words of a page, decoded.
type Texts struct {
	text   []byte // a zero byte before and behind each word
	starts []uint32
	lists  []listRef // numFields for each word
}

// listRef is the place of a list of rows.
type listRef struct {
	from, size uint32
	bits       bool
}

// ReadTexts decodes the words of a page.
func ReadTexts(data []byte) (*Texts, error) {
	raw, err := column.Open(data)
	if err != nil {
		return nil, err
	}
	count, n := binary.Uvarint(raw)
	if n <= 0 {
		return nil, column.ErrDamaged
	}
	raw = raw[n:]
	size, n := binary.Uvarint(raw)
	if n <= 0 || size > uint64(len(raw)-n) || count > size {
		return nil, column.ErrDamaged
	}
	t := &Texts{starts: make([]uint32, 0, count), lists: make([]listRef, 0, numFields*count)}
	t.text = append(append(make([]byte, 0, size+1), 0), raw[n:n+int(size)]...)
	raw = raw[n+int(size):]
	for at := 1; at < len(t.text); {
		end := bytes.IndexByte(t.text[at:], 0)
		if end < 0 {
			return nil, column.ErrDamaged
		}
		t.starts = append(t.starts, uint32(at))
		at += end + 1
	}
	if len(t.starts) != int(count) {
		return nil, column.ErrDamaged
	}
	from := uint32(0)
	for range numFields * count {
		x, n := binary.Uvarint(raw)
		if n <= 0 || x > 1<<30 {
			return nil, column.ErrDamaged
		}
		raw = raw[n:]
		t.lists = append(t.lists, listRef{from, uint32(x / 2), x&1 == 1})
		from += uint32(x / 2)
	}
	return t, nil
}

// Bytes returns about how much memory they take.
func (t *Texts) Bytes() int { return 100 + len(t.text) + 4*len(t.starts) + 12*len(t.lists) }

// ReadLists decodes the lists of rows of a page.
func ReadLists(data []byte) ([]byte, error) { return column.Open(data) }

// Pages gives the pages of an index, by their numbers in Built.
type Pages interface {
	Texts(number int) (*Texts, error)
	Lists(number int) ([]byte, error)
}

// Index is an index that is being read. It is for one goroutine.
type Index struct {
	dir   *Directory
	pages Pages
	rows  int
}

// NewIndex returns an index of so many rows.
func NewIndex(d *Directory, pages Pages, rows int) *Index { return &Index{d, pages, rows} }

// Found is which rows have a text. Those of Maybe must be looked at to know.
type Found struct{ Sure, Maybe column.Set }

// fragment is a word of a text that is looked for. Where the text goes on before or behind it, a row's word ends there, too.
type fragment struct {
	text        string
	starts, end bool
}

// fragments splits a text.
func fragments(text string) (list []fragment) {
	at := 0
	for word := range Split(text) {
		from := at + strings.Index(text[at:], word)
		at = from + len(word)
		list = append(list, fragment{word, from > 0, at < len(text)})
	}
	return list
}

// Contains returns the rows of which one of the fields has a string that contains a text. For a text without a letter or digit that is any.
func (x *Index) Contains(fields Field, text string) (Found, error) {
	out := Found{column.NewSet(x.rows), column.FullSet(x.rows)}
	list := fragments(text)
	for _, f := range list {
		found, err := x.find(fields, f)
		if err != nil {
			return out, err
		}
		if len(list) == 1 && f.text == text {
			return found, nil
		}
		// All of the fragments, whether they stand beside each other or not.
		found.Maybe.Or(found.Sure)
		out.Maybe.And(found.Maybe)
	}
	return out, nil
}

// find returns the rows that have a fragment.
func (x *Index) find(fields Field, f fragment) (Found, error) {
	inner := f.text
	if len(inner) > maxInner {
		inner = inner[:boundary([]byte(inner), maxInner)]
	}
	isWhole := len(inner) == len(f.text) && !f.starts && !f.end
	pattern := f.text
	if f.starts {
		pattern = "\x00" + pattern
	}
	if f.end {
		pattern += "\x00"
	}
	return x.scan(fields, func(t *Texts, pieces bool, hit func(word int, sure bool)) {
		if pieces {
			t.each(inner, func(word int) { hit(word, isWhole) })
		} else {
			t.each(pattern, func(word int) { hit(word, true) })
		}
	})
}

// Word returns the rows of which one of the fields has a word, given in lower case, in whatever case.
func (x *Index) Word(fields Field, lower string) (Found, error) {
	return x.scan(fields, func(t *Texts, pieces bool, hit func(word int, sure bool)) {
		if pieces {
			// Of a word over maxWord bytes only pieces are known.
			if len(lower) > maxInner {
				for i := range t.starts {
					hit(i, false)
				}
			}
			return
		}
		for i := range t.starts {
			if isLower(t.word(i), lower) {
				hit(i, true)
			}
		}
	})
}

// isLower reports whether a word is another one in lower case.
func isLower(word []byte, lower string) bool {
	for i, c := range word {
		if c >= utf8.RuneSelf {
			return strings.ToLower(string(word)) == lower
		}
		if i >= len(lower) {
			return false
		}
		if c >= 'A' && c <= 'Z' {
			c += 'a' - 'A'
		}
		if c != lower[i] {
			// What follows may be a character of several bytes; it does not make these equal.
			return false
		}
	}
	return len(word) == len(lower)
}

// scan adds up the rows of the words that look passes to hit.
func (x *Index) scan(fields Field, look func(t *Texts, pieces bool, hit func(word int, sure bool))) (out Found, err error) {
	out = Found{column.NewSet(x.rows), column.NewSet(x.rows)}
	for i := range x.dir.Parts {
		p := &x.dir.Parts[i]
		if p.First+p.Rows > x.rows {
			return out, column.ErrDamaged
		}
		for f, rows := range p.Unsearched {
			if fields&(1<<f) != 0 {
				if err := addRows(out.Maybe, p, rows); err != nil {
					return out, err
				}
			}
		}
		for _, pg := range p.Pages {
			if err := x.scanPage(&out, p, pg, fields, look); err != nil {
				return out, err
			}
		}
	}
	out.Maybe.AndNot(out.Sure)
	return out, nil
}

func (x *Index) scanPage(out *Found, p *part, pg page, fields Field, look func(t *Texts, pieces bool, hit func(word int, sure bool))) error {
	t, err := x.pages.Texts(pg.Number)
	if err != nil {
		return err
	}
	var lists []byte
	look(t, pg.Pieces, func(word int, sure bool) {
		if err == nil && lists == nil {
			lists, err = x.pages.Lists(pg.Number + 1)
		}
		to := out.Maybe
		if sure {
			to = out.Sure
		}
		for f := range numFields {
			if err == nil && fields&(1<<f) != 0 {
				err = t.lists[word*numFields+f].addTo(to, p, lists)
			}
		}
	})
	return err
}

// addTo adds the rows of a list to a set.
func (l listRef) addTo(to column.Set, p *part, lists []byte) error {
	if int(l.from)+int(l.size) > len(lists) {
		return column.ErrDamaged
	}
	list := lists[l.from : l.from+l.size]
	if !l.bits {
		return addRows(to, p, list)
	}
	for i, b := range list {
		for ; b != 0; b &= b - 1 {
			row := 8*i + bits.TrailingZeros8(b)
			if row >= p.Rows {
				return column.ErrDamaged
			}
			to.Add(p.First + row)
		}
	}
	return nil
}

// addRows adds the rows of a list of distances to a set.
func addRows(to column.Set, p *part, list []byte) error {
	row := 0
	for len(list) > 0 {
		gap, n := binary.Uvarint(list)
		if n <= 0 || gap > Rows {
			return column.ErrDamaged
		}
		if row += int(gap); row >= p.Rows {
			return column.ErrDamaged
		}
		to.Add(p.First + row)
		row++
		list = list[n:]
	}
	return nil
}

// word returns a word of the page.
func (t *Texts) word(i int) []byte {
	end := len(t.text)
	if i+1 < len(t.starts) {
		end = int(t.starts[i+1])
	}
	return t.text[t.starts[i] : end-1]
}

// each calls f with the words of the page that a pattern is in, each once. A zero byte stands for the beginning or the end of a word.
func (t *Texts) each(pattern string, f func(word int)) {
	needle := []byte(pattern)
	for at := 0; at < len(t.text); {
		i := bytes.Index(t.text[at:], needle)
		if i < 0 {
			return
		}
		at += i
		if needle[0] == 0 {
			at++
		}
		word := sort.Search(len(t.starts), func(i int) bool { return int(t.starts[i]) > at }) - 1
		f(word)
		if word+1 == len(t.starts) {
			return
		}
		at = int(t.starts[word+1]) - 1
	}
}
