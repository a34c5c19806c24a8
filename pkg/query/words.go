package query

import (
	"strings"

	"github.com/spangrove/spangrove/pkg/column"
	"github.com/spangrove/spangrove/pkg/words"
)

// inWords reports whether an index of words narrows the events for which the condition may hold: it looks for a text in inputs or outputs.
func (c *cond) inWords() bool {
	switch {
	case c.root.kind == kindAllText:
		return true
	case c.name != "inputs" && c.name != "outputs":
		return false
	case c.op == opContains:
		return true
	}
	return c.op == opIs && c.typ == typeString && c.areTexts()
}

// areTexts reports whether only strings that are the same byte for byte are one of the condition's values.
func (c *cond) areTexts() bool {
	for i := range c.values {
		if v := &c.values[i]; !v.plainText() || v.isUUID {
			return false
		}
	}
	return true
}

// matchWords decides a condition that is inWords, without its negation.
func (c *cond) matchWords(b Block) (d Decided, err error) {
	index, err := b.Words()
	if err != nil {
		return d, err
	}
	if index == nil {
		d = Decided{column.NewSet(b.Len()), column.FullSet(b.Len())}
		return d, nil
	}
	switch {
	case c.root.kind != kindAllText:
		return c.matchPayload(b, index)
	case c.op == opContains:
		text := c.only().text
		d, err = matchHead(b, func(s string) bool { return strings.Contains(s, text) })
		if err == nil {
			err = d.orFound(index.Contains(words.Inputs|words.Outputs, text))
		}
		return d, err
	}
	return c.matchAllWords(b, index)
}

// matchPayload decides a condition on inputs or outputs. Where in them a text is the index does not know.
func (c *cond) matchPayload(b Block, index *words.Index) (Decided, error) {
	d := Decided{column.NewSet(b.Len()), column.NewSet(b.Len())}
	field := words.Inputs
	if c.name == "outputs" {
		field = words.Outputs
	}
	for i := range c.values {
		if err := d.orFound(index.Contains(field, c.values[i].text)); err != nil {
			return d, err
		}
	}
	if c.path != nil || c.op != opContains {
		d.Maybe.Or(d.Match)
		d.Match = column.NewSet(b.Len())
	}
	return d, nil
}

// matchAllWords decides which events have all words of the condition, in whichever of their texts each may be.
func (c *cond) matchAllWords(b Block, index *words.Index) (Decided, error) {
	all := Decided{column.FullSet(b.Len()), column.NewSet(b.Len())}
	for _, word := range c.words {
		d, err := matchHead(b, func(s string) bool {
			for w := range words.Split(s) {
				if strings.ToLower(w) == word {
					return true
				}
			}
			return false
		})
		if err == nil {
			err = d.orFound(index.Word(words.Inputs|words.Outputs, word))
		}
		if err != nil {
			return all, err
		}
		all.and(d)
	}
	return all, nil
}

// orFound adds what an index has found.
func (d *Decided) orFound(found words.Found, err error) error {
	if err == nil {
		d.or(Decided{found.Sure, found.Maybe})
	}
	return err
}

// matchHead returns the events of which f is true for the name or the error.
func matchHead(b Block, f func(text string) bool) (Decided, error) {
	d := Decided{column.NewSet(b.Len()), column.NewSet(b.Len())}
	for _, name := range []string{"event_name", "error"} {
		col, err := b.Column(name)
		if err != nil {
			return d, err
		}
		if col == nil {
			continue
		}
		v := blockValues{c: &cond{name: name}, column: col}
		d.or(matchCodes(&v, func(value fieldValue) bool { return value.kind == '"' && f(value.text) }))
	}
	return d, nil
}
