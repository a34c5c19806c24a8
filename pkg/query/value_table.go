package query

import "sync"

// ValueTable numbers the values of a field. Blocks that have thousands of them, mostly the same ones, such as ids of users, keep numbers in
// place of texts, and their counts are added up without looking at a text. A table only grows, up to a bound. It is safe for concurrent use.
type ValueTable struct {
	limit int // of bytes

	mu    sync.Mutex
	codes map[string]uint32
	texts []string // by number
	bytes int
}

// valueOverhead is about what a value takes in a table beside its text.
const valueOverhead = 64

// NewValueTable returns an empty table that takes about so many bytes at most.
func NewValueTable(limit int) *ValueTable {
	return &ValueTable{limit: limit, codes: map[string]uint32{}}
}

// numberedCount is a value by its number, and how many events have it.
type numberedCount struct{ code, n uint32 }

// number returns values by their numbers, and those as they are for which there is no room.
func (t *ValueTable) number(values []ValueCount) (numbered []numberedCount, rest []ValueCount) {
	numbered = make([]numberedCount, 0, len(values))
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, v := range values {
		code, ok := t.codes[v.Value]
		if !ok {
			size := len(v.Value) + valueOverhead
			if t.bytes+size > t.limit {
				rest = append(rest, v)
				continue
			}
			code = uint32(len(t.texts)) //nolint:gosec // the table is bounded
			t.bytes += size
			t.codes[v.Value] = code
			t.texts = append(t.texts, v.Value)
		}
		numbered = append(numbered, numberedCount{code, uint32(v.Count)}) //nolint:gosec // of the events of a block
	}
	return numbered, rest
}

// values returns all values by number. They are not changed.
func (t *ValueTable) values() []string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.texts[:len(t.texts):len(t.texts)]
}

// codeOf returns the number of a value.
func (t *ValueTable) codeOf(text string) (code uint32, ok bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	code, ok = t.codes[text]
	return code, ok
}
