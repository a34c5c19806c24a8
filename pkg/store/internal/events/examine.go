package events

import (
	"context"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/google/uuid"
	"go.uber.org/zap"

	"github.com/spangrove/spangrove/pkg/diagnosis"
	"github.com/spangrove/spangrove/pkg/query"
	"github.com/spangrove/spangrove/pkg/store/internal/segment"
	"github.com/spangrove/spangrove/pkg/store/internal/sqldb"
)

// An examination looks at what is stored beside a server that may go on writing. What has to fit together is read in one snapshot, and
// snapshots are short: a long one would keep SQLite's log from beginning anew, and PostgreSQL's VACUUM from old rows.
//
// The short examination looks at some sessions, the newest and others at random, with all their events and payloads, and at some
// segments; what reads whole tables it leaves out above examinedRows. The full one looks at everything.

// Bounds of the short examination.
const (
	// DefaultSample is how many sessions it looks at.
	DefaultSample = 300
	// sampleLeast is how many of those of one project at least.
	sampleLeast = 6
	// sampleEvents is how many events a session may have to be looked at.
	sampleEvents = 20_000
	// sampleSegments is how many segments are read whole: half of them the newest ones.
	sampleSegments = 16
	// examinedRows is how many events there may be for whole tables to be read.
	examinedRows = 2_000_000
)

const (
	// examineBatch is how many sessions are read in one snapshot, and examinePage how many events at once.
	examineBatch = 50
	examinePage  = 5000
)

// ExamineOptions say what is looked at.
type ExamineOptions struct {
	Full   bool
	Sample int // sessions, if it is not full
	Now    func() time.Time
	// PendingTTL is how long updates may wait for their event.
	PendingTTL time.Duration
}

// Examiner looks at sessions and events by reads alone.
type Examiner struct {
	s        *Store
	o        ExamineOptions
	projects []int64 // that are not deleted
	events   int64   // as the kept counts have it
}

// NewExaminer returns an examiner of a database with the schema of this program. Nothing is written, and nothing runs in the background.
func NewExaminer(ctx context.Context, db sqldb.DB, bulk Bulk, dialect query.Dialect, o ExamineOptions) (*Examiner, error) {
	x, err := newExaminer(ctx, db, bulk, dialect, o)
	if err == nil {
		err = bulk.open(ctx, x.s.idFilter, x.s.today)
	}
	return x, err
}

func newExaminer(ctx context.Context, db sqldb.DB, bulk Bulk, dialect query.Dialect, o ExamineOptions) (*Examiner, error) {
	s := &Store{
		Dialect:    dialect,
		options:    Options{Logger: zap.NewNop(), Now: o.Now},
		idFilter:   newIDFilter(0, !db.Exclusive()),
		fieldIndex: newFieldIndex(),
		db:         db,
		bulk:       bulk,
		configs:    newConfigKeep(),
	}
	s.forgetRead()
	s.removal = newChunkRemoval(s, bulk)
	x := &Examiner{s: s, o: o}
	err := sqldb.Each(ctx, db, `SELECT id FROM project WHERE deleted_ms = 0 ORDER BY id DESC`, nil, func(scan func(...any) error) error {
		var id int64
		err := scan(&id)
		x.projects = append(x.projects, id)
		return err
	})
	if err != nil {
		return nil, err
	}
	_, err = sqldb.One(ctx, db, `SELECT CAST(coalesce(sum(count), 0) AS bigint) FROM event_count`, nil, &x.events)
	return x, err
}

// forgetRead empties the caches: a snapshot must not see what another one has read.
func (s *Store) forgetRead() {
	s.chunks, s.packs = newChunkCache(chunkCacheBytes), newChunkCache(packCacheBytes)
	s.columns, s.answers = segment.NewCache(segmentCacheBytes), segment.NewCache(answerCacheBytes)
}

// Checks returns what is looked at, in order.
func (x *Examiner) Checks() []diagnosis.Check {
	return append(x.s.bulk.checks(),
		diagnosis.Check{Name: checkSessions, Run: x.checkSessions},
		diagnosis.Check{Name: checkOrphans, Run: x.checkOrphans},
		diagnosis.Check{Name: checkCounts, Run: x.checkCounts},
		diagnosis.Check{Name: checkSegments, Run: x.checkSegments},
		diagnosis.Check{Name: checkWaiting, Run: x.checkWaiting},
	)
}

// The names of checks, and of findings of the pass over sessions.
const (
	checkSessions   = "sessions"
	checkPayloads   = "payloads"
	checkTotals     = "totals"
	checkTrees      = "trees"
	checkIDs        = "ids"
	checkFields     = "fields"
	checkOrphans    = "orphans"
	checkCounts     = "counts"
	checkSegments   = "segments"
	checkWords      = "words"
	checkWaiting    = "waiting"
	checkPartitions = "partitions"
)

// readsTables reports whether whole tables are read. Else it records that they were not.
func (x *Examiner) readsTables(r *diagnosis.Recorder) bool {
	if x.o.Full || x.events <= examinedRows {
		return true
	}
	r.OK("not looked at: all of %d events would be read; --full does", x.events)
	return false
}

// eachSession calls f with sessions, some of one project at a time: all of them, or a sample.
func (x *Examiner) eachSession(ctx context.Context, f func(project int64, ids []uuid.UUID) error) error {
	if x.o.Full {
		for _, project := range x.projects {
			if err := x.allSessions(ctx, project, f); err != nil {
				return err
			}
		}
		return nil
	}
	left := x.o.Sample
	for i, project := range x.projects {
		if left <= 0 {
			break
		}
		n := max(left/(len(x.projects)-i), sampleLeast)
		ids, err := x.sampleOf(ctx, project, n)
		if err != nil {
			return err
		}
		left -= len(ids)
		for len(ids) > 0 {
			n := min(len(ids), examineBatch)
			if err := f(project, ids[:n]); err != nil {
				return err
			}
			ids = ids[n:]
		}
	}
	return nil
}

func (x *Examiner) allSessions(ctx context.Context, project int64, f func(project int64, ids []uuid.UUID) error) error {
	after := x.s.db.ID(uuid.Nil)
	for {
		var ids []uuid.UUID
		err := sqldb.Each(ctx, x.s.db, fmt.Sprintf(`SELECT session_id FROM session
			WHERE project_id = $1 AND session_id > $2
			ORDER BY session_id LIMIT %d`, examineBatch), []any{project, after}, func(scan func(...any) error) error {
			var id uuid.UUID
			err := scan(sqldb.ScanID(&id))
			ids = append(ids, id)
			return err
		})
		if err != nil || len(ids) == 0 {
			return err
		}
		if err := f(project, ids); err != nil {
			return err
		}
		after = x.s.db.ID(ids[len(ids)-1])
	}
}

// sampleOf returns sessions of a project: a third of them the newest ones, the others at random times.
func (x *Examiner) sampleOf(ctx context.Context, project int64, n int) (ids []uuid.UUID, err error) {
	known := map[uuid.UUID]bool{}
	add := func(scan func(...any) error) error {
		var id uuid.UUID
		if err := scan(sqldb.ScanID(&id)); err != nil || known[id] {
			return err
		}
		known[id] = true
		ids = append(ids, id)
		return nil
	}
	const of = `SELECT event_id FROM event WHERE project_id = $1 AND type = 4`
	if err := sqldb.Each(ctx, x.s.db, of+fmt.Sprintf(` ORDER BY start_ms DESC LIMIT %d`, (n+2)/3), []any{project}, add); err != nil {
		return nil, err
	}
	var first, last *float64
	if _, err := sqldb.One(ctx, x.s.db, `SELECT min(start_ms), max(start_ms) FROM event WHERE project_id = $1 AND type = 4`,
		[]any{project}, &first, &last); err != nil || first == nil {
		return ids, err
	}
	for range n - len(ids) {
		at := *first + rand.Float64()*(*last-*first) //nolint:gosec // a sample, no secret
		if err := sqldb.Each(ctx, x.s.db, of+` AND start_ms >= $2 ORDER BY start_ms LIMIT 1`, []any{project, at}, add); err != nil {
			return nil, err
		}
	}
	return ids, nil
}

// name is how findings name an event or a session.
func name(project int64, id uuid.UUID) string { return fmt.Sprintf("%s of project %d", id, project) }
