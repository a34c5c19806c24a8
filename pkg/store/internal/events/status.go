package events

import (
	"context"
	"time"

	"github.com/google/uuid"

	"github.com/spangrove/spangrove/pkg/event"
	"github.com/spangrove/spangrove/pkg/query"
	"github.com/spangrove/spangrove/pkg/status"
	"github.com/spangrove/spangrove/pkg/store/internal/sqldb"
)

// Activity returns what memory knows of the store. Of a project, which is not 0, it says how many updates wait, and how many
// of it may; all else is of the whole store, and what is written by other servers is not among it.
func (s *Store) Activity(projectID int64) status.Activity {
	var a status.Activity
	s.telemetry.activity.report(&a)
	a.Queue.Requests, a.Queue.Events, a.Queue.MaxRequests = s.pool.Waiting()
	a.Queue.Bytes, a.Queue.MaxBytes = s.pool.Queued(), s.options.QueueBytes
	a.Waiting = status.Waiting{
		Updates:    int64(s.pending.count()),
		MaxUpdates: int64(s.options.MaxPending),
		LogParts:   s.logCounts.waiting.Load(),
	}
	if projectID != 0 {
		a.Waiting = status.Waiting{Updates: int64(s.pending.countOf(projectID)), MaxUpdates: int64(mostOfProject(s.options.MaxPending))}
	}
	a.Index = s.sealed.report()
	o := &s.options
	a.Configuration = status.Configuration{
		Writers:     s.pool.Count(),
		ReadTimeout: o.ReadTimeout.Seconds(),
		ReadShare:   o.ReadShare,
		ReadWait:    o.ReadWait.Seconds(),
		ValueEvents: o.ValueEvents,
		PendingTTL:  o.PendingTTL.Seconds(),
	}
	if o.PackAfter >= 0 {
		after := o.PackAfter.Seconds()
		a.Configuration.PackAfter = &after
	}
	return a
}

// Database returns which database it is, with what it takes on disk and what is free there. synchronous is how it syncs, where that
// can be chosen.
func (s *Store) Database(ctx context.Context) (d status.Database, synchronous string, err error) {
	x, err := s.db.Describe(ctx)
	if err != nil {
		return d, "", sqldb.WrapError(s.db, err, "ask which database it is")
	}
	d = status.Database{Kind: status.Kind(x.Kind), Version: x.Version, Directory: x.Directory}
	n, err := s.DatabaseBytes(ctx)
	if err != nil {
		return d, "", err
	}
	d.DatabaseBytes = &n
	free, total, ok, err := s.db.Disk(ctx)
	if err != nil {
		return d, "", sqldb.WrapError(s.db, err, "read the free space of the disk")
	}
	if ok {
		d.Disk = &status.Disk{FreeBytes: free, TotalBytes: total}
	}
	return d, x.Synchronous, nil
}

// State returns how much is stored of a project, or if that is 0 of all, and then also what waits for work in the background.
// It reads sums that are kept, and rows of which there are few.
func (s *Store) State(ctx context.Context, projectID int64) (x status.State, err error) {
	err = s.state(ctx, projectID, &x)
	return x, sqldb.WrapError(s.db, err, "read the state of the store")
}

func (s *Store) state(ctx context.Context, projectID int64, x *status.State) error {
	c := s.db.Quick()
	sessions := query.TypeCode(event.TypeSession) // each session has one event of this type
	if projectID != 0 {
		x.Contents.Projects = 1
		if _, err := sqldb.One(ctx, c, `SELECT
				CAST(coalesce(sum(count), 0) AS bigint),
				CAST(coalesce(sum(CASE WHEN type = $2 THEN count ELSE 0 END), 0) AS bigint)
			FROM event_count
			WHERE project_id = $1`, []any{projectID, sessions}, &x.Contents.Events, &x.Contents.Sessions); err != nil {
			return err
		}
		var err error
		x.Contents.StoredBytes, err = s.StoredBytes(ctx, projectID)
		return err
	}
	if _, err := sqldb.One(ctx, c, `SELECT
			CAST(coalesce(sum(count), 0) AS bigint),
			CAST(coalesce(sum(CASE WHEN type = $1 THEN count ELSE 0 END), 0) AS bigint),
			(SELECT CAST(coalesce(sum(bytes), 0) AS bigint) FROM stored_bytes),
			(SELECT count(*) FROM project WHERE deleted_ms = 0)
		FROM event_count`, []any{sessions}, &x.Contents.Events, &x.Contents.Sessions, &x.Contents.StoredBytes, &x.Contents.Projects); err != nil {
		return err
	}
	if _, err := sqldb.One(ctx, c, `SELECT count(*), CAST(coalesce(sum(num_events), 0) AS bigint)
		FROM segment
		WHERE header IS NULL OR NOT words`, nil, &x.WaitingWords, &x.WaitingTextEvents); err != nil {
		return err
	}
	rest := s.options.Now().Add(-max(s.options.PackAfter, 0)).UnixMilli()
	_, err := sqldb.One(ctx, c, `SELECT count(*), CAST(coalesce(sum(CASE WHEN written_ms <= $1 THEN 1 ELSE 0 END), 0) AS bigint)
		FROM unpacked`, []any{rest}, &x.Packer.Sessions, &x.Packer.Due)
	return err
}

// CheckWrite commits a row that nobody reads, as any other write.
func (s *Store) CheckWrite(ctx context.Context) error {
	now := s.options.Now().UTC().Format(time.RFC3339Nano)
	err := s.Change(ctx, 0, uuid.Nil, 0, func(ctx context.Context, tx *Commit) error {
		_, err := tx.Exec(ctx, `INSERT INTO setting(name, value) VALUES ('write_check', $1)
			ON CONFLICT (name) DO UPDATE SET value = excluded.value`, now)
		return err
	})
	return sqldb.WrapError(s.db, err, "check whether the store can be written")
}
