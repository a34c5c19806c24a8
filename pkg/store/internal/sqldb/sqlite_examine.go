package sqldb

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spangrove/spangrove/pkg/diagnosis"
)

// Bounds of what the doctor finds normal.
const (
	// quickCheckBytes is the size of a database up to which the short examination reads all of it.
	quickCheckBytes = 1 << 30
	// longLogBytes is from when on the log is too long: its pages are copied back from walCheckpointBytes on.
	longLogBytes = 1 << 30
	// littleSpace and nearlyNoSpace are bytes that must be free.
	littleSpace   = 1 << 30
	nearlyNoSpace = 64 << 20
	// clockSlack is how far clocks may differ.
	clockSlack = 2 * time.Second
)

// Schema looks at which migrations were applied.
func (d *SQLite) Schema(ctx context.Context) (x SchemaState, err error) {
	var n int
	if _, err := One(ctx, d, `SELECT count(*) FROM sqlite_schema WHERE type = 'table' AND name = 'goose_db_version'`, nil, &n); err != nil {
		return x, err
	}
	return schemaState(ctx, d, "sqlite", n > 0)
}

// Checks returns those of the files and of the database itself; full ones read all of it.
func (d *SQLite) Checks(full bool) []diagnosis.Check {
	return []diagnosis.Check{
		{Name: "files", Run: d.checkFiles},
		{Name: "space", Run: d.checkSpace},
		{Name: "log", Run: d.checkLog},
		{Name: "clock", Run: d.checkClock},
		{Name: "integrity", Run: func(ctx context.Context, r *diagnosis.Recorder) error { return d.checkIntegrity(ctx, r, full) }},
	}
}

// secretFiles are the files in a data directory that hold secrets of the server.
var secretFiles = []string{"api-key", "provider-secret"}

func (d *SQLite) checkFiles(_ context.Context, r *diagnosis.Recorder) error {
	var open diagnosis.Cases
	for _, name := range append(append([]string{"."}, privateFiles...), secretFiles...) {
		path := filepath.Join(d.dir, name)
		info, err := os.Stat(path)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return err
		}
		if info.Mode().Perm()&0o077 != 0 {
			open.Add(fmt.Sprintf("%s (%s)", path, info.Mode()))
		}
	}
	if open.N > 0 {
		r.Add(open.Finding(diagnosis.Finding{Severity: diagnosis.Warn,
			Text:   "other users of this machine can read %d of the files",
			Advice: "give the directory mode 0700 and the files 0600; a server does so when it starts, if they are its user's"}))
	}
	if err := writable(filepath.Join(d.dir, sqliteFile)); err != nil {
		r.Add(diagnosis.Finding{Severity: diagnosis.Warn, Text: "this user may not write the database: " + err.Error(),
			Advice: "right if the server runs as another user; else give it the files"})
	} else if open.N == 0 {
		r.OK("only their user can read the directory and its files")
	}
	return nil
}

func (d *SQLite) checkSpace(ctx context.Context, r *diagnosis.Recorder) error {
	free, total, _, err := d.Disk(ctx)
	if err != nil {
		return err
	}
	f := diagnosis.Finding{Severity: diagnosis.OK, Text: fmt.Sprintf("%s of %s are free", diagnosis.Bytes(free), diagnosis.Bytes(total))}
	if free < littleSpace {
		f.Severity = diagnosis.Warn
		f.Advice = "delete what is not needed or set a rule of retention, or give the file system more room; writes are refused once it is full"
	}
	if free < nearlyNoSpace {
		f.Severity = diagnosis.Error
	}
	r.Add(f)
	return nil
}

func (d *SQLite) checkLog(_ context.Context, r *diagnosis.Recorder) error {
	info, err := os.Stat(d.wal)
	if errors.Is(err, fs.ErrNotExist) {
		r.OK("there is none: all is in the database")
		return nil
	}
	if err != nil {
		return err
	}
	if info.Size() < longLogBytes {
		r.OK("%s", diagnosis.Bytes(info.Size()))
		return nil
	}
	r.Add(diagnosis.Finding{Severity: diagnosis.Warn, Count: info.Size(),
		Text:   fmt.Sprintf("the write-ahead log has grown to %s: it cannot begin anew while something reads", diagnosis.Bytes(info.Size())),
		Advice: "end programs that hold the database open, such as copies and sqlite3; it is cut by the server once it is at rest, or when it is closed"})
	return nil
}

func (d *SQLite) checkClock(_ context.Context, r *diagnosis.Recorder) error {
	for _, path := range []string{d.wal, strings.TrimSuffix(d.wal, "-wal")} {
		info, err := os.Stat(path)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return err
		}
		if ahead := time.Until(info.ModTime()); ahead > clockSlack {
			r.Add(diagnosis.Finding{Severity: diagnosis.Warn,
				Text:   fmt.Sprintf("%s was written %s after what this clock shows now", path, ahead.Round(time.Second)),
				Advice: "set the clock: leases and times that the server gives go by it"})
			return nil
		}
	}
	r.OK("nothing was written later than this clock shows")
	return nil
}

func (d *SQLite) checkIntegrity(ctx context.Context, r *diagnosis.Recorder, full bool) error {
	size, err := d.DiskBytes(ctx)
	if err != nil {
		return err
	}
	pragma := "quick_check"
	if full {
		pragma = "integrity_check"
	} else if size > quickCheckBytes {
		r.OK("not looked at: the database has %s, all of which would be read; --full does", diagnosis.Bytes(size))
		return nil
	}
	var cases diagnosis.Cases
	err = Each(ctx, d, "PRAGMA "+pragma+"(100)", nil, func(scan func(...any) error) error {
		var text string
		if err := scan(&text); err != nil {
			return err
		}
		if text != "ok" {
			cases.Add(text)
		}
		return nil
	})
	if err != nil {
		return err
	}
	if cases.N > 0 {
		r.Add(cases.Finding(diagnosis.Finding{Severity: diagnosis.Error, Text: "SQLite finds %d mistakes in its file (it names 100 at most)",
			Advice: "stop the server, keep a copy of the directory, and restore a backup; if there is none, sqlite3 spangrove.db .recover saves what can be read. " +
				"Then have the disk and the memory of the machine looked at"}))
		return nil
	}
	r.OK("%s finds nothing wrong in %s", pragma, diagnosis.Bytes(size))
	return nil
}

func (d *SQLite) missing(ctx context.Context) ([]schemaObject, error) {
	return missingObjects(ctx, d, "sqlite", `SELECT upper(type), name FROM sqlite_schema`)
}

// CheckObjects compares tables, indexes and triggers with those of the schema.
func (d *SQLite) CheckObjects(ctx context.Context, r *diagnosis.Recorder) error {
	missing, err := d.missing(ctx)
	if err != nil {
		return err
	}
	if recordMissing(r, missing); len(missing) == 0 {
		r.OK("all tables, indexes and triggers of the schema are there")
	}
	return nil
}

// MendObjects makes indexes and triggers that are missing. triggers tells whether there were any of the latter.
func (d *SQLite) MendObjects(ctx context.Context, change Changer) (done string, triggers bool, err error) {
	missing, err := d.missing(ctx)
	if err != nil {
		return "", false, err
	}
	return mendObjects(ctx, missing, change)
}
