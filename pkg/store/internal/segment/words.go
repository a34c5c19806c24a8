package segment

import (
	"github.com/spangrove/spangrove/pkg/words"
)

// wordsNumber is the number of the directory of a segment's index of words, whose pages have the numbers behind it. The columns have those
// before.
const wordsNumber = 1 << 20

// FirstWords is the number from which on what is stored of a segment is of its index of words.
const FirstWords = wordsNumber

// OfWords returns an index of words as columns of a segment.
func OfWords(w *words.Built) []Column {
	list := []Column{{wordsNumber, w.Directory}}
	for i, page := range w.Pages {
		list = append(list, Column{wordsNumber + 1 + i, page})
	}
	return list
}

// Words returns the index of the words in inputs and outputs; nil if it has not been built yet.
func (b *Block) Words() (*words.Index, error) {
	if !b.HasWords {
		return nil, nil
	}
	d, err := load(b, wordsNumber, func(data []byte) (*words.Directory, int, error) {
		d, err := words.ReadDirectory(data)
		return d, 4 * len(data), err
	})
	if err != nil {
		return nil, err
	}
	return words.NewIndex(d, wordPages{b}, b.Len()), nil
}

// wordPages are the pages of a segment's index of words.
type wordPages struct{ b *Block }

func (p wordPages) Texts(number int) (*words.Texts, error) {
	return load(p.b, wordsNumber+1+number, func(data []byte) (*words.Texts, int, error) {
		t, err := words.ReadTexts(data)
		if err != nil {
			return nil, 0, err
		}
		return t, t.Bytes(), nil
	})
}

func (p wordPages) Lists(number int) ([]byte, error) {
	return load(p.b, wordsNumber+1+number, func(data []byte) ([]byte, int, error) {
		lists, err := words.ReadLists(data)
		return lists, len(lists), err
	})
}

// load returns what a column is decoded to, with its size in memory, and keeps it in the cache.
func load[T any](b *Block, number int, decode func(data []byte) (T, int, error)) (t T, err error) {
	v, err := b.cache.get(key{segment: b.ID, number: number}, func() (any, int, error) {
		data, err := b.source.Column(b.ctx, b.ID, number)
		if err != nil {
			return nil, 0, err
		}
		return decode(data)
	})
	if err != nil {
		return t, err
	}
	return v.(T), nil
}
