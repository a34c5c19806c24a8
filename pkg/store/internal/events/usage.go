package events

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/google/uuid"
	"go.uber.org/zap"

	"github.com/spangrove/spangrove/pkg/fault"
	"github.com/spangrove/spangrove/pkg/query"
	"github.com/spangrove/spangrove/pkg/store/internal/sqldb"
)

// What a project has stored is counted in two ways. Each commit adds what it writes to the row of
// its writer, in the same transaction: that is one number for each commit and project. What goes or
// shrinks is not counted where it happens; the rows themselves are counted in the background
// instead, soon after a deletion and now and then after other changes, and the difference is kept
// as a row of its own (numbered -1). So nothing adds up to an error over time. What is only added needs no
// count: its commits are right, and all rows of a large project take long to read.

const (
	// rowBytes stands for what a row takes in addition to its texts: its numbers and its places in indexes.
	rowBytes = 256
	// countedRow is the row of table stored_bytes that holds what counting the rows found.
	countedRow = -1
	// shrunkRow is a row of no bytes of a project of which something went since its rows were counted: the next start counts them, if
	// this process ends before it has.
	shrunkRow = -2
	// storedRefresh is how soon what other servers stored is seen.
	storedRefresh = 5 * time.Second
	// countEvery is how often the background looks which projects must be counted.
	countEvery = 5 * time.Second
	// countAfterDelete and countAfterChange are how long after its last count a project is counted
	// again; and no sooner than countShare times what that took.
	countAfterDelete = 10 * time.Second
	countAfterChange = 10 * time.Minute
	countShare       = 50
	// quotaRetry is the RetryAfter of a write over the quota: until somebody deleted something.
	quotaRetry = time.Minute
)

// usage records how much the projects that write have stored.
type usage struct {
	mu       sync.Mutex
	projects map[int64]*storedBytes
}

// storedBytes is what is known of one project.
type storedBytes struct {
	bytes   int64         // as far as this process knows: what it read, and its own commits since
	read    time.Time     // when bytes was read from the table; zero: never
	counted time.Time     // when the rows were counted last, or the project was first seen
	took    time.Duration // the last count
	changed bool          // some row was replaced since then
	shrunk  bool          // something was deleted since then

	bytesNext time.Time // from when on a rule of retention may count what the events take
}

func newUsage() *usage { return &usage{projects: map[int64]*storedBytes{}} }

func (u *usage) of(project int64) *storedBytes {
	p := u.projects[project]
	if p == nil {
		p = &storedBytes{counted: time.Now()} // what its commits add is right until something goes or shrinks
		u.projects[project] = p
	}
	return p
}

// committed adds what a transaction changed.
func (u *usage) committed(t eventCounts) {
	u.mu.Lock()
	defer u.mu.Unlock()
	for k, n := range t {
		p := u.of(k.project)
		p.changed = p.changed || k.typ == typeReplaced
		// Reads between two refreshes see this server's own commits at once, and those of others after storedRefresh.
		if k.typ == typeStored {
			p.bytes += n
		}
		p.shrunk = p.shrunk || t.shrinks(k)
	}
}

// isShrunk reports whether it is known that something of a project went since its rows were counted.
func (u *usage) isShrunk(project int64) bool {
	u.mu.Lock()
	defer u.mu.Unlock()
	p := u.projects[project]
	return p != nil && p.shrunk
}

// due returns a project whose rows must be counted.
func (u *usage) due(now time.Time) (project int64, ok bool) {
	u.mu.Lock()
	defer u.mu.Unlock()
	for id, p := range u.projects {
		wait := countAfterChange
		if p.shrunk {
			wait = countAfterDelete
		}
		// A large project takes long to count. With a rest of 50 times that, it is being counted at most 2 % of the time.
		if (p.changed || p.shrunk) && !now.Before(p.counted.Add(max(wait, countShare*p.took))) {
			return id, true
		}
	}
	return 0, false
}

// StoredBytes returns how many bytes a project has stored: payloads as they are compressed, the
// texts of rows, updates and log parts that wait among them, and 256 bytes for each row.
func (s *Store) StoredBytes(ctx context.Context, projectID int64) (int64, error) {
	s.usage.mu.Lock()
	p := s.usage.of(projectID)
	// Where this process is the only writer, its own sum is right until the rows are counted again.
	fresh := !p.read.IsZero() && (s.db.Exclusive() || time.Since(p.read) < storedRefresh)
	n := p.bytes
	s.usage.mu.Unlock()
	if fresh {
		return n, nil
	}
	return s.readStored(ctx, projectID)
}

func (s *Store) readStored(ctx context.Context, projectID int64) (n int64, err error) {
	if _, err := sqldb.One(ctx, s.db.Quick(), `SELECT CAST(coalesce(sum(bytes), 0) AS bigint)
		FROM stored_bytes
		WHERE project_id = $1`, []any{projectID}, &n); err != nil {
		return 0, sqldb.WrapError(s.db, err, "read stored bytes")
	}
	s.usage.mu.Lock()
	defer s.usage.mu.Unlock()
	p := s.usage.of(projectID)
	// A commit between the two is seen when the rows are counted, or by the next refresh.
	p.bytes, p.read = n, time.Now()
	return n, nil
}

// CheckStored is fault.Limited if a project has stored all that it may, and nil for one that is
// not there.
func (s *Store) CheckStored(ctx context.Context, projectID int64) error {
	b, err := s.hooks.Limits(ctx, projectID)
	// 0 is no limit. A project that is not there is refused elsewhere, with an error that says so.
	if fault.IsNotFound(err) || err == nil && b.StoredBytes == 0 {
		return nil
	}
	if err != nil {
		return err
	}
	// The check is before the write and not in its transaction: what is under way at the same moment may pass the
	// limit, by no more than fits into the queues.
	n, err := s.StoredBytes(ctx, projectID)
	if err != nil || n < b.StoredBytes {
		return err
	}
	return &fault.Error{Kind: fault.Limited, RetryAfter: quotaRetry,
		Msg: fmt.Sprintf("the project has stored %d bytes, and may store %d: delete what is not needed, or have its limit stored_bytes raised",
			n, b.StoredBytes)}
}

// countStored counts the rows of projects that have changed, until ctx ends. countAfterChange after the start, since a start has enough to do, it
// counts those of which something went that no process has counted since, and those of an earlier version, which did not record from when on
// commits count (CountFromNow).
func (s *Store) countStored(ctx context.Context) {
	if err := s.notCounted(ctx); err != nil && ctx.Err() == nil {
		s.options.Logger.Warn("list projects whose rows are to be counted", zap.Error(err))
	}
	tick := time.NewTicker(countEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		// One project after another, and nothing else at the same time: each count reads all rows of a project.
		for ctx.Err() == nil {
			project, ok := s.usage.due(time.Now())
			if !ok {
				break
			}
			if err := s.Recount(ctx, project); err != nil && ctx.Err() == nil {
				s.options.Logger.Warn("count the rows of a project", zap.Int64("project", project), zap.Error(err))
				break
			}
		}
	}
}

// notCounted lists the projects whose rows are to be counted since no process before has.
func (s *Store) notCounted(ctx context.Context) error {
	return sqldb.Each(ctx, s.db, `SELECT t.project_id
		FROM event_count t
		WHERE NOT EXISTS (SELECT 1 FROM stored_bytes k WHERE k.project_id = t.project_id AND k.writer = $1)
		UNION
		SELECT project_id FROM stored_bytes WHERE writer = $2`,
		[]any{countedRow, shrunkRow}, func(scan func(...any) error) error {
			var id int64
			if err := scan(&id); err != nil {
				return err
			}
			s.usage.mu.Lock()
			defer s.usage.mu.Unlock()
			p := s.usage.of(id)
			p.changed = true
			return nil
		})
}

// CountFromNow says that a project that is being made, by its public id, has no rows to be counted: what its commits add is right.
func (tx *Commit) CountFromNow(ctx context.Context, publicID string) error {
	_, err := tx.Exec(ctx, `INSERT INTO stored_bytes(project_id, writer, bytes) SELECT id, CAST($2 AS integer), 0 FROM project WHERE public_id = $1`, publicID, countedRow)
	return err
}

// Recount counts what a project has stored from its rows. The difference to what commits have added is kept as the row
// countedRow, so that the sum over all rows of the project is right at the moment of the count, and commits go on
// adding to their own rows meanwhile.
func (s *Store) Recount(ctx context.Context, projectID int64) error {
	began := time.Now()
	s.usage.mu.Lock()
	p := s.usage.of(projectID)
	p.changed, p.shrunk, p.counted = false, false, began // what comes from here on counts for the next time
	s.usage.mu.Unlock()

	table := func(table, sum string) string {
		return `(SELECT CAST(coalesce(sum(` + fmt.Sprint(rowBytes) + sum + `), 0) AS bigint) FROM ` + table + ` WHERE project_id = $1)`
	}
	// Texts as the database has them, in bytes; chunks as they are compressed. A chunk that several events share counts once.
	rows := table("event", rowTexts("metadata", "metrics", "feedback", "user_properties", "children_ids")) +
		` + (
			SELECT CAST(coalesce(sum(octet_length(data)), 0) AS bigint)
			FROM chunk
			WHERE id IN (SELECT chunk FROM event WHERE project_id = $1 AND chunk IS NOT NULL)
				OR id IN (
					SELECT pack
					FROM chunk
					WHERE pack IS NOT NULL AND id IN (SELECT chunk FROM event WHERE project_id = $1 AND chunk IS NOT NULL)))` +
		` + ` + table("log_part", ` + octet_length(data)`) + ` + ` + table("pending", ` + octet_length(body)`)
	for _, t := range []string{
		"datapoint",
		"dataset",
		"configuration",
		"tool",
		"chart",
		"saved_view",
		"event_comment",
		"dashboard",
		"alert",
		"run",
		"metric",
		"provider",
		"queue",
		"backfill",
		"document_version",
	} {
		rows += ` + ` + table(t, rowTexts("doc"))
	}
	// One statement sees one state of the database, so that nothing is counted twice.
	var n, added int64
	if _, err := sqldb.One(ctx, s.db, `SELECT `+rows+`, (
			SELECT CAST(coalesce(sum(bytes), 0) AS bigint)
			FROM stored_bytes
			WHERE project_id = $1 AND writer <> $2)`,
		[]any{projectID, countedRow}, &n, &added); err != nil {
		return sqldb.WrapError(s.db, err, "count stored bytes")
	}
	there := false
	err := s.Change(ctx, 0, uuid.Nil, 0, func(ctx context.Context, tx *Commit) (err error) {
		var live int
		// Held until the commit, so that a project that is being deleted cannot get a row after its rows were deleted.
		there, err = sqldb.One(ctx, tx, `SELECT 1 FROM project WHERE id = $1 AND deleted_ms = 0`+tx.ForUpdate(""), []any{projectID}, &live)
		if err != nil || !there {
			return err
		}
		if _, err = tx.Exec(ctx, `INSERT INTO stored_bytes(project_id, writer, bytes)
			VALUES ($1, $2, $3)
			ON CONFLICT (project_id, writer) DO UPDATE SET bytes = excluded.bytes`,
			projectID, countedRow, n-added); err != nil || s.usage.isShrunk(projectID) {
			return err
		}
		_, err = tx.Exec(ctx, `DELETE FROM stored_bytes WHERE project_id = $1 AND writer = $2`, projectID, shrunkRow)
		return err
	})
	if err != nil {
		return err
	}
	s.usage.mu.Lock()
	p.took = time.Since(began)
	if !there { // its rows are being deleted
		delete(s.usage.projects, projectID)
	}
	s.usage.mu.Unlock()
	if !there {
		return nil
	}
	_, err = s.readStored(ctx, projectID)
	return err
}

// deleteCounted deletes rows by a statement that returns the project of each and how many bytes of text or data it had, counts them off, and
// returns how many they were.
func deleteCounted(ctx context.Context, tx *Commit, text string, args ...any) (n int64, err error) {
	err = sqldb.Each(ctx, tx, text, args, func(scan func(...any) error) error {
		var project, bytes int64
		if err := scan(&project, &bytes); err != nil {
			return err
		}
		n++
		tx.Counts.Stored(project, -rowBytes-bytes)
		return nil
	})
	return n, err
}

// bytes returns what the row of an event takes, with its payload if it is the first of its chunk.
func (h *head) bytes() int64 {
	n := rowBytes
	for _, f := range []struct {
		bit int
		raw []byte
	}{
		{query.SpillMetadata, h.ev.Metadata}, {query.SpillMetrics, h.ev.Metrics}, {query.SpillFeedback, h.ev.Feedback},
		{query.SpillUserProperties, h.ev.UserProperties}, {query.SpillChildrenIDs, h.ev.ChildrenIDs},
	} {
		n += len(h.inHead(f.bit, f.raw))
	}
	if h.chunk != nil && h.off == 0 {
		n += len(h.chunk.Z)
	}
	return int64(n)
}
