package events

import (
	"context"

	"github.com/google/uuid"

	"github.com/spangrove/spangrove/pkg/event"
	"github.com/spangrove/spangrove/pkg/fault"
	"github.com/spangrove/spangrove/pkg/store/internal/sqldb"
)

// ReadSession returns the session event as stored.
func (s *Store) ReadSession(ctx context.Context, projectID int64, sessionID uuid.UUID) (event.Event, error) {
	return s.Event(ctx, projectID, sessionID)
}

// Session returns all events of a session, the session event among them, by start time.
func (s *Store) Session(ctx context.Context, projectID int64, sessionID uuid.UUID) (*event.Set, error) {
	ctx, end, err := s.HeavyRead(ctx, projectID, 1)
	if err != nil {
		return nil, err
	}
	defer end()
	// First under the id as it was asked for, then under the one that it has moved to.
	for range 2 {
		var list []*Stored
		err := sqldb.Each(ctx, s.db, `SELECT `+s.Columns()+`
			FROM `+s.Dialect.From()+`
			WHERE e.`+s.Dialect.OfSession()+`
			ORDER BY e.start_ms, e.event_id`,
			[]any{projectID, s.db.ID(sessionID)}, func(scan func(...any) error) error {
				r, err := ScanHead(scan)
				list = append(list, r)
				return err
			})
		if err != nil {
			return nil, sqldb.WrapError(s.db, err, "read session")
		}
		if len(list) > 0 {
			set, err := s.eventSet(ctx, projectID, list, len(list), false)
			return set, sqldb.WrapError(s.db, err, "read session")
		}
		to, ok, err := AliasOf(ctx, s.db, projectID, sessionID)
		if err != nil {
			return nil, sqldb.WrapError(s.db, err, "read session")
		}
		if !ok {
			break
		}
		sessionID = to
	}
	return nil, fault.New(fault.NotFound, "no session %s", sessionID)
}
