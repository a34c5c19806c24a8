package event

import (
	"bytes"
	"cmp"
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"github.com/spangrove/spangrove/pkg/rawjson"
)

// unnamedError is the error of a span that failed without saying how.
const unnamedError = "error"

// composer fills what an event leaves empty from its log parts.
type composer struct {
	e    *Event
	from *fromLogs
	add  map[*json.RawMessage]*rawjson.Builder // members to append to each object
	have map[*json.RawMessage]map[string]json.RawMessage
	list map[string][]json.RawMessage // items to append to lists of metadata
}

func newComposer(e *Event, from *fromLogs) *composer {
	return &composer{e: e, from: from, add: map[*json.RawMessage]*rawjson.Builder{}, have: map[*json.RawMessage]map[string]json.RawMessage{},
		list: map[string][]json.RawMessage{}}
}

// compose merges the parts kind by kind, each in order of time: fields that a record names come
// before those that follow from messages.
func (c *composer) compose(parts []LogPart) {
	of := func(k LogPartKind) (list []*LogPart) {
		for i := range parts {
			if parts[i].Kind == k {
				list = append(list, &parts[i])
			}
		}
		return list
	}
	for _, n := range of(LogFields) {
		c.fields(n)
	}
	c.inputs(of(LogInput))
	c.outputs(of(LogOutput))
	for _, n := range of(LogEvaluation) {
		c.evaluation(n)
	}
	for _, n := range of(LogException) {
		c.list[keyExceptions] = append(c.list[keyExceptions], n.Content)
		if text, ok := rawjson.Text(rawjson.Get(n.Content, "message")); ok && text != "" && c.e.Error != nil && *c.e.Error == unnamedError {
			c.e.Error = &text
			c.from.fields = append(c.from.fields, "error")
		}
	}
	for _, n := range of(LogRecord) {
		c.list[keyLogs] = append(c.list[keyLogs], n.Content)
	}
	c.finish()
}

// members returns the members of an object of the event, including those to be added.
func (c *composer) members(to *json.RawMessage) map[string]json.RawMessage {
	m := c.have[to]
	if m == nil {
		m = map[string]json.RawMessage{}
		for k, v := range rawjson.Object(*to) {
			m[k] = v
		}
		if to == &c.e.Metadata {
			for k, v := range rawjson.Object(c.e.ColdMetadata) {
				m[k] = v
			}
		}
		c.have[to] = m
	}
	return m
}

// open reports whether log parts may fill members of an object.
func (c *composer) open(bucket string) bool {
	if bucket != "outputs" {
		return true
	}
	k := rawjson.KindOf(c.e.Outputs)
	return !c.e.OutputsSet && (k == '{' || rawjson.Empty(c.e.Outputs))
}

// put sets a member unless the event has it. It reports false if the event has it with another value.
func (c *composer) put(bucket, key string, val json.RawMessage) bool {
	to := c.e.bucket(bucket)
	if !c.open(bucket) {
		return false
	}
	m := c.members(to)
	if old, ok := m[key]; ok {
		return bytes.Equal(old, val)
	}
	m[key] = val
	if bucket == "metadata" && ColdKey(key) {
		to = &c.e.ColdMetadata
	}
	o := c.add[to]
	if o == nil {
		o = &rawjson.Builder{}
		c.add[to] = o
	}
	o.Raw(key, val)
	c.from.fields = append(c.from.fields, bucket+"."+key)
	return true
}

// fieldBuckets are the objects of a LogFields, in the order in which they are kept if they cannot be filled in.
var fieldBuckets = []string{"config", "inputs", "outputs", "metadata", "metrics", "feedback", "user_properties"}

// fields fills in the members of a LogFields. Those that the event has with other values are kept
// in metadata.logs, together with the attributes that belong to no field.
func (c *composer) fields(n *LogPart) {
	var over rawjson.Builder
	for _, bucket := range fieldBuckets {
		in := rawjson.Get(n.Content, bucket)
		if in == nil {
			continue
		}
		if rawjson.KindOf(in) != '{' { // outputs that are one value
			if rawjson.Empty(c.e.Outputs) && !c.e.OutputsSet {
				c.e.Outputs = in
				c.from.fields = append(c.from.fields, bucket)
			} else if !bytes.Equal(in, c.e.Outputs) {
				over.Raw(bucket, in)
			}
			continue
		}
		var left rawjson.Builder
		for k, v := range rawjson.Object(in) {
			if !c.put(bucket, k, v) && !rawjson.Empty(v) {
				left.Raw(k, v)
			}
		}
		if left.Len() > 0 {
			over.Raw(bucket, left.Bytes())
		}
	}
	if raw := rawjson.Get(n.Content, "attributes"); raw != nil {
		over.Raw("attributes", raw)
	}
	if over.Len() > 0 {
		c.keep(n, rawjson.Get(n.Content, "name"), over.Bytes())
	}
}

// keep adds to metadata.logs what could not be filled in: {name, time in ms, …}.
func (c *composer) keep(n *LogPart, name json.RawMessage, rest json.RawMessage) {
	var o rawjson.Builder
	if name != nil {
		o.Raw("name", name)
	}
	o.Number("time", NanosToMillis(n.Nanos))
	c.list[keyLogs] = append(c.list[keyLogs], rawjson.Concat(o.Bytes(), rest))
}

// NanosToMillis converts Unix nanoseconds to milliseconds, fractions kept.
func NanosToMillis(nanos uint64) float64 {
	return min(float64(nanos/1e6)+float64(nanos%1e6)/1e6, MaxMillis)
}

// inputs makes the messages of all log parts the chat history or, for a tool, the arguments of its call.
func (c *composer) inputs(parts []*LogPart) {
	if len(parts) == 0 {
		return
	}
	if c.e.Type == TypeTool {
		c.toolInputs(parts)
		return
	}
	history, taken := c.members(&c.e.Inputs)["chat_history"]
	if taken {
		have := saidIn(history)
		for _, n := range parts {
			for _, m := range rawjson.Array(n.Content) {
				if !have[saidBy(m)] {
					c.keep(n, nil, object("message", m))
				}
			}
		}
		return
	}
	var all []byte
	for _, n := range parts {
		for _, m := range rawjson.Array(n.Content) {
			all = appendItem(all, m)
		}
	}
	if all != nil {
		c.put("inputs", "chat_history", append(all, ']'))
	}
}

// toolInputs sets the inputs of a tool from the arguments of its call.
func (c *composer) toolInputs(parts []*LogPart) {
	for _, n := range parts {
		for _, m := range rawjson.Array(n.Content) {
			content := embedded(rawjson.Get(m, "content"))
			ok := true
			if rawjson.KindOf(content) == '{' {
				for k, v := range rawjson.Object(content) {
					ok = c.put("inputs", k, v) && ok
				}
			} else {
				ok = rawjson.Empty(content) || c.put("inputs", "value", content)
			}
			if !ok {
				c.keep(n, nil, object("message", m))
			}
		}
	}
}

// embedded returns the JSON inside a JSON string, or the value itself.
func embedded(val json.RawMessage) json.RawMessage {
	text, ok := rawjson.Text(val)
	if !ok || !strings.HasPrefix(text, "{") && !strings.HasPrefix(text, "[") {
		return val
	}
	if in, _, err := rawjson.Clean([]byte(text)); err == nil {
		return in
	}
	return val
}

// said is what messages are compared by.
type said struct{ content, calls string }

func saidBy(m json.RawMessage) said {
	return said{string(rawjson.Get(m, "content")), string(rawjson.Get(m, "tool_calls"))}
}

// saidIn returns what the messages of a list say.
func saidIn(list json.RawMessage) map[said]bool {
	have := map[said]bool{}
	for _, m := range rawjson.Array(list) {
		have[saidBy(m)] = true
	}
	return have
}

// answer is one answer of a model and the log part that reported it.
type answer struct {
	part  *LogPart
	index float64
	msg   json.RawMessage
}

// outputs makes the first answer the outputs, and the others choices or all of them a chat history, unless they only add to
// it what it lacks. The outputs of a tool are its result.
func (c *composer) outputs(parts []*LogPart) {
	var list []answer
	for _, n := range parts {
		index, _ := rawjson.Number(rawjson.Get(n.Content, "index"))
		for _, m := range rawjson.Array(rawjson.Get(n.Content, "messages")) {
			list = append(list, answer{n, index, m})
		}
	}
	if len(list) == 0 {
		return
	}
	slices.SortStableFunc(list, func(a, b answer) int { return cmp.Compare(a.index, b.index) })
	if c.e.Type == TypeTool {
		for _, a := range list {
			if content := embedded(rawjson.Get(a.msg, "content")); !rawjson.Empty(content) && !c.put("outputs", "result", content) {
				c.keep(a.part, nil, object("message", a.msg))
			}
		}
		return
	}
	out := c.members(&c.e.Outputs)
	if !c.open("outputs") || !rawjson.Empty(out["content"]) || !rawjson.Empty(out["tool_calls"]) {
		have := saidIn(out["choices"])
		maps.Copy(have, saidIn(out["chat_history"]))
		for _, a := range list {
			content := rawjson.Get(a.msg, "content")
			same := bytes.Equal(content, out["content"]) || rawjson.Empty(content) && rawjson.Empty(out["content"])
			if !(same && (rawjson.Empty(rawjson.Get(a.msg, "tool_calls")) || bytes.Equal(rawjson.Get(a.msg, "tool_calls"), out["tool_calls"]))) &&
				!have[saidBy(a.msg)] {
				c.keep(a.part, nil, object("message", a.msg))
			}
		}
		return
	}
	// Where tools that the provider runs have answered, the messages are one after the other, and no alternatives.
	conversation := slices.ContainsFunc(list, func(a answer) bool { return string(rawjson.Get(a.msg, "role")) == `"tool"` })
	merged := !conversation
	filled := map[string]bool{}
	for _, a := range list {
		for _, key := range [...]string{"content", "tool_calls"} {
			if !rawjson.Empty(rawjson.Get(a.msg, key)) {
				merged = merged && !filled[key]
				filled[key] = true
			}
		}
	}
	main := list[:1]
	if merged {
		main = list
	}
	for _, a := range main {
		for k, v := range rawjson.Object(a.msg) {
			if !rawjson.Empty(v) {
				c.put("outputs", k, v)
			}
		}
	}
	if merged {
		return
	}
	key, rest := "choices", list[1:]
	if conversation {
		key, rest = "chat_history", list
	}
	var messages []byte
	for _, a := range rest {
		messages = appendItem(messages, a.msg)
	}
	c.put("outputs", key, append(messages, ']'))
}

// evaluation makes the score, or else the label, a metric; the whole is kept in metadata.
func (c *composer) evaluation(n *LogPart) {
	val := rawjson.Get(n.Content, "value")
	if val == nil {
		val = rawjson.Get(n.Content, "label")
	}
	if name, ok := rawjson.Text(rawjson.Get(n.Content, "name")); ok && val != nil {
		c.put("metrics", name, val)
	}
	c.list[keyEvaluations] = append(c.list[keyEvaluations], n.Content)
}

// finish appends to the event what was collected.
func (c *composer) finish() {
	for _, name := range logLists {
		c.appendTo(name)
	}
	for to, o := range c.add {
		*to = rawjson.Concat(*to, o.Bytes())
	}
}

// appendTo appends items to a list of metadata, but not one that an update has put there.
func (c *composer) appendTo(name string) {
	items := c.list[name]
	if len(items) == 0 || rawjson.Get(c.e.Metadata, name) != nil {
		return
	}
	var list []byte
	for _, v := range rawjson.Array(rawjson.Get(c.e.ColdMetadata, name)) {
		list = appendItem(list, v)
		if c.from.late { // it may be one of those that are no longer known
			items = slices.DeleteFunc(items, func(item json.RawMessage) bool { return bytes.Equal(item, v) })
		}
	}
	for _, v := range items {
		list = appendItem(list, v)
		c.from.addTo(name, 1)
	}
	if len(items) > 0 {
		c.e.ColdMetadata = rawjson.Concat(without(c.e.ColdMetadata, name), object(name, append(list, ']')))
	}
}
