package otlpmap

import (
	"strconv"

	"github.com/spangrove/spangrove/pkg/otlpmap/internal/jsonscan"
)

// normalCalls brings the tool calls of a message into one form: [{id, name, arguments}]. OpenAI's calls, with a function
// object inside, and calls that have arguments keep all other members, those without a function under the names of callName. Calls of
// other shapes are written as parts are (appendPartCall). Attributes that hold nothing but calls are read by asCalls, which takes more of
// them for parts.
//
//	{"id":"c1","type":"function","function":{"name":"add","arguments":"{\"a\":1}"}}
//	→ {"id":"c1","type":"function","name":"add","arguments":{"a":1}}
func (b *eventBuilder) normalCalls(raw []byte) []byte {
	return b.listOf(raw, func(call []byte) {
		if jsonscan.Kind(call) == '{' && jsonscan.Member(call, "function") == nil && jsonscan.Member(call, "arguments") == nil {
			p := scanPart(call) // {name, args} and the like
			b.partType(&p)
			b.appendPartCall(&p)
			return
		}
		b.appendCall(call)
	})
}

// listOf returns a list of what add appends to the arena for each element of a list.
func (b *eventBuilder) listOf(raw []byte, add func(element []byte)) []byte {
	at := len(b.arena)
	b.arena = append(b.arena, '[')
	n := 0
	for c := jsonscan.Elements(raw); c.Next(); {
		if n++; n > 1 {
			b.arena = append(b.arena, ',')
		}
		add(c.Val)
	}
	b.arena = append(b.arena, ']')
	return b.arena[at:len(b.arena):len(b.arena)]
}

// appendCall appends one tool call. The members of a function object inside take the place of the call's own.
func (b *eventBuilder) appendCall(raw []byte) {
	if jsonscan.Kind(raw) != '{' {
		b.arena = append(b.arena, raw...)
		return
	}
	b.arena = append(b.arena, '{')
	first := true
	function := jsonscan.Member(raw, "function")
	if jsonscan.Kind(function) != '{' {
		function = nil
	}
	own := memberNames(function)
	// write writes the members of the call, depth 0, and those of its function in their place, depth 1.
	var write func(obj []byte, depth int)
	write = func(obj []byte, depth int) {
		for m := jsonscan.Members(obj); m.Next(); {
			key := string(m.Key)
			if depth == 0 && function != nil {
				if key == "function" {
					write(function, 1)
					continue
				}
				if own[key] {
					continue // the function's own comes with it
				}
			}
			if function == nil {
				key = callName(raw, key) // Haystack: {tool_name, arguments, id}
			}
			if !first {
				b.arena = append(b.arena, ',')
			}
			first = false
			b.arena = append(b.arena, '"')
			b.arena = append(b.arena, key...)
			b.arena = append(b.arena, '"', ':')
			if key == "arguments" {
				b.arena = append(b.arena, b.arguments(m.Val)...)
			} else {
				b.arena = append(b.arena, m.Val...)
			}
		}
	}
	write(raw, 0)
	b.arena = append(b.arena, '}')
}

// memberNames returns the names of an object's members, as they are written: where each of many members is looked up in another object.
func memberNames(object []byte) map[string]bool {
	if jsonscan.Kind(object) != '{' {
		return nil
	}
	names := map[string]bool{}
	for c := jsonscan.Members(object); c.Next(); {
		names[string(c.Key)] = true
	}
	return names
}

// arguments returns a call's arguments as JSON: a string that holds an object or an array becomes it. OpenAI's API
// sends them as text. A text that is no such JSON, as of a call that was cut off, stays text.
func (b *eventBuilder) arguments(raw []byte) []byte {
	if jsonscan.Kind(raw) != '"' {
		return raw
	}
	if in := jsonscan.Inner(raw); len(in) == 0 || in[0] != '{' && in[0] != '[' && in[0] != ' ' && in[0] != '\\' {
		return raw
	}
	if obj, ok := b.clean(view(unquoted(raw))); ok && (jsonscan.Kind(obj) == '{' || jsonscan.Kind(obj) == '[') {
		return obj
	}
	return raw
}

// oneCall returns a list of one tool call. The values are JSON, nil if absent.
func (b *eventBuilder) oneCall(id, name, args []byte) []byte {
	at := len(b.arena)
	b.arena = append(b.arena, "[{"...)
	b.appendCallFields(id, name, args)
	b.arena = append(b.arena, "}]"...)
	return b.arena[at:len(b.arena):len(b.arena)]
}

// appendCallFields appends the members of a call that are there.
func (b *eventBuilder) appendCallFields(id, name, args []byte) {
	for i, f := range [...]struct {
		key string
		val []byte
	}{{"id", id}, {"name", name}, {"arguments", args}} {
		if f.val == nil {
			continue
		}
		if i > 0 && b.arena[len(b.arena)-1] != '{' {
			b.arena = append(b.arena, ',')
		}
		b.arena = strconv.AppendQuote(b.arena, f.key)
		b.arena = append(b.arena, ':')
		if f.key == "arguments" {
			b.arena = append(b.arena, b.arguments(f.val)...)
		} else {
			b.arena = append(b.arena, f.val...)
		}
	}
}
