package store_test

import (
	"bytes"
	"context"
	"database/sql"
	"encoding/binary"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/spangrove/spangrove/pkg/column"
	"github.com/spangrove/spangrove/pkg/dataset"
	"github.com/spangrove/spangrove/pkg/event"
	"github.com/spangrove/spangrove/pkg/project"
	"github.com/spangrove/spangrove/pkg/query"
	"github.com/spangrove/spangrove/pkg/run"
	"github.com/spangrove/spangrove/pkg/store"
	"github.com/spangrove/spangrove/pkg/store/internal/events"
	"github.com/spangrove/spangrove/pkg/store/internal/record"
	"github.com/spangrove/spangrove/pkg/store/storetest"
)

// filesWith lists the files of a directory that contain a text, with how often.
func filesWith(t *testing.T, dir string, texts ...[]byte) (found []string) {
	t.Helper()
	files, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		data, err := os.ReadFile(filepath.Join(dir, f.Name()))
		if err != nil {
			t.Fatal(err)
		}
		for _, text := range texts {
			if n := bytes.Count(data, text); n > 0 {
				found = append(found, fmt.Sprintf("%s: %q %d times", f.Name(), text, n))
			}
		}
	}
	return found
}

// waitErased waits until the store has erased what was deleted. It seldom looks, since each look is
// a reader, and the log is cut when nobody reads.
func waitErased(t *testing.T, place sqlitePlace) {
	t.Helper()
	for end := time.Now().Add(5 * time.Minute); place.Count(t, `SELECT count(*) FROM setting WHERE name = 'erase'`)+place.Count(t, `SELECT count(*) FROM deletion`) > 0; {
		if time.Now().After(end) {
			t.Fatal("what was deleted is not erased")
		}
		time.Sleep(50 * time.Millisecond)
	}
}

// waitDeleted waits until no deletion is under way.
func waitDeleted(t *testing.T, place postgresPlace) {
	t.Helper()
	for end := time.Now().Add(5 * time.Minute); place.Count(t, `SELECT count(*) FROM deletion`) > 0; time.Sleep(10 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("what was to be deleted is still being deleted")
		}
	}
}

// marked returns a batch of events of many sizes that all carry a mark wherever an event can carry text.
func marked(mark string, session uuid.UUID, n int) []event.Incoming {
	var list []event.Incoming
	for i := range n {
		long := strings.Repeat(mark+" ", 1+i*i%700)
		e := event.Incoming{Event: event.Event{ID: uuid.New(), SessionID: session, Type: event.TypeTool, Name: fmt.Sprint("tool ", i%5, " ", mark), Source: mark,
			Metadata: fmt.Appendf(nil, `{"note":%q,"more":%q,%q:{"of %s":1},"dataset_id":"set %s"}`, long, mark, mark+fmt.Sprint(i%7), mark, mark), Inputs: fmt.Appendf(nil, `{"x":%q}`, long), Outputs: fmt.Appendf(nil, `%q`, mark),
			UserProperties: fmt.Appendf(nil, `{"user_id":%q}`, mark+fmt.Sprint(i)), Feedback: fmt.Appendf(nil, `{"note":%q}`, mark), Metrics: fmt.Appendf(nil, `{"said":%q}`, mark)}}
		if i%3 == 0 {
			e.Error = &long
		}
		e.Start = float64(time.Now().Add(-time.Hour).UnixMilli())
		e.Complete(time.Now())
		list = append(list, e)
	}
	return list
}

// Columns of segments hold the text of events, too: once what was deleted is erased, none of them is left, also if no segment has been
// built again.
func TestErasedFromSegments(t *testing.T) {
	t.Parallel()
	place := sqlitePlace{dir: t.TempDir()}
	s := place.Open(t, store.Options{})
	p, err := s.EnsureProject(t.Context(), "default")
	if err != nil {
		t.Fatal(err)
	}
	session := uuid.New()
	if err := s.Put(t.Context(), p.ID, event.Batch{Events: marked("Mm4rk3d", session, 20)}); err != nil {
		t.Fatal(err)
	}
	if err := s.Seal(t.Context()); err != nil {
		t.Fatal(err)
	}
	if n := place.Count(t, `SELECT count(*) FROM segment_column`); n == 0 {
		t.Fatal("the events are in no segment")
	}
	if err := s.DeleteSession(t.Context(), p.ID, session); err != nil {
		t.Fatal(err)
	}
	waitErased(t, place)
	if n := place.Count(t, `SELECT count(*) FROM segment_column`); n != 0 {
		t.Errorf("%d columns of deleted events are left", n)
	}
}

// indexesWith lists the parts of segments, headers, columns and indexes of words, that contain a text.
func indexesWith(t *testing.T, parts map[string][]byte, text string) (found []string) {
	t.Helper()
	if len(parts) == 0 {
		t.Fatal("there is no segment")
	}
	for name, data := range parts {
		raw, err := column.Open(data)
		if err != nil {
			t.Fatal(name, err)
		}
		if bytes.Contains(raw, []byte(text)) {
			found = append(found, name)
		}
	}
	slices.Sort(found)
	return found
}

// segmentParts selects what segments consist of, with a name of each.
const segmentParts = `SELECT 'header of ' || id, header FROM segment WHERE header IS NOT NULL
	UNION ALL SELECT 'column ' || number || ' of ' || segment_id, data FROM segment_column`

func (p sqlitePlace) segments(t *testing.T) map[string][]byte {
	t.Helper()
	db := p.db(t)
	defer func() { _ = db.Close() }()
	rows, err := db.QueryContext(t.Context(), segmentParts)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = rows.Close() }()
	parts := map[string][]byte{}
	for rows.Next() {
		var name string
		var data []byte
		if err := rows.Scan(&name, &data); err != nil {
			t.Fatal(err)
		}
		parts[name] = data
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	return parts
}

func (p postgresPlace) segments(t *testing.T) map[string][]byte {
	t.Helper()
	conn := p.conn(t)
	defer func() { _ = conn.Close(context.Background()) }()
	rows, err := conn.Query(t.Context(), segmentParts)
	if err != nil {
		t.Fatal(err)
	}
	parts := map[string][]byte{}
	var name string
	var data []byte
	if _, err := pgx.ForEachRow(rows, []any{&name, &data}, func() error {
		parts[name] = slices.Clone(data)
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	return parts
}

// segmentPlace is a place whose segments can be looked into.
type segmentPlace interface {
	storetest.Place
	segments(t *testing.T) map[string][]byte
}

func TestErasedFromIndexes(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name  string
		place func(t *testing.T) segmentPlace
	}{
		{"SQLite", func(t *testing.T) segmentPlace { return sqlitePlace{dir: t.TempDir()} }},
		{"PostgreSQL", func(t *testing.T) segmentPlace { return newPostgresPlace(t) }},
	} {
		t.Run(tt.name+"/payloads that expired", func(t *testing.T) {
			t.Parallel()
			erasedFromIndexes(t, tt.place(t), func(s *store.Store, projectID int64, _ []uuid.UUID) error {
				if _, err := s.ChangeRetention(t.Context(), projectID, func(r *project.Retention) error {
					days := 10.0
					return r.Set("payload_days", &days)
				}); err != nil {
					return err
				}
				return s.Retain(t.Context())
			})
		})
		t.Run(tt.name+"/an event of a session that stays", func(t *testing.T) {
			t.Parallel()
			erasedFromIndexes(t, tt.place(t), func(s *store.Store, projectID int64, events []uuid.UUID) error {
				for _, id := range events {
					if err := s.DeleteEvent(t.Context(), projectID, id); err != nil {
						return err
					}
				}
				return nil
			})
		})
	}
}

// erasedFromIndexes stores two events of 20 days ago with a mark in inputs, outputs and configuration, in two segments, and many others, has the text of the two removed,
// and looks for it in what segments consist of. The event of a session shows what its events have, and may be in another segment than these.
func erasedFromIndexes(t *testing.T, place segmentPlace, remove func(s *store.Store, projectID int64, events []uuid.UUID) error) {
	t.Helper()
	ok := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	s := place.Open(t, store.Options{})
	p, err := s.EnsureProject(t.Context(), "default")
	ok(err)
	before := float64(time.Now().AddDate(0, 0, -20).UnixMilli())
	old := func(e event.Event) event.Incoming {
		e.Start = before
		in := event.Incoming{Event: e}
		in.Complete(time.Now())
		return in
	}
	var sessions, marks []uuid.UUID
	put := func(list ...event.Incoming) {
		t.Helper()
		ok(s.Put(t.Context(), p.ID, event.Batch{Events: list}))
	}
	putMarked := func() {
		t.Helper()
		session := sessions[len(marks)]
		marks = append(marks, uuid.New())
		put(old(event.Event{ID: marks[len(marks)-1], SessionID: session, Type: event.TypeModel, Name: "call", Source: "test",
			Inputs: []byte(`{"q":"` + mark + `"}`), Outputs: []byte(`{"a":"` + mark + `"}`), Config: []byte(`{"template":"` + mark + `","` + mark + `":1}`)}))
	}
	for range 2 {
		sessions = append(sessions, uuid.New())
		put(old(event.Event{ID: sessions[len(sessions)-1], SessionID: sessions[len(sessions)-1], Type: event.TypeSession, Name: "chat", Source: "test"}))
	}
	putMarked()
	kept := marked("kept", uuid.New(), 1)
	for len(kept) < 1500 {
		more := kept[0]
		more.ID = uuid.New()
		kept = append(kept, more)
	}
	put(kept...)
	ok(s.Seal(t.Context()))
	putMarked()
	ok(s.Seal(t.Context()))
	ok(s.RebuildIndex(t.Context(), p.ID)) // so that the first segment has what the event of the second session shows now
	ok(s.Seal(t.Context()))
	if found := indexesWith(t, place.segments(t), mark); len(found) < 4 {
		t.Fatalf("before, the mark is in %q", found)
	}

	ok(remove(s, p.ID, marks))
	// The background may be building a segment that Seal would build, of how the rows were before.
	for end := time.Now().Add(time.Minute); ; time.Sleep(10 * time.Millisecond) {
		ok(s.Seal(t.Context()))
		found := indexesWith(t, place.segments(t), mark)
		if found == nil {
			break
		}
		if time.Now().After(end) {
			t.Fatalf("the mark is still in %q", found)
		}
	}
	for word, want := range map[string]int{mark: 0, "kept": len(kept) + 1} { // with the event of the session
		for _, field := range []string{"inputs", "outputs"} {
			filters, err := query.ParseFilters([]byte(`[{"field":"`+field+`","operator":"contains","type":"string","value":"`+word+`"}]`), "filters")
			ok(err)
			q := query.Search{Limit: 1, Page: 1, Filters: filters}
			for how, ctx := range map[string]context.Context{"segments": events.FromSegments(t.Context()), "rows": events.FromRows(t.Context())} {
				set, err := s.Search(ctx, p.ID, q)
				ok(err)
				if set.Total != want {
					t.Errorf("%d events have %s in their %s by %s, want %d", set.Total, word, field, how, want)
				}
			}
		}
	}
}

// Many updates split pages again and again, so that copies of rows stand in unused parts of pages.
func TestErasedFromFiles(t *testing.T) {
	t.Parallel()
	place := sqlitePlace{dir: t.TempDir()}
	s := place.Open(t, store.Options{})
	p, err := s.EnsureProject(t.Context(), "default")
	if err != nil {
		t.Fatal(err)
	}
	const mark = "Mm4rk3d"
	keep, session := uuid.New(), uuid.New()
	for range 12 {
		for _, batch := range [][]event.Incoming{marked("kept", keep, 40), marked(mark, session, 40)} {
			if err := s.Put(t.Context(), p.ID, event.Batch{Events: batch}); err != nil {
				t.Fatal(err)
			}
			for i := 0; i < len(batch); i += 3 {
				if _, err := s.Update(t.Context(), p.ID, event.Update{EventID: batch[i].ID, Metadata: batch[len(batch)-i-1].Metadata}); err != nil {
					t.Fatal(err)
				}
			}
		}
	}
	if len(filesWith(t, place.dir, []byte(mark))) == 0 {
		t.Fatal("the mark is in no file before the deletion")
	}
	if err := s.DeleteSession(t.Context(), p.ID, session); err != nil {
		t.Fatal(err)
	}
	waitErased(t, place)
	if found := filesWith(t, place.dir, []byte(mark)); found != nil {
		t.Errorf("after the deletion: %s", found)
	}
	if n := place.Count(t, `SELECT count(*) FROM event`); n != 12*40+1 {
		t.Errorf("%d events are left, want %d", n, 12*40+1)
	}
	if err := s.Close(context.Background()); err != nil {
		t.Fatal(err)
	}
	if n := place.Count(t, `SELECT count(*) FROM pragma_integrity_check WHERE integrity_check <> 'ok'`); n != 0 {
		t.Errorf("%d errors in the database", n)
	}
}

// A split of a page may leave a copy of a row in the page's unused part, where secure_delete does not
// look. Such copies go with the next deletion, and also if the process that should do it has ended.
func TestErasesCopiesThatSplitsLeft(t *testing.T) {
	t.Parallel()
	place := sqlitePlace{dir: t.TempDir()}
	s := place.Open(t, store.Options{})
	if _, err := s.EnsureProject(t.Context(), "default"); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	const mark = "Mm4rk3d"
	db := place.db(t)
	exec := func(text string, args ...any) {
		t.Helper()
		if _, err := db.ExecContext(t.Context(), text, args...); err != nil {
			t.Fatal(err)
		}
	}
	db.SetMaxOpenConns(1)
	// Rows deleted without being overwritten, in pages that are in use and in pages that are free.
	exec(`CREATE TABLE test_rows (k INTEGER PRIMARY KEY, v TEXT) STRICT`)
	exec(`BEGIN`)
	for n := range 3000 {
		exec(`INSERT INTO test_rows VALUES (?, ?)`, n, strings.Repeat(mark, 1+n%200))
	}
	exec(`COMMIT`)
	exec(`DELETE FROM test_rows WHERE k % 10 <> 0 AND k < 2000 OR k > 2500`)
	exec(`UPDATE test_rows SET v = 'clean'`)
	// A page with a copy in its unused part, and the first page likewise.
	for _, no := range []int{1, rootOf(t, db)} {
		var page []byte
		if err := db.QueryRowContext(t.Context(), `SELECT data FROM sqlite_dbpage WHERE pgno = ?`, no).Scan(&page); err != nil {
			t.Fatal(err)
		}
		head := 0
		if no == 1 {
			head = 100
		}
		copy(page[int(binary.BigEndian.Uint16(page[head+5:]))-len(mark):], mark)
		exec(`UPDATE sqlite_dbpage SET data = ? WHERE pgno = ?`, page, no)
	}
	exec(`INSERT INTO setting VALUES ('erase', '')`)
	exec(`PRAGMA wal_checkpoint(TRUNCATE)`)
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	if len(filesWith(t, place.dir, []byte(mark))) == 0 {
		t.Fatal("the mark is in no file before")
	}
	place.Open(t, store.Options{})
	waitErased(t, place)
	if found := filesWith(t, place.dir, []byte(mark)); found != nil {
		t.Error(found)
	}
	if n := place.Count(t, `SELECT count(*) FROM pragma_integrity_check WHERE integrity_check <> 'ok'`); n != 0 {
		t.Errorf("%d errors in the database", n)
	}
}

func rootOf(t *testing.T, db *sql.DB) (no int) {
	t.Helper()
	if err := db.QueryRowContext(t.Context(), `SELECT rootpage FROM sqlite_schema WHERE name = 'test_rows'`).Scan(&no); err != nil {
		t.Fatal(err)
	}
	return no
}

// What a process leaves of a deletion, the next finishes.
func TestErasureGoesOn(t *testing.T) {
	t.Parallel()
	const mark = "Mm4rk3d"
	place, next := sqlitePlace{dir: t.TempDir()}, sqlitePlace{dir: t.TempDir()}
	s := place.Open(t, store.Options{})
	p, err := s.EnsureProject(t.Context(), "default")
	if err != nil {
		t.Fatal(err)
	}
	for tries := 1; ; tries++ {
		if interrupted(t, place, s, p.ID, mark, next.dir) {
			break
		}
		if tries == 10 {
			t.Fatal("each deletion was over before its files were copied")
		}
	}
	next.Open(t, store.Options{})
	waitErased(t, next)
	if n := next.Count(t, `SELECT count(*) FROM event`); n != 0 {
		t.Errorf("%d events are left", n)
	}
	for _, place := range []sqlitePlace{place, next} {
		waitErased(t, place)
		if found := filesWith(t, place.dir, []byte(mark)); found != nil {
			t.Error(found)
		}
	}
}

// interrupted deletes a session and copies the files of the store to a directory as they are in the
// middle of it. It returns false if the deletion was over by then.
func interrupted(t *testing.T, place sqlitePlace, s *store.Store, projectID int64, mark, dir string) bool {
	t.Helper()
	session := uuid.New()
	for range 4 {
		if err := s.Put(t.Context(), projectID, event.Batch{Events: marked(mark, session, 400)}); err != nil {
			t.Fatal(err)
		}
	}
	deleting := make(chan error, 1)
	go func() { deleting <- s.DeleteSession(context.Background(), projectID, session) }()
	for place.Count(t, `SELECT count(*) FROM deletion WHERE kind = 'session'`) == 0 {
		if len(deleting) > 0 {
			if err := <-deleting; err != nil {
				t.Fatal(err)
			}
			return false // in one slice
		}
	}
	// While somebody reads, the log is not begun anew, so that it and the database, copied in this
	// order, are what a process that ends here leaves.
	db := place.db(t)
	defer func() { _ = db.Close() }()
	tx, err := db.BeginTx(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	var left int
	if err := tx.QueryRowContext(t.Context(), `SELECT count(*) FROM event WHERE name LIKE 'tool %'`).Scan(&left); err != nil {
		t.Fatal(err)
	}
	for _, f := range []string{"spangrove.db", "spangrove.db-wal"} {
		data, err := os.ReadFile(filepath.Join(place.dir, f))
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, f), data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := tx.Rollback(); err != nil {
		t.Fatal(err)
	}
	if err := <-deleting; err != nil {
		t.Fatal(err)
	}
	copied := sqlitePlace{dir: dir}
	return left > 0 && copied.Count(t, `SELECT count(*) FROM deletion WHERE kind = 'session'`) > 0
}

// rowsWith lists the columns of a PostgreSQL schema that contain a text, also in payloads.
func rowsWith(t *testing.T, place postgresPlace, mark string) (found []string) {
	t.Helper()
	conn := place.conn(t)
	defer func() { _ = conn.Close(context.Background()) }()
	columns, err := conn.Query(t.Context(), `SELECT table_name, column_name, data_type FROM information_schema.columns WHERE table_schema = current_schema()`)
	if err != nil {
		t.Fatal(err)
	}
	list, err := pgx.CollectRows(columns, pgx.RowToStructByPos[struct{ Table, Column, Type string }])
	if err != nil || len(list) == 0 {
		t.Fatal(err, len(list))
	}
	for _, c := range list {
		name := pgx.Identifier{c.Column}.Sanitize()
		if c.Type != "bytea" {
			name += "::text"
		}
		values, err := conn.Query(t.Context(), `SELECT `+name+` FROM `+pgx.Identifier{c.Table}.Sanitize()+` WHERE `+name+` IS NOT NULL`)
		if err != nil {
			t.Fatal(err)
		}
		texts, err := pgx.CollectRows(values, pgx.RowTo[[]byte])
		if err != nil {
			t.Fatal(err)
		}
		for _, text := range texts {
			raw := text
			if c.Type == "bytea" {
				raw = plainOf(text)
			}
			if bytes.Contains(raw, []byte(mark)) {
				found = append(found, c.Table+"."+c.Column)
				break
			}
		}
	}
	return found
}

// plainOf returns the text of a chunk or a pack; what is neither, as it is.
func plainOf(z []byte) []byte {
	if plain, err := record.Decompress(z); err == nil {
		return plain
	}
	if _, plain, err := record.DecompressPack(z); err == nil {
		return plain
	}
	return z
}

// chunksWith reports chunks and packs whose text has the mark.
func (p sqlitePlace) chunksWith(t *testing.T, mark string) (found []string) {
	t.Helper()
	db := p.db(t)
	defer func() { _ = db.Close() }()
	rows, err := db.QueryContext(t.Context(), `SELECT data FROM chunk`)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = rows.Close() }()
	for rows.Next() {
		var z []byte
		if err := rows.Scan(&z); err != nil {
			t.Fatal(err)
		}
		if bytes.Contains(plainOf(z), []byte(mark)) {
			found = append(found, fmt.Sprintf("a chunk of %d bytes", len(z)))
		}
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	return found
}

func TestPostgresErased(t *testing.T) {
	t.Parallel()
	place := newPostgresPlace(t)
	s := place.Open(t, store.Options{})
	session := func() { // chunks and rows are read: the test knows where the mark is to be
		if found := rowsWith(t, place, mark); !slices.Contains(found, "chunk.data") || !slices.Contains(found, "event.metadata") || !slices.Contains(found, "field_index.path") {
			t.Fatalf("before: %s", found)
		}
	}
	erasedEach(t, s, session, func() []string {
		waitDeleted(t, place)
		return rowsWith(t, place, mark)
	})
}

func TestErasedEach(t *testing.T) {
	t.Parallel()
	place := sqlitePlace{dir: t.TempDir()}
	s := place.Open(t, store.Options{})
	before := func() {
		if found := filesWith(t, place.dir, []byte(mark)); found == nil {
			t.Fatal("the mark is in no file before")
		}
	}
	erasedEach(t, s, before, func() []string {
		waitErased(t, place)
		return append(filesWith(t, place.dir, []byte(mark)), place.chunksWith(t, mark)...)
	})
}

// mark is the text that is looked for after deletions.
const mark = "Mm4rk3d"

// erasedEach deletes things that hold the mark, and looks for it after each. before is called when
// events hold it; found waits until deletions are done and gives the places where it still is.
func erasedEach(t *testing.T, s *store.Store, before func(), found func() []string) {
	t.Helper()
	p, err := s.EnsureProject(t.Context(), "default")
	if err != nil {
		t.Fatal(err)
	}
	ok := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	gone := func(what string) {
		t.Helper()
		if found := found(); found != nil {
			t.Errorf("after the deletion of %s: %s", what, found)
		}
	}
	session := uuid.New()
	batch := marked(mark, session, 30)
	ok(s.Put(t.Context(), p.ID, event.Batch{Events: batch}))
	before()
	for i := range 20 { // each by itself, out of chunks that they share
		ok(s.DeleteEvent(t.Context(), p.ID, batch[i].ID))
	}
	ok(s.DeleteSession(t.Context(), p.ID, session))
	gone("events and their session")

	// An event by itself, of a session that stays.
	one := marked(mark, session, 1)
	kept := marked("kept", session, 10)
	ok(s.Put(t.Context(), p.ID, event.Batch{Events: kept}))
	one[0].Metadata = []byte(`{"` + mark + `":{"` + mark + `":1}}`)
	ok(s.Put(t.Context(), p.ID, event.Batch{Events: one}))
	ok(s.DeleteEvent(t.Context(), p.ID, one[0].ID))
	gone("an event")
	list, err := s.FieldIndex(t.Context(), p.ID, query.Search{})
	ok(err)
	if !slices.Contains(list.Keys, event.Key{Type: event.TypeTool, Name: "tool 0 kept", Path: "metadata.kept0.of kept"}) || !slices.Contains(list.Datasets, "set kept") {
		t.Errorf("the field index lost what stays: %+v", list)
	}

	// Out of a pack that others share: an event, and the rest of its session.
	packed := marked(mark, uuid.New(), 8)
	for i := range packed {
		ok(s.Put(t.Context(), p.ID, event.Batch{Events: packed[i : i+1]}))
	}
	ok(s.Pack(t.Context()))
	ok(s.DeleteEvent(t.Context(), p.ID, packed[3].ID))
	ok(s.DeleteSession(t.Context(), p.ID, packed[0].SessionID))
	gone("a packed session")
	for i := range kept {
		if _, err := s.Event(t.Context(), p.ID, kept[i].ID); err != nil {
			t.Errorf("an event of the same pack: %v", err)
		}
	}

	runName := mark
	ofRun := marked("kept", uuid.New(), 3)
	r, err := s.CreateRun(t.Context(), p.ID, run.Update{Name: &runName, Metadata: []byte(`{"` + mark + `":1}`)})
	ok(err)
	for i := range ofRun {
		ofRun[i].Metadata = []byte(`{"run_id":"` + r.ID + `"}`)
	}
	ok(s.Put(t.Context(), p.ID, event.Batch{Events: ofRun}))
	ok(s.DeleteRun(t.Context(), p.ID, r.ID))
	gone("a run")

	point := dataset.Datapoint{Inputs: []byte(`{"x":"` + mark + `"}`)}
	point.Complete()
	ids, err := s.CreateDatapoints(t.Context(), p.ID, []dataset.Datapoint{point})
	ok(err)
	set, err := s.CreateDataset(t.Context(), p.ID, dataset.Dataset{Name: "d", Type: "evaluation", PipelineType: "event"}, ids)
	ok(err)
	_, err = s.UpdateDatapoint(t.Context(), p.ID, dataset.PointUpdate{ID: ids[0], Metadata: []byte(`{"y":"` + mark + `"}`)})
	ok(err)
	ok(s.DeleteDatapoint(t.Context(), p.ID, ids[0]))
	gone("a datapoint")

	name := mark
	_, err = s.UpdateDataset(t.Context(), p.ID, dataset.Update{ID: set, Name: &name})
	ok(err)
	_, err = s.UpdateDataset(t.Context(), p.ID, dataset.Update{ID: set, Description: &name})
	ok(err)
	ok(s.DeleteDataset(t.Context(), p.ID, set))
	gone("a dataset")

	other, err := s.CreateProject(t.Context(), project.Project{Name: "other", Description: mark})
	ok(err)
	ok(s.Put(t.Context(), other.ID, event.Batch{Events: marked(mark, uuid.New(), 30)}))
	done, err := s.DeleteProject(t.Context(), other.ID)
	ok(err)
	<-done
	gone("a project")
}
