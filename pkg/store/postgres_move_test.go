package store_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/spangrove/spangrove/pkg/dataset"
	"github.com/spangrove/spangrove/pkg/diagnosis"
	"github.com/spangrove/spangrove/pkg/event"
	"github.com/spangrove/spangrove/pkg/store"
)

// TestPostgresMoveToPostgres moves a schema into another one, where partitions and sequences are made anew.
func TestPostgresMoveToPostgres(t *testing.T) {
	t.Parallel()
	from, to := newPostgresPlace(t), newPostgresPlace(t)
	s := from.Open(t, store.Options{})
	p, err := s.EnsureProject(t.Context(), "p")
	if err != nil {
		t.Fatal(err)
	}
	var ids []uuid.UUID
	put := func(s *store.Store, day int) {
		t.Helper()
		at := time.Now().AddDate(0, 0, -day)
		e := event.Incoming{Event: event.Event{ID: uuid.New(), SessionID: uuid.New(), Type: event.TypeTool, Name: "a", Inputs: []byte(`{"q":"text"}`), Start: float64(at.UnixMilli())}}
		e.Complete(at)
		puts(t, s, p.ID)(event.Batch{Events: []event.Incoming{e}})
		ids = append(ids, e.ID)
	}
	for _, day := range []int{0, 40, 80, 400, 3000} {
		put(s, day)
	}
	r, err := store.MovePostgres(t.Context(), from.dsn, to.dsn, store.MoveOptions{})
	if err != nil || !r.Moved || len(r.Days) != 5 {
		t.Fatalf("%+v, %v", r, err)
	}
	s = to.Open(t, store.Options{})
	put(s, 0)
	put(s, 120)
	for _, id := range ids {
		if e, err := s.Event(t.Context(), p.ID, id); err != nil || string(e.Inputs) != `{"q":"text"}` {
			t.Errorf("%s: %v, %v", id, e, err)
		}
	}
}

// putTools stores some events of the same session.
func putTools(t *testing.T, s *store.Store, n int) {
	t.Helper()
	p, err := s.EnsureProject(t.Context(), "p")
	if err != nil {
		t.Fatal(err)
	}
	session := uuid.New()
	var list []event.Incoming
	for range n {
		e := event.Incoming{Event: event.Event{ID: uuid.New(), SessionID: session, Type: event.TypeTool, Name: "a", Inputs: []byte(`{"q":"text"}`), Start: float64(time.Now().UnixMilli())}}
		e.Complete(time.Now())
		list = append(list, e)
	}
	puts(t, s, p.ID)(event.Batch{Events: list})
}

// TestPostgresMoveEndsLate has a move into a data directory fail in its last step, which gives the database its place, and goes on with it.
func TestPostgresMoveEndsLate(t *testing.T) {
	t.Parallel()
	from, dir := newPostgresPlace(t), t.TempDir()
	s := from.Open(t, store.Options{})
	putTools(t, s, 10)
	var reader *sql.DB
	defer func() {
		if reader != nil {
			_ = reader.Close()
		}
	}()
	_, err := store.MovePostgresToSQLite(t.Context(), from.dsn, dir, store.MoveOptions{Progress: func(what string, _, _ int64) {
		if what != "switch" {
			return
		}
		// Somebody reads the new database, whose log cannot be copied back for as long.
		var err error
		if reader, err = sql.Open("sqlite", "file:"+filepath.Join(dir, "unfinished-move", "spangrove.db")+"?mode=ro"); err != nil {
			t.Error(err)
			return
		}
		reader.SetMaxOpenConns(1)
		var n int
		if _, err := reader.ExecContext(t.Context(), "BEGIN"); err != nil {
			t.Error(err)
		}
		if err := reader.QueryRowContext(t.Context(), "SELECT count(*) FROM event").Scan(&n); err != nil {
			t.Error(err)
		}
	}})
	if err == nil || !strings.Contains(err.Error(), "in use by another process") {
		t.Fatalf("a move whose database is read meanwhile: %v", err)
	}
	if err := reader.Close(); err != nil {
		t.Fatal(err)
	}
	reader = nil
	r, err := store.MovePostgresToSQLite(t.Context(), from.dsn, dir, store.MoveOptions{})
	if err != nil || !r.Moved {
		t.Fatalf("it does not go on: %+v, %v", r, err)
	}
	to := sqlitePlace{dir: dir}
	if n := to.Count(t, "SELECT count(*) FROM event WHERE type <> 4"); n != 10 {
		t.Errorf("%d events are there, want 10", n)
	}
	if n := to.Count(t, "SELECT count(*) FROM sqlite_schema WHERE name GLOB 'spangrove_move*'"); n != 0 {
		t.Errorf("%d things of the move are left", n)
	}
	report, err := to.Doctor(t, store.DoctorOptions{Full: true})
	if err != nil || report.Worst() == diagnosis.Error {
		t.Errorf("what the doctor finds: %+v, %v", report, err)
	}
}

// TestPostgresMoveAfterDeletions moves a store into a data directory of which sessions were deleted before their payloads were packed.
func TestPostgresMoveAfterDeletions(t *testing.T) {
	t.Parallel()
	from, dir := newPostgresPlace(t), t.TempDir()
	s := from.Open(t, store.Options{PackAfter: -1})
	p, err := s.EnsureProject(t.Context(), "p")
	if err != nil {
		t.Fatal(err)
	}
	const sessions = 16 // of which every second one is deleted
	for i := range sessions {
		e := event.Incoming{Event: event.Event{ID: uuid.New(), SessionID: uuid.New(), Type: event.TypeTool, Name: "a", Inputs: []byte(`{"q":"text"}`)}}
		e.Complete(time.Now())
		puts(t, s, p.ID)(event.Batch{Events: []event.Incoming{e}})
		if i%2 == 0 {
			if err := s.DeleteSession(t.Context(), p.ID, e.SessionID); err != nil {
				t.Fatal(err)
			}
		}
	}
	if n := from.Count(t, "SELECT count(*) FROM unpacked"); n != sessions {
		t.Fatalf("%d sessions wait for the packer, want %d", n, sessions)
	}
	r, err := store.MovePostgresToSQLite(t.Context(), from.dsn, dir, store.MoveOptions{})
	if err != nil || !r.Moved {
		t.Fatalf("%+v, %v", r, err)
	}
	to := sqlitePlace{dir: dir}
	if n := to.Count(t, "SELECT count(*) FROM unpacked"); n != sessions/2 {
		t.Errorf("%d sessions wait for the packer, want %d", n, sessions/2)
	}
	if n := to.Count(t, "SELECT count(*) FROM unpacked AS u JOIN session AS s ON s.session_rowid = u.session"); n != sessions/2 {
		t.Errorf("%d of them are there, want %d", n, sessions/2)
	}
}

// TestMoveTwiceAtOnce begins a move a second time while the first one is under way, as somebody does whose terminal is gone.
func TestMoveTwiceAtOnce(t *testing.T) {
	t.Parallel()
	from, to := sqlitePlace{dir: t.TempDir()}, newPostgresPlace(t)
	s := from.Open(t, store.Options{})
	putTools(t, s, 10)
	tried, waits := false, ""
	r, err := store.MoveSQLite(t.Context(), from.dir, to.dsn, store.MoveOptions{Progress: func(what string, _, _ int64) {
		if tried || !strings.HasPrefix(what, "compare: ") {
			return
		}
		tried = true
		putTools(t, s, 3)
		ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
		defer cancel()
		r, err := store.MoveSQLite(ctx, from.dir, to.dsn, store.MoveOptions{Progress: func(what string, _, _ int64) { waits = what }})
		if !errors.Is(err, context.DeadlineExceeded) || !strings.Contains(waits, "another move") {
			t.Errorf("a second move at the same time: %+v, %v; it tells %q", r, err, waits)
		}
	}})
	if err != nil || !r.Moved {
		t.Fatalf("the first move: %+v, %v", r, err)
	}
	if n := to.Count(t, "SELECT count(*) FROM event WHERE type <> 4"); n != 13 {
		t.Errorf("%d events are there, want 13", n)
	}
}

// TestPostgresUnfinished moves and examines a store that a restore was not done with.
func TestPostgresUnfinished(t *testing.T) {
	t.Parallel()
	from, to := newPostgresPlace(t), newPostgresPlace(t)
	s := from.Open(t, store.Options{})
	putTools(t, s, 10)
	dir := t.TempDir()
	if _, err := store.BackupPostgres(t.Context(), from.dsn, dir, store.BackupOptions{}); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	if _, err := store.RestorePostgres(ctx, dir, "", to.dsn, func(what string, _, _ int64) {
		if strings.HasPrefix(what, "comparing") {
			cancel()
		}
	}); err == nil {
		t.Fatal("the restore was not interrupted")
	}
	if r, err := store.MovePostgresToSQLite(t.Context(), to.dsn, t.TempDir(), store.MoveOptions{}); err == nil || !strings.Contains(err.Error(), "not finished") {
		t.Errorf("a move of a store that is not finished: %+v, %v", r, err)
	}
	report, err := to.Doctor(t, store.DoctorOptions{Full: true})
	if err != nil {
		t.Fatal(err)
	}
	if report.Worst() != diagnosis.Error || !slices.ContainsFunc(report.Findings, func(f diagnosis.Finding) bool { return strings.Contains(f.Text, "not finished") }) {
		t.Errorf("what the doctor finds: %+v", report.Findings)
	}
}

// TestMoveOfStagedRows moves a store whose server was killed in the middle of a large change of a dataset: the next one must not publish what that has left.
func TestMoveOfStagedRows(t *testing.T) {
	t.Parallel()
	from, to := sqlitePlace{dir: t.TempDir()}, newPostgresPlace(t)
	s := from.Open(t, store.Options{})
	p, err := s.EnsureProject(t.Context(), "p")
	if err != nil {
		t.Fatal(err)
	}
	list := make([]dataset.Datapoint, 3)
	for i := range list {
		list[i].Complete()
	}
	points, err := s.CreateDatapoints(t.Context(), p.ID, list)
	if err != nil {
		t.Fatal(err)
	}
	name := "set"
	set, err := s.CreateDataset(t.Context(), p.ID, dataset.New(&dataset.Update{Name: &name}), points[:2])
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	// As resource.datasetChange writes them before its last transaction: the first datapoint goes, and the third comes.
	from.Exec(t, fmt.Sprintf(`INSERT INTO deletion(project_id, kind, id) VALUES (%d, 'staged rows', '%s')`, p.ID, set))
	from.Exec(t, fmt.Sprintf(`UPDATE dataset_row SET to_version = from_version + 1 WHERE datapoint_id = '%s'`, points[0]))
	from.Exec(t, fmt.Sprintf(`INSERT INTO dataset_row(project_id, dataset_id, pos, from_version, datapoint_id, datapoint_version)
		SELECT project_id, dataset_id, max(pos) + 1, max(from_version) + 1, '%s', 1 FROM dataset_row`, points[2]))
	if _, err := store.MoveSQLite(t.Context(), from.dir, to.dsn, store.MoveOptions{}); err != nil {
		t.Fatal(err)
	}
	s = to.Open(t, store.Options{})
	if err := s.RemoveRow(t.Context(), p.ID, set, points[1]); err != nil {
		t.Fatal(err)
	}
	now, err := s.Dataset(t.Context(), p.ID, set, 0)
	if err != nil {
		t.Fatal(err)
	}
	ids, err := s.DatapointIDs(t.Context(), p.ID, set, now.Version)
	if err != nil || !slices.Equal(ids, points[:1]) {
		t.Errorf("without its second datapoint the dataset has %q, want %q; %v", ids, points[:1], err)
	}
}
