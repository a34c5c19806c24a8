package events

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/spangrove/spangrove/pkg/event"
	"github.com/spangrove/spangrove/pkg/fault"
	"github.com/spangrove/spangrove/pkg/rawjson"
)

// Copies of an event in one request are merged, however many there are, but not into more bytes than a core merges in seconds.
func TestCopiesInOneRequest(t *testing.T) {
	t.Parallel()
	s := openTest(t, Options{})
	copies := func(n, size int, trace uuid.UUID) (b event.Batch) {
		id, session := uuid.New(), uuid.New()
		for i := range n {
			e := event.Incoming{Event: event.Event{ID: id, SessionID: session, ParentID: session, Type: event.TypeTool, Name: "step"}, TraceID: trace}
			e.Metadata = fmt.Appendf(nil, `{"m%d":%d}`, i, i)
			if i == 0 {
				e.Inputs = fmt.Appendf(nil, `{"text":%q}`, strings.Repeat("x", size))
			}
			e.Complete(time.Now())
			b.Events = append(b.Events, e)
		}
		return b
	}
	p, err := s.prepare(1, copies(1000, 10, uuid.Nil))
	if err != nil {
		t.Fatal(err)
	}
	if last := rawjson.Get(p.groups[0].heads[0].ev.Metadata, "m999"); string(last) != "999" {
		t.Errorf("the last copy says %s", last)
	}
	_, err = s.prepare(1, copies(40, 8<<20, uuid.Nil))
	if fault.Of(err) != fault.TooLarge || !strings.HasPrefix(err.Error(), "events[32].event_id: ") {
		t.Errorf("copies of a large event: %v", err)
	}
	if _, err := s.prepare(1, copies(40, 8<<20, uuid.New())); err != nil {
		t.Errorf("copies of a large span: %v", err)
	}
}
