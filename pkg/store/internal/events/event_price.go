package events

import (
	"cmp"
	"encoding/json"

	"github.com/google/uuid"

	"github.com/spangrove/spangrove/pkg/event"
	"github.com/spangrove/spangrove/pkg/price"
	"github.com/spangrove/spangrove/pkg/rawjson"
)

// What a model call cost is computed here where nobody has said it: for native events when they are stored, and for all events
// when an update or a repeat changes the model or the tokens (Rewrite). metadata.cost_source tells the two kinds of costs
// apart, and so which one may be computed again: what somebody reported is never touched.
//
// A computed cost is no part of what the sender said. Where an event comes again, it is taken off first (unpriced): what the
// event costs follows from the tokens that it has then.

// UsePrices sets the prices of model calls that are stored or changed from now on.
func (s *Store) UsePrices(b *price.Book) { s.prices.Store(b) }

// Values of metadata.cost_source: where the cost came from.
const (
	costKey       = "cost"
	costSourceKey = "cost_source"
	reportedCost  = `"reported"`
	computedCost  = `"computed"`
)

// priceNew sets what a native model call cost, unless its sender did, and reports whether it set it. Spans are priced where
// they are mapped.
func (s *Store) priceNew(e *event.Incoming) bool {
	if e.TraceID != uuid.Nil || e.Type != event.TypeModel || rawjson.Get(e.Metadata, costKey) != nil {
		return false
	}
	usd, ok := s.cost(callOf(&e.Event))
	if ok {
		e.Metadata = withCost(e.Metadata, usd)
	}
	return ok
}

// unpriced returns e without what priceNew gave it.
func unpriced(e *event.Incoming) *event.Incoming {
	without := *e
	without.Metadata = withoutCost(e.Metadata)
	return &without
}

// reprice recomputes the total of a native model call's tokens (retotal), and the cost of a model call whose model or tokens differ from
// before, unless somebody has said what it cost.
// There are three cases:
//
//   - The update itself changed the cost, and left cost_source at "computed": then that is what somebody reports, and is
//     marked so, unless it is the very number that would be computed.
//   - Nothing that the price goes by has changed, or the cost was reported: it stays.
//   - Else the old cost is taken off, and the new one is set if there is a price.
func (s *Store) reprice(before, now *event.Event, native bool) {
	was := before.AsReported()
	now.ChangeAsReported(func(e *event.Event) {
		if e.Type != event.TypeModel {
			return
		}
		if native {
			retotal(&was, e)
		}
		has := rawjson.Get(e.Metadata, costKey)
		computed := string(rawjson.Get(e.Metadata, costSourceKey)) == computedCost
		is := callOf(e)
		usd, ok := s.cost(is)
		if computed && string(has) != string(rawjson.Get(was.Metadata, costKey)) &&
			string(rawjson.Get(was.Metadata, costSourceKey)) == computedCost {
			if n, _ := rawjson.Number(has); !ok || n != usd {
				e.Metadata = rawjson.Merge(e.Metadata, []byte(`{"`+costSourceKey+`":`+reportedCost+`}`))
			}
			return
		}
		if is == callOf(&was) || has != nil && !computed {
			return
		}
		if computed {
			e.Metadata = withoutCost(e.Metadata)
		}
		if ok {
			e.Metadata = withCost(e.Metadata, usd)
		}
	})
}

// withCost and withoutCost set and take off a computed cost, with its source.
func withCost(metadata json.RawMessage, usd float64) json.RawMessage {
	var b rawjson.Builder
	b.Number(costKey, usd)
	b.Raw(costSourceKey, []byte(computedCost))
	return rawjson.Merge(metadata, b.Bytes())
}

func withoutCost(metadata json.RawMessage) json.RawMessage {
	return rawjson.Without(metadata, []byte(`{"`+costKey+`":0,"`+costSourceKey+`":0}`))
}

// paidCall is what the price of a call goes by.
type paidCall struct {
	price.Call
	known bool // the tokens are
}

// cost returns what a call costs in US dollars; ok is false where its tokens or its model are not known, or the model has no price.
func (s *Store) cost(c paidCall) (usd float64, ok bool) {
	if !c.known || c.Model == "" && c.RequestModel == "" {
		return 0, false
	}
	return s.prices.Load().Cost(c.Call)
}

// callOf reads the model and the tokens of an event's call, in one pass over each object.
func callOf(e *event.Event) (c paidCall) {
	for k, v := range rawjson.Object(e.Config) {
		switch k {
		case "model":
			c.Model, _ = rawjson.Text(v)
		case "request_model":
			c.RequestModel, _ = rawjson.Text(v)
		case "provider":
			c.Provider, _ = rawjson.Text(v)
		}
	}
	c.Usage, c.known = tokenCounts(e.Metadata).Usage(!rawjson.Empty(rawjson.Get(e.Inputs, "texts")))
	return c
}

// tokenCounts reads the counts of tokens in an event's metadata. Numbers that are not whole, or negative, are not counts; newer senders
// say input and output where older ones say prompt and completion, and the older names win unless they say 0.
func tokenCounts(metadata json.RawMessage) (counts price.Counts) {
	var in, out *int64 // under their other names
	for k, v := range rawjson.Object(metadata) {
		n, ok := rawjson.Number(v)
		if !ok || n < 0 || n != float64(int64(n)) {
			continue
		}
		tokens := int64(n)
		switch k {
		case "prompt_tokens":
			counts.Prompt = &tokens
		case "input_tokens":
			in = &tokens
		case "completion_tokens":
			counts.Completion = &tokens
		case "output_tokens":
			out = &tokens
		case "total_tokens":
			counts.Total = &tokens
		case "cache_read_input_tokens":
			counts.CacheRead = tokens
		case "cache_write_input_tokens":
			counts.CacheWrite = tokens
		case "reasoning_tokens":
			counts.Reasoning = tokens
		case "audio_input_tokens":
			counts.AudioIn = tokens
		case "audio_output_tokens":
			counts.AudioOut = tokens
		}
	}
	if counts.Prompt == nil || *counts.Prompt == 0 {
		counts.Prompt = cmp.Or(in, counts.Prompt)
	}
	if counts.Completion == nil || *counts.Completion == 0 {
		counts.Completion = cmp.Or(out, counts.Completion)
	}
	return counts
}
