package wire

import (
	"context"
	"strconv"

	"github.com/spangrove/spangrove/pkg/event"
	"github.com/spangrove/spangrove/pkg/project"
	"github.com/spangrove/spangrove/pkg/query"
)

// WriteEvents streams a page of events: {"events": [...], "totalEvents": n, "count": n}.
// Both numbers are the matches before paging: older clients read the one, newer the other.
// want is what is shown of each event. An error is that of a Load or of the connection; the
// stream is not closed. Events are loaded one after the other, so that the page never stands in memory as a whole.
func WriteEvents(ctx context.Context, s *Stream, set *event.Set, p *project.Project, want query.Projection) error {
	s.text(`{"events":[`)
	for i := range set.Events {
		e, err := s.load(ctx, set, i)
		if err != nil {
			return err
		}
		if i > 0 {
			s.text(",")
		}
		s.buf = AppendProjected(s.buf, &e, p, want)
		if err := s.flushFull(); err != nil {
			return err
		}
	}
	s.text(`],"totalEvents":`)
	s.buf = strconv.AppendInt(s.buf, int64(set.Total), 10)
	s.text(`,"count":`)
	s.buf = strconv.AppendInt(s.buf, int64(set.Total), 10)
	s.text("}")
	return s.flushFull()
}
