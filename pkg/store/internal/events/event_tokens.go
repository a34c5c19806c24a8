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
	if rawjson.Get(e.Metadata, totalTokensKey) != nil {
		return false
	}
	sum, known := tokensOf(e.Metadata)
	if known {
		e.Metadata = withTotal(e.Metadata, sum)
	}
	return known
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
	sum, known := tokensOf(now.Metadata)
	before, knownBefore := tokensOf(was.Metadata)
	if !known || now.IsSession() || knownBefore && sum == before {
		return
	}
	if total := rawjson.Get(now.Metadata, totalTokensKey); total != nil {
		n, isNumber := rawjson.Number(total)
		if !knownBefore || !isNumber || n != before || string(total) != string(rawjson.Get(was.Metadata, totalTokensKey)) {
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

// tokensOf returns the sum of a model call's prompt and completion, if both are known.
func tokensOf(metadata json.RawMessage) (sum float64, known bool) {
	c := tokenCounts(metadata)
	if c.Prompt == nil || c.Completion == nil || max(*c.Prompt, *c.Completion) > maxCounted {
		return 0, false
	}
	return float64(*c.Prompt + *c.Completion), true
}
