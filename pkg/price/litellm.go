package price

import (
	"encoding/json"
	"math"
	"regexp"
	"strconv"
)

// litellmRates are LiteLLM's names of the rates, in dollars per token. Of two names for one
// kind the first that is there counts.
var litellmRates = []struct {
	key  string
	kind int
}{
	{"input_cost_per_token", input},
	{"output_cost_per_token", output},
	{"cache_read_input_token_cost", cacheRead},
	{"input_cost_per_token_cache_hit", cacheRead},
	{"cache_creation_input_token_cost", cacheWrite},
	{"output_cost_per_reasoning_token", reasoning},
	{"input_cost_per_audio_token", audioIn},
	{"output_cost_per_audio_token", audioOut},
}

var (
	aboveKey = regexp.MustCompile(`^(.+)_above_([0-9]{1,6})k_tokens$`)
	// otherPrice is a price of something else than tokens.
	otherPrice = regexp.MustCompile(
		`_cost_per_(second|image|pixel|query|page|character|request|video|audio_per_second|credit)|^cost_per_second`,
	)
)

// litellmEntry reads a model of LiteLLM's list: the standard rates and their tiers. What the
// list has beside them (batches, priorities, prices of images) is left out. priced is false for
// what has no price per token, such as an image model. An entry whose rates are all 0 is free
// only if nothing shows that it is paid for in another way.
func litellmEntry(raw json.RawMessage) (provider string, r Rates, priced bool) {
	var members map[string]json.RawMessage
	if json.Unmarshal(raw, &members) != nil {
		return "", Rates{}, false
	}
	var mode string
	_ = json.Unmarshal(members["litellm_provider"], &provider) // text, or it stays empty
	_ = json.Unmarshal(members["mode"], &mode)
	r.base = litellmRow(members)
	byAbove := map[int64]int{}
	at := func(above int64) *tier {
		i, ok := byAbove[above]
		if !ok {
			i = len(r.tiers)
			byAbove[above] = i
			r.tiers = append(r.tiers, tier{above: above})
		}
		return &r.tiers[i]
	}
	for key, raw := range members {
		m := aboveKey.FindStringSubmatch(key)
		if m == nil {
			continue
		}
		thousands, _ := strconv.ParseInt(m[2], 10, 64)
		for _, l := range litellmRates {
			if usd, ok := perMillion(raw); ok && l.key == m[1] {
				at(thousands * 1000).rates[l.kind] = rate{usd, true}
			}
		}
	}
	var steps []map[string]json.RawMessage
	_ = json.Unmarshal(members["tiered_pricing"], &steps) // a list, or there are no tiers
	for _, step := range steps {
		var bounds []float64
		if json.Unmarshal(step["range"], &bounds) != nil || len(bounds) == 0 || bounds[0] < 0 || bounds[0] > 1e12 {
			continue
		}
		row := litellmRow(step)
		if bounds[0] == 0 {
			merge(&r.base, &row)
			continue
		}
		merge(&at(int64(bounds[0])).rates, &row)
	}
	r.order()
	if len(r.tiers) > maxTiers {
		r.tiers = r.tiers[:maxTiers]
	}
	return provider, r, paidByToken(members, provider, mode, &r)
}

func litellmRow(members map[string]json.RawMessage) (rates [kinds]rate) {
	for _, l := range litellmRates {
		if usd, ok := perMillion(members[l.key]); ok && !rates[l.kind].known {
			rates[l.kind] = rate{usd, true}
		}
	}
	return rates
}

func merge(to, from *[kinds]rate) {
	for i, f := range from {
		if f.known {
			to[i] = f
		}
	}
}

// perMillion reads dollars per token as dollars per million.
func perMillion(raw json.RawMessage) (float64, bool) {
	if len(raw) == 0 {
		return 0, false
	}
	usd, ok := dollars(raw)
	usd = round(usd * 1e6)
	return usd, ok && usd <= maxUSD && !math.IsNaN(usd)
}

// byTime are providers whose models are paid for by the hour of a machine.
var byTime = map[string]bool{"sagemaker": true}

func paidByToken(members map[string]json.RawMessage, provider, mode string, r *Rates) bool {
	if !r.base[input].known && !r.base[output].known {
		return false
	}
	for _, b := range r.base {
		if b.known && b.usd > 0 {
			return true
		}
	}
	if byTime[provider] {
		return false
	}
	switch mode {
	case "image_generation", "image_edit", "video_generation", "audio_speech", "audio_transcription", "rerank", "ocr", "search":
		return false
	}
	for key, raw := range members {
		if usd, ok := dollars(raw); ok && usd > 0 && otherPrice.MatchString(key) {
			return false
		}
	}
	return true
}
