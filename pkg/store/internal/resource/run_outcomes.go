package resource

import (
	"context"
	"encoding/binary"
	"hash/fnv"
	"math"
	"slices"

	"github.com/google/uuid"

	"github.com/spangrove/spangrove/pkg/query"
	"github.com/spangrove/spangrove/pkg/run"
	"github.com/spangrove/spangrove/pkg/store/internal/events"
	"github.com/spangrove/spangrove/pkg/store/internal/sqldb"
)

// RunOutcomes returns what the sessions of a run came to, those of them that have an event which matches q's filters and date range, with its scores. What was read
// last is kept in memory, up to a bound, until a session of the run changes. The answer must not be changed.
func (s *Store) RunOutcomes(ctx context.Context, projectID int64, r *run.Run, q query.Search) (*run.Outcomes, error) {
	ctx, end, err := s.events.HeavyRead(ctx, projectID, events.ScanConns)
	if err != nil {
		return nil, err
	}
	defer end()
	key := events.OutcomeKey{Project: projectID, Run: r.ID, Question: questionOf(r, &q)}
	outcomes, err := s.events.Outcomes(ctx, key, func() (*run.Outcomes, []uuid.UUID, error) { return s.readOutcomes(ctx, projectID, r, q) })
	return outcomes, sqldb.WrapError(s.db, err, "read outcomes")
}

func (s *Store) readOutcomes(ctx context.Context, projectID int64, r *run.Run, q query.Search) (*run.Outcomes, []uuid.UUID, error) {
	sessions, err := s.runSessions(ctx, projectID, r)
	if err != nil {
		return nil, nil, err
	}
	of := make(map[uuid.UUID]run.Outcome, len(sessions))
	scores, err := s.scoresOf(ctx, projectID, sessions, q, of)
	if err != nil {
		return nil, nil, err
	}
	var rest []uuid.UUID // of which segments did not tell
	for _, id := range scores.Sessions {
		if _, ok := of[id]; !ok {
			rest = append(rest, id)
		}
	}
	if err := s.events.SessionOutcomes(ctx, projectID, rest, of); err != nil {
		return nil, nil, err
	}
	return run.OutcomesOf(scores, of), slices.Concat(sessions, r.Sessions()), nil
}

// questionOf hashes what outcomes depend on beside the events of the run.
func questionOf(r *run.Run, q *query.Search) uint64 {
	h := fnv.New64a()
	for _, list := range [][]string{r.EventIDs, r.SessionIDs, {query.KeyOf(q.Filters)}} {
		for _, id := range list {
			_, _ = h.Write([]byte(id)) // never fails
			_, _ = h.Write([]byte{0})
		}
		_, _ = h.Write([]byte{1})
	}
	for _, bound := range []*float64{q.From, q.To} {
		bits := uint64(0)
		if bound != nil {
			bits = math.Float64bits(*bound) + 1
		}
		_ = binary.Write(h, binary.LittleEndian, bits)
	}
	return h.Sum64()
}
