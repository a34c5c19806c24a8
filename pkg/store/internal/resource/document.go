package resource

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/spangrove/spangrove/pkg/fault"
	"github.com/spangrove/spangrove/pkg/store/internal/events"
	"github.com/spangrove/spangrove/pkg/store/internal/sqldb"
)

// Document is a row of a document table: what is not telemetry, such as a dataset, is one JSON
// text that its noun's package reads and writes, plus what all documents have in common. A new field of a noun is a new member
// of the text and needs no migration, unless lists go by it.
type Document struct {
	ID      string
	Version int64 // from 1, one more with each change
	Created int64 // Unix milliseconds
	Updated int64 // of the last change; 0: there was none
	Doc     json.RawMessage
}

// since is when the version of the document was made.
func (d *Document) since() int64 { return max(d.Created, d.Updated) }

// Documents is a table of documents. Every such table has the columns project_id, id, version,
// created_ms, updated_ms and doc, the key (project_id, id), and besides the columns that are
// searched or sorted by, whose values the noun's file hands over in the order they have here. A column repeats what the
// text says, so Insert and Update write both.
type Documents struct {
	Table   string
	Noun    string // as messages call it
	Columns []string
}

// Insert stores a new document. fault.Conflict if its id is taken; nothing is written then.
func (t Documents) Insert(ctx context.Context, tx *events.Commit, project int64, d Document, columns ...any) error {
	n, err := events.InsertRows(ctx, tx, t.Table, t.key(), [][]any{t.row(project, d, columns)})
	if err == nil && n == 0 {
		err = fault.New(fault.Conflict, "%s %s already exists", t.Noun, d.ID)
	}
	return err
}

func (t Documents) key() []string {
	return append([]string{"project_id", "id", "version", "created_ms", "updated_ms", "doc"}, t.Columns...)
}

func (t Documents) row(project int64, d Document, columns []any) []any {
	return append([]any{project, d.ID, d.Version, d.Created, d.Updated, string(d.Doc)}, columns...)
}

// One returns a document. fault.NotFound if there is none.
func (t Documents) One(ctx context.Context, c sqldb.Conn, project int64, id string) (Document, error) {
	return t.read(ctx, c, project, id, "")
}

// getForUpdate reads a document and keeps other writers from it until the transaction ends. A document that is not there
// cannot be held: of two servers that then insert it, one gets a conflict. By then the other's is there to be read.
func (t Documents) getForUpdate(ctx context.Context, c sqldb.Conn, project int64, id string) (Document, error) {
	return t.read(ctx, c, project, id, c.ForUpdate(""))
}

func (t Documents) read(ctx context.Context, c sqldb.Conn, project int64, id, end string) (Document, error) {
	d := Document{ID: id}
	var doc string
	ok, err := sqldb.One(ctx, c, `SELECT version, created_ms, updated_ms, doc FROM `+t.Table+` WHERE project_id = $1 AND id = $2`+end,
		[]any{project, id}, &d.Version, &d.Created, &d.Updated, &doc)
	if err == nil && !ok {
		err = t.Missing(id)
	}
	d.Doc = json.RawMessage(doc)
	return d, err
}

// Missing returns the error that there is no document of this id.
func (t Documents) Missing(id string) error {
	return fault.New(fault.NotFound, "no %s %.60q", t.Noun, id)
}

// LockBound keeps all other servers from adding to a project's documents of a kind until the transaction ends, where those that add
// to them call it, too: how many there may be is counted after it. Within a server the changes of documents follow one another anyway.
func LockBound(ctx context.Context, tx *events.Commit, project int64, t Documents) error {
	return tx.Lock(ctx, fmt.Sprintf("%s %d", t.Table, project))
}

// Update stores a document that was held, with the next version and the time of the change. The time never goes back, also if the
// server's clock does. What the version before took is counted off by the next count of the project's rows (events/usage.go).
func (t Documents) Update(ctx context.Context, tx *events.Commit, project int64, d *Document, now time.Time, columns ...any) error {
	d.Version++
	d.Updated = max(now.UnixMilli(), d.since())
	return t.amend(ctx, tx, project, d, columns...)
}

// amend is Update without a version or a time of its own: for what is no part of a version.
func (t Documents) amend(ctx context.Context, tx *events.Commit, project int64, d *Document, columns ...any) error {
	// Placeholders from $6 on: the first five are the same for every table.
	set := ""
	for i, c := range t.Columns {
		set += fmt.Sprintf(", %s = $%d", c, 6+i)
	}
	tx.Counts.Replaced(project, int64(len(d.Doc)))
	_, err := tx.Exec(ctx, `UPDATE `+t.Table+` SET version = $3, updated_ms = $4, doc = $5`+set+` WHERE project_id = $1 AND id = $2`,
		append([]any{project, d.ID, d.Version, d.Updated, string(d.Doc)}, columns...)...)
	return err
}

// remove deletes a document, and nothing that belongs to it (see deleteDocument). fault.NotFound if there is none. The text is
// erased from the files later: Deleted asks for that.
func (t Documents) remove(ctx context.Context, tx *events.Commit, project int64, id string) error {
	tx.Counts.Shrunk(project)
	n, err := tx.Exec(ctx, `DELETE FROM `+t.Table+` WHERE project_id = $1 AND id = $2`, project, id)
	if err == nil && n == 0 {
		err = t.Missing(id)
	}
	if err == nil {
		err = tx.Deleted(ctx)
	}
	return err
}

// Find lists the ids of the documents of a project that meet cond, oldest first, a page of them,
// and the number of all that do. cond follows AND, if it is not empty; its arguments are
// numbered from $2. page counts from 1. The count and the page are two statements, between which others may write. Ids alone are
// returned: callers load the documents of a page in parts, so that a long list never stands in memory.
func (t Documents) Find(ctx context.Context, c sqldb.Conn, project int64, cond string, args []any, limit, page int) (
	ids []string, total int, err error) {
	all := append([]any{project}, args...)
	where := ` FROM ` + t.Table + ` WHERE project_id = $1`
	if cond != "" {
		where += ` AND ` + cond
	}
	if _, err := sqldb.One(ctx, c, `SELECT count(*)`+where, all, &total); err != nil {
		return nil, 0, err
	}
	tail := fmt.Sprintf(` ORDER BY created_ms, id LIMIT $%d OFFSET $%d`, len(all)+1, len(all)+2)
	err = sqldb.Each(ctx, c, `SELECT id`+where+tail, append(all, limit, (page-1)*limit), func(scan func(...any) error) error {
		var id string
		err := scan(&id)
		ids = append(ids, id)
		return err
	})
	return ids, total, err
}

// load reads documents in the order of ids. Those that are not there are left out. All of them
// stand in memory, so callers ask for a part of a list at a time.
func (t Documents) load(ctx context.Context, c sqldb.Conn, project int64, ids []string) ([]Document, error) {
	found := make(map[string]Document, len(ids))
	for group := range slices.Chunk(ids, sqldb.IDsPerQuery) {
		cond, args := c.AnyText("id", 2, group)
		err := sqldb.Each(ctx, c, `SELECT id, version, created_ms, updated_ms, doc FROM `+t.Table+` WHERE project_id = $1 AND `+cond,
			append([]any{project}, args...), func(scan func(...any) error) error {
				var d Document
				var doc string
				err := scan(&d.ID, &d.Version, &d.Created, &d.Updated, &doc)
				d.Doc = json.RawMessage(doc)
				found[d.ID] = d
				return err
			})
		if err != nil {
			return nil, err
		}
	}
	list := make([]Document, 0, len(ids))
	for _, id := range ids {
		if d, ok := found[id]; ok {
			list = append(list, d)
		}
	}
	return list, nil
}

// ChangeDocs runs f in a transaction, alone or together with other changes. A *fault.Error that f returns
// is the answer to this call alone, so f checks all before it writes anything: other requests may share the transaction, and
// what f wrote before it refused would be committed with theirs. size is about how many bytes f has to write.
func (s *Store) ChangeDocs(ctx context.Context, size int, op string, f func(ctx context.Context, tx *events.Commit) error) error {
	return sqldb.WrapError(s.db, s.events.Change(ctx, 0, uuid.Nil, int64(size), f), op)
}
