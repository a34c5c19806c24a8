package events

import (
	"encoding/json"

	"github.com/google/uuid"

	"github.com/spangrove/spangrove/pkg/event"
	"github.com/spangrove/spangrove/pkg/rawjson"
)

// The total of a model call's tokens is added here where its sender gave the two parts alone, as some APIs report them: filters and
// charts ask for metadata.total_tokens, and a session's totals count the sum as well. Spans have it from where they are mapped.

const totalTokensKey = "total_tokens"

// totalNew sets the total of a native model call's tokens, unless its sender did, and reports whether it set it.
func totalNew(e *event.Incoming) bool {
	if e.TraceID != uuid.Nil || e.Type != event.TypeModel || e.IsSession() {
		return false // a session's event shows the sum of all its session's tokens where it has none
	}
	sum, known, total := tokensOf(e.Metadata)
	if !known || total != nil {
		return false
	}
	e.Metadata = withTotal(e.Metadata, sum)
	return true
}

// untotalled returns e without what totalNew gave it.
func untotalled(e *event.Incoming) *event.Incoming {
	without := *e
	without.Metadata = rawjson.Without(e.Metadata, []byte(`{"`+totalTokensKey+`":0}`))
	return &without
}

// retotal sets the total of a native model call whose parts a change has completed. A total that was the sum of the parts follows them,
// unless the change has set it.
func retotal(was, now *event.Event) {
	sum, known, total := tokensOf(now.Metadata)
	before, knownBefore, totalBefore := tokensOf(was.Metadata)
	if !known || now.IsSession() || knownBefore && sum == before {
		return
	}
	if total != nil {
		n, isNumber := rawjson.Number(totalBefore)
		if !knownBefore || !isNumber || n != before || string(total) != string(totalBefore) {
			return
		}
	}
	now.Metadata = withTotal(now.Metadata, sum)
}

func withTotal(metadata json.RawMessage, total float64) json.RawMessage {
	var b rawjson.Builder
	b.Number(totalTokensKey, total)
	return rawjson.Merge(metadata, b.Bytes())
}

// tokensOf reads the tokens of a model call: the sum of prompt and completion, if both are known, and the total as it stands, nil if there
// is none. As in callOf, the older names win, and what is no whole number is no count.
func tokensOf(metadata json.RawMessage) (sum float64, known bool, total json.RawMessage) {
	var parts, newer [2]float64
	var has, hasNewer [2]bool
	for k, v := range rawjson.Object(metadata) {
		to, there, i := &parts, &has, 0
		switch k {
		case totalTokensKey:
			total = v
			continue
		case "prompt_tokens":
		case "completion_tokens":
			i = 1
		case "input_tokens":
			to, there = &newer, &hasNewer
		case "output_tokens":
			to, there, i = &newer, &hasNewer, 1
		default:
			continue
		}
		if n, ok := rawjson.Number(v); ok && n >= 0 && n <= maxCounted && n == float64(int64(n)) {
			to[i], there[i] = n, true
		}
	}
	for i := range parts {
		if !has[i] {
			parts[i], has[i] = newer[i], hasNewer[i]
		}
	}
	return parts[0] + parts[1], has[0] && has[1], total
}
