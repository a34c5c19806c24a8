package store

import (
	"encoding/binary"
	"hash/fnv"

	"github.com/google/uuid"

	"github.com/spangrove/spangrove/pkg/event"
	"github.com/spangrove/spangrove/pkg/rawjson"
)

// Flags that a row keeps in its spill column and that its node has, too.
const (
	flagWrapper   = 1 << 10 // a model call that was corrected to a chain
	flagDuplicate = 1 << 11 // marked by the store as the duplicate of another event
	flagFilled    = 1 << 14 // it has what its duplicates know
	flagTools     = 1 << 15 // a model call of a trace, as its sender reported it, with tools
	flagMessages  = 1 << 16 // likewise, with messages
)

// node holds what the corrections of a session's tree need to know of an event that came as a span.
type node struct {
	id, parent uuid.UUID // the parent may be named by its span; zero: the session
	trace      int64
	start, end float64
	call       uint64 // hash of the provider's response id, or of what identifies a failed call, 0 for none
	failed     bool   // call is the latter
	scope      uint32 // hash of the instrumentor
	flags      uint8
}

// Flags of a node: the state of its event.
const (
	nodeModel     = 1 << iota // a model call
	nodeWrapper               // a model call by its sender, corrected to a chain
	nodeDuplicate             // marked as the duplicate of another one
	nodeFilled                // it has what its duplicates know
	nodeTools                 // a model call with its tools
	nodeMessages              // a model call with messages of its input or output
)

// isCall reports whether its sender marked it as a model call.
func (n *node) isCall() bool { return n.flags&(nodeModel|nodeWrapper) != 0 }

// content returns what the sender reported of a model call.
func (n *node) content() event.Content {
	switch {
	case n.flags&nodeMessages != 0:
		return event.Messages
	case n.flags&nodeTools != 0:
		return event.ToolsOnly
	}
	return event.NoContent
}

// traceHash returns the column trace_hash: 8 bytes of the trace's id, enough to tell the traces of one
// session apart. Zero for an event that did not come as a span.
func traceHash(id uuid.UUID) int64 {
	if id == uuid.Nil {
		return 0
	}
	h := int64(binary.BigEndian.Uint64(id[:8]) ^ binary.BigEndian.Uint64(id[8:]))
	if h == 0 {
		h = 1
	}
	return h
}

// duplicateKey returns the key by which the duplicates of a span's event are found; responseID is that of its metadata.
// Of a model call with the id of the provider's response it is 8 bytes of that id's hash and 4 of the instrumentor's name.
// A call that failed has no answer: its key is of the span below which it was made and of the model that was asked, with one byte more.
func duplicateKey(e *event.Event, responseID string) []byte {
	if e.Type != event.TypeModel && !e.Wrapper {
		return nil
	}
	failed := false
	if e.Filled { // perhaps by another one's
		responseID = e.ReportedResponseID()
	}
	if responseID == "" {
		if responseID = failedCall(e); responseID == "" {
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

// failedCall returns what the reports of one failed call have in common, empty for a call that did not fail or
// was made below no span: two instrumentors used together report it as children of one span.
func failedCall(e *event.Event) string {
	if e.Error == nil {
		return ""
	}
	parent, ok := rawjson.Text(rawjson.Get(e.ColdMetadata, "parent_span_id"))
	model, known := rawjson.Text(rawjson.Get(e.Config, "model"))
	if !ok || !known || parent == "" || model == "" {
		return ""
	}
	return e.TraceID.String() + " " + parent + " " + model
}

func (n *node) setDuplicateKey(key []byte) {
	n.call, n.scope, n.failed = 0, 0, false
	if len(key) == 12 || len(key) == 13 {
		n.call, n.scope, n.failed = binary.BigEndian.Uint64(key), binary.BigEndian.Uint32(key[8:]), len(key) == 13
	}
}

func nodeFlags(typ event.Type, spill int) (flags uint8) {
	if typ == event.TypeModel {
		flags |= nodeModel
	}
	if spill&flagWrapper != 0 {
		flags |= nodeWrapper
	}
	if spill&flagDuplicate != 0 {
		flags |= nodeDuplicate
	}
	if spill&flagFilled != 0 {
		flags |= nodeFilled
	}
	if spill&flagTools != 0 {
		flags |= nodeTools
	}
	if spill&flagMessages != 0 {
		flags |= nodeMessages
	}
	return flags
}
