package event

import (
	"encoding/json"

	"github.com/google/uuid"

	"github.com/spangrove/spangrove/pkg/rawjson"
)

// Keys of metadata that the corrections of a session's tree write.
const (
	AggregateKey = "aggregate_usage"
	DuplicateKey = "duplicate_of"
	FilledKey    = "from_duplicates"
)

// usageKeys are the members of metadata that hold what a call used. On a wrapper they are in
// aggregate_usage instead, where no sum looks for them. The value is the other name under which
// the same count stands, if there is one; it need not be kept twice there.
var usageKeys = map[string]string{
	"prompt_tokens": "", "input_tokens": "prompt_tokens",
	"completion_tokens": "", "output_tokens": "completion_tokens",
	"total_tokens": "", "cache_read_input_tokens": "", "cache_write_input_tokens": "", "reasoning_tokens": "",
	"audio_input_tokens": "", "audio_output_tokens": "",
	"cost": "", "cost_source": "", "usage_adjusted": "",
}

const reported = `"reported"` // cost_source if it adds nothing

// Correction is how an event in the tree differs from what its sender reported.
type Correction struct {
	// Wrapper: e is a model call that another model call above or below it in its trace reports,
	// too. It becomes a chain and its counts move to metadata.aggregate_usage.
	Wrapper bool
	// DuplicateOf is the event that stands for the call, zero if that is e itself. e is marked
	// as its duplicate, unless its sender has set duplicate_of.
	DuplicateOf uuid.UUID
	// Known is what other events know of the call that e stands for. It fills what e lacks, and
	// metadata.from_duplicates lists those fields.
	Known Known
	// SessionError is the error of a session's first failed root, nil for none. It becomes that of
	// the session event, if that has none of its own.
	SessionError *string
}

// Correct turns e as its sender reported it into what the tree shows. Restore undoes it.
//
// An update or a repeat of a corrected event changes what its sender reported: the order in
// which changes and corrections come does not matter.
func (e *Event) Correct(c Correction) {
	if c.SessionError != nil && e.Error == nil && e.IsSession() {
		e.Error, e.DerivedError = c.SessionError, true
	}
	if e.Type != TypeModel {
		return
	}
	if c.DuplicateOf != uuid.Nil && rawjson.Get(e.Metadata, DuplicateKey) == nil {
		e.Duplicate = true
		var b rawjson.Builder
		b.String(DuplicateKey, c.DuplicateOf.String())
		e.Metadata = rawjson.Merge(e.Metadata, b.Bytes())
	}
	if c.Wrapper {
		e.Wrapper, e.Type = true, TypeChain
		e.Metadata = aggregated(e.Metadata)
		return
	}
	if c.DuplicateOf == uuid.Nil {
		e.fillKnown(c.Known)
	}
}

// Restore undoes Correct. It does nothing to an event that is not corrected.
func (e *Event) Restore() {
	if e.Wrapper {
		e.Wrapper, e.Type = false, TypeModel
		e.Metadata = disaggregated(e.Metadata)
	}
	if e.Duplicate {
		e.Duplicate = false
		e.Metadata = dropMembers(e.Metadata, func(k string, _ json.RawMessage) bool { return k == DuplicateKey })
	}
	e.dropKnown()
	if e.DerivedError {
		e.Error, e.DerivedError = nil, false
	}
}

// AsReported returns e as its sender reported it.
func (e *Event) AsReported() Event {
	sent := *e
	sent.Restore()
	return sent
}

// ChangeAsReported applies change to e as its sender reported it, and corrects the result again.
func (e *Event) ChangeAsReported(change func(e *Event)) {
	correction := e.corrections()
	e.Restore()
	change(e)
	e.Correct(correction)
}

// corrections returns the correction that Correct applied to e. Its Known holds only what was filled in.
func (e *Event) corrections() Correction {
	c := Correction{Wrapper: e.Wrapper, Known: e.filledIn()}
	if e.Duplicate {
		c.DuplicateOf = e.DuplicateOf()
	}
	if e.DerivedError {
		c.SessionError = e.Error
	}
	return c
}

// DuplicateOf returns the id of the event that e duplicates by its metadata, zero if there is none.
func (e *Event) DuplicateOf() uuid.UUID {
	text, _ := rawjson.Text(rawjson.Get(e.Metadata, DuplicateKey))
	id, err := uuid.Parse(text)
	if err != nil {
		return uuid.Nil
	}
	return id
}

// aggregated moves the usage into aggregate_usage. What the sender put there stays.
func aggregated(metadata json.RawMessage) json.RawMessage {
	var rest, usage rawjson.Builder
	found := false
	for k, v := range rawjson.Object(metadata) {
		also, moves := usageKeys[k]
		switch {
		case k == AggregateKey:
		case !moves:
			rest.Raw(k, v)
		default:
			found = true
			if also != "" && string(rawjson.Get(metadata, also)) == string(v) {
				continue
			}
			if k == "cost_source" && string(v) == reported && rawjson.Get(metadata, "cost") != nil {
				continue
			}
			usage.Raw(k, v)
		}
	}
	if !found {
		return metadata
	}
	all := rawjson.Fill(usage.Bytes(), rawjson.Get(metadata, AggregateKey))
	rest.Raw(AggregateKey, all)
	return rest.Bytes()
}

// disaggregated moves the usage out of aggregate_usage again.
func disaggregated(metadata json.RawMessage) json.RawMessage {
	usage := rawjson.Get(metadata, AggregateKey)
	if rawjson.KindOf(usage) != '{' {
		return metadata
	}
	var out, left rawjson.Builder
	for k, v := range rawjson.Object(metadata) {
		if k != AggregateKey {
			out.Raw(k, v)
		}
	}
	put := func(k string, v json.RawMessage) {
		if rawjson.Get(metadata, k) == nil {
			out.Raw(k, v)
		}
	}
	for k, v := range rawjson.Object(usage) {
		if _, moved := usageKeys[k]; !moved {
			left.Raw(k, v)
			continue
		}
		put(k, v)
		switch k {
		case "prompt_tokens", "completion_tokens":
			second := map[string]string{"prompt_tokens": "input_tokens", "completion_tokens": "output_tokens"}[k]
			if rawjson.Get(usage, second) == nil {
				put(second, v)
			}
		case "cost":
			if rawjson.Get(usage, "cost_source") == nil {
				put("cost_source", json.RawMessage(reported))
			}
		}
	}
	if left.Len() > 0 {
		out.Raw(AggregateKey, left.Bytes())
	}
	return out.Bytes()
}
