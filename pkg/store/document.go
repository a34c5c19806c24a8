package store

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/spangrove/spangrove/pkg/fault"
)

// document is a row of a document table: what is not telemetry, such as a dataset, is one JSON
// text that its noun's package reads and writes, plus what all documents have in common.
type document struct {
	id      string
	version int64 // from 1, one more with each change
	created int64 // Unix milliseconds
	updated int64 // of the last change; 0: there was none
	doc     json.RawMessage
}

// since is when the version of the document was made.
func (d *document) since() int64 { return max(d.created, d.updated) }

// documents is a table of documents. Every such table has the columns project_id, id, version,
// created_ms, updated_ms and doc, the key (project_id, id), and besides the columns that are
// searched or sorted by, whose values the noun's file hands over in the order they have here.
type documents struct {
	table   string
	noun    string // as messages call it
	columns []string
}

// insert stores a new document. fault.Conflict if its id is taken; nothing is written then.
func (t documents) insert(ctx context.Context, tx *commit, project int64, d document, columns ...any) error {
	n, err := insertRows(ctx, tx, t.table, t.key(), [][]any{t.row(project, d, columns)})
	if err == nil && n == 0 {
		err = fault.New(fault.Conflict, "%s %s already exists", t.noun, d.id)
	}
	return err
}

func (t documents) key() []string {
	return append([]string{"project_id", "id", "version", "created_ms", "updated_ms", "doc"}, t.columns...)
}

func (t documents) row(project int64, d document, columns []any) []any {
	return append([]any{project, d.id, d.version, d.created, d.updated, string(d.doc)}, columns...)
}

// one returns a document. fault.NotFound if there is none.
func (t documents) one(ctx context.Context, c conn, project int64, id string) (document, error) {
	return t.read(ctx, c, project, id, "")
}

// getForUpdate reads a document and keeps other writers from it until the transaction ends.
func (t documents) getForUpdate(ctx context.Context, c conn, project int64, id string) (document, error) {
	return t.read(ctx, c, project, id, c.forUpdate(""))
}

func (t documents) read(ctx context.Context, c conn, project int64, id, end string) (document, error) {
	d := document{id: id}
	var doc string
	ok, err := one(ctx, c, `SELECT version, created_ms, updated_ms, doc FROM `+t.table+` WHERE project_id = $1 AND id = $2`+end,
		[]any{project, id}, &d.version, &d.created, &d.updated, &doc)
	if err == nil && !ok {
		err = t.missing(id)
	}
	d.doc = json.RawMessage(doc)
	return d, err
}

func (t documents) missing(id string) error {
	return fault.New(fault.NotFound, "no %s %.60q", t.noun, id)
}

// update stores a document that was held, with the next version and the time of the change.
func (t documents) update(ctx context.Context, tx *commit, project int64, d *document, now time.Time, columns ...any) error {
	d.version++
	d.updated = max(now.UnixMilli(), d.since())
	set := ""
	for i, c := range t.columns {
		set += fmt.Sprintf(", %s = $%d", c, 6+i)
	}
	tx.counts.stored(project, int64(len(d.doc))) // the version before is counted off later
	_, err := tx.exec(ctx, `UPDATE `+t.table+` SET version = $3, updated_ms = $4, doc = $5`+set+` WHERE project_id = $1 AND id = $2`,
		append([]any{project, d.id, d.version, d.updated, string(d.doc)}, columns...)...)
	return err
}

// remove deletes a document. fault.NotFound if there is none.
func (t documents) remove(ctx context.Context, tx *commit, project int64, id string) error {
	tx.counts.shrunk(project)
	n, err := tx.exec(ctx, `DELETE FROM `+t.table+` WHERE project_id = $1 AND id = $2`, project, id)
	if err == nil && n == 0 {
		err = t.missing(id)
	}
	if err == nil {
		err = tx.deleted(ctx)
	}
	return err
}

// find lists the ids of the documents of a project that meet cond, oldest first, a page of them,
// and the number of all that do. cond follows AND, if it is not empty; its arguments are
// numbered from $2. page counts from 1.
func (t documents) find(ctx context.Context, c conn, project int64, cond string, args []any, limit, page int) (
	ids []string, total int, err error) {
	all := append([]any{project}, args...)
	where := ` FROM ` + t.table + ` WHERE project_id = $1`
	if cond != "" {
		where += ` AND ` + cond
	}
	if _, err := one(ctx, c, `SELECT count(*)`+where, all, &total); err != nil {
		return nil, 0, err
	}
	tail := fmt.Sprintf(` ORDER BY created_ms, id LIMIT $%d OFFSET $%d`, len(all)+1, len(all)+2)
	err = each(ctx, c, `SELECT id`+where+tail, append(all, limit, (page-1)*limit), func(scan func(...any) error) error {
		var id string
		err := scan(&id)
		ids = append(ids, id)
		return err
	})
	return ids, total, err
}

// load reads documents in the order of ids. Those that are not there are left out. All of them
// stand in memory, so callers ask for a part of a list at a time.
func (t documents) load(ctx context.Context, c conn, project int64, ids []string) ([]document, error) {
	found := make(map[string]document, len(ids))
	for group := range slices.Chunk(ids, idsPerQuery) {
		cond, args := c.anyText("id", 2, group)
		err := each(ctx, c, `SELECT id, version, created_ms, updated_ms, doc FROM `+t.table+` WHERE project_id = $1 AND `+cond,
			append([]any{project}, args...), func(scan func(...any) error) error {
				var d document
				var doc string
				err := scan(&d.id, &d.version, &d.created, &d.updated, &doc)
				d.doc = json.RawMessage(doc)
				found[d.id] = d
				return err
			})
		if err != nil {
			return nil, err
		}
	}
	list := make([]document, 0, len(ids))
	for _, id := range ids {
		if d, ok := found[id]; ok {
			list = append(list, d)
		}
	}
	return list, nil
}

// changeDocs runs f in a transaction, alone or together with other changes. A *fault.Error that f returns
// is the answer to this call alone, so f checks all before it writes anything.
func (s *Store) changeDocs(ctx context.Context, size int, op string, f func(ctx context.Context, tx *commit) error) error {
	return wrapDBError(s.db, s.change(ctx, 0, uuid.Nil, int64(size), f), op)
}
