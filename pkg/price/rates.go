package price

import (
	"math"
	"strconv"
)

// Usage counts the tokens of one call. Cached, written and audio tokens are part of the prompt;
// reasoning and audio tokens are part of the completion.
type Usage struct {
	Prompt, Completion    int64
	CacheRead, CacheWrite int64
	Reasoning             int64
	AudioIn, AudioOut     int64
}

// The kinds of tokens that may have a rate, in the order in which the table writes them.
const (
	input = iota
	output
	cacheRead
	cacheWrite
	reasoning
	audioIn
	audioOut
	kinds
)

// rateNames are the kinds' names in a file of prices.
var rateNames = [kinds]string{"input", "output", "cache_read", "cache_write", "reasoning", "audio_input", "audio_output"}

// rate is US dollars per million tokens; known is set if there is one.
type rate struct {
	usd   float64
	known bool
}

// Rates are the prices of one model.
type Rates struct {
	base  [kinds]rate
	tiers []tier // by above, lowest first
}

// tier holds the rates of a call whose prompt is longer than above, for all of its tokens. What
// it does not name stays as it is below.
type tier struct {
	above int64
	rates [kinds]rate
}

// significant is to how many digits a cost is rounded: all that prices have, and none of the
// noise of binary fractions.
const significant = 12

// Cost returns what a call cost in US dollars. Cached tokens without a rate cost what the prompt
// does, reasoning tokens what the completion does, and so on; ok is false if the call used
// tokens that have no price at all.
func (r *Rates) Cost(u Usage) (usd float64, ok bool) {
	at := r.base
	for _, t := range r.tiers {
		if u.Prompt <= t.above {
			break
		}
		for i, tr := range t.rates {
			if tr.known {
				at[i] = tr
			}
		}
	}
	for _, f := range [...]struct{ kind, of int }{
		{cacheRead, input}, {cacheWrite, input}, {audioIn, input}, {reasoning, output}, {audioOut, output},
	} {
		if !at[f.kind].known {
			at[f.kind] = at[f.of]
		}
	}
	micro := 0.0
	for i, n := range u.split() {
		switch {
		case n == 0:
		case !at[i].known:
			return 0, false
		default:
			micro += float64(n) * at[i].usd
		}
	}
	return round(micro / 1e6), true
}

// split returns the tokens of each kind, each token once. Parts that are more than their whole,
// which some senders count beside it, leave nothing of it.
func (u *Usage) split() (n [kinds]int64) {
	n[cacheRead], n[cacheWrite], n[audioIn] = atLeast0(u.CacheRead), atLeast0(u.CacheWrite), atLeast0(u.AudioIn)
	n[reasoning], n[audioOut] = atLeast0(u.Reasoning), atLeast0(u.AudioOut)
	n[input] = rest(u.Prompt, n[cacheRead], n[cacheWrite], n[audioIn])
	n[output] = rest(u.Completion, n[reasoning], n[audioOut])
	return n
}

func atLeast0(n int64) int64 { return max(n, 0) }

// rest returns whole without its parts, at least 0. The subtraction cannot overflow: it stops at 0.
func rest(whole int64, parts ...int64) int64 {
	for _, p := range parts {
		if whole <= p {
			return 0
		}
		whole -= p
	}
	return atLeast0(whole)
}

// round cuts f to the significant digits of a cost.
func round(f float64) float64 {
	if f == 0 || math.IsInf(f, 0) || math.IsNaN(f) {
		return f
	}
	r, err := strconv.ParseFloat(strconv.FormatFloat(f, 'g', significant, 64), 64)
	if err != nil {
		return f
	}
	return r
}
