package resource

import (
	"context"
	"encoding/json"

	"github.com/spangrove/spangrove/pkg/store/internal/events"
	"github.com/spangrove/spangrove/pkg/store/internal/sqldb"
)

// collection is a table of documents of one noun, T. It creates, lists, reads, changes and deletes them where the noun
// has no rules of its own about that: a noun that has some, such as versions, uses the table below.
//
// T is made of its document anew by each read. decode must take whatever an earlier release has written.
type collection[T any] struct {
	Documents
	many   string // the noun's plural, for the texts of errors
	decode func(doc json.RawMessage) T
	stamp  func(t *T, d *Document) // sets what stands in the row: id, times, version
}

// of returns the noun that a document holds.
func (c *collection[T]) of(d Document) T {
	t := c.decode(d.Doc)
	c.stamp(&t, &d)
	return t
}

// create stores a new document under an id of its own, and returns it also if that fails. columns are the values of the
// table's further columns.
func (c *collection[T]) create(
	ctx context.Context,
	s *Store,
	op string,
	project int64,
	doc json.RawMessage,
	columns ...any,
) (Document, error) {
	now := s.options.Now()
	d := Document{ID: NewDocumentID(now), Version: 1, Created: now.UnixMilli(), Doc: doc}
	return d, s.ChangeDocs(ctx, len(doc), op+" "+c.Noun, func(ctx context.Context, tx *events.Commit) error {
		return c.Insert(ctx, tx, project, d, columns...)
	})
}

// find is Documents.Find outside a transaction.
func (c *collection[T]) find(ctx context.Context, s *Store, project int64, cond string, args []any, limit, page int) (
	ids []string, total int, err error) {
	ids, total, err = c.Find(ctx, s.db, project, cond, args, limit, page)
	return ids, total, sqldb.WrapError(s.db, err, "find "+c.many)
}

// list reads documents in the order of ids. Those that are not there are left out.
func (c *collection[T]) list(ctx context.Context, s *Store, project int64, ids []string) ([]T, error) {
	docs, err := c.load(ctx, s.db, project, ids)
	list := make([]T, len(docs))
	for i, d := range docs {
		list[i] = c.of(d)
	}
	return list, sqldb.WrapError(s.db, err, "read "+c.many)
}

// change holds a document, lets edit change what it holds, and stores the text that edit returns as its next version. An
// error of edit changes nothing. The noun is returned as edit left it, also with an error. size is about how many
// bytes the change brings.
func (c *collection[T]) change(
	ctx context.Context,
	s *Store,
	project int64,
	id string,
	size int,
	edit func(*T) (json.RawMessage, error),
) (t T, err error) {
	err = s.ChangeDocs(ctx, size, "update "+c.Noun, func(ctx context.Context, tx *events.Commit) error {
		d, err := c.getForUpdate(ctx, tx, project, id)
		if err != nil {
			return err
		}
		t = c.of(d)
		if d.Doc, err = edit(&t); err != nil {
			return err
		}
		err = c.Update(ctx, tx, project, &d, s.options.Now())
		c.stamp(&t, &d)
		return err
	})
	return t, err
}

// delete deletes a document that nothing else belongs to.
func (c *collection[T]) delete(ctx context.Context, s *Store, project int64, id string) error {
	return s.ChangeDocs(ctx, 0, "delete "+c.Noun, func(ctx context.Context, tx *events.Commit) error {
		return c.remove(ctx, tx, project, id)
	})
}
