package wire

import (
	"context"
	"strconv"

	"github.com/spangrove/spangrove/pkg/event"
	"github.com/spangrove/spangrove/pkg/project"
	"github.com/spangrove/spangrove/pkg/query"
	"github.com/spangrove/spangrove/pkg/rawjson"
)

// WriteEvents streams a page of events: {"events": [...], "totalEvents": n, "count": n}.
// Both numbers are the matches before paging: older clients read the one, newer the other; null if no total was asked for. A search that
// named an order also has "next_cursor": "…", or null on the last page; one that asked for snippets has them in each event. An error is that of a Load or of the connection; the
// stream is not closed. Events are loaded one after the other, so that the page never stands in memory as a whole; one that is deleted
// before its turn is left out.
func WriteEvents(ctx context.Context, s *Stream, set *event.Set, p *project.Project, r *SearchRequest) error {
	s.text(`{"events":[`)
	n := 0
	for i := range set.Events {
		e, err := s.load(ctx, set, i)
		if err != nil {
			return err
		}
		if set.IsGone(i) {
			continue
		}
		if n++; n > 1 {
			s.text(",")
		}
		s.buf = AppendProjected(s.buf, &e, p, r.Projection)
		if r.Snippets {
			s.buf = appendSnippets(s.buf, query.FindSnippets(r.Search.Filters, &e))
		}
		if err := s.flushFull(); err != nil {
			return err
		}
	}
	total := []byte("null")
	if !r.Search.Uncounted {
		total = strconv.AppendInt(nil, int64(set.Total), 10)
	}
	s.text(`],"totalEvents":`)
	s.buf = append(s.buf, total...)
	s.text(`,"count":`)
	s.buf = append(s.buf, total...)
	if r.Search.Continued {
		s.text(`,"next_cursor":`)
		if next := r.NextCursor(set); next != "" {
			s.buf = rawjson.AppendString(s.buf, next)
		} else {
			s.text("null")
		}
	}
	s.text("}")
	return s.flushFull()
}

// NextCursor returns the cursor of the page behind one; empty: it is the last.
func (r *SearchRequest) NextCursor(set *event.Set) string {
	n := len(set.Events)
	if !set.HasMore || n == 0 {
		return ""
	}
	return cursorAfter(r.question, query.Place{Value: set.Last, ID: set.Events[n-1].ID})
}

// appendSnippets adds snippets to the event at the end of dst, an object: [{"field", "before", "hit", "after"}].
func appendSnippets(dst []byte, list []query.Snippet) []byte {
	var b rawjson.Builder
	items := []byte{'['}
	for i, s := range list {
		if i > 0 {
			items = append(items, ',')
		}
		var item rawjson.Builder
		item.String("field", s.Field)
		item.String("before", s.Before)
		item.String("hit", s.Hit)
		item.String("after", s.After)
		items = append(items, item.Bytes()...)
	}
	b.Raw("snippets", append(items, ']'))
	dst[len(dst)-1] = ',' // an event has its id at least, so that something stands before
	return append(dst, b.Bytes()[1:]...)
}
