package otlpmap

import (
	"math"
	"strconv"

	"go.opentelemetry.io/collector/pdata/pcommon"

	"github.com/spangrove/spangrove/pkg/event"
)

// The counts of tokens, in the order they are written.
const (
	countPrompt = iota
	countCompletion
	countTotal
	countCacheRead
	countCacheWrite
	countReasoning
	countAudioIn
	countAudioOut
	countKinds
)

// countKeys are the members of metadata that hold the counts. Prompt and completion stand there
// under two names each, since clients of both generations ask for them.
var countKeys = [countKinds][]string{
	countPrompt:     {"prompt_tokens", "input_tokens"},
	countCompletion: {"completion_tokens", "output_tokens"},
	countTotal:      {"total_tokens"},
	countCacheRead:  {"cache_read_input_tokens"},
	countCacheWrite: {"cache_write_input_tokens"},
	countReasoning:  {"reasoning_tokens"},
	countAudioIn:    {"audio_input_tokens"},
	countAudioOut:   {"audio_output_tokens"},
}

// count is a number of tokens; set tells 0 from not reported.
type count struct {
	n   int64
	set bool
}

// asCount takes a number of tokens. The numbers are written when all are known, see usage.
var asCount = reader{
	name: "count", about: "a whole number of tokens, also when it comes as text",
	whole: func(b *eventBuilder, t target, a *attr) {
		n, ok := countOf(a.val)
		if !ok {
			return
		}
		kind := countKind(t.key)
		b.offer(kind, n)
		if a.used || b.tokens.counts[kind].n != n || a.val.Type() == pcommon.ValueTypeStr && a.str() != strconv.FormatInt(n, 10) { // 07 stays as well
			return
		}
		a.used = true
		if n == 0 {
			b.zeros = append(b.zeros, zeroCount{kind, a.index})
		}
	},
}

// zeroCount is an attribute that says that a count is 0.
type zeroCount struct {
	kind  int
	index int32 // of the attribute
}

// offer takes n for a count that is not known yet. A count of 0 yields to any other: whoever does not learn of the usage writes 0. The
// attributes that said so are not in the event then. What a native event has itself stays.
func (b *eventBuilder) offer(kind int, n int64) {
	c := &b.tokens.counts[kind]
	if c.set && (c.n > 0 || n == 0 || b.filled(compiled.countFields[kind][0].field)) {
		return
	}
	if c.set {
		for _, z := range b.zeros {
			if z.kind == kind {
				b.attrs[z.index].used = false
			}
		}
	}
	*c = count{n, true}
}

// countKind returns the count whose first name is key.
func countKind(key string) int {
	for i, names := range countKeys {
		if names[0] == key {
			return i
		}
	}
	return countTotal
}

// maxCount is more than any number of tokens: sums of counts below it are exact.
const maxCount = 1 << 53

// countOf returns a value as a count: a whole number, not negative, also when it comes as text.
func countOf(v pcommon.Value) (int64, bool) {
	switch v.Type() {
	case pcommon.ValueTypeInt:
		return v.Int(), v.Int() >= 0 && v.Int() < maxCount
	case pcommon.ValueTypeDouble:
		f := v.Double()
		return int64(f), f >= 0 && f < maxCount && f == math.Trunc(f)
	case pcommon.ValueTypeStr:
		n, err := strconv.ParseInt(v.Str(), 10, 64)
		return n, err == nil && n >= 0 && n < maxCount
	}
	return 0, false
}

// offerCount offers a count from a span's raw answer (see offer), if raw is a whole number.
func (b *eventBuilder) offerCount(i int, raw []byte) {
	if n, err := strconv.ParseInt(string(raw), 10, 64); err == nil && n >= 0 && n < maxCount {
		b.offer(i, n)
	}
}

// aggregateUsage writes the counts and the cost of a chain into metadata.aggregate_usage, where those of a wrapper are, too
// (see event.Correct): they are of the model calls below it, and sums over events would count them twice. If the span has an
// object of its own there, they stay under their own names.
func (b *eventBuilder) aggregateUsage(adjusted bool) {
	c := &b.tokens.counts
	if b.filled(fieldAggregate.field) {
		for _, i := range compiled.usageSlots {
			if a := b.s.at(b.attrs, i); a != nil {
				a.used = false
			}
		}
		*c, b.tokens.cost = [countKinds]count{}, nil
		return
	}
	at := len(b.arena)
	open := func(key string) {
		sep := byte(',')
		if len(b.arena) == at {
			sep = '{'
		}
		b.arena = appendKey(append(b.arena, sep), key)
	}
	for i := range c {
		if c[i].set {
			open(countKeys[i][0])
			b.arena = strconv.AppendInt(b.arena, c[i].n, 10)
		}
	}
	if b.tokens.cost != nil {
		open(fieldCost.key)
		b.arena = append(b.arena, b.tokens.cost...)
	}
	if len(b.arena) == at {
		return
	}
	if adjusted {
		open(fieldUsageAdjusted.key)
		b.arena = append(b.arena, "true"...)
	}
	b.arena = append(b.arena, '}')
	b.put(fieldAggregate, b.arena[at:])
}

// usage writes counts and cost. Cached and reasoning tokens are parts of prompt and completion. Some
// instrumentations of Anthropic's API report the prompt without the cached ones, as the API does; this shows when they
// are more than the prompt, or by the convention (see definition.cachedApart): of {prompt: 10, cache_read: 90} the prompt becomes 100,
// and metadata.usage_adjusted says so. A total that was the sum of the two counts grows with it. The total is the sum if the span has
// none. Reasoning that a total counts beside the completion joins it.
func (b *eventBuilder) usage() {
	c := &b.tokens.counts
	cached := c[countCacheRead].n + c[countCacheWrite].n
	adjusted := b.tokens.joined
	if c[countPrompt].set && (cached > c[countPrompt].n || cached > 0 && conventions[b.s.by].cachedApart) {
		reported := c[countPrompt].n
		c[countPrompt].n += cached
		adjusted = true
		if c[countTotal].set && c[countTotal].n == reported+c[countCompletion].n {
			c[countTotal].n += cached
		}
	}
	// Gemini's API counts thoughts beside what it answers, and its total has both.
	if think := c[countReasoning].n; think > 0 && c[countPrompt].set && c[countCompletion].set &&
		(c[countTotal].set && c[countPrompt].n+c[countCompletion].n+think == c[countTotal].n || b.tokens.thoughtsApart && !c[countTotal].set) {
		c[countCompletion].n += think
		adjusted = true
	}
	if !c[countTotal].set && c[countPrompt].set && c[countCompletion].set {
		c[countTotal] = count{c[countPrompt].n + c[countCompletion].n, true}
	}
	if !c[countTotal].set && c[countPrompt].set && b.s.role == onEmbedding {
		c[countTotal] = c[countPrompt] // an embedding completes nothing
	}
	if b.s.wraps && b.s.typ == event.TypeChain {
		b.aggregateUsage(adjusted)
		return
	}
	for i := range c {
		if c[i].set {
			for _, f := range compiled.countFields[i] {
				b.putInt(f, c[i].n)
			}
		}
	}
	if adjusted {
		b.put(fieldUsageAdjusted, []byte("true"))
	}
	b.writeCost()
}
