package resource

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"time"

	"go.uber.org/zap"

	"github.com/spangrove/spangrove/pkg/deletion"
	"github.com/spangrove/spangrove/pkg/fault"
	"github.com/spangrove/spangrove/pkg/query"
	"github.com/spangrove/spangrove/pkg/store/internal/events"
	"github.com/spangrove/spangrove/pkg/store/internal/sqldb"
)

// A deletion of all that a search found is a document with its state and counts, and a row of bulk_deletion_part for each transaction that is
// still to come. Each part is one transaction: it deletes what the row names, counts that, and deletes the row. So a process that ends at any
// moment leaves each part done or not begun, and the next one goes on with the others. All rows are written before anything is deleted, in slices
// if there are many; until then the state is preparing, and if the process ends, nothing is deleted.
//
// A deletion is worked on by the server that was asked for it, which its document names, until there is no progress for leaseTime: then another one
// takes over. Two servers that work on one deletion do no harm: only one of them gets each part.

// bulkDeletions is the table of deletions.
var bulkDeletions = Documents{Table: "bulk_deletion", Noun: "deletion", Columns: []string{"state"}}

// Bounds of the work on deletions.
const (
	// partsPerChange is how many parts are written down in one transaction; they have some six kilobytes each.
	partsPerChange = 100
	// deletionEvery is how often deletions that another server has left are looked for, and deletionRetry how long one waits whose step failed.
	deletionEvery = time.Minute
	deletionRetry = 10 * time.Second
	// preparingFor is how long parts may take to be written down.
	preparingFor = 10 * time.Minute
)

// bulkWork is what the work on deletions needs in memory.
type bulkWork struct {
	kick chan struct{} // holds one: there is something to do
	mu   sync.Mutex
	done map[string]chan struct{} // closed when a deletion that this process was asked for has ended
}

func newBulkWork() *bulkWork {
	return &bulkWork{kick: make(chan struct{}, 1), done: map[string]chan struct{}{}}
}

// CountEventDeletion counts what a deletion of the events that a search finds would delete.
func (s *Store) CountEventDeletion(ctx context.Context, projectID int64, q query.Search) (deletion.Count, error) {
	list, sessions, err := s.events.EventTargets(ctx, projectID, q)
	return deletion.Count{Events: int64(len(list)), SessionEvents: sessions}, err
}

// CountSessionDeletion counts what a deletion of the sessions that a search finds would delete.
func (s *Store) CountSessionDeletion(ctx context.Context, projectID int64, q query.SessionSearch) (deletion.Count, error) {
	list, err := s.events.SessionTargets(ctx, projectID, q)
	return countTargets(deletion.Sessions, list), err
}

func countTargets(of deletion.Kind, list []events.Target) (n deletion.Count) {
	if of == deletion.Events {
		return deletion.Count{Events: int64(len(list))}
	}
	n.Sessions = int64(len(list))
	for _, t := range list {
		n.Events += t.Events + 1
	}
	return n
}

// DeleteEvents begins to delete the events that a search finds now and that are no session events. seen is what its caller expects at most.
func (s *Store) DeleteEvents(ctx context.Context, projectID int64, q query.Search, seen deletion.Count) (d deletion.Deletion, done <-chan struct{}, err error) {
	list, _, err := s.events.EventTargets(ctx, projectID, q)
	if err != nil {
		return d, nil, err
	}
	return s.deleteTargets(ctx, projectID, deletion.Events, list, seen)
}

// DeleteSessions begins to delete the sessions that a search finds now. seen is what its caller expects at most.
func (s *Store) DeleteSessions(ctx context.Context, projectID int64, q query.SessionSearch, seen deletion.Count) (
	d deletion.Deletion, done <-chan struct{}, err error) {
	list, err := s.events.SessionTargets(ctx, projectID, q)
	if err != nil {
		return d, nil, err
	}
	return s.deleteTargets(ctx, projectID, deletion.Sessions, list, seen)
}

func (s *Store) deleteTargets(ctx context.Context, projectID int64, of deletion.Kind, list []events.Target, seen deletion.Count) (
	d deletion.Deletion, done <-chan struct{}, err error) {
	now := s.options.Now()
	d = deletion.Deletion{
		ID: NewDocumentID(now), Of: of, State: deletion.Preparing, Total: countTargets(of, list), Server: s.retention.name, Created: now.UnixMilli(),
	}
	if err := d.Total.Check(of, seen); err != nil {
		return d, nil, err
	}
	parts, err := s.events.PartsOf(ctx, projectID, of, list)
	if err != nil {
		return d, nil, err
	}
	ended := make(chan struct{})
	s.bulk.mu.Lock()
	s.bulk.done[d.ID] = ended
	s.bulk.mu.Unlock()
	if err := s.writeParts(ctx, projectID, &d, parts); err != nil {
		s.bulk.mu.Lock()
		delete(s.bulk.done, d.ID)
		s.bulk.mu.Unlock()
		return d, nil, err
	}
	s.kickDeletions()
	return d, ended, nil
}

func (s *Store) kickDeletions() {
	select {
	case s.bulk.kick <- struct{}{}:
	default:
	}
}

// writeParts stores a deletion with what it is to delete. It runs once the last part is stored.
func (s *Store) writeParts(ctx context.Context, projectID int64, d *deletion.Deletion, parts [][]byte) error {
	number := 0
	for first := true; first || number < len(parts); first = false {
		group := parts[number:min(len(parts), number+partsPerChange)]
		last := number+len(group) == len(parts)
		err := s.ChangeDocs(ctx, partsPerChange<<12, "delete", func(ctx context.Context, tx *events.Commit) error {
			if first {
				if err := s.insertDeletion(ctx, tx, projectID, d); err != nil {
					return err
				}
			}
			held, doc, err := readDeletion(ctx, tx, projectID, d.ID, tx.ForUpdate(""))
			if err != nil {
				return err
			}
			if held.State != deletion.Preparing { // it was cancelled meanwhile, and must not begin
				return fault.New(fault.Conflict, "the deletion has ended: %s", held.State)
			}
			rows := make([][]any, len(group))
			for i, part := range group {
				rows[i] = []any{projectID, d.ID, number + i, part}
			}
			if _, err := events.InsertRows(ctx, tx, "bulk_deletion_part", []string{"project_id", "deletion_id", "number", "targets"}, rows); err != nil {
				return err
			}
			if !last {
				return nil
			}
			held.State = deletion.Running
			return s.writeDeletion(ctx, tx, projectID, &held, &doc)
		})
		if err != nil {
			return err
		}
		number += len(group)
	}
	d.State = deletion.Running
	return nil
}

// insertDeletion stores a new deletion, and forgets old ones that have ended.
func (s *Store) insertDeletion(ctx context.Context, tx *events.Commit, projectID int64, d *deletion.Deletion) error {
	if err := LockBound(ctx, tx, projectID, bulkDeletions); err != nil {
		return err
	}
	var open int
	if _, err := sqldb.One(ctx, tx, `SELECT count(*) FROM bulk_deletion WHERE project_id = $1 AND state IN ('preparing', 'running')`,
		[]any{projectID}, &open); err != nil {
		return err
	}
	if open >= deletion.MaxRunning {
		return fault.New(fault.Conflict, "%d deletions of this project have not ended; no more may run at once", open)
	}
	if _, err := tx.Exec(ctx, `DELETE FROM bulk_deletion WHERE project_id = $1 AND id IN (
		SELECT id FROM bulk_deletion WHERE project_id = $1 AND state NOT IN ('preparing', 'running') ORDER BY created_ms DESC, id DESC LIMIT 1000 OFFSET $2)`,
		projectID, deletion.MaxEnded-1); err != nil {
		return err
	}
	doc, err := json.Marshal(d)
	if err != nil {
		return fmt.Errorf("encode deletion: %w", err)
	}
	return bulkDeletions.Insert(ctx, tx, projectID, Document{ID: d.ID, Version: 1, Created: d.Created, Doc: doc}, string(d.State))
}

// readDeletion reads a deletion and the row that it stands in. end is what the statement ends with, such as ForUpdate.
func readDeletion(ctx context.Context, c sqldb.Conn, project int64, id, end string) (d deletion.Deletion, doc Document, err error) {
	doc.ID = id
	var text string
	ok, err := sqldb.One(ctx, c, `SELECT version, created_ms, updated_ms, doc, state FROM bulk_deletion WHERE project_id = $1 AND id = $2`+end,
		[]any{project, id}, &doc.Version, &doc.Created, &doc.Updated, &text, (*string)(&d.State))
	if err == nil && !ok {
		err = bulkDeletions.Missing(id)
	}
	if err == nil {
		err = json.Unmarshal([]byte(text), &d)
	}
	d.ID, d.Created, d.Updated = id, doc.Created, doc.Updated
	return d, doc, err
}

// writeDeletion stores a deletion that the transaction holds.
func (s *Store) writeDeletion(ctx context.Context, tx *events.Commit, project int64, d *deletion.Deletion, doc *Document) (err error) {
	if doc.Doc, err = json.Marshal(d); err != nil {
		return fmt.Errorf("encode deletion: %w", err)
	}
	err = bulkDeletions.Update(ctx, tx, project, doc, s.options.Now(), string(d.State))
	d.Updated = doc.Updated
	return err
}

// Deletion returns a deletion with its progress.
func (s *Store) Deletion(ctx context.Context, projectID int64, id string) (deletion.Deletion, error) {
	d, _, err := readDeletion(ctx, s.db, projectID, id, "")
	return d, sqldb.WrapError(s.db, err, "read deletion")
}

// FindDeletions lists the ids of deletions, newest first, a page of them, and counts all.
func (s *Store) FindDeletions(ctx context.Context, projectID int64, limit, page int) (ids []string, total int, err error) {
	if _, err = sqldb.One(ctx, s.db, `SELECT count(*) FROM bulk_deletion WHERE project_id = $1`, []any{projectID}, &total); err == nil {
		err = sqldb.Each(ctx, s.db, `SELECT id FROM bulk_deletion WHERE project_id = $1 ORDER BY created_ms DESC, id DESC LIMIT $2 OFFSET $3`,
			[]any{projectID, limit, (page - 1) * limit}, func(scan func(...any) error) error {
				var id string
				err := scan(&id)
				ids = append(ids, id)
				return err
			})
	}
	return ids, total, sqldb.WrapError(s.db, err, "find deletions")
}

// LoadDeletions reads deletions in the order of ids. Those that are gone are left out.
func (s *Store) LoadDeletions(ctx context.Context, projectID int64, ids []string) (list []deletion.Deletion, err error) {
	for _, id := range ids {
		d, err := s.Deletion(ctx, projectID, id)
		if fault.IsNotFound(err) {
			continue
		}
		if err != nil {
			return nil, err
		}
		list = append(list, d)
	}
	return list, nil
}

// CancelDeletion ends a deletion before it has deleted all. What is gone stays gone.
func (s *Store) CancelDeletion(ctx context.Context, projectID int64, id string) (d deletion.Deletion, err error) {
	err = s.ChangeDocs(ctx, 0, "cancel deletion", func(ctx context.Context, tx *events.Commit) error {
		var doc Document
		if d, doc, err = readDeletion(ctx, tx, projectID, id, tx.ForUpdate("")); err != nil {
			return err
		}
		if d.Ended() {
			return fault.New(fault.Conflict, "the deletion has ended: %s", d.State)
		}
		d.State = deletion.Cancelled
		return s.writeDeletion(ctx, tx, projectID, &d, &doc)
	})
	if err != nil {
		return d, err
	}
	s.deletionEnded(id)
	// If this fails, tidyDeletions does it.
	return d, s.dropParts(context.WithoutCancel(ctx), projectID, id)
}

// deletionEnded wakes who waits for a deletion.
func (s *Store) deletionEnded(id string) {
	s.events.DeletedAll()
	s.bulk.mu.Lock()
	defer s.bulk.mu.Unlock()
	if done := s.bulk.done[id]; done != nil {
		close(done)
		delete(s.bulk.done, id)
	}
}

// dropParts deletes the parts of a deletion that has ended.
func (s *Store) dropParts(ctx context.Context, projectID int64, id string) error {
	for more := true; more; {
		err := s.ChangeDocs(ctx, 0, "end deletion", func(ctx context.Context, tx *events.Commit) (err error) {
			more, err = events.DeleteRows(ctx, tx, "bulk_deletion_part", "project_id, deletion_id, number", "project_id = $1 AND deletion_id = $2", projectID, id)
			return err
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// deleting works on deletions until ctx ends.
func (s *Store) deleting(ctx context.Context) {
	for {
		wait := time.NewTimer(deletionEvery)
		err := s.tidyDeletions(ctx)
		for busy := true; busy && err == nil && ctx.Err() == nil; {
			busy, err = s.stepDeletions(ctx)
		}
		if err != nil && ctx.Err() == nil {
			s.options.Logger.Warn("delete what searches found", zap.Error(err))
			wait.Reset(deletionRetry)
		}
		select {
		case <-ctx.Done():
		case <-s.bulk.kick:
		case <-wait.C:
		}
		wait.Stop()
		if ctx.Err() != nil {
			return
		}
	}
}

// deletionKey names a deletion.
type deletionKey struct {
	project int64
	id      string
}

// tidyDeletions deletes parts that nobody needs, and ends deletions that were being prepared by a process that is gone.
func (s *Store) tidyDeletions(ctx context.Context) error {
	before := s.options.Now().Add(-preparingFor).UnixMilli()
	var stale, loose []deletionKey
	read := func(list *[]deletionKey) func(scan func(...any) error) error {
		return func(scan func(...any) error) error {
			var k deletionKey
			err := scan(&k.project, &k.id)
			*list = append(*list, k)
			return err
		}
	}
	err := sqldb.Each(ctx, s.db, `SELECT project_id, id FROM bulk_deletion WHERE state = 'preparing' AND created_ms < $1 LIMIT 100`, []any{before}, read(&stale))
	if err != nil {
		return err
	}
	for _, k := range stale {
		if _, err := s.CancelDeletion(ctx, k.project, k.id); err != nil && fault.Of(err) != fault.Conflict {
			return err
		}
	}
	err = sqldb.Each(ctx, s.db, `SELECT DISTINCT project_id, deletion_id FROM bulk_deletion_part AS p WHERE NOT EXISTS (
			SELECT 1 FROM bulk_deletion AS d WHERE d.project_id = p.project_id AND d.id = p.deletion_id AND d.state IN ('preparing', 'running'))
		LIMIT 100`, nil, read(&loose))
	for i := 0; err == nil && i < len(loose); i++ {
		err = s.dropParts(ctx, loose[i].project, loose[i].id)
	}
	return err
}

// stepDeletions does a part of each deletion that is this server's, and reports whether there may be more.
func (s *Store) stepDeletions(ctx context.Context) (busy bool, err error) {
	var list []deletionKey
	since := s.options.Now().Add(-leaseTime).UnixMilli()
	err = sqldb.Each(ctx, s.db, `SELECT d.project_id, d.id, d.created_ms, d.updated_ms, d.doc
		FROM bulk_deletion AS d JOIN project AS p ON p.id = d.project_id AND p.deleted_ms = 0
		WHERE d.state = 'running'
		ORDER BY d.created_ms, d.id`, nil, func(scan func(...any) error) error {
		var k deletionKey
		var created, updated int64
		var doc string
		var d deletion.Deletion
		if err := scan(&k.project, &k.id, &created, &updated, &doc); err != nil {
			return err
		}
		if err := json.Unmarshal([]byte(doc), &d); err != nil {
			return fmt.Errorf("deletion %s: %w", k.id, err)
		}
		if s.db.Exclusive() || d.Server == s.retention.name || max(created, updated) < since {
			list = append(list, k)
		}
		return nil
	})
	if err != nil {
		return false, err
	}
	var failed []error
	for _, k := range list {
		began := time.Now()
		if err := s.stepDeletion(ctx, k); err != nil && !fault.IsNotFound(err) {
			failed = append(failed, fmt.Errorf("deletion %s: %w", k.id, err)) // the others go on
			continue
		}
		s.events.Rest(ctx, began)
	}
	return len(list) > 0, errors.Join(failed...)
}

// stepDeletion deletes what the next part of a deletion names, or ends it.
func (s *Store) stepDeletion(ctx context.Context, k deletionKey) error {
	var number int64
	var part []byte
	found, err := sqldb.One(ctx, s.db, `SELECT number, targets FROM bulk_deletion_part WHERE project_id = $1 AND deletion_id = $2 ORDER BY number LIMIT 1`,
		[]any{k.project, k.id}, &number, &part)
	if err != nil {
		return err
	}
	if !found {
		return s.endDeletion(ctx, k)
	}
	var d deletion.Deletion
	var doc Document
	of, _, err := readDeletion(ctx, s.db, k.project, k.id, "")
	if err != nil {
		return err
	}
	begin := func(ctx context.Context, tx *events.Commit) (ok bool, err error) {
		if d, doc, err = readDeletion(ctx, tx, k.project, k.id, tx.ForUpdate("")); err != nil || d.State != deletion.Running {
			return false, err
		}
		n, err := tx.Exec(ctx, `DELETE FROM bulk_deletion_part WHERE project_id = $1 AND deletion_id = $2 AND number = $3`, k.project, k.id, number)
		return n > 0, err // else another server was faster
	}
	return s.events.DeletePart(ctx, k.project, of.Of, part, begin, func(ctx context.Context, tx *events.Commit, n events.Removed) error {
		d.Deleted.Sessions += n.Sessions
		d.Deleted.Events += n.Events
		d.Kept += n.Kept
		d.Server = s.retention.name
		return s.writeDeletion(ctx, tx, k.project, &d, &doc)
	})
}

// endDeletion records that a deletion has nothing left to do.
func (s *Store) endDeletion(ctx context.Context, k deletionKey) error {
	var d deletion.Deletion
	err := s.ChangeDocs(ctx, 0, "end deletion", func(ctx context.Context, tx *events.Commit) error {
		var doc Document
		var err error
		if d, doc, err = readDeletion(ctx, tx, k.project, k.id, tx.ForUpdate("")); err != nil || d.State != deletion.Running {
			return err
		}
		d.State = deletion.Done
		return s.writeDeletion(ctx, tx, k.project, &d, &doc)
	})
	if err != nil {
		return err
	}
	s.options.Logger.Info("deleted what a search found",
		zap.Int64("project", k.project),
		zap.String("deletion", k.id),
		zap.Int64("sessions", d.Deleted.Sessions),
		zap.Int64("events", d.Deleted.Events),
		zap.Int64("kept", d.Kept))
	s.deletionEnded(k.id)
	return nil
}
