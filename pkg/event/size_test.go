package event

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/uuid"

	"github.com/spangrove/spangrove/e2e/growth"
)

// An event that others add to does not grow without a bound: each request is small, compressed, and there may be many.
func TestMaxBytes(t *testing.T) {
	t.Parallel()
	text := strings.Repeat("x", 20<<20)
	e := Event{ID: uuid.New(), SessionID: uuid.New(), Type: TypeTool, Name: "e", Metadata: json.RawMessage(`{"own":1}`)}
	for i := range 5 {
		e.Repeat(&Incoming{Event: Event{ID: e.ID, SessionID: e.SessionID, Type: TypeTool, Name: "e", Metadata: json.RawMessage(fmt.Sprintf(`{"k%d":%q}`, i, text))}})
	}
	if n := e.Bytes(); n > MaxBytes || n < 60<<20 {
		t.Errorf("after repeats: %d bytes", n)
	}
	e = Event{ID: uuid.New(), Type: TypeTool, Name: "e"}
	var parts []LogPart
	for i := range 5 {
		before := parts
		parts = append(parts[:i:i], LogPart{Kind: LogRecord, Nanos: uint64(i + 1), Content: json.RawMessage(fmt.Sprintf(`{"body":%q}`, text[:10<<20]))})
		e.MergeLogs(before, parts)
	}
	if n := e.Bytes(); n > MaxLogBytes+1<<20 || n < 30<<20 {
		t.Errorf("after log records: %d bytes", n)
	}
}

// Fields by the ten thousand that came from log records are taken off, and compared with an update, one by one and not each with all.
func TestManyLogFields(t *testing.T) {
	t.Parallel()
	growth.Linear(t, 40_000, func(many int) func() {
		var b strings.Builder
		for i := range many {
			fmt.Fprintf(&b, `,"k%05d":1`, i)
		}
		members := "{" + b.String()[1:] + "}"
		part := LogPart{Kind: LogFields, Nanos: 1, Content: json.RawMessage(`{"metadata":` + members + `}`)}
		e := Event{ID: uuid.New(), Type: TypeModel, Name: "e"}
		return func() {
			e.MergeLogs(nil, []LogPart{part})
			e.MergeLogs([]LogPart{part}, []LogPart{part, {Kind: LogRecord, Nanos: 2, Content: json.RawMessage(`{"body":"b"}`)}})
			e.Apply(&Update{Metadata: json.RawMessage(strings.ReplaceAll(members, ":1", ":2"))})
			if !strings.Contains(string(e.Metadata), fmt.Sprintf(`"k%05d":2`, many-1)) {
				t.Error("the update is not there")
			}
		}
	})
}

// Messages by the thousand, of a history and of log records, are compared by what they say in time that grows with their number.
func TestManyMessages(t *testing.T) {
	t.Parallel()
	growth.Linear(t, 5000, func(many int) func() {
		var history strings.Builder
		parts := make([]LogPart, many)
		for i := range parts {
			fmt.Fprintf(&history, `,{"role":"user","content":"%s%05d"}`, strings.Repeat("h", 200), i)
			parts[i] = LogPart{Kind: LogInput, Nanos: uint64(i + 1), Content: json.RawMessage(fmt.Sprintf(`[{"role":"user","content":"m%05d"}]`, i))}
		}
		e := Event{ID: uuid.New(), Type: TypeModel, Name: "e", Inputs: json.RawMessage(`{"chat_history":[` + history.String()[1:] + `]}`)}
		return func() { e.MergeLogs(nil, parts) }
	})
}
