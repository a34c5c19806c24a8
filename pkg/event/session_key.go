package event

import (
	"encoding/json"
	"strings"

	"github.com/google/uuid"

	"github.com/spangrove/spangrove/pkg/rawjson"
)

// Members of metadata that hold which session a span named.
const (
	sessionKeyKey     = "session_key" // the session that the span named, if its event is in another
	sessionIDKey      = "session_id"  // the key of its session, if its id is not the key
	conversationIDKey = "conversation_id"
)

// SessionOf returns the session that a key names: the key itself if it is a UUID in any of its spellings
// (upper or lower case, with or without hyphens, braces or the urn:uuid: prefix), else its UUID
// version 5 in the URL namespace. The nil UUID is a name like any other, since no event may
// have it as its session.
func SessionOf(key string) uuid.UUID {
	switch n := len(key); {
	case n == 36, n == 32, n == 45, n == 38 && key[0] == '{' && key[37] == '}':
		if id, err := uuid.Parse(key); err == nil && id != uuid.Nil {
			return id
		}
	}
	return uuid.NewSHA1(uuid.NameSpaceURL, []byte(key))
}

// FileUnder records in the metadata of a span that names a session (Named) which one it named, now
// that the event is in SessionID: as metadata.session_key if that is another session, or as
// metadata.session_id if nothing else holds the key. former is the session that the metadata was
// written for. It reports whether anything changed.
func (e *Event) FileUnder(former uuid.UUID) bool {
	if !e.Named || e.Fixed {
		return false
	}
	key, elsewhere := e.namedKey(former)
	here := SessionOf(key) == e.SessionID
	was := e.Metadata
	correction := e.corrections()
	e.Restore()
	e.Metadata = dropMembers(e.Metadata, func(k string, v json.RawMessage) bool {
		text, _ := rawjson.Text(v)
		return k == sessionKeyKey || k == sessionIDKey && text == key
	})
	var b rawjson.Builder
	switch {
	case !here:
		b.String(sessionKeyKey, key)
	case !elsewhere && SessionOf(key).String() != strings.ToLower(key):
		b.String(sessionIDKey, key)
	}
	e.Metadata = rawjson.Merge(e.Metadata, b.Bytes())
	e.Correct(correction)
	return string(was) != string(e.Metadata)
}

// namedKey returns the key that the span named, and whether another member holds it, too.
func (e *Event) namedKey(former uuid.UUID) (key string, elsewhere bool) {
	if key, ok := rawjson.Text(rawjson.Get(e.Metadata, sessionKeyKey)); ok {
		return key, e.reportsKey(key)
	}
	for _, raw := range [...]json.RawMessage{rawjson.Get(e.Metadata, sessionIDKey), rawjson.Get(e.Metadata, conversationIDKey),
		rawjson.Get(rawjson.Get(e.ColdMetadata, "resource"), "session.id")} {
		if key, ok := rawjson.Text(raw); ok && SessionOf(key) == former {
			return key, e.reportsKey(key)
		}
	}
	return former.String(), false
}

func (e *Event) reportsKey(key string) bool {
	for _, raw := range [...]json.RawMessage{rawjson.Get(e.Metadata, conversationIDKey),
		rawjson.Get(rawjson.Get(e.ColdMetadata, "resource"), "session.id")} {
		if text, ok := rawjson.Text(raw); ok && text == key {
			return true
		}
	}
	return false
}
