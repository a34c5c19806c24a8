package resource

import (
	"context"

	"github.com/google/uuid"

	"github.com/spangrove/spangrove/pkg/comment"
	"github.com/spangrove/spangrove/pkg/fault"
	"github.com/spangrove/spangrove/pkg/store/internal/events"
	"github.com/spangrove/spangrove/pkg/store/internal/sqldb"
)

// comments is the table of what people say of events. The table is event_comment since COMMENT is a word of SQL. Comments are deleted
// in the transaction that deletes their event (EraseCommentsOf).
var comments = Documents{Table: "event_comment", Noun: "comment", Columns: []string{"event_id"}}

// ofEvent is the condition on a table that a row is of event $2 of project $1.
const ofEvent = `project_id = $1 AND event_id = $2`

// CreateComment stores a comment that is valid, and returns it as it is stored. The event is held until the commit, so that nobody deletes
// it meanwhile, and comments are counted one after the other.
func (s *Store) CreateComment(ctx context.Context, projectID int64, c comment.Comment) (comment.Comment, error) {
	now := s.options.Now()
	d := Document{ID: NewDocumentID(now), Version: 1, Created: now.UnixMilli(), Doc: c.Doc()}
	asked := c.EventID
	err := s.events.Change(ctx, projectID, asked, int64(len(d.Doc)), func(ctx context.Context, tx *events.Commit) (err error) {
		if c.EventID, err = s.events.StoredID(ctx, tx, projectID, asked); err != nil {
			return err
		}
		var n int
		if _, err := sqldb.One(ctx, tx, `SELECT count(*) FROM event_comment WHERE `+ofEvent, []any{projectID, tx.ID(c.EventID)}, &n); err != nil {
			return err
		}
		if n >= comment.MaxEvent {
			return fault.New(fault.Conflict, "the event has %d comments, and at most %d may be on one", n, comment.MaxEvent)
		}
		return comments.Insert(ctx, tx, projectID, d, tx.ID(c.EventID))
	})
	c.ID, c.Created = d.ID, d.Created
	return c, sqldb.WrapError(s.db, err, "create comment")
}

// FindComments lists the ids of the comments on an event, oldest first, a page of them, and counts all.
func (s *Store) FindComments(ctx context.Context, projectID int64, event uuid.UUID, limit, page int) (ids []string, total int, err error) {
	event, err = s.events.StoredID(ctx, s.db, projectID, event)
	if err == nil {
		ids, total, err = comments.Find(ctx, s.db, projectID, "event_id = $2", []any{s.db.ID(event)}, limit, page)
	}
	return ids, total, sqldb.WrapError(s.db, err, "find comments")
}

// LoadComments reads comments in the order of ids.
func (s *Store) LoadComments(ctx context.Context, projectID int64, ids []string) ([]comment.Comment, error) {
	docs, err := comments.load(ctx, s.db, projectID, ids)
	if err != nil || len(docs) == 0 {
		return nil, sqldb.WrapError(s.db, err, "read comments")
	}
	of := map[string]uuid.UUID{}
	cond, args := s.db.AnyText("id", 2, ids)
	err = sqldb.Each(ctx, s.db, `SELECT id, event_id FROM event_comment WHERE project_id = $1 AND `+cond, append([]any{projectID}, args...),
		func(scan func(...any) error) error {
			var id string
			var event uuid.UUID
			err := scan(&id, sqldb.ScanID(&event))
			of[id] = event
			return err
		})
	list := make([]comment.Comment, len(docs))
	for i, d := range docs {
		list[i] = commentOf(d)
		list[i].EventID = of[d.ID]
	}
	return list, sqldb.WrapError(s.db, err, "read comments")
}

// CountComments counts the comments on events that have some, by the ids of events.
func (s *Store) CountComments(ctx context.Context, projectID int64, ids []uuid.UUID) (map[uuid.UUID]int, error) {
	counts := map[uuid.UUID]int{}
	if len(ids) == 0 {
		return counts, nil
	}
	cond, args := s.db.AnyID("event_id", 2, ids)
	err := sqldb.Each(ctx, s.db, `SELECT event_id, count(*) FROM event_comment WHERE project_id = $1 AND `+cond+` GROUP BY event_id`,
		append([]any{projectID}, args...), func(scan func(...any) error) error {
			var id uuid.UUID
			var n int
			err := scan(sqldb.ScanID(&id), &n)
			counts[id] = n
			return err
		})
	return counts, sqldb.WrapError(s.db, err, "count comments")
}

// UpdateComment changes the text of a comment on an event, and returns the comment.
func (s *Store) UpdateComment(ctx context.Context, projectID int64, event uuid.UUID, id, text string) (c comment.Comment, err error) {
	err = s.ChangeDocs(ctx, len(text), "update comment", func(ctx context.Context, tx *events.Commit) error {
		d, stored, err := s.holdComment(ctx, tx, projectID, event, id)
		if err != nil {
			return err
		}
		c = commentOf(d)
		c.EventID = stored
		c.Text = text
		d.Doc = c.Doc()
		err = comments.Update(ctx, tx, projectID, &d, s.options.Now(), tx.ID(stored))
		c.Updated = d.Updated
		return err
	})
	return c, err
}

// DeleteComment deletes a comment on an event.
func (s *Store) DeleteComment(ctx context.Context, projectID int64, event uuid.UUID, id string) error {
	return s.ChangeDocs(ctx, 0, "delete comment", func(ctx context.Context, tx *events.Commit) error {
		if _, _, err := s.holdComment(ctx, tx, projectID, event, id); err != nil {
			return err
		}
		return comments.remove(ctx, tx, projectID, id)
	})
}

// holdComment reads a comment on an event and keeps other writers from it until the transaction ends. stored is the id of the event, which
// may have been asked for by one that its session had before it moved.
func (s *Store) holdComment(ctx context.Context, tx *events.Commit, project int64, event uuid.UUID, id string) (d Document, stored uuid.UUID, err error) {
	if d, err = comments.getForUpdate(ctx, tx, project, id); err != nil {
		return d, stored, err
	}
	if _, err = sqldb.One(ctx, tx, `SELECT event_id FROM event_comment WHERE project_id = $1 AND id = $2`, []any{project, id}, sqldb.ScanID(&stored)); err != nil {
		return d, stored, err
	}
	if event != stored {
		if event, _, err = events.AliasOf(ctx, tx, project, event); err == nil && event != stored {
			err = comments.Missing(id)
		}
	}
	return d, stored, err
}

// EraseCommentsOf deletes the comments on events that are deleted, in the transaction that deletes the events.
func EraseCommentsOf(ctx context.Context, tx *events.Commit, project int64, list []uuid.UUID) error {
	cond, args := tx.AnyID("event_id", 2, list)
	n, err := tx.Exec(ctx, `DELETE FROM event_comment WHERE project_id = $1 AND `+cond, append([]any{project}, args...)...)
	if n > 0 {
		tx.Counts.Shrunk(project)
	}
	return err
}

// MoveComments moves the comments on the event of a session to that of the session to which its events move. An event may have more
// than comment.MaxEvent of them then, and gets no further ones.
func MoveComments(ctx context.Context, tx *events.Commit, project int64, from, to uuid.UUID) error {
	_, err := tx.Exec(ctx, `UPDATE event_comment SET event_id = $3 WHERE `+ofEvent, project, tx.ID(from), tx.ID(to))
	return err
}

func commentOf(d Document) comment.Comment {
	c := comment.FromDoc(d.Doc)
	c.ID, c.Created, c.Updated = d.ID, d.Created, d.Updated
	return c
}
