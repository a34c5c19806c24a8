package spancodec

import (
	"hash/fnv"
	"strconv"
	"strings"

	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/ptrace"
)

// Added returns the attributes of a native span that are not the event's own: those that a
// processor added to it, or changed if they came with an exported span (MarkStandard). Those of
// the reserved prefix "spangrove." are none.
func Added(span ptrace.Span) pcommon.Map {
	known := marksOf(span)
	// All are copied at once, since to put in one looks at all that are there.
	added := pcommon.NewMap()
	span.Attributes().CopyTo(added)
	added.RemoveIf(func(key string, v pcommon.Value) bool {
		return strings.HasPrefix(key, prefix) || len(known) > 0 && known[mark(key, v)]
	})
	return added
}

// MarkStandard notes which attributes a span has beside the event's own, for a span that leaves
// the process with standard attributes that only repeat what the event tells. Whoever decodes it
// knows from that which attributes were added or changed since.
func MarkStandard(span ptrace.Span) {
	var marks []byte
	for key, v := range span.Attributes().All() {
		if !strings.HasPrefix(key, prefix) {
			marks = append(marks, mark(key, v)...)
		}
	}
	if len(marks) > 0 {
		span.Attributes().PutStr(attrStandard, string(marks))
	}
}

// markLen is the length of one mark: a hash of an attribute's name and value, in hexadecimal.
const markLen = 8

func mark(key string, v pcommon.Value) string {
	h := fnv.New32a()
	_, _ = h.Write([]byte(key))
	_, _ = h.Write([]byte{0, byte(v.Type())})
	_, _ = h.Write([]byte(v.AsString()))
	text := strconv.FormatUint(uint64(h.Sum32()), 16)
	return strings.Repeat("0", markLen-len(text)) + text
}

// marksOf returns the marks of a span.
func marksOf(span ptrace.Span) map[string]bool {
	v, ok := span.Attributes().Get(attrStandard)
	if !ok {
		return nil
	}
	marks := map[string]bool{}
	for text := v.Str(); len(text) >= markLen; text = text[markLen:] {
		marks[text[:markLen]] = true
	}
	return marks
}

// KeepStandard calls change, which may replace values of attributes of a native span, and sees to it that those that
// MarkStandard had marked still are: a value that was cleaned is no new attribute.
func KeepStandard(span ptrace.Span, change func()) {
	known := marksOf(span)
	if len(known) == 0 {
		change()
		return
	}
	marked := map[string]bool{}
	for key, v := range span.Attributes().All() {
		marked[key] = known[mark(key, v)]
	}
	change()
	var marks []byte
	for key, v := range span.Attributes().All() {
		if marked[key] {
			marks = append(marks, mark(key, v)...)
		}
	}
	span.Attributes().PutStr(attrStandard, string(marks))
}
