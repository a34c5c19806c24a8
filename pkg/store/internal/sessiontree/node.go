package sessiontree

import (
	"encoding/binary"
	"hash/fnv"
	"strconv"

	"github.com/google/uuid"

	"github.com/spangrove/spangrove/pkg/event"
	"github.com/spangrove/spangrove/pkg/rawjson"
)

// Flags that a row keeps in its spill column and that its node has, too.
const (
	FlagWrapper   = 1 << 10 // a model call that was corrected to a chain
	FlagDuplicate = 1 << 11 // marked by the store as the duplicate of another event
	FlagFilled    = 1 << 14 // it has what its duplicates know
	FlagTools     = 1 << 15 // a model call of a trace, as its sender reported it, with tools
	FlagMessages  = 1 << 16 // likewise, with messages
)

// Node holds what the corrections of a session's tree need to know of an event that came as a span. It is made from columns of
// the event's row alone, so that a tree is read without the payload of its events, and it is small, since as many as 200,000
// stay in memory (events/tree_cache.go).
type Node struct {
	ID, Parent uuid.UUID // the parent may be named by its span; zero: the session
	Trace      int64     // TraceHash
	Start, End float64   // Unix milliseconds
	Call       uint64    // hash of the provider's response id, or of what identifies a failed call, 0 for none
	failed     bool      // Call is the latter
	scope      uint32    // hash of the instrumentor
	Flags      uint8
}

// Flags of a node: the state of its event.
const (
	nodeModel = 1 << iota // a model call
	Wrapper               // a model call by its sender, corrected to a chain
	Duplicate             // marked as the duplicate of another one
	Filled                // it has what its duplicates know
	Tools                 // a model call with its tools
	Messages              // a model call with messages of its input or output
)

// IsCall reports whether its sender marked it as a model call.
func (n *Node) IsCall() bool { return n.Flags&(nodeModel|Wrapper) != 0 }

// content returns what the sender reported of a model call.
func (n *Node) content() event.Content {
	switch {
	case n.Flags&Messages != 0:
		return event.Messages
	case n.Flags&Tools != 0:
		return event.ToolsOnly
	}
	return event.NoContent
}

// TraceHash returns the column trace_hash: 8 bytes of the trace's id, enough to tell the traces of one
// session apart. Zero for an event that did not come as a span, which is never corrected; a trace whose hash would be zero
// gets 1 for that reason.
func TraceHash(id uuid.UUID) int64 {
	if id == uuid.Nil {
		return 0
	}
	h := int64(binary.BigEndian.Uint64(id[:8]) ^ binary.BigEndian.Uint64(id[8:]))
	if h == 0 {
		h = 1
	}
	return h
}

// DuplicateKey returns the key by which the duplicates of a span's event are found; trace is its TraceHash and responseID that
// of its metadata.
// Of a model call with the id of the provider's response it is 8 bytes of that id's hash and 4 of the instrumentor's name.
// A call that failed has no answer: its key is of the span below which it was made and of the model that was asked, with one byte more.
func DuplicateKey(e *event.Event, trace int64, responseID string) []byte {
	if e.Type != event.TypeModel && !e.Wrapper {
		return nil
	}
	failed := false
	if e.Filled { // perhaps by another one's
		responseID = e.ReportedResponseID()
	}
	if responseID == "" {
		if responseID = failedCall(e, trace); responseID == "" {
			return nil
		}
		failed = true
	}
	h := fnv.New64a()
	_, _ = h.Write([]byte(responseID))
	key := h.Sum(make([]byte, 0, 13))
	var scope uint32
	if name, ok := rawjson.Text(rawjson.Get(rawjson.Get(e.ColdMetadata, "scope"), "name")); ok && name != "" {
		h := fnv.New32a()
		_, _ = h.Write([]byte(name))
		scope = h.Sum32()
	}
	key = binary.BigEndian.AppendUint32(key, scope)
	if failed {
		key = append(key, 1)
	}
	return key
}

// KeepKey returns the key of an event that has no ColdMetadata any more, and whose row has the key stored: now, as it follows from what is left of
// the event, with the instrumentor of the other, or all of the other where it is that of a failed call.
func KeepKey(now, stored []byte, e *event.Event) []byte {
	switch {
	case len(now) == 0 && len(stored) == 13 && e.Error != nil:
		return stored
	case len(now) == 12 && len(stored) >= 12 && binary.BigEndian.Uint32(now[8:]) == 0:
		return append(now[:8:8], stored[8:12]...)
	}
	return now
}

// failedCall returns what the reports of one failed call have in common, empty for a call that did not fail or
// was made below no span: two instrumentors used together report it as children of one span.
func failedCall(e *event.Event, trace int64) string {
	if e.Error == nil {
		return ""
	}
	parent, ok := rawjson.Text(rawjson.Get(e.ColdMetadata, "parent_span_id"))
	model, known := rawjson.Text(rawjson.Get(e.Config, "model"))
	if !ok || !known || parent == "" || model == "" {
		return ""
	}
	return strconv.FormatInt(trace, 16) + " " + parent + " " + model
}

// SetDuplicateKey sets what a row's duplicate key says of the call that it reports.
func (n *Node) SetDuplicateKey(key []byte) {
	n.Call, n.scope, n.failed = 0, 0, false
	if len(key) == 12 || len(key) == 13 {
		n.Call, n.scope, n.failed = binary.BigEndian.Uint64(key), binary.BigEndian.Uint32(key[8:]), len(key) == 13
	}
}

// Flags returns the flags of a node whose row has this type and spill column.
func Flags(typ event.Type, spill int) (flags uint8) {
	if typ == event.TypeModel {
		flags |= nodeModel
	}
	if spill&FlagWrapper != 0 {
		flags |= Wrapper
	}
	if spill&FlagDuplicate != 0 {
		flags |= Duplicate
	}
	if spill&FlagFilled != 0 {
		flags |= Filled
	}
	if spill&FlagTools != 0 {
		flags |= Tools
	}
	if spill&FlagMessages != 0 {
		flags |= Messages
	}
	return flags
}
