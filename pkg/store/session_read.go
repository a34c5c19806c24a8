package store

import (
	"context"

	"github.com/google/uuid"

	"github.com/spangrove/spangrove/pkg/event"
	"github.com/spangrove/spangrove/pkg/fault"
)

// ReadSession returns the session event as stored. fault.NotFound if there is none.
func (s *Store) ReadSession(ctx context.Context, projectID int64, sessionID uuid.UUID) (event.Event, error) {
	return s.Event(ctx, projectID, sessionID)
}

// Session returns all events of a session, the session event among them, by start time.
// fault.NotFound if there is no such session.
func (s *Store) Session(ctx context.Context, projectID int64, sessionID uuid.UUID) (*event.Set, error) {
	ctx, end, err := s.heavyRead(ctx, projectID, 1)
	if err != nil {
		return nil, err
	}
	defer end()
	for range 2 {
		var list []*stored
		err := each(ctx, s.db, `SELECT `+s.columns()+`
			FROM `+s.dialect.From()+`
			WHERE e.`+s.dialect.OfSession()+`
			ORDER BY e.start_ms, e.event_id`,
			[]any{projectID, s.db.id(sessionID)}, func(scan func(...any) error) error {
				r, err := scanHead(scan)
				list = append(list, r)
				return err
			})
		if err != nil {
			return nil, wrapDBError(s.db, err, "read session")
		}
		if len(list) > 0 {
			set, err := s.eventSet(ctx, projectID, list, len(list), false)
			return set, wrapDBError(s.db, err, "read session")
		}
		to, ok, err := aliasOf(ctx, s.db, projectID, sessionID)
		if err != nil {
			return nil, wrapDBError(s.db, err, "read session")
		}
		if !ok {
			break
		}
		sessionID = to
	}
	return nil, fault.New(fault.NotFound, "no session %s", sessionID)
}
