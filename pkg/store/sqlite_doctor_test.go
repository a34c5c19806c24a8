package store

import (
	"database/sql"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/spangrove/spangrove/pkg/diagnosis"
	"github.com/spangrove/spangrove/pkg/event"
)

// openProject opens the store of a data directory, and makes a project in it if there is none.
func openProject(t *testing.T, dir string) (s *Store, project int64) {
	t.Helper()
	s, err := OpenSQLite(t.Context(), dir, Options{})
	if err != nil {
		t.Fatal(err)
	}
	p, err := s.EnsureProject(t.Context(), "p")
	if err != nil {
		t.Fatal(err)
	}
	return s, p.ID
}

// doctorDir makes a data directory with some events, and closes it.
func doctorDir(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	if err := os.Chmod(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	s, project := openProject(t, dir)
	for range 200 {
		if err := s.Put(t.Context(), project, oneEvent()); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	return dir
}

// foundIn returns what the doctor finds, as "severity check", but for free space.
func foundIn(t *testing.T, dir string, o DoctorOptions) (found []string) {
	t.Helper()
	report, err := DoctorSQLite(t.Context(), dir, o)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range report.Findings {
		if line := fmt.Sprint(f.Severity, " ", f.Check); f.Severity != diagnosis.OK && f.Check != "space" && !slices.Contains(found, line) {
			found = append(found, line)
		}
	}
	return found
}

// Files and the database's own structure.
func TestDoctorFiles(t *testing.T) {
	t.Parallel()
	dir := doctorDir(t)
	file := filepath.Join(dir, "spangrove.db")
	want := func(what string, want ...string) {
		t.Helper()
		if found := foundIn(t, dir, DoctorOptions{}); !slices.Equal(found, want) {
			t.Errorf("%s: found %q, want %q", what, found, want)
		}
	}
	want("nothing wrong")
	if err := os.Chmod(file, 0o644); err != nil {
		t.Fatal(err)
	}
	want("readable by others", "warn files")
	if err := os.Chmod(file, 0o600); err != nil {
		t.Fatal(err)
	}
	future := time.Now().Add(time.Hour)
	if err := os.Chtimes(file, future, future); err != nil {
		t.Fatal(err)
	}
	want("written in the future", "warn clock")
	now := time.Now()
	if err := os.Chtimes(file, now, now); err != nil {
		t.Fatal(err)
	}
	log := file + "-wal"
	if err := os.WriteFile(log, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(log, longLog); err != nil { // a hole; it is no log of this database
		t.Fatal(err)
	}
	want("a long log", "warn log")
	if err := os.Remove(log); err != nil {
		t.Fatal(err)
	}
	want("nothing wrong again")
}

const longLog = 1 << 30

// A page of an index that was overwritten is found, and nothing is made of it but a finding.
func TestDoctorIntegrity(t *testing.T) {
	t.Parallel()
	dir := doctorDir(t)
	file := filepath.Join(dir, "spangrove.db")
	before, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	page := rootOf(t, file, "event_start") - 1
	damaged := slices.Clone(before)
	copy(damaged[page*4096:], strings.Repeat("\x55", 4096))
	if err := os.WriteFile(file, damaged, 0o600); err != nil {
		t.Fatal(err)
	}
	found := foundIn(t, dir, DoctorOptions{})
	if !slices.Contains(found, "error integrity") {
		t.Errorf("found %q", found)
	}
	after, err := os.ReadFile(file)
	if err != nil || !slices.Equal(after, damaged) {
		t.Errorf("the file was changed (%v)", err)
	}
}

// The doctor reads beside a server, and mends only without one.
func TestDoctorHeld(t *testing.T) {
	t.Parallel()
	dir := doctorDir(t)
	s, err := OpenSQLite(t.Context(), dir, Options{})
	if err != nil {
		t.Fatal(err)
	}
	exec(t, dir, `UPDATE event_count SET count = count + 1`)
	if found := foundIn(t, dir, DoctorOptions{Full: true}); !slices.Equal(found, []string{"error counts"}) {
		t.Errorf("beside a server: found %q", found)
	}
	if _, err := DoctorSQLite(t.Context(), dir, DoctorOptions{Mend: true}); err == nil || !strings.Contains(err.Error(), "is in use by another process") {
		t.Errorf("mending beside a server: %v", err)
	}
	if err := s.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	if found := foundIn(t, dir, DoctorOptions{Mend: true}); len(found) > 0 {
		t.Errorf("left after mending: %q", found)
	}
	if _, err := DoctorSQLite(t.Context(), t.TempDir(), DoctorOptions{}); err == nil || !strings.Contains(err.Error(), "holds no database") {
		t.Errorf("an empty directory: %v", err)
	}
}

// The ids of a session are listed anew on all days, also where those of other days of it are found.
func TestDoctorIDsOfManyDays(t *testing.T) {
	t.Parallel()
	dir := doctorDir(t)
	s, project := openProject(t, dir)
	session := uuid.New()
	put := func(daysAgo int) {
		t.Helper()
		e := event.Incoming{Event: event.Event{ID: uuid.New(), SessionID: session, Type: event.TypeTool, Name: "a",
			Start: float64(time.Now().Add(time.Duration(-daysAgo) * 24 * time.Hour).UnixMilli())}}
		e.Complete(time.Now())
		if err := s.Put(t.Context(), project, event.Batch{Events: []event.Incoming{e}}); err != nil {
			t.Fatal(err)
		}
	}
	for daysAgo := range 6 {
		put(daysAgo)
	}
	put(300)
	if err := s.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	exec(t, dir, `DELETE FROM far_event`)
	if found := foundIn(t, dir, DoctorOptions{Full: true}); !slices.Equal(found, []string{"error ids"}) {
		t.Fatalf("found %q", found)
	}
	if found := foundIn(t, dir, DoctorOptions{Full: true, Mend: true}); len(found) > 0 {
		t.Errorf("left after mending: %q", found)
	}
}

// It also reads what a server left that was killed, and a directory that may not be written.
func TestDoctorReadOnly(t *testing.T) {
	t.Parallel()
	dir := doctorDir(t)
	s, project := openProject(t, dir)
	if err := s.Put(t.Context(), project, oneEvent()); err != nil {
		t.Fatal(err)
	}
	killed := t.TempDir()
	for _, name := range []string{"spangrove.db", "spangrove.db-wal"} {
		b, err := os.ReadFile(filepath.Join(dir, name))
		if err == nil {
			err = os.WriteFile(filepath.Join(killed, name), b, 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	for name, d := range map[string]string{"killed": killed, "not writable": dir} {
		if name == "killed" {
			if err := os.Chmod(d, 0o700); err != nil {
				t.Fatal(err)
			}
		} else {
			if err := os.Chmod(d, 0o500); err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = os.Chmod(d, 0o700) })
		}
		before := listing(t, d)
		if found := foundIn(t, d, DoctorOptions{Full: true}); len(found) > 0 {
			t.Errorf("%s: found %q", name, found)
		}
		for file, b := range before {
			after, err := os.ReadFile(filepath.Join(d, file))
			if err != nil || string(after) != b {
				t.Errorf("%s: %s was changed (%v)", name, file, err)
			}
		}
	}
}

func listing(t *testing.T, dir string) map[string]string {
	t.Helper()
	files := map[string]string{}
	for _, name := range []string{"spangrove.db", "spangrove.db-wal"} {
		if b, err := os.ReadFile(filepath.Join(dir, name)); err == nil {
			files[name] = string(b)
		}
	}
	return files
}

func openFile(t *testing.T, file string) *sql.DB {
	t.Helper()
	db, err := sql.Open("sqlite", "file:"+file+"?_pragma=busy_timeout(5000)")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	return db
}

func exec(t *testing.T, dir, text string) {
	t.Helper()
	db := openFile(t, filepath.Join(dir, "spangrove.db"))
	if _, err := db.ExecContext(t.Context(), text); err != nil {
		t.Fatal(err)
	}
	_ = db.Close()
}

// rootOf returns the first page of an index, counted from 1.
func rootOf(t *testing.T, file, index string) (page int) {
	t.Helper()
	db := openFile(t, file)
	if err := db.QueryRowContext(t.Context(), `SELECT rootpage FROM sqlite_schema WHERE name = ?`, index).Scan(&page); err != nil {
		t.Fatal(err)
	}
	_ = db.Close()
	return page
}
