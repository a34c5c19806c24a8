package resource

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/google/uuid"
	"go.uber.org/zap"

	"github.com/spangrove/spangrove/pkg/fault"
	"github.com/spangrove/spangrove/pkg/project"
	"github.com/spangrove/spangrove/pkg/store/internal/events"
	"github.com/spangrove/spangrove/pkg/store/internal/sqldb"
)

// A project is deleted in two steps. The first is one transaction: its row gets another name, its keys go, and from then on
// nobody finds it; its name may be used again at once. The second deletes its rows in the background, in slices, however many
// there are.
//
// The second step is made more than once, until an hour after the first: another server may still remember one of its keys and
// take events by it. purged_ms is when the last pass ended. Every server with the database open makes these passes; they
// may meet, since what is gone is no error. A server that ends in the middle leaves purged_ms as it was.

// Bounds of the deletion of a project's data.
const (
	// purgeAgain is how long after its deletion a project is looked at again: other servers
	// remember its keys for a minute at most, and a queue may hold events for longer.
	purgeAgain = time.Hour
	// purgeEvery is how often projects are looked at again.
	purgeEvery = 10 * time.Minute
	// purgeRetry is how long a purge that broke off waits before the next try.
	purgeRetry = 5 * time.Second
)

// ofProject are the tables, other than those of documents, whose rows belong to a project by their
// column project_id, each with the other columns of its key, by which rows are taken in slices.
// event and chunk go before them, and segments with their columns.
var ofProject = []struct{ table, key string }{
	{"trace", "trace_id"},
	{"alias", "session_id"},
	{"pending", "id"},
	{"log_part", "span_id, hash"},
	{"session", "session_id"},
	{"unpacked", "session"},
	{"segment_stale", "seq"},
	{"event_count", "type, writer"},
	{"stored_bytes", "writer"},
	{"outbox", "id"},
	{"outbox_delayed", "event_id"},
	{"evaluation", "id"},
	{"spending", "provider, day"},
	{"api_key", "id"},
	{"field_index", "scope, type, name, path"},
}

// purges is what DeleteProject hands to the background. gone has a channel for each project that this process deleted, closed when
// its own first pass has ended; callers that do not wait leave it.
type purges struct {
	kick chan struct{} // holds one: there is something to do

	mu   sync.Mutex
	gone map[int64]chan struct{}
}

func newPurges() *purges {
	return &purges{kick: make(chan struct{}, 1), gone: map[int64]chan struct{}{}}
}

// DeleteProject deletes a project. gone is closed when its data is deleted, but not if the store is closed before. It refuses, with
// fault.Conflict, what would leave the server without a first project, without its own key or without a key of scope admin.
func (s *Store) DeleteProject(ctx context.Context, id int64) (gone <-chan struct{}, err error) {
	err = s.changeKeys(ctx, func(ctx context.Context, tx *events.Commit) error {
		var publicID string
		var first int64
		found, err := sqldb.One(ctx, tx, `SELECT public_id, (SELECT min(id) FROM project WHERE deleted_ms = 0)
			FROM project
			WHERE id = $1 AND deleted_ms = 0`+tx.ForUpdate(""),
			[]any{id}, &publicID, &first)
		if err != nil {
			return err
		}
		if !found {
			return fault.New(fault.NotFound, "no such project")
		}
		if first == id {
			return fault.New(fault.Conflict, "the first project of a server cannot be deleted")
		}
		var n int
		// A key that was configured or generated is the server's own. Without it, the one who runs the server would be locked out.
		own, err := sqldb.One(ctx, tx, `SELECT 1
			FROM api_key
			WHERE project_id = $1 AND origin <> $2 AND revoked_ms = 0
			LIMIT 1`, []any{id, string(project.OriginAPI)}, &n)
		if err != nil {
			return err
		}
		if own {
			return fault.New(fault.Conflict, "the server's own key belongs to this project")
		}
		admins, err := s.adminKeys(ctx, tx, `k.project_id = $2`, id)
		if err != nil {
			return err
		}
		if err := s.keepsAdmin(ctx, tx, admins > 0, `k.project_id <> $2`, id); err != nil {
			return err
		}
		// No project can have a name with a control character.
		if _, err := tx.Exec(ctx, `UPDATE project
			SET name = $2, description = '', type = '', deleted_ms = $3
			WHERE id = $1`, id, "\x01"+publicID, s.options.Now().UnixMilli()); err != nil {
			return err
		}
		// From the commit on no request of this server finds the keys. Other servers remember them for a minute at most.
		if _, err := tx.Exec(ctx, `DELETE FROM api_key WHERE project_id = $1`, id); err != nil {
			return err
		}
		return tx.Deleted(ctx)
	})
	if err != nil {
		return nil, err
	}
	done := make(chan struct{})
	s.purges.mu.Lock()
	s.purges.gone[id] = done
	s.purges.mu.Unlock()
	// One kick is enough: a pass looks for all projects that need one. It does not wait for a purge that is under way.
	select {
	case s.purges.kick <- struct{}{}:
	default:
	}
	return done, nil
}

// purge deletes the data of deleted projects until ctx ends: of those whose data was not deleted
// yet, and every now and then of those into which somebody may have written late.
func (s *Store) purge(ctx context.Context) {
	for {
		wait := time.NewTimer(purgeEvery)
		if err := s.purgeAll(ctx); err != nil && ctx.Err() == nil {
			s.options.Logger.Warn("delete data of deleted projects", zap.Error(err))
			wait.Reset(purgeRetry)
		}
		select {
		case <-ctx.Done():
		case <-s.purges.kick:
		case <-wait.C:
		}
		wait.Stop()
		if ctx.Err() != nil {
			return
		}
	}
}

// purgeAll makes a pass over each project that needs one, and ends at the first that fails, which is tried again after purgeRetry.
func (s *Store) purgeAll(ctx context.Context) error {
	var ids []int64
	err := sqldb.Each(ctx, s.db, `SELECT id
		FROM project
		WHERE deleted_ms > 0 AND purged_ms < deleted_ms + $1
		ORDER BY id`, []any{purgeAgain.Milliseconds()},
		func(scan func(...any) error) error {
			var id int64
			err := scan(&id)
			ids = append(ids, id)
			return err
		})
	if err != nil {
		return err
	}
	for _, id := range ids {
		if err := s.purgeProject(ctx, id); err != nil {
			return err
		}
	}
	return nil
}

// purgeProject deletes all rows of a deleted project, each slice in a transaction of its own. Events go first, with their chunks. When
// all is deleted, what is in memory of the project is dropped, and last the pass is recorded: one that breaks off is made
// again from the beginning, and finds less.
func (s *Store) purgeProject(ctx context.Context, id int64) error {
	parts := []func(context.Context, *events.Commit) (more bool, err error){
		func(ctx context.Context, tx *events.Commit) (bool, error) { return s.events.PurgeEvents(ctx, tx, id) },
		func(ctx context.Context, tx *events.Commit) (bool, error) { return s.events.PurgeSegments(ctx, tx, id) },
	}
	for _, t := range slices.Concat(ofProject, documentTables) {
		parts = append(parts, func(ctx context.Context, tx *events.Commit) (bool, error) {
			return events.DeleteRows(ctx, tx, t.table, "project_id, "+t.key, "project_id = $1", id)
		})
	}
	for _, slice := range parts {
		// The closure may run again after a conflict; more is set anew by each try.
		for more := true; more; {
			err := s.events.Change(ctx, id, uuid.Nil, 0, func(ctx context.Context, tx *events.Commit) (err error) {
				more, err = slice(ctx, tx)
				return err
			})
			if err != nil {
				return err
			}
		}
	}
	// Only when the rows are gone: an event that comes in between would fill the caches again.
	if err := s.events.ForgetProject(ctx, id); err != nil {
		return err
	}
	err := s.events.Change(ctx, id, uuid.Nil, 0, func(ctx context.Context, tx *events.Commit) error {
		_, err := tx.Exec(ctx, `UPDATE project SET purged_ms = $2 WHERE id = $1`, id, s.options.Now().UnixMilli())
		return err
	})
	if err != nil {
		return err
	}
	s.purges.mu.Lock()
	defer s.purges.mu.Unlock()
	if done := s.purges.gone[id]; done != nil {
		close(done)
		delete(s.purges.gone, id)
	}
	return nil
}
