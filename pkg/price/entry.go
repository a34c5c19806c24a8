package price

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
)

// maxUSD bounds a rate, in dollars per million tokens: a hundred thousand times today's
// dearest. What is over it is a mistake in the unit.
const maxUSD = 1e8

// simple reads {"input": 0.15, "output": 0.6, …, "tiers": [{"above": 200000, …}]}, in dollars
// per million tokens.
func simple(raw json.RawMessage) (r Rates, err error) {
	var members map[string]json.RawMessage
	if err := json.Unmarshal(raw, &members); err != nil {
		return r, fmt.Errorf("must be an object of prices, or null")
	}
	for key, raw := range members {
		if key == "tiers" {
			if r.tiers, err = simpleTiers(raw); err != nil {
				return r, err
			}
			continue
		}
		if err := setRate(&r.base, key, raw); err != nil {
			return r, err
		}
	}
	if !r.base[input].known && !r.base[output].known {
		return r, fmt.Errorf("has neither input nor output")
	}
	r.order()
	return r, nil
}

func simpleTiers(raw json.RawMessage) ([]tier, error) {
	var list []map[string]json.RawMessage
	if err := json.Unmarshal(raw, &list); err != nil || len(list) > maxTiers {
		return nil, fmt.Errorf("tiers must be an array of at most %d objects", maxTiers)
	}
	tiers := make([]tier, 0, len(list))
	for i, members := range list {
		var t tier
		if json.Unmarshal(members["above"], &t.above) != nil || t.above <= 0 {
			return nil, fmt.Errorf("tiers[%d].above must be a number of tokens", i)
		}
		for key, raw := range members {
			if key == "above" {
				continue
			}
			if err := setRate(&t.rates, key, raw); err != nil {
				return nil, fmt.Errorf("tiers[%d].%w", i, err)
			}
		}
		tiers = append(tiers, t)
	}
	return tiers, nil
}

func setRate(rates *[kinds]rate, key string, raw json.RawMessage) error {
	for i, name := range rateNames {
		if name != key {
			continue
		}
		usd, ok := dollars(raw)
		if !ok {
			return fmt.Errorf("%s must be US dollars per million tokens, 0 to %.0f", key, maxUSD)
		}
		rates[i] = rate{usd, true}
		return nil
	}
	return fmt.Errorf("%s is unknown; must be one of %s, tiers", key, strings.Join(rateNames[:], ", "))
}

// dollars reads a rate that is a number, or a number as text.
func dollars(raw json.RawMessage) (float64, bool) {
	var text string
	if json.Unmarshal(raw, &text) != nil {
		text = string(raw)
	}
	usd, err := strconv.ParseFloat(text, 64)
	return usd, err == nil && usd >= 0 && usd <= maxUSD
}
