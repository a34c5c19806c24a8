package otlpmap

import (
	"bytes"
	"slices"

	"github.com/spangrove/spangrove/pkg/otlpmap/internal/jsonscan"
)

// chatMessage is one message of a conversation, on its way into the form that events have:
// {role, content, name?, tool_calls?, tool_call_id?}. All fields are JSON text, nil if absent. They refer
// to the request or to the builder's arena and are valid until the builder's next reset.
type chatMessage struct {
	role, content, name, callID []byte
	calls                       []byte // [{id, name, arguments}]
	// The reason to stop, and the model's thoughts, of an answer.
	finish, reasoning []byte
	// Members that are kept as they came, in their order.
	extra []pair
	// Where the keys of extra are, once there are many: see hasExtra.
	extraAt map[string]int
	// The whole message, if it came in this form already: it is then copied, and the other fields are only
	// looked at. Whoever changes one of them must set raw to nil.
	raw []byte
	// It is an item between messages, and no message by itself: see itemMessage.
	item bool
}

// add keeps a member as it came, unless the message has its place or has it already.
func (m *chatMessage) add(key, val []byte) {
	switch string(key) {
	case "role", "content", "name", "tool_calls", "tool_call_id", "reasoning", "finish_reason":
		return
	}
	if m.hasExtra(key) {
		return
	}
	m.extra = append(m.extra, pair{key, val})
}

// hasExtra reports whether extra has a key, which is looked up in a map where there are many.
func (m *chatMessage) hasExtra(key []byte) bool {
	if len(m.extra) < manyKeys {
		return slices.ContainsFunc(m.extra, func(p pair) bool { return bytes.Equal(p.key, key) })
	}
	if m.extraAt == nil {
		m.extraAt = make(map[string]int, 2*manyKeys)
	}
	for i := len(m.extraAt); i < len(m.extra); i++ { // each key is there once
		m.extraAt[string(m.extra[i].key)] = i
	}
	at, ok := m.extraAt[string(key)]
	return ok && at < len(m.extra) && bytes.Equal(m.extra[at].key, key)
}

// without takes out members that are kept elsewhere.
func (m *chatMessage) without(keys ...string) {
	m.extraAt = nil
	kept := m.extra[:0]
	for _, p := range m.extra {
		if !slices.Contains(keys, string(p.key)) {
			kept = append(kept, p)
		}
	}
	m.extra = kept
}

// pair is a member that is kept as it came: its name between the quotes, and its value.
type pair struct{ key, val []byte }

// fields sets the fields of a message to the members of an object, and field one of them.
func (m *chatMessage) fields(raw []byte) {
	for c := jsonscan.Members(raw); c.Next(); {
		m.field(c.Key, c.Val)
	}
}

func (m *chatMessage) field(key, val []byte) {
	switch string(key) {
	case "role":
		m.role = val
	case "content":
		m.content = val
	case "tool_calls":
		m.calls = val
	default:
		m.add(key, val)
	}
}

// none reports whether nothing was read.
func (m *chatMessage) none() bool {
	return m.role == nil && jsonscan.Empty(m.content) && jsonscan.Empty(m.calls) && jsonscan.Empty(m.reasoning) && len(m.extra) == 0
}

// appendMessage appends a message in the form events have. role and content are always there, the other members
// if they are not empty.
func appendMessage(dst []byte, m *chatMessage) []byte {
	if m.raw != nil {
		return append(dst, m.raw...)
	}
	dst = append(dst, `{"role":`...)
	// A message without a role counts as the assistant's.
	if m.role == nil {
		dst = append(dst, `"assistant"`...)
	}
	dst = append(dst, m.role...)
	dst = append(dst, `,"content":`...)
	if m.content == nil {
		dst = append(dst, "null"...)
	}
	dst = append(dst, m.content...)
	for _, f := range [...]struct {
		key string
		val []byte
	}{
		{`,"name":`, m.name}, {`,"tool_calls":`, m.calls}, {`,"tool_call_id":`, m.callID},
		{`,"reasoning":`, m.reasoning}, {`,"finish_reason":`, m.finish},
	} {
		if !jsonscan.Empty(f.val) {
			dst = append(dst, f.key...)
			dst = append(dst, f.val...)
		}
	}
	for _, p := range m.extra {
		dst = append(dst, ',', '"')
		dst = append(dst, p.key...)
		dst = append(dst, '"', ':')
		dst = append(dst, p.val...)
	}
	return append(dst, '}')
}
