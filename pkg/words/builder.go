package words

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"slices"
	"strconv"
	"unicode/utf8"

	"github.com/spangrove/spangrove/pkg/column"
)

// Bounds of a part of an index, and of a page of it.
const (
	maxEntries    = 4 << 20   // rows of all words, each 8 bytes in memory
	maxVocabulary = 16 << 20  // bytes of words, of which each takes about 60 more
	maxPartWords  = 512 << 10 // words
	pageText      = 64 << 10  // bytes of words
	pageLists     = 512 << 10 // bytes of lists of rows
)

// Rows is how many rows an index may have.
const Rows = 1 << 16

// Builder collects the words of rows. An index is built in parts of consecutive rows, which bounds the memory that it takes.
type Builder struct {
	out   Built
	dir   directory
	row   int // the one that is added
	first int // row of the part
	most  int // entries of a part

	vocabulary *vocabulary
	entries    []uint64            // word, field and row within the part
	unsearched [numFields][]uint16 // rows with text that is not in the index
	scratch    []byte
}

// Built is an index as it is stored: a directory, and what it leads to, by number.
type Built struct {
	Directory []byte
	Pages     [][]byte
}

// NewBuilder returns a builder without rows.
func NewBuilder() *Builder {
	// Room for all entries of a part at once: a list that grows leaves several of its size behind.
	return &Builder{dir: directory{Version: version}, most: maxEntries, vocabulary: newVocabulary(), entries: make([]uint64, 0, maxEntries+maxEntries/64)}
}

// Row says which row the texts that follow are of. Rows must come in order.
func (b *Builder) Row(row int) {
	if len(b.entries) >= b.most || len(b.vocabulary.text) >= maxVocabulary || len(b.vocabulary.list) >= maxPartWords {
		b.finish(row)
	}
	b.row = row
}

// Unread says that the texts of the row are not known.
func (b *Builder) Unread() {
	for i := range b.unsearched {
		b.skip(i)
	}
}

// skip records that the row has text that is not in the index.
func (b *Builder) skip(field int) {
	row := uint16(b.row - b.first)
	if list := b.unsearched[field]; len(list) == 0 || list[len(list)-1] != row {
		b.unsearched[field] = append(list, row)
	}
}

// AddJSON adds the strings in a JSON value at any depth, keys aside.
func (b *Builder) AddJSON(field Field, raw []byte) {
	for len(raw) > 0 {
		from := bytes.IndexByte(raw, '"')
		if from < 0 {
			return
		}
		raw = raw[from+1:]
		end, escaped := stringEnd(raw)
		text := raw[:end]
		raw = raw[min(end+1, len(raw)):]
		if rest := bytes.TrimLeft(raw, " \t\r\n"); len(rest) > 0 && rest[0] == ':' {
			continue
		}
		if escaped {
			b.scratch = unescape(b.scratch[:0], text)
			text = b.scratch
		}
		b.Add(field, text)
	}
}

// stringEnd returns the place of the quotation mark that ends a JSON string, and whether there are escapes before.
func stringEnd(raw []byte) (end int, escaped bool) {
	quote := -1
	for {
		if quote < end {
			i := bytes.IndexByte(raw[end:], '"')
			if i < 0 {
				return len(raw), escaped
			}
			quote = end + i
		}
		back := bytes.IndexByte(raw[end:quote], '\\')
		if back < 0 {
			return quote, escaped
		}
		escaped = true
		end = min(end+back+2, len(raw))
	}
}

// unescape appends the text of what stands between the quotation marks of a JSON string.
func unescape(dst, raw []byte) []byte {
	for {
		back := bytes.IndexByte(raw, '\\')
		if back < 0 || back+1 >= len(raw) {
			return append(dst, raw...)
		}
		dst = append(dst, raw[:back]...)
		c := raw[back+1]
		raw = raw[back+2:]
		switch c {
		case 'n', 't', 'r', 'b', 'f':
			dst = append(dst, ' ') // none of them is part of a word
		case 'u':
			r := hexRune(raw)
			raw = raw[min(4, len(raw)):]
			if isHigh(r) && len(raw) >= 6 && raw[0] == '\\' && raw[1] == 'u' {
				if low := hexRune(raw[2:]); low >= 0xdc00 && low < 0xe000 {
					r = (r-0xd800)<<10 + (low - 0xdc00) + 0x10000
					raw = raw[6:]
				}
			}
			dst = utf8.AppendRune(dst, r)
		default:
			dst = append(dst, c)
		}
	}
}

// hexRune reads four hexadecimal digits.
func hexRune(raw []byte) rune {
	n, err := strconv.ParseUint(string(raw[:min(4, len(raw))]), 16, 32)
	if err != nil {
		return utf8.RuneError
	}
	return rune(n)
}

// isHigh reports whether a unit of UTF-16 is the first of two.
func isHigh(r rune) bool { return r >= 0xd800 && r < 0xdc00 }

// Add adds a text of the row.
func (b *Builder) Add(field Field, text []byte) {
	i := 0
	if field == Outputs {
		i = 1
	}
	if eachWord(text, func(word []byte) { b.word(i, word) }) {
		b.skip(i)
	}
}

// piecePrefix begins what is kept of pieces. No word has it.
const piecePrefix = 1

func (b *Builder) word(field int, word []byte) {
	if len(word) <= maxWord {
		b.entry(field, word)
		return
	}
	var buffer [maxWord + 1]byte
	pieces(word, func(piece []byte) { b.entry(field, append(append(buffer[:0], piecePrefix), piece...)) })
}

func (b *Builder) entry(field int, word []byte) {
	row := int32(b.row - b.first)
	n := b.vocabulary.number(word)
	if last := &b.vocabulary.list[n].last[field]; *last != row {
		*last = row
		b.entries = append(b.entries, uint64(n)<<32|uint64(field)<<31|uint64(row))
	}
}

// Build returns the index of so many rows.
func (b *Builder) Build(rows int) (*Built, error) {
	b.finish(rows)
	raw, err := json.Marshal(b.dir)
	b.out.Directory = column.Seal(raw)
	return &b.out, err
}

// finish ends a part before a row, and begins the next one.
func (b *Builder) finish(end int) {
	p := part{First: b.first, Rows: end - b.first}
	for i, rows := range b.unsearched {
		p.Unsearched[i] = appendRows(nil, rows)
	}
	lists := b.lists()
	order := make([]uint32, len(b.vocabulary.list))
	for i := range order {
		order[i] = uint32(i)
	}
	slices.SortFunc(order, func(x, y uint32) int { return bytes.Compare(b.vocabulary.word(x), b.vocabulary.word(y)) })
	var w pageWriter
	for _, n := range order {
		word := b.vocabulary.word(n)
		isPiece := word[0] == piecePrefix
		if w.count > 0 && (len(w.text) >= pageText || len(w.lists) >= pageLists || w.pieces != isPiece) {
			b.add(&p, &w)
		}
		w.pieces = isPiece
		w.add(word, lists(n), p.Rows)
	}
	if w.count > 0 {
		b.add(&p, &w)
	}
	b.dir.Parts = append(b.dir.Parts, p)
	b.first, b.entries, b.unsearched = end, b.entries[:0], [numFields][]uint16{}
	b.vocabulary.reset()
}

// lists sorts the entries by word and field, and returns a function that returns the rows of a word.
func (b *Builder) lists() func(word uint32) [numFields][]uint16 {
	ends := make([]uint32, numFields*len(b.vocabulary.list)+1)
	slot := func(entry uint64) int { return int(entry>>32)*numFields + int(entry>>31&1) }
	for _, e := range b.entries {
		ends[slot(e)+1]++
	}
	for i := 1; i < len(ends); i++ {
		ends[i] += ends[i-1]
	}
	starts := slices.Clone(ends[:len(ends)-1])
	rows := make([]uint16, len(b.entries))
	for _, e := range b.entries {
		at := slot(e)
		rows[starts[at]] = uint16(e & (1<<31 - 1))
		starts[at]++
	}
	return func(word uint32) (out [numFields][]uint16) {
		for f := range out {
			at := int(word)*numFields + f
			out[f] = rows[ends[at]:ends[at+1]]
		}
		return out
	}
}

// add adds a page to a part.
func (b *Builder) add(p *part, w *pageWriter) {
	p.Pages = append(p.Pages, page{Number: len(b.out.Pages), Pieces: w.pieces})
	texts := binary.AppendUvarint(nil, uint64(w.count))
	texts = binary.AppendUvarint(texts, uint64(len(w.text)))
	texts = append(append(texts, w.text...), w.sizes...)
	b.out.Pages = append(b.out.Pages, column.Seal(texts), column.Seal(w.lists))
	*w = pageWriter{}
}

// pageWriter writes a page: words that follow each other in their order, and the lists of their rows.
type pageWriter struct {
	pieces bool
	count  int
	text   []byte // each word with a zero byte behind it
	sizes  []byte
	lists  []byte
}

func (w *pageWriter) add(word []byte, rows [numFields][]uint16, n int) {
	w.count++
	w.text = append(append(w.text, word[w.skip():]...), 0)
	for _, list := range rows {
		before := len(w.lists)
		form := 0
		// From an eighth of the rows on, a bit for each of all rows takes less than a byte for each in the list.
		if len(list) > n/8 {
			form = 1
			w.lists = appendBits(w.lists, list, n)
		} else {
			w.lists = appendRows(w.lists, list)
		}
		w.sizes = binary.AppendUvarint(w.sizes, uint64(2*(len(w.lists)-before)+form))
	}
}

// skip returns how many bytes of a word are not kept.
func (w *pageWriter) skip() int {
	if w.pieces {
		return 1
	}
	return 0
}

// appendRows appends a list of rows, each as the distance to the one before.
func appendRows(dst []byte, rows []uint16) []byte {
	next := 0
	for _, row := range rows {
		dst = binary.AppendUvarint(dst, uint64(int(row)-next))
		next = int(row) + 1
	}
	return dst
}

// appendBits appends a bit for each of n rows.
func appendBits(dst []byte, rows []uint16, n int) []byte {
	from := len(dst)
	dst = append(dst, make([]byte, (n+7)/8)...)
	for _, row := range rows {
		dst[from+int(row)/8] |= 1 << (row % 8)
	}
	return dst
}
