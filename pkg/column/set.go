package column

import (
	"iter"
	"math/bits"
)

// Set is a set of rows, a bit each. Rows beyond those that it was made for must not be asked for.
type Set []uint64

// NewSet returns an empty set of rows 0 to n-1.
func NewSet(n int) Set { return make(Set, (n+63)/64) }

// FullSet returns the set of all rows 0 to n-1.
func FullSet(n int) Set {
	s := NewSet(n)
	s.Fill(n)
	return s
}

// Fill adds rows 0 to n-1.
func (s Set) Fill(n int) {
	for i := range s {
		s[i] = ^uint64(0)
	}
	if rest := n % 64; rest != 0 {
		s[len(s)-1] = 1<<rest - 1
	}
}

// Has reports whether a row is in the set.
func (s Set) Has(row int) bool { return s[row/64]&(1<<(row%64)) != 0 }

// Add adds a row.
func (s Set) Add(row int) { s[row/64] |= 1 << (row % 64) }

// Remove removes a row.
func (s Set) Remove(row int) { s[row/64] &^= 1 << (row % 64) }

// And keeps the rows that t has, too.
func (s Set) And(t Set) {
	for i := range s {
		s[i] &= t[i]
	}
}

// AndNot removes the rows of t.
func (s Set) AndNot(t Set) {
	for i := range s {
		s[i] &^= t[i]
	}
}

// Or adds the rows of t.
func (s Set) Or(t Set) {
	for i := range s {
		s[i] |= t[i]
	}
}

// Count returns the number of rows.
func (s Set) Count() (n int) {
	for _, w := range s {
		n += bits.OnesCount64(w)
	}
	return n
}

// Empty reports whether there is no row.
func (s Set) Empty() bool {
	for _, w := range s {
		if w != 0 {
			return false
		}
	}
	return true
}

// All returns the rows in order.
func (s Set) All() iter.Seq[int] {
	return func(yield func(row int) bool) {
		for i, w := range s {
			for ; w != 0; w &= w - 1 {
				if !yield(i*64 + bits.TrailingZeros64(w)) {
					return
				}
			}
		}
	}
}
