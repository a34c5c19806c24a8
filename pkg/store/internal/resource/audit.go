package resource

import (
	"context"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"sync"
	"time"

	"go.uber.org/zap"

	"github.com/spangrove/spangrove/pkg/audit"
	"github.com/spangrove/spangrove/pkg/store/internal/events"
	"github.com/spangrove/spangrove/pkg/store/internal/sqldb"
)

// The audit log, table audit. The handlers record what somebody did after it was done, and before the request ends
// (httpapi); the key check records what it refused.
//
// A success is a row of its own, written at once: nobody can make one without a key. Failures can be made by anybody who reaches
// the server, as fast as it answers. They are added up in memory and written once a minute, or when somebody reads the log or the
// store closes, so that a flood of them becomes a bounded number of rows a minute. So are the questions of the playground. A process
// that is killed loses those of at most a minute; they are not in the server's own log either, which gets entries as they are written.
//
// Rows outlast their project, which they name by its public id: to have deleted one is what the log is for.

// What Options.AuditRetention and Options.AuditMaxEntries are if they are not set.
const (
	DefaultAuditRetention  = 400 * 24 * time.Hour
	DefaultAuditMaxEntries = 1_000_000
)

// Bounds of the audit log.
const (
	auditNotesPerMinute = 100 // entries that are counted; more are one for each action and outcome
	auditWriteEvery     = time.Minute
	auditTimeout        = 10 * time.Second // to write entries: a request waits no longer for its own
)

// auditNotes are the counted entries that wait to be written.
type auditNotes struct {
	mu    sync.Mutex
	notes audit.Notes
}

// RecordAudit adds an entry to the audit log, and to the log of the server.
func (s *Store) RecordAudit(ctx context.Context, e audit.Entry) {
	if e.At.IsZero() {
		e.At = s.options.Now()
	}
	if !e.Counted() {
		// Bounded in length: a request may name a target as long as its body.
		s.writeAudit(ctx, []audit.Entry{e.Bounded()})
		return
	}
	s.audit.mu.Lock()
	defer s.audit.mu.Unlock()
	s.audit.notes.Add(e)
}

// FlushAudit writes what waits.
func (s *Store) FlushAudit(ctx context.Context) {
	s.audit.mu.Lock()
	// Taken under the lock and written outside of it, so that a slow database does not hold up requests that are refused.
	list := s.audit.notes.Take()
	s.audit.mu.Unlock()
	s.writeAudit(ctx, list)
}

// auditColumns are the columns of an entry in the order in which it is written and read.
const auditColumns = `
	at_us,
	project,
	key_id,
	address,
	action,
	target,
	outcome,
	count`

// writeAudit logs entries and writes them, all in one transaction, also if the context of the request has ended: what was
// done was done. If it fails, the server's log has them, and says so; the request does not fail for it.
func (s *Store) writeAudit(ctx context.Context, list []audit.Entry) {
	if len(list) == 0 {
		return
	}
	for i := range list {
		e := &list[i]
		s.options.Logger.Info("audit", zap.String("action", e.Action), zap.String("outcome", e.Outcome), zap.String("project_id", e.ProjectID),
			zap.String("key_id", e.KeyID), zap.String("remote_address", e.Address), zap.String("target", e.Target), zap.Int64("count", e.Count))
	}
	// A caller that hangs up must not be able to keep an entry out of the log.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), auditTimeout)
	defer cancel()
	err := s.ChangeDocs(ctx, 0, "write the audit log", func(ctx context.Context, tx *events.Commit) error {
		for i := range list {
			e := &list[i]
			if _, err := tx.Exec(ctx, `INSERT INTO audit(`+auditColumns+`)
				VALUES ($1, $2, $3, $4, $5, $6, $7, $8)`,
				e.At.UnixMicro(),
				e.ProjectID,
				e.KeyID,
				e.Address,
				e.Action,
				e.Target,
				e.Outcome,
				e.Count,
			); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		s.options.Logger.Error("audit entries are in this log only: they could not be written", zap.Int("entries", len(list)), zap.Error(err))
	}
}

// Audit lists entries of the audit log, newest first, a page of them (the first is 1), and counts
// all. What waits in this server is written first; failures that another server has counted show up to a minute later.
// Bounds of time are milliseconds that may have fractions, and entries have microseconds: each bound is rounded inwards.
func (s *Store) Audit(ctx context.Context, q audit.Query) (list []audit.Entry, total int, err error) {
	s.FlushAudit(ctx)
	var conds []string
	var args []any
	where := func(cond string, arg any) {
		args = append(args, arg)
		conds = append(conds, fmt.Sprintf(cond, len(args)))
	}
	if q.From != nil {
		where("at_us >= $%d", micros(math.Ceil(*q.From*1000)))
	}
	if q.To != nil {
		where("at_us <= $%d", micros(math.Floor(*q.To*1000)))
	}
	if q.Action != "" {
		where("action = $%d", q.Action)
	}
	if q.ProjectID != "" {
		where("project = $%d", q.ProjectID)
	}
	from := ` FROM audit`
	if conds != nil {
		from += ` WHERE ` + strings.Join(conds, ` AND `)
	}
	if _, err := sqldb.One(ctx, s.db, `SELECT count(*)`+from, args, &total); err != nil {
		return nil, 0, sqldb.WrapError(s.db, err, "count audit entries")
	}
	page := fmt.Sprintf(` ORDER BY at_us DESC, id DESC LIMIT $%d OFFSET $%d`, len(args)+1, len(args)+2)
	args = append(args, q.Limit, int64(q.Limit)*int64(q.Page-1))
	err = sqldb.Each(ctx, s.db, `SELECT `+auditColumns+from+page, args, func(scan func(...any) error) error {
		var e audit.Entry
		var at int64
		err := scan(
			&at,
			&e.ProjectID,
			&e.KeyID,
			&e.Address,
			&e.Action,
			&e.Target,
			&e.Outcome,
			&e.Count,
		)
		e.At = time.UnixMicro(at)
		list = append(list, e)
		return err
	})
	if err == nil {
		err = s.nameAuditKeys(ctx, list)
	}
	return list, total, sqldb.WrapError(s.db, err, "list audit entries")
}

// nameAuditKeys fills in the names and the first characters of the keys of entries. Keys that are revoked still have theirs; those of a project
// that was deleted are gone, and their entries have the id alone.
func (s *Store) nameAuditKeys(ctx context.Context, list []audit.Entry) error {
	of := map[string][]int{} // the entries of a key, by its id
	for i := range list {
		if id := list[i].KeyID; id != "" {
			of[id] = append(of[id], i)
		}
	}
	for group := range slices.Chunk(slices.Sorted(maps.Keys(of)), sqldb.IDsPerQuery) {
		cond, args := s.db.AnyText("id", 1, group)
		err := sqldb.Each(ctx, s.db, `SELECT id, name, prefix FROM api_key WHERE `+cond, args, func(scan func(...any) error) error {
			var id, name, prefix string
			err := scan(&id, &name, &prefix)
			for _, i := range of[id] {
				list[i].KeyName, list[i].KeyPrefix = name, prefix
			}
			return err
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// micros returns a time as the database has it, cut to what an integer holds. No entry is as far away as its bounds.
func micros(us float64) int64 { return int64(min(max(us, -1e18), 1e18)) }

// writingAudit writes what waits once a minute.
func (s *Store) writingAudit(ctx context.Context) {
	tick := time.NewTicker(auditWriteEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			s.FlushAudit(ctx)
			s.FlushKeyUses(ctx)
			s.audit.mu.Lock()
			// A new minute has its own allowance of single entries; beyond it, failures are only counted by action and outcome.
			s.audit.notes.Renew()
			s.audit.mu.Unlock()
		}
	}
}

// ExpireAudit deletes the entries of the audit log that are older than Options.AuditRetention, and
// the oldest ones where there are more than Options.AuditMaxEntries: of failures first, as long as they are
// more than half, so that a flood of them does not push out what was done.
func (s *Store) ExpireAudit(ctx context.Context) error {
	if err := s.dropAudit(ctx, `at_us < $1`, s.options.Now().Add(-s.options.AuditRetention).UnixMicro()); err != nil {
		return err
	}
	// What goes is named by the last entry of it, as one snapshot sees the log: so two servers that do this at the same time delete the same.
	var failure, all auditPlace
	err := s.db.Snapshot(ctx, func(c sqldb.Conn) error {
		most := s.options.AuditMaxEntries
		var total, failures int64
		if _, err := sqldb.One(ctx, c, `SELECT count(*) FROM audit`, nil, &total); err != nil || total <= most {
			return err
		}
		if _, err := sqldb.One(ctx, c, `SELECT count(*) FROM audit WHERE outcome <> $1`, []any{audit.Success}, &failures); err != nil {
			return err
		}
		// Failures may have half of the log. What they have beyond that goes first; if that is not enough, the oldest of all go.
		n := min(total-most, max(failures-most/2, 0))
		if err := failure.find(ctx, c, n, `outcome <> $1`, audit.Success); err != nil {
			return err
		}
		return all.find(ctx, c, total-most-n, `NOT (outcome <> $1 AND `+fmt.Sprintf(auditUpTo, 2, 3)+`)`, audit.Success, failure.at, failure.id)
	})
	if err != nil {
		return sqldb.WrapError(s.db, err, "count audit entries")
	}
	if failure != (auditPlace{}) {
		if err := s.dropAudit(ctx, `outcome <> $1 AND `+fmt.Sprintf(auditUpTo, 2, 3), audit.Success, failure.at, failure.id); err != nil {
			return err
		}
	}
	if all == (auditPlace{}) {
		return nil
	}
	return s.dropAudit(ctx, fmt.Sprintf(auditUpTo, 1, 2), all.at, all.id)
}

// auditPlace is a place in the log; the zero value is before all entries.
type auditPlace struct{ at, id int64 }

// auditUpTo is the condition that an entry is not behind a place.
const auditUpTo = `(at_us < $%d OR (at_us = $%[1]d AND id <= $%d))`

// find makes p that of the n-th oldest entry for which cond holds.
func (p *auditPlace) find(ctx context.Context, c sqldb.Conn, n int64, cond string, args ...any) error {
	if n <= 0 {
		return nil
	}
	_, err := sqldb.One(ctx, c, fmt.Sprintf(`SELECT at_us, id FROM audit WHERE `+cond+` ORDER BY at_us, id LIMIT 1 OFFSET %d`, n-1), args, &p.at, &p.id)
	return err
}

// dropAudit deletes the entries for which cond holds, in slices.
func (s *Store) dropAudit(ctx context.Context, cond string, args ...any) error {
	for {
		var deleted int64
		err := s.ChangeDocs(ctx, 0, "drop old audit entries", func(ctx context.Context, tx *events.Commit) (err error) {
			deleted, err = tx.Exec(ctx, fmt.Sprintf(`DELETE FROM audit
				WHERE id IN (SELECT id FROM audit WHERE `+cond+` ORDER BY at_us, id LIMIT %d)`, events.DeleteDocsSlice), args...)
			return err
		})
		if err != nil || deleted < events.DeleteDocsSlice {
			return err
		}
	}
}
