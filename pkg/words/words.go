// Package words finds which of many rows have a text in their payload, without reading the payloads.
//
// An index is an inverted one: each different word of the texts once, and with each the rows that have it. Since every word is there,
// a text that is looked for within words is found in any of them, at their beginning, their end and between; what spans several words is
// narrowed to the rows that have all of them, and the caller looks at those rows. A word is what Split returns, in any script: a run of Chinese is
// one word, so a part of it is found as well.
//
// Two things have rules of their own. A word over 64 bytes is kept as pieces that overlap. A run of 256 or more of the characters of base64
// is not kept: rows with such a run may have any text that is looked for, and the index says so.
package words

import (
	"iter"
	"unicode"
	"unicode/utf8"
)

// Field is the part of an event that a text is of.
type Field uint8

// The fields of an index, each a bit of a set of fields.
const (
	Inputs Field = 1 << iota
	Outputs

	numFields = 2
)

// Bounds of what is kept of a text.
const (
	maxWord  = 64  // bytes of a word that is kept whole
	pieceGap = 32  // bytes from the start of a piece of a longer word to that of the next one
	maxInner = 28  // a text of so many bytes within a longer word is whole in one of its pieces
	minBlob  = 256 // characters of a run that is not kept
)

// Split iterates over the words of a text: runs of letters, digits and the marks that belong to them.
func Split(text string) iter.Seq[string] {
	return func(yield func(string) bool) {
		start := -1
		for i, r := range text {
			switch {
			case isWord(r):
				if start < 0 {
					start = i
				}
			case start >= 0:
				if !yield(text[start:i]) {
					return
				}
				start = -1
			}
		}
		if start >= 0 {
			yield(text[start:])
		}
	}
}

func isWord(r rune) bool {
	if r < utf8.RuneSelf {
		return classes[r] == classWord
	}
	return unicode.IsLetter(r) || unicode.IsNumber(r) || unicode.IsMark(r)
}

// Classes of bytes.
const (
	classNone   = iota // between words
	classWord          // a letter or a digit
	classBase64        // no part of a word, but of base64
	classHigh          // of a character beyond ASCII
)

var classes = func() (list [256]byte) {
	for c := range list {
		switch {
		case c >= utf8.RuneSelf:
			list[c] = classHigh
		case c >= '0' && c <= '9', c >= 'A' && c <= 'Z', c >= 'a' && c <= 'z':
			list[c] = classWord
		}
	}
	for _, c := range "+/=-_" {
		list[c] = classBase64
	}
	return list
}()

// eachWord calls f with the words of a text, but for those in runs of minBlob or more characters of base64: of these it calls f with some, and
// then reports that the text has such runs.
func eachWord(text []byte, f func(word []byte)) (hasBlob bool) {
	start := -1 // of the word
	run := 0    // start of the run of base64
	flush := func(end int) {
		if start >= 0 {
			f(text[start:end])
			start = -1
		}
	}
	for i := 0; i < len(text); {
		size := 1
		switch classes[text[i]] {
		case classWord:
			if start < 0 {
				start = i
			}
			if i-run >= minBlob {
				i, hasBlob = afterRun(text, i), true
				start, run = -1, i
				continue
			}
		case classBase64:
			flush(i)
		case classHigh:
			var r rune
			r, size = utf8.DecodeRune(text[i:])
			if !isWord(r) {
				flush(i)
			} else if start < 0 {
				start = i
			}
			run = i + size
		default:
			flush(i)
			run = i + 1
		}
		i += size
	}
	flush(len(text))
	return hasBlob
}

// afterRun returns the end of a run of base64, and of the word that it ends with.
func afterRun(text []byte, i int) int {
	for i < len(text) {
		switch classes[text[i]] {
		case classWord, classBase64:
			i++
		case classHigh:
			r, size := utf8.DecodeRune(text[i:])
			if !isWord(r) {
				return i
			}
			i += size
		default:
			return i
		}
	}
	return i
}

// pieces calls f with the pieces of a word over maxWord bytes: each at most maxWord bytes long, and one from every pieceGap bytes on.
func pieces(word []byte, f func(piece []byte)) {
	for from := 0; ; {
		if len(word)-from <= maxWord {
			f(word[from:])
			return
		}
		f(word[from:boundary(word, from+maxWord)])
		from = boundary(word, from+pieceGap)
	}
}

// boundary returns the start of the character at a place.
func boundary(text []byte, at int) int {
	for at > 0 && at < len(text) && !utf8.RuneStart(text[at]) {
		at--
	}
	return at
}
