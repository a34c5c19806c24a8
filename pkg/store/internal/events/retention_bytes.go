package events

import (
	"context"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/spangrove/spangrove/pkg/project"
	"github.com/spangrove/spangrove/pkg/store/internal/sqldb"
)

// A rule of bytes removes the sessions whose last events are the oldest, one after the other, until the events of the project take
// no more than it says; if it is asked for, the oldest payloads go before any session. What the events take is counted
// from the rows, which is done only when the sums that commits keep say that the project may be over its bound, and for
// at most a fiftieth of the time (countShare).

// sized is a session or a chunk, with what it takes.
type sized struct {
	session uuid.UUID
	chunk   int64
	last    float64 // of a session, Unix milliseconds
	events  int64   // of a session, without its own
	bytes   int64
}

// keepBytes removes what a project's events take beyond the bytes of its rule, the oldest first.
func (s *Store) keepBytes(ctx context.Context, projectID int64, rule project.RetentionRule, turn Turn) (n Expired, err error) {
	stored, err := s.StoredBytes(ctx, projectID)
	if err != nil || stored <= rule.Bytes || !s.bytesDue(projectID) {
		return n, err
	}
	for {
		began := time.Now()
		u, err := s.countUsage(ctx, projectID)
		s.bytesCounted(projectID, time.Since(began))
		over := u.EventBytes() - rule.Bytes
		if err != nil || over <= 0 {
			return n, err
		}
		some, err := s.freeBytes(ctx, projectID, rule, &u, over, turn)
		n.Sessions += some.Sessions
		n.Events += some.Events
		n.Payloads += some.Payloads
		if err != nil || some == (Expired{}) {
			return n, err
		}
	}
}

// freeBytes removes the oldest sessions or payloads of a project that take so many bytes, or somewhat less: of a pack, whose payloads
// are compressed together, each is taken for an equal part.
func (s *Store) freeBytes(ctx context.Context, projectID int64, rule project.RetentionRule, u *project.Usage, over int64, turn Turn) (
	n Expired, err error) {
	if rule.PayloadFirst {
		var freed int64
		if n.Payloads, freed, err = s.freePayloads(ctx, projectID, u, over, turn); err != nil {
			return n, err
		}
		over -= freed
	}
	for over > 0 {
		page, err := s.oldestSessions(ctx, projectID, nil)
		if err != nil || len(page) == 0 {
			return n, err
		}
		some, freed, err := s.freeSessions(ctx, projectID, page, over, turn)
		n.Sessions += some.Sessions
		n.Events += some.Events
		if err != nil || some.Sessions == 0 {
			return n, err
		}
		over -= freed
	}
	return n, nil
}

// bytesDue reports whether what a project's events take may be counted again.
func (s *Store) bytesDue(projectID int64) bool {
	s.usage.mu.Lock()
	defer s.usage.mu.Unlock()
	return !time.Now().Before(s.usage.of(projectID).bytesNext)
}

// RetentionChanged has the next pass count what a project's events take, however long ago that was done: its rule is another.
func (s *Store) RetentionChanged(projectID int64) { s.bytesCounted(projectID, 0) }

func (s *Store) bytesCounted(projectID int64, took time.Duration) {
	s.usage.mu.Lock()
	defer s.usage.mu.Unlock()
	s.usage.of(projectID).bytesNext = time.Now().Add(countShare * took)
}

// oldestSessions lists sessions by the end of their last events, the oldest first, with what each takes; those behind after, if it
// is not nil.
func (s *Store) oldestSessions(ctx context.Context, projectID int64, after *sized) (list []sized, err error) {
	cond, args := `project_id = $1`, []any{projectID, retentionPage}
	if after != nil {
		cond, args = cond+` AND (last_ms, session_id) > ($3, $4)`, append(args, after.last, s.db.ID(after.session))
	}
	at := map[uuid.UUID]int{}
	err = sqldb.Each(ctx, s.db, `SELECT session_id, last_ms, num_events
		FROM session
		WHERE `+cond+`
		ORDER BY last_ms, session_id
		LIMIT $2`, args, func(scan func(...any) error) error {
		var o sized
		err := scan(sqldb.ScanID(&o.session), &o.last, &o.events)
		at[o.session] = len(list)
		list = append(list, o)
		return err
	})
	if err != nil || len(list) == 0 {
		return nil, err
	}
	ids := make([]uuid.UUID, len(list))
	for i, o := range list {
		ids[i] = o.session
	}
	cond, args = s.db.AnyID("s.session_id", 2, ids)
	args = append([]any{projectID}, args...)
	of := ` FROM ` + s.Dialect.FromSessions() + ` WHERE s.project_id = $1 AND ` + cond
	for _, sum := range []string{
		`SELECT ` + s.Dialect.SessionID() + ` AS session, CAST(sum(` + headBytes + `) AS bigint)` + of + ` GROUP BY ` + s.Dialect.SessionID(),
		`SELECT e.session, CAST(sum(octet_length(c.data)) AS bigint)
			FROM (SELECT DISTINCT ` + s.Dialect.SessionID() + ` AS session, e.chunk` + of + ` AND e.chunk IS NOT NULL) AS e
			JOIN chunk AS c ON c.id = e.chunk
			GROUP BY e.session`,
		`SELECT x.session, CAST(sum(x.n * octet_length(p.data) / x.total) AS bigint)
			FROM (
				SELECT e.session, c.pack, count(*) AS n, sum(count(*)) OVER (PARTITION BY c.pack) AS total
				FROM (SELECT DISTINCT ` + s.Dialect.SessionID() + ` AS session, e.chunk` + of + ` AND e.chunk IS NOT NULL) AS e
				JOIN chunk AS c ON c.id = e.chunk
				WHERE c.pack IS NOT NULL
				GROUP BY e.session, c.pack) AS x
			JOIN chunk AS p ON p.id = x.pack
			GROUP BY x.session`,
	} {
		err := sqldb.Each(ctx, s.db, sum, args, func(scan func(...any) error) error {
			var id uuid.UUID
			var n int64
			err := scan(sqldb.ScanID(&id), &n)
			list[at[id]].bytes += n
			return err
		})
		if err != nil {
			return nil, err
		}
	}
	return list, nil
}

// freeSessions removes the first of some sessions until so many bytes are free, and returns how many are.
func (s *Store) freeSessions(ctx context.Context, projectID int64, list []sized, over int64, turn Turn) (n Expired, freed int64, err error) {
	for i := 0; i < len(list) && freed < over; {
		var batch []overdue
		var events, bytes int64
		last := list[i].last
		for ; i < len(list) && freed+bytes < over && (len(batch) == 0 || events+list[i].events < deleteSlice); i++ {
			batch = append(batch, overdue{id: list[i].session, events: list[i].events})
			events += list[i].events + 1
			bytes += list[i].bytes
			last = list[i].last
		}
		if err := turn(ctx); err != nil {
			return n, freed, err
		}
		began := time.Now()
		// One that went on meanwhile is not among the oldest any more. It stays, and the next pass looks again.
		for _, of := range s.retentionBatches(batch) {
			some, err := s.expireBatch(ctx, projectID, of, above(last))
			n.Sessions += some.Sessions
			n.Events += some.Events
			if err != nil {
				return n, freed, err
			}
		}
		freed += bytes
		s.Rest(ctx, began)
	}
	return n, freed, nil
}

// freePayloads removes the payloads of the oldest events until so many bytes are free, and returns how many are.
func (s *Store) freePayloads(ctx context.Context, projectID int64, u *project.Usage, over int64, turn Turn) (n, freed int64, err error) {
	for _, d := range u.Days {
		from := float64(d.Day) * dayMillis
		for d.PayloadBytes > 0 && freed < over {
			list, last, err := s.payloadsOf(ctx, projectID, d.Day, from)
			if err != nil {
				return n, freed, err
			}
			if len(list) == 0 {
				break
			}
			from = last
			some, bytes, err := s.freeChunks(ctx, projectID, d.Day, list, over-freed, turn)
			n += some
			freed += bytes
			if err != nil {
				return n, freed, err
			}
			if some == 0 { // all of them were changed meanwhile
				break
			}
		}
	}
	return n, freed, nil
}

// freeChunks removes the first of some chunks of a day until so many bytes are free, and returns how many are.
func (s *Store) freeChunks(ctx context.Context, projectID int64, day int32, list []withPayload, over int64, turn Turn) (n, freed int64, err error) {
	sizes := map[int64]int64{}
	for some := range slices.Chunk(list, sqldb.IDsPerQuery) {
		ids := make([]int64, len(some))
		for i, p := range some {
			ids[i] = p.chunk
		}
		cond, args := s.db.AnyNumber("id", 1, ids)
		err := sqldb.Each(ctx, s.db, `WITH c AS (
				SELECT id, pack, octet_length(data) AS bytes, count(*) OVER (PARTITION BY pack) AS total
				FROM chunk
				WHERE `+cond+`)
			SELECT id, bytes FROM c WHERE pack IS NULL
			UNION ALL
			SELECT c.id, c.bytes + octet_length(p.data) / c.total FROM c JOIN chunk AS p ON p.id = c.pack`, args, func(scan func(...any) error) error {
			var id, n int64
			err := scan(&id, &n)
			sizes[id] = n
			return err
		})
		if err != nil {
			return 0, 0, err
		}
	}
	last := 0
	for ; last < len(list) && freed < over; last++ {
		freed += sizes[list[last].chunk]
	}
	for _, batch := range s.payloadBatches(list[:last]) {
		if err := turn(ctx); err != nil {
			return n, 0, err
		}
		began := time.Now()
		some, err := s.expireChunks(ctx, projectID, day, batch)
		n += some
		if err != nil {
			return n, 0, err
		}
		s.Rest(ctx, began)
	}
	return n, freed, nil
}
