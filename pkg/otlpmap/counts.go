package otlpmap

import (
	"math"
	"strconv"
	"strings"

	"github.com/spangrove/spangrove/pkg/otlpmap/internal/jsonscan"
	"github.com/spangrove/spangrove/pkg/rawjson"
)

// asUsage reads an object of counts in the words of any provider or SDK. Of the attribute the
// members stay that are no count of the event.
var asUsage = reader{
	name: "usage", about: "JSON or a Python dict of token counts, in the words of any provider",
	whole: func(b *eventBuilder, _ target, a *attr) {
		raw, ok := b.literal(a)
		if !ok || jsonscan.Kind(raw) != '{' {
			return
		}
		known := b.tokens.counts[countPrompt].n > 0
		b.offerUsage(raw)
		if !known {
			b.joinDetails(raw)
		}
		b.keep(a)
	},
}

// countNames are the members of usage objects that are counts. OpenAI, Anthropic, Gemini and the SDKs around them each have
// their own words.
var countNames = map[string]int{
	// Tokens of the prompt.
	"prompt_tokens": countPrompt, "input_tokens": countPrompt, "input": countPrompt, "promptTokens": countPrompt,
	"inputTokens": countPrompt, "prompt_token_count": countPrompt,
	// Tokens of the answer.
	"completion_tokens": countCompletion, "output_tokens": countCompletion, "output": countCompletion, "completionTokens": countCompletion,
	"outputTokens": countCompletion, "candidates_token_count": countCompletion,
	// Both together.
	"total_tokens": countTotal, "total": countTotal, "totalTokens": countTotal, "total_token_count": countTotal,
	// Parts of the prompt that were read from a cache or written to it, and of the answer that were thoughts.
	"cache_read_input_tokens": countCacheRead, "input_cached_tokens": countCacheRead, "input_cache_read": countCacheRead,
	"cached_content_token_count": countCacheRead, "cacheReadInputTokens": countCacheRead, "cacheReadInputTokenCount": countCacheRead,
	"cacheWriteInputTokens": countCacheWrite, "cacheWriteInputTokenCount": countCacheWrite,
	"cache_creation_input_tokens": countCacheWrite, "input_cache_creation": countCacheWrite, "cache_write_input_tokens": countCacheWrite,
	"reasoning_tokens": countReasoning, "output_reasoning_tokens": countReasoning, "output_reasoning": countReasoning,
	"thoughts_token_count": countReasoning, "thoughtsTokens": countReasoning, "cachedContentTokens": countCacheRead,
	// LangSmith sends only these in attributes of their own.
	"cache_read": countCacheRead, "cache_creation": countCacheWrite, "reasoning": countReasoning,
}

// detailNames are the members of usage objects that hold parts of a count, with what their audio
// tokens are, and countDetails the names they have there.
var (
	detailNames = map[string]int{
		"prompt_tokens_details": countAudioIn, "input_tokens_details": countAudioIn, "input_token_details": countAudioIn,
		"completion_tokens_details": countAudioOut, "output_tokens_details": countAudioOut, "output_token_details": countAudioOut,
	}
	countDetails = map[string]int{
		"cached_tokens": countCacheRead, "cache_read": countCacheRead, "cache_write_tokens": countCacheWrite, "cache_creation": countCacheWrite,
		"reasoning_tokens": countReasoning, "reasoning": countReasoning,
	}
)

// offerUsage reads a usage object: counts by their names, parts of counts in objects such as prompt_tokens_details,
// and a cost. What a span has in attributes of its own comes first.
func (b *eventBuilder) offerUsage(raw []byte) {
	for c := jsonscan.Members(raw); c.Next(); {
		switch {
		case jsonscan.Kind(c.Val) == '0':
			if i, ok := countNames[string(c.Key)]; ok {
				b.offerCount(i, c.Val)
			} else if string(c.Key) == "cost" && b.tokens.cost == nil && string(c.Val) != "0" {
				b.tokens.cost = c.Val
			}
		case jsonscan.Kind(c.Val) == '{':
			audio, ok := detailNames[string(c.Key)]
			if !ok {
				continue
			}
			for d := jsonscan.Members(c.Val); d.Next(); {
				if i, ok := countDetails[string(d.Key)]; ok {
					b.offerCount(i, d.Val)
				} else if string(d.Key) == "audio_tokens" || string(d.Key) == "audio" {
					b.offerCount(audio, d.Val)
				}
			}
		}
	}
}

// joinDetails makes parts that stand beside a count part of it. Langfuse's kinds of usage exclude each other: its
// callers report input without input_cache_read, cache_read_input_tokens, input_audio and the like, and its total is the
// sum of them all: {input: 10, input_cache_read: 90, output: 5, total: 105} means 100 prompt tokens, and so does the same without
// a total. If a total is there that is not that sum, the counts stay as reported.
func (b *eventBuilder) joinDetails(raw []byte) {
	c := &b.tokens.counts
	summed := jsonscan.Member(raw, "total") == nil && jsonscan.Member(raw, "input") != nil && !c[countTotal].set
	if !c[countPrompt].set || !summed && (!c[countCompletion].set || !c[countTotal].set) {
		return
	}
	var in, out int64
	for m := jsonscan.Members(raw); m.Next(); {
		n, err := strconv.ParseInt(string(m.Val), 10, 64)
		key := string(m.Key)
		switch {
		case err != nil || n < 0 || n >= maxCount:
		case (strings.HasPrefix(key, "input_") || strings.HasPrefix(key, "cache_")) && !isCount(m.Key, countPrompt):
			in = min(in+n, maxCount)
		case strings.HasPrefix(key, "output_") && !isCount(m.Key, countCompletion):
			out = min(out+n, maxCount)
		}
	}
	if in+out > 0 && (summed || c[countPrompt].n+in+c[countCompletion].n+out == c[countTotal].n) {
		c[countPrompt].n += in
		c[countCompletion].n += out
		b.tokens.joined = true
	}
}

// isCount reports whether a member of a usage object is that count.
func isCount(key []byte, want int) bool {
	i, ok := countNames[string(key)]
	return ok && i == want
}

// asCosts reads an object of costs in US dollars. Without a total the parts are summed. A cost
// of 0 beside parts of 0 means that nobody knew the price.
var asCosts = reader{
	name: "costs", about: "a JSON object of US dollars: its total, else the sum of input and output",
	whole: func(b *eventBuilder, _ target, a *attr) {
		raw, ok := b.parse(a)
		if !ok || jsonscan.Kind(raw) != '{' {
			return
		}
		b.keep(a)
		if b.tokens.cost != nil {
			return
		}
		for _, key := range [...]string{"total", "total_cost", "response_cost"} {
			if v := jsonscan.Member(raw, key); jsonscan.Kind(v) == '0' && floatOf(v) > 0 {
				b.tokens.cost = v
				return
			}
		}
		in, out := firstMember(raw, "input", "input_cost"), firstMember(raw, "output", "output_cost")
		if sum := floatOf(in) + floatOf(out); sum > 0 {
			b.tokens.cost = appendDouble(nil, sum)
		}
	},
}

// floatOf returns a JSON number, 0 for anything else and for what no price can be.
func floatOf(raw []byte) float64 {
	if jsonscan.Kind(raw) != '0' {
		return 0
	}
	f, ok := rawjson.Number(raw)
	if !ok || f < 0 || math.IsInf(f, 0) || math.IsNaN(f) {
		return 0
	}
	return f
}
