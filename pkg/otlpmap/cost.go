package otlpmap

import (
	"strconv"

	"github.com/spangrove/spangrove/pkg/event"
	"github.com/spangrove/spangrove/pkg/price"
	"github.com/spangrove/spangrove/pkg/rawjson"
)

// Prices compute what model calls cost. Package price implements it.
type Prices interface {
	// Cost is in US dollars. ok is false if it is not known, which is not a cost of 0. Many
	// goroutines ask at once.
	Cost(c price.Call) (usd float64, ok bool)
}

// writeCost writes what the call cost: what the span reports, else what its tokens cost at the
// prices that the mapper was given. A call whose price is not known has no cost.
func (b *eventBuilder) writeCost() {
	if raw, source := b.theCost(); raw != nil && b.put(fieldCost, raw) {
		b.put(fieldCostSource, []byte(source))
	}
}

// theCost returns the cost in US dollars as a JSON number, and as JSON whether it was reported or computed; nil if
// it is not known. Only model calls have a computed cost: what is around them would count it again.
func (b *eventBuilder) theCost() (raw []byte, source string) {
	if b.tokens.cost != nil {
		return b.tokens.cost, `"reported"`
	}
	if b.opt.Prices == nil || b.s.typ != event.TypeModel || b.filled(fieldCost.field) {
		return nil, ""
	}
	used, ok := b.priced()
	if !ok {
		return nil, ""
	}
	usd, ok := b.opt.Prices.Cost(price.Call{
		Model: b.configText(fieldModel), RequestModel: b.configText(fieldRequestModel), Provider: b.configText(fieldProvider),
		Usage: used,
	})
	if !ok {
		return nil, ""
	}
	return rawjson.AppendNumber(nil, usd), `"computed"`
}

// priced returns the tokens that a price is asked for: those that the span reports, or else its own metadata.
// ok is false if they do not suffice to compute a cost.
func (b *eventBuilder) priced() (u price.Usage, ok bool) {
	c := b.tokens.counts
	if !c[countPrompt].set && !c[countCompletion].set && !c[countTotal].set {
		c = b.ownCounts()
	}
	return price.Counts{
		Prompt: c[countPrompt].reported(), Completion: c[countCompletion].reported(), Total: c[countTotal].reported(),
		CacheRead: c[countCacheRead].n, CacheWrite: c[countCacheWrite].n,
		Reasoning: c[countReasoning].n, AudioIn: c[countAudioIn].n, AudioOut: c[countAudioOut].n,
	}.Usage(b.s.role == onEmbedding)
}

// reported returns the count, nil if there is none.
func (c *count) reported() *int64 {
	if !c.set {
		return nil
	}
	return &c.n
}

// ownCounts returns the tokens that a program sends as metadata of its own, under the names that
// counts have there.
func (b *eventBuilder) ownCounts() (c [countKinds]count) {
	for i := range c {
		for _, f := range compiled.countFields[i] {
			if !b.filled(f.field) {
				continue
			}
			if n, err := strconv.ParseInt(string(b.written(f)), 10, 64); err == nil && n >= 0 {
				c[i] = count{n, true}
			}
		}
	}
	return c
}

// configText returns the text that stands in a field of config, "" for none. If an attribute filled it, its text is at
// hand; otherwise the field is read back.
func (b *eventBuilder) configText(t target) string {
	if !b.filled(t.field) {
		return ""
	}
	if from := b.by[t.field]; from > 0 {
		if s := b.attrs[from-1].str(); s != "" && s[0] != '"' && s[0] != '{' {
			return s
		}
	}
	return unquoted(b.written(t))
}

// written returns the JSON that stands in a field already. It is valid until the next value is written. The object is
// closed for as long as it is read.
func (b *eventBuilder) written(t target) []byte {
	o := &b.obj[t.bucket]
	at := len(o.buf)
	o.buf = append(o.buf, '}') // as finish will
	raw := rawjson.Get(o.buf, t.key)
	o.buf = o.buf[:at]
	return raw
}
