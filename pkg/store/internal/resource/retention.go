package resource

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/google/uuid"
	"go.uber.org/zap"

	"github.com/spangrove/spangrove/pkg/fault"
	"github.com/spangrove/spangrove/pkg/project"
	"github.com/spangrove/spangrove/pkg/store/internal/events"
	"github.com/spangrove/spangrove/pkg/store/internal/sqldb"
)

// What the projects' rules do not keep is removed in the background: when the store is opened, every retentionEvery, and soon
// after a rule was changed. Of several servers one does it at a time: it holds a lease, a row of table setting with its
// name and the time until when, which it renews while it works. If it ends in the middle, the lease ends with the time, and the
// next server begins anew; what is gone is not found again.

// Bounds of the passes.
const (
	// retentionEvery is how often the rules are looked at. A day has ended at most this long ago when its events go.
	retentionEvery = 10 * time.Minute
	// retentionRetry is how long a pass that broke off waits before the next try.
	retentionRetry = 30 * time.Second
	// leaseTime is how long a lease holds without being renewed, and leaseRenew how often it is renewed.
	leaseTime  = 2 * time.Minute
	leaseRenew = 20 * time.Second
	// leaseSetting is the row of table setting that says who removes events, and until when.
	leaseSetting = "retention_lease"
)

// errTaken ends a pass whose lease is somebody else's by now.
var errTaken = errors.New("another server has taken over")

// retention is what the passes of this process need.
type retention struct {
	kick  chan struct{} // holds one: a rule was changed
	name  string        // of this process in a lease
	pass  chan struct{} // one place: held by the pass that runs
	asked atomic.Int64  // passes that were asked for
	done  int64         // the value of asked when the last pass began, for the one that runs
}

func newRetention() *retention {
	r := &retention{kick: make(chan struct{}, 1), name: rand.Text(), pass: make(chan struct{}, 1)}
	r.asked.Store(1) // one when the store is opened
	return r
}

// DefaultRetention returns the rule of projects that set none of their own.
func (s *Store) DefaultRetention() project.RetentionRule { return s.options.Retention }

// Retention returns the rule that was set for a project, and the one that applies.
func (s *Store) Retention(ctx context.Context, projectID int64) (own project.Retention, rule project.RetentionRule, err error) {
	own, err = retentionOf(ctx, s.db.Quick(), projectID, "")
	return own, own.Over(s.options.Retention), sqldb.WrapError(s.db, err, "read the rule of retention")
}

// ChangeRetention changes the rule of a project, all of what change does or, if it returns an error, nothing, and returns the
// updated one. change may run more than once, each time with what is stored then. What the rule does not keep is removed soon.
func (s *Store) ChangeRetention(ctx context.Context, projectID int64, change func(*project.Retention) error) (own project.Retention, err error) {
	err = s.events.Change(ctx, 0, uuid.Nil, 0, func(ctx context.Context, tx *events.Commit) (err error) {
		if own, err = retentionOf(ctx, tx, projectID, tx.ForUpdate("")); err != nil {
			return err
		}
		if err := change(&own); err != nil {
			return err
		}
		rule := own.Over(s.options.Retention)
		if err := rule.Validate(); err != nil {
			return err
		}
		text, err := json.Marshal(&own)
		if err != nil {
			return err
		}
		_, err = tx.Exec(ctx, `UPDATE project
			SET retention = $2, updated_ms = $3
			WHERE id = $1`, projectID, string(text), s.options.Now().UnixMilli())
		return err
	})
	if err == nil {
		s.events.RetentionChanged(projectID)
		s.retention.asked.Add(1)
		select {
		case s.retention.kick <- struct{}{}:
		default:
		}
	}
	return own, err
}

func retentionOf(ctx context.Context, c sqldb.Conn, projectID int64, end string) (own project.Retention, err error) {
	var text string
	found, err := sqldb.One(ctx, c, `SELECT retention FROM project WHERE id = $1 AND deleted_ms = 0`+end, []any{projectID}, &text)
	switch {
	case err != nil:
		return own, err
	case !found:
		return own, fault.New(fault.NotFound, "no such project")
	}
	return readRetention(text)
}

// readRetention reads a rule as a project's row has it: a JSON object of what it sets, empty for nothing.
func readRetention(text string) (own project.Retention, err error) {
	if text == "" {
		return own, nil
	}
	if err := json.Unmarshal([]byte(text), &own); err != nil {
		return own, fmt.Errorf("rule of a project's retention: %w", err)
	}
	return own, nil
}

// retaining removes what the rules do not keep until ctx ends.
func (s *Store) retaining(ctx context.Context) {
	for {
		wait := time.NewTimer(retentionEvery)
		if err := s.retainAsked(ctx, false); err != nil && ctx.Err() == nil {
			s.options.Logger.Warn("remove what the rules of retention do not keep", zap.Error(err))
			wait.Reset(retentionRetry)
		}
		select {
		case <-ctx.Done():
		case <-s.retention.kick:
		case <-wait.C:
			s.retention.asked.Add(1)
		}
		wait.Stop()
		if ctx.Err() != nil {
			return
		}
	}
}

// Retain removes what the rules of all projects do not keep now; nothing if another server is at it. A project whose
// pass fails does not keep the others from theirs.
func (s *Store) Retain(ctx context.Context) error { return s.retainAsked(ctx, true) }

// retainAsked is Retain, but does nothing if all passes that were asked for are done by one that began later, unless always is set.
func (s *Store) retainAsked(ctx context.Context, always bool) error {
	select {
	case s.retention.pass <- struct{}{}:
		defer func() { <-s.retention.pass }()
	case <-ctx.Done():
		return ctx.Err()
	}
	asked := s.retention.asked.Load()
	if !always && s.retention.done == asked {
		return nil
	}
	s.retention.done = asked
	rules, err := s.retentionRules(ctx)
	if err != nil || len(rules) == 0 {
		return sqldb.WrapError(s.db, err, "read the rules of retention")
	}
	turn := s.leaseTurn()
	if err := turn(ctx); err != nil {
		if errors.Is(err, errTaken) {
			return nil
		}
		return err
	}
	defer s.endLease(ctx)
	var failed []error
	for _, r := range rules {
		err := s.retain(ctx, r.project, r.rule, turn)
		if errors.Is(err, errTaken) || ctx.Err() != nil {
			break
		}
		failed = append(failed, err)
	}
	return errors.Join(failed...)
}

// retentionOfProject is the rule of a project that does not keep everything.
type retentionOfProject struct {
	project int64
	rule    project.RetentionRule
}

func (s *Store) retentionRules(ctx context.Context) (list []retentionOfProject, err error) {
	err = sqldb.Each(ctx, s.db, `SELECT id, retention FROM project WHERE deleted_ms = 0 ORDER BY id`, nil, func(scan func(...any) error) error {
		var id int64
		var text string
		if err := scan(&id, &text); err != nil {
			return err
		}
		own, err := readRetention(text)
		if rule := own.Over(s.options.Retention); err == nil && !rule.Keeps() {
			list = append(list, retentionOfProject{id, rule})
		}
		return err
	})
	return list, err
}

// retain removes what the rule of one project does not keep.
func (s *Store) retain(ctx context.Context, projectID int64, rule project.RetentionRule, turn events.Turn) error {
	n, err := s.events.Retain(ctx, projectID, rule, turn)
	if n != (events.Expired{}) {
		s.options.Logger.Info("removed what a rule of retention does not keep",
			zap.Int64("project", projectID),
			zap.Int64("sessions", n.Sessions),
			zap.Int64("events", n.Events),
			zap.Int64("payloads", n.Payloads),
			zap.Error(err))
	}
	return err
}

// leaseTurn returns what a pass calls before each slice of its work: it takes the lease, and renews it every leaseRenew. Where
// this process is the only one, there is nothing to take.
func (s *Store) leaseTurn() events.Turn {
	var renewed time.Time
	return func(ctx context.Context) error {
		if err := ctx.Err(); err != nil {
			return err
		}
		if s.db.Exclusive() || time.Since(renewed) < leaseRenew {
			return nil
		}
		mine := false
		err := s.events.Change(ctx, 0, uuid.Nil, 0, func(ctx context.Context, tx *events.Commit) (err error) {
			mine, err = s.takeLease(ctx, tx)
			return err
		})
		if err == nil && !mine {
			err = errTaken
		}
		renewed = time.Now()
		return err
	}
}

// takeLease takes the lease or renews it, unless it is another server's.
func (s *Store) takeLease(ctx context.Context, tx *events.Commit) (mine bool, err error) {
	if err := tx.Lock(ctx, leaseSetting); err != nil {
		return false, err
	}
	var value string
	if _, err := sqldb.One(ctx, tx, `SELECT value FROM setting WHERE name = $1`, []any{leaseSetting}, &value); err != nil {
		return false, err
	}
	owner, until, _ := strings.Cut(value, " ")
	ms, _ := strconv.ParseInt(until, 10, 64) // 0, of the past, if there is no lease
	now := s.options.Now()
	if owner != s.retention.name && ms > now.UnixMilli() {
		return false, nil
	}
	_, err = tx.Exec(ctx, `INSERT INTO setting(name, value) VALUES ($1, $2) ON CONFLICT (name) DO UPDATE SET value = excluded.value`,
		leaseSetting, fmt.Sprintf("%s %d", s.retention.name, now.Add(leaseTime).UnixMilli()))
	return true, err
}

// endLease gives the lease back, if it is still this server's. If that fails, it ends with its time.
func (s *Store) endLease(ctx context.Context) {
	if s.db.Exclusive() {
		return
	}
	err := s.events.Change(context.WithoutCancel(ctx), 0, uuid.Nil, 0, func(ctx context.Context, tx *events.Commit) error {
		_, err := tx.Exec(ctx, `DELETE FROM setting WHERE name = $1 AND value LIKE $2`, leaseSetting, s.retention.name+" %")
		return err
	})
	if err != nil && ctx.Err() == nil {
		s.options.Logger.Warn("release the lease of removing events", zap.Error(err))
	}
}
