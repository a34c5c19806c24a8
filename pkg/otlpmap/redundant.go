package otlpmap

import (
	"bytes"
	"strconv"
	"strings"
	"unsafe"

	"go.opentelemetry.io/collector/pdata/pcommon"

	"github.com/spangrove/spangrove/pkg/otlpmap/internal/jsonscan"
)

// Instrumentations say many things twice: a prompt as a message and again as the span's input, a tool's
// answer in its parent, a whole answer as raw JSON next to its parts. For example, of a model call's
//
//	gen_ai.input.messages = [{"role":"user","content":"Hi"}]
//	input.value           = {"messages":[{"role":"user","content":"Hi"}],"user":"u1"}
//
// the second adds only "user", so {"user":"u1"} is all that is kept of it.
//
// How it works: the texts and numbers of every attribute that was used form a set. An attribute that was not
// used, or not as a whole, is dropped if all its own texts and numbers are in the set. Neither the names of members
// nor the places of texts are compared: two conventions put the same content under different keys. All
// other attributes are kept as they are.

// textSet is the set of texts and numbers that are in the event. Readers add to it what they placed from an
// attribute that they did not use as a whole; make adds the rest when the first attribute is compared.
type textSet struct {
	// The texts: in list while they are few, then in set, which has all of them. Numbers are texts as JSON
	// writes them.
	list []string
	set  map[string]struct{}
	// Whether make has run for this event.
	made bool
}

// reset empties the set for the next event.
func (k *textSet) reset() {
	clear(k.list)
	k.list, k.set, k.made = k.list[:0], nil, false
}

// manyKnown is the size from which a textSet is a map. Below it is a list: strings of different lengths are told
// apart without a look at their bytes, where a map would hash prompts of many kilobytes.
const manyKnown = 64

// text adds one text, and of a data URL also its two halves. In a list it is looked for first, so that
// repeated texts do not turn it into a map.
func (k *textSet) text(s string) {
	if s == "" || k.set == nil && len(k.list) < manyKnown && k.has(s) {
		return
	}
	if mime, data, ok := cutDataURL(s); ok { // the two may stand apart elsewhere
		k.text(mime)
		k.text(data)
	}
	if k.set == nil && len(k.list) >= manyKnown {
		k.set = make(map[string]struct{}, 2*manyKnown)
		for _, t := range k.list {
			k.set[t] = struct{}{}
		}
	}
	if k.set != nil {
		k.set[s] = struct{}{}
		return
	}
	k.list = append(k.list, s)
}

// cutDataURL takes a data URL with base64 apart: "data:image/png;base64,iVBOR…" into "image/png" and "iVBOR…".
func cutDataURL(s string) (mime, data string, ok bool) {
	rest, ok := strings.CutPrefix(s, "data:")
	if !ok {
		return "", "", false
	}
	return strings.Cut(rest, ";base64,")
}

// has reports whether a text is in the event. The empty text counts as such.
func (k *textSet) has(s string) bool {
	if s == "" {
		return true
	}
	if k.set != nil {
		_, ok := k.set[s]
		return ok
	}
	for _, t := range k.list {
		if t == s {
			return true
		}
	}
	return false
}

// add adds the leaves of a JSON value to the set.
func (k *textSet) add(b *eventBuilder, raw []byte) {
	switch jsonscan.Kind(raw) {
	case '{':
		for c := jsonscan.Members(raw); c.Next(); {
			k.add(b, c.Val)
		}
	case '[':
		for c := jsonscan.Elements(raw); c.Next(); {
			k.add(b, c.Val)
		}
	case '"':
		k.text(leafText(raw))
	case '0':
		k.text(string(raw))
	}
}

// leafText returns a JSON string's text. Strings without escapes are not copied: the text lives no
// longer than the event that is made.
func leafText(raw []byte) string {
	in := jsonscan.Inner(raw)
	if bytes.IndexByte(in, '\\') >= 0 {
		return unquoted(raw)
	}
	return unsafe.String(unsafe.SliceData(in), len(in))
}

// make fills the set with what the attributes that are used so far hold. Most spans have no unread attribute and
// never need it. What an attribute holds is added twice if it is JSON in a text: as that text, and leaf by leaf.
// Counts and part types are added, too: they stand in fields of the event.
func (k *textSet) make(b *eventBuilder) {
	if k.made {
		return
	}
	k.made = true
	for i := range b.attrs {
		a := &b.attrs[i]
		if !a.used {
			continue
		}
		switch a.val.Type() {
		case pcommon.ValueTypeStr:
			k.text(a.val.Str())
			if a.parsed == isJSON {
				k.add(b, a.json)
			}
		case pcommon.ValueTypeInt:
			k.text(strconv.FormatInt(a.val.Int(), 10))
		case pcommon.ValueTypeDouble:
			k.text(string(appendDouble(nil, a.val.Double())))
		case pcommon.ValueTypeSlice, pcommon.ValueTypeMap:
			if raw, ok := b.parse(a); ok {
				k.add(b, raw)
			}
		}
	}
	// What stands in the event by other ways than an attribute's value.
	for i := range countKeys {
		if b.tokens.counts[i].set {
			k.text(strconv.FormatInt(b.tokens.counts[i].n, 10))
		}
	}
	for _, p := range b.losses.parts.list {
		k.text(p)
	}
}

// wrappings are types of message parts, calls and items that the form of an event's messages
// makes superfluous; metadata.part_types remembers them.
var wrappings = map[string]bool{
	"function": true, "text": true, "input_text": true, "output_text": true, "message": true,
	"function_call": true, "function_call_output": true, "tool_call": true, "tool_call_response": true, "tool_use": true, "tool_result": true,
	"server_tool_call": true, "server_tool_call_response": true, "server_tool_use": true, "mcp_tool_use": true, "mcp_tool_result": true,
	"reasoning": true, "thinking": true, "summary_text": true, "constructor": true, "ChatGeneration": true, "LLMResult": true,
}

// holds reports whether every text and number in a JSON value is in the event. Empty texts, booleans
// and null count for nothing, so a value made of these alone is held, too. A text is also held if it is JSON
// whose leaves are, and a data URL if its data is.
func (k *textSet) holds(b *eventBuilder, raw []byte) bool {
	switch jsonscan.Kind(raw) {
	case '{':
		for c := jsonscan.Members(raw); c.Next(); {
			if !b.frame(raw, c.Key, c.Val) && !k.holds(b, c.Val) {
				return false
			}
		}
	case '[':
		for c := jsonscan.Elements(raw); c.Next(); {
			if !k.holds(b, c.Val) {
				return false
			}
		}
	case '"':
		text := leafText(raw)
		if _, data, ok := cutDataURL(text); ok && k.has(data) {
			return true
		}
		return k.has(text) || k.holdsText(b, raw)
	case '0':
		return k.has(string(raw))
	}
	return true
}

// holdsText reports whether a text is JSON whose every text and number is in the event, as the
// arguments of calls are.
func (k *textSet) holdsText(b *eventBuilder, raw []byte) bool {
	if in := jsonscan.Inner(raw); len(in) < 2 || in[0] != '{' && in[0] != '[' {
		return false
	}
	in, ok := b.clean(view(unquoted(raw)))
	return ok && jsonscan.Kind(in) != '"' && k.holds(b, in)
}

// dropRedundant drops attributes whose content is already in the event: raw requests and answers
// in addition to their own messages, or a second convention. One whose every text and number is
// in the event goes. Of a JSON object only the members stay that add something.
//
// Only two sorts of attributes are looked at: those of indexed families that no reader used (a
// second convention's llm.input_messages.0.message.content), and those in b.unread, which a reader wanted to
// place but found the field filled. Any other unused attribute means something unknown and stays, even if
// its value occurs elsewhere by chance.
func (b *eventBuilder) dropRedundant() {
	// A flattened attribute is a single value: it is in the event or it is not.
	for i := range b.attrs {
		if a := &b.attrs[i]; !a.used && a.fam >= 0 && !compiled.open[a.fam] {
			b.texts.make(b)
			var buf [32]byte
			switch a.val.Type() {
			case pcommon.ValueTypeStr:
				a.used = b.texts.has(a.val.Str())
			case pcommon.ValueTypeInt, pcommon.ValueTypeDouble:
				a.used = b.texts.has(string(b.appendValue(buf[:0], a.val)))
			case pcommon.ValueTypeSlice:
				raw, _ := b.parse(a)
				a.used = b.texts.holds(b, raw)
			}
		}
	}
	for i := range b.attrs { // a raw request or answer need not say again what stays
		if a := &b.attrs[i]; !a.used && a.fam >= 0 && !compiled.open[a.fam] && len(b.unread) > 0 && a.val.Type() == pcommon.ValueTypeStr {
			b.texts.text(a.val.Str())
		}
	}
	for _, i := range b.unread {
		a := &b.attrs[i]
		if a.used || a.repaired { // a repaired one stays whole: its own text is not in the event
			continue
		}
		b.texts.make(b)
		raw, ok := b.parse(a)
		switch {
		case !ok:
			a.used = b.texts.has(a.str())
		case jsonscan.Kind(raw) == '{', jsonscan.Kind(raw) == '[':
			b.prune(a, raw)
		default:
			a.used = b.texts.holds(b, raw)
		}
	}
}

// prune keeps of an object or a list only what is not in the event. What is left joins the set: a third attribute
// that says the same need not stay as well.
func (b *eventBuilder) prune(a *attr, raw []byte) {
	at := len(b.arena)
	if !b.residue(raw, 0) {
		b.arena = b.arena[:at]
		a.used = true
		return
	}
	left := b.arena[at:len(b.arena):len(b.arena)]
	if string(left) != string(raw) {
		a.rest, a.json = restPruned, left
	}
	b.texts.add(b, left) // what stays need not stay twice
}

// restPruned, in attr.rest, marks an attribute of which only attr.json is left. Only attributes that are read as a
// whole are pruned, and those have no path within a family.
const restPruned = -1

// residue appends what of a value is not in the event: members of objects and elements of lists
// of objects, from those inwards that are parts of a conversation. Any other value stays whole:
// {"tools":[{"name":"a"},{"name":"b"}]} is not cut in the middle because "a" occurs elsewhere.
// It returns false, and what it appended counts for nothing, if nothing is left; the caller then takes the arena
// back to where it was.
func (b *eventBuilder) residue(raw []byte, depth int) bool {
	switch k := jsonscan.Kind(raw); {
	case k == '{' && depth < maxResidueDepth:
		left := 0
		for c := jsonscan.Members(raw); c.Next(); {
			if b.frame(raw, c.Key, c.Val) || b.texts.holds(b, c.Val) {
				continue
			}
			at := len(b.arena) // where to go back to, if nothing of this member is left
			if left == 0 {
				b.arena = append(b.arena, '{')
			} else {
				b.arena = append(b.arena, ',')
			}
			b.arena = append(b.arena, '"')
			b.arena = append(b.arena, c.Key...)
			b.arena = append(b.arena, '"', ':')
			// Not a part of a conversation: it is kept as a whole.
			if !conversational[string(c.Key)] {
				b.arena = append(b.arena, c.Val...)
			} else if !b.residue(c.Val, depth+1) {
				b.arena = b.arena[:at]
				continue
			}
			left++
		}
		if left > 0 {
			b.arena = append(b.arena, '}')
		}
		return left > 0
	case k == '[' && depth < maxResidueDepth && onlyContainers(raw):
		left := 0
		for c := jsonscan.Elements(raw); c.Next(); {
			at := len(b.arena)
			if left == 0 {
				b.arena = append(b.arena, '[')
			} else {
				b.arena = append(b.arena, ',')
			}
			if !b.residue(c.Val, depth+1) {
				b.arena = b.arena[:at]
				continue
			}
			left++
		}
		if left > 0 {
			b.arena = append(b.arena, ']')
		}
		return left > 0
	}
	if b.texts.holds(b, raw) {
		return false
	}
	b.arena = append(b.arena, raw...)
	return true
}

// maxResidueDepth is how deep residue looks into a conversation: a call's arguments in a message
// in a batch of a state of an answer.
const maxResidueDepth = 16

// conversational are the members of requests, answers and serialised messages that residue looks
// into.
var conversational = map[string]bool{
	"messages": true, "message": true, "generations": true, "kwargs": true, "data": true, "content": true, "contents": true, "parts": true,
	"tool_calls": true, "function": true, "function_call": true, "choices": true, "candidates": true, "delta": true, "update": true,
	"input": true, "inputs": true, "output": true, "outputs": true, "response": true, "replies": true, "additional_kwargs": true,
	"response_metadata": true, "usage_metadata": true, "generation_info": true, "llm_output": true, "token_usage": true, "usage": true,
	"summary": true, "chat_history": true, "request": true, "result": true, "documents": true, "source": true,
	"image": true, "image_url": true, "inline_data": true, "inlineData": true, "file": true,
}

// onlyContainers reports whether a list has elements, and all are objects or lists.
func onlyContainers(raw []byte) bool {
	n := 0
	for c := jsonscan.Elements(raw); c.Next(); n++ {
		if k := jsonscan.Kind(c.Val); k != '{' && k != '[' {
			return false
		}
	}
	return n > 0
}

// frame reports whether a member of an object only names the kind of thing the object is, in a
// form whose kinds metadata.part_types remembers, or at which place it stood. Such a member is no reason to
// keep the object: {"type":"text","text":"Hi"} adds nothing to a message "Hi". It notes the kind.
func (b *eventBuilder) frame(obj, key, val []byte) bool {
	switch string(key) {
	case "type", "event":
		text := jsonscan.Inner(val)
		_, message := langchainRoles[string(text)]
		_, medium := mediaKinds[string(text)]
		if jsonscan.Kind(val) == '"' && (wrappings[string(text)] || message || medium) {
			b.part(string(text))
			return true
		}
	case "index", "gen_ai.message.index", "lc":
		return jsonscan.Kind(val) == '0'
	case "id":
		if jsonscan.Kind(val) == '[' && jsonscan.Kind(jsonscan.Member(obj, "lc")) == '0' {
			b.part(constructorPath(val))
			return true
		}
	}
	return false
}
