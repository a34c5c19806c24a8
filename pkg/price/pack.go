package price

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Pack reduces LiteLLM's lists of prices to the lines of the built-in table, and counts them.
// The first list that has a model decides; later ones are of earlier releases and have the last
// prices of models that the first has dropped, since their traces are still around. It is for
// internal/gen.
func Pack(lists ...[]byte) (lines []byte, models int, err error) {
	type found struct {
		provider string
		rates    Rates
	}
	entries := map[string]found{}
	for i, list := range lists {
		var members map[string]json.RawMessage
		if err := json.Unmarshal(list, &members); err != nil {
			return nil, 0, fmt.Errorf("read list %d: %w", i, err)
		}
		delete(members, "sample_spec") // the list's own documentation
		known := len(entries)
		for _, name := range slices.Sorted(maps.Keys(members)) {
			provider, r, priced := litellmEntry(members[name])
			name = strings.ToLower(name)
			if _, twice := entries[name]; priced && !twice && len(name) <= maxName && !strings.ContainsAny(name+provider, "\t\n") {
				entries[name] = found{provider, r}
			}
		}
		if len(entries) == known {
			return nil, 0, fmt.Errorf("list %d adds nothing", i)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(entries)) {
		e := entries[name]
		lines = appendLine(lines, name, e.provider, &e.rates)
	}
	return lines, len(entries), nil
}
