package event

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/spangrove/spangrove/pkg/rawjson"
)

// Known is what an event knows of a model call that another event of the same call may lack.
type Known struct {
	Metadata json.RawMessage // object: counts, cost, id and model of the answer, time to the first token
	Config   json.RawMessage // object: model and provider
}

// knownGroups are the members of metadata that make up Known. Those of a group come from one
// event, or not at all: tokens of two that count differently would not add up.
var knownGroups = [...][]string{
	{"prompt_tokens", "input_tokens", "completion_tokens", "output_tokens", "total_tokens", "usage_adjusted"},
	{"cost", "cost_source"},
	{"cache_read_input_tokens"}, {"cache_write_input_tokens"}, {"reasoning_tokens"}, {"audio_input_tokens"}, {"audio_output_tokens"},
	{"response_id"}, {"response_model"}, {"time_to_first_token_ms"},
}

// unsummed are members of Known that cannot be summed over several calls.
var unsummed = map[string]bool{"response_id": true, "response_model": true, "time_to_first_token_ms": true}

var knownConfig = []string{"model", "provider"}

// Known returns what e knows, as its sender reported it.
func (e *Event) Known() Known {
	sent := *e
	sent.Restore()
	pick := func(object json.RawMessage, wanted func(key string) bool) json.RawMessage {
		var b rawjson.Builder
		for k, v := range rawjson.Object(object) {
			if wanted(k) && !rawjson.Empty(v) {
				b.Raw(k, v)
			}
		}
		return b.Bytes()
	}
	known := func(key string) bool {
		return slices.ContainsFunc(knownGroups[:], func(group []string) bool { return slices.Contains(group, key) })
	}
	return Known{
		Metadata: rawjson.Concat(pick(sent.Metadata, known), pick(sent.ColdMetadata, func(key string) bool {
			return known(key) && rawjson.Get(sent.Metadata, key) == nil
		})),
		Config: pick(sent.Config, func(key string) bool { return slices.Contains(knownConfig, key) }),
	}
}

// SameKnown reports whether e and o know the same, as their senders reported them.
func (e *Event) SameKnown(o *Event) bool {
	a, b := e.Known(), o.Known()
	return string(a.Metadata) == string(b.Metadata) && string(a.Config) == string(b.Config)
}

// Recorrect corrects e anew. If keep is set, it keeps what had been filled in and c does not know.
func (e *Event) Recorrect(c Correction, keep bool) {
	was := e.corrections()
	e.Restore()
	if keep {
		c.Known.Metadata, c.Known.Config = rawjson.Merge(was.Known.Metadata, c.Known.Metadata), rawjson.Merge(was.Known.Config, c.Known.Config)
	}
	e.Correct(c)
}

// Same reports whether e and o, two states of one event, differ in nothing that corrections change.
func (e *Event) Same(o *Event) bool {
	return e.Type == o.Type && e.ParentID == o.ParentID && e.Wrapper == o.Wrapper && e.Duplicate == o.Duplicate &&
		e.Filled == o.Filled && sameText(e, o)
}

// JoinKnown returns what several accounts of one call know together. Each account is one event, or
// several that each report a part of it and whose counts are summed. Earlier accounts come first.
func JoinKnown(accounts [][]Known) Known {
	var metadata, config rawjson.Builder
	for _, group := range knownGroups {
		for _, account := range accounts {
			found := false
			for _, key := range group {
				if v := joined(account, key); v != nil {
					metadata.Raw(key, v)
					found = true
				}
			}
			if found {
				break
			}
		}
	}
	for _, key := range knownConfig {
		for _, k := range slices.Concat(accounts...) {
			if v := rawjson.Get(k.Config, key); v != nil {
				config.Raw(key, v)
				break
			}
		}
	}
	return Known{Metadata: metadata.Bytes(), Config: config.Bytes()}
}

// joined returns the value of one member in an account, the sum of several numbers.
func joined(account []Known, key string) json.RawMessage {
	var first json.RawMessage
	var sum float64
	n := 0
	for _, k := range account {
		v := rawjson.Get(k.Metadata, key)
		if v == nil {
			continue
		}
		if n++; n == 1 {
			first = v
		}
		x, _ := rawjson.Number(v)
		sum += x
	}
	switch {
	case n < 2, rawjson.KindOf(first) != '0' && !unsummed[key]:
		return first
	case unsummed[key]:
		return nil
	}
	return rawjson.AppendNumber(nil, sum)
}

// fillKnown adds to e what it lacks, unless its sender uses the name under which that is listed.
func (e *Event) fillKnown(k Known) {
	if rawjson.Get(e.Metadata, FilledKey) != nil || rawjson.Get(e.ColdMetadata, FilledKey) != nil {
		return
	}
	var fields []string
	var metadata, config rawjson.Builder
	for _, group := range knownGroups {
		if slices.ContainsFunc(group, func(key string) bool {
			return rawjson.Get(e.Metadata, key) != nil || rawjson.Get(e.ColdMetadata, key) != nil
		}) {
			continue
		}
		for _, key := range group {
			if v := rawjson.Get(k.Metadata, key); v != nil {
				metadata.Raw(key, v)
				fields = append(fields, "metadata."+key)
			}
		}
	}
	for _, key := range knownConfig {
		if v := rawjson.Get(k.Config, key); v != nil && rawjson.Get(e.Config, key) == nil {
			config.Raw(key, v)
			fields = append(fields, "config."+key)
		}
	}
	if len(fields) == 0 {
		return
	}
	e.Filled = true
	e.Metadata, e.Config = rawjson.Concat(e.Metadata, metadata.Bytes()), rawjson.Concat(e.Config, config.Bytes())
	slices.Sort(fields)
	e.ColdMetadata = rawjson.Concat(e.ColdMetadata, object(FilledKey, rawjson.AppendStrings(nil, fields)))
}

// filledIn returns what fillKnown added to e.
func (e *Event) filledIn() (k Known) {
	if !e.Filled {
		return k
	}
	var metadata, config rawjson.Builder
	for _, v := range rawjson.Array(rawjson.Get(e.ColdMetadata, FilledKey)) {
		name, _ := rawjson.Text(v)
		bucket, key, _ := strings.Cut(name, ".")
		to, from := &metadata, e.Metadata
		if bucket == "config" {
			to, from = &config, e.Config
		}
		if v := rawjson.Get(from, key); v != nil {
			to.Raw(key, v)
		}
	}
	return Known{Metadata: metadata.Bytes(), Config: config.Bytes()}
}

// dropKnown removes what fillKnown added to e.
func (e *Event) dropKnown() {
	if !e.Filled {
		return
	}
	e.Filled = false
	filled := map[string]bool{}
	for _, v := range rawjson.Array(rawjson.Get(e.ColdMetadata, FilledKey)) {
		name, _ := rawjson.Text(v)
		filled[name] = true
	}
	e.Metadata = dropMembers(e.Metadata, func(k string, _ json.RawMessage) bool { return filled["metadata."+k] })
	e.Config = dropMembers(e.Config, func(k string, _ json.RawMessage) bool { return filled["config."+k] })
	e.ColdMetadata = without(e.ColdMetadata, FilledKey)
}

// ReportedResponseID returns the response id that e's own sender reported, empty if there is none.
func (e *Event) ReportedResponseID() string {
	if e.Filled && rawjson.Get(e.filledIn().Metadata, "response_id") != nil {
		return ""
	}
	id, _ := rawjson.Text(rawjson.Get(e.Metadata, "response_id"))
	return id
}
