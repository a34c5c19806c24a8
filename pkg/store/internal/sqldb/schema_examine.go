package sqldb

import (
	"context"
	"fmt"
	"io/fs"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/spangrove/spangrove/pkg/diagnosis"
)

// SchemaState is how a database's schema compares with that of this program.
type SchemaState struct {
	Version int64   // the latest migration that was applied; 0: there is no store in the database
	Latest  int64   // the latest one that this program has
	Missing []int64 // migrations of this program that were not applied
	Unknown []int64 // that were applied, and this program does not have
	// Unfinished is set while the store is copied, restored or moved into the database.
	Unfinished bool
}

// Current reports whether the database has this program's schema.
func (s *SchemaState) Current() bool {
	return s.Version > 0 && len(s.Missing)+len(s.Unknown) == 0 && !s.Unfinished
}

// schemaState looks at the migrations that were applied. hasTable tells whether the database has the table that lists them.
func schemaState(ctx context.Context, c Conn, folder string, hasTable bool) (x SchemaState, err error) {
	files, err := migrationFiles(folder)
	if err != nil {
		return x, err
	}
	applied := map[int64]bool{}
	if hasTable {
		// Goose deletes the row of one that was taken back.
		err := Each(ctx, c, `SELECT version_id FROM goose_db_version WHERE version_id > 0`, nil, func(scan func(...any) error) error {
			var v int64
			err := scan(&v)
			applied[v] = true
			x.Version = max(x.Version, v)
			return err
		})
		if err != nil {
			return x, err
		}
	}
	for _, f := range files {
		x.Latest = max(x.Latest, f.version)
		if !applied[f.version] {
			x.Missing = append(x.Missing, f.version)
		}
		delete(applied, f.version)
	}
	for v := range applied {
		x.Unknown = append(x.Unknown, v)
	}
	slices.Sort(x.Unknown)
	return x, nil
}

// Finding says what to do about a schema.
func (s *SchemaState) Finding() diagnosis.Finding {
	f := diagnosis.Finding{Check: "schema", Severity: diagnosis.Error}
	switch {
	case s.Unfinished:
		f.Text = "a copy, a restored backup or a move into this database is not finished: no server opens it"
		f.Advice = "wait for it, or start a move again; else drop the database or schema, and make it anew. What lies in the tables was not looked at"
	case s.Version == 0:
		f.Text = "there is no store in this database"
		f.Advice = "check that this is the right directory or connection string, with its database and schema"
	case len(s.Unknown) > 0:
		f.Text = fmt.Sprintf("the schema has migration %d, of which this program knows nothing: it was written by a newer one", s.Unknown[len(s.Unknown)-1])
		f.Advice = "run the doctor of the version that the server has; what lies in the tables was not looked at"
	case len(s.Missing) > 0:
		f.Severity = diagnosis.Warn
		f.Text = fmt.Sprintf("the schema is of version %d, that of this program is %d", s.Version, s.Latest)
		f.Advice = "a server of this version brings it up to date when it starts; back up first. What lies in the tables was not looked at"
	default:
		f.Severity, f.Text = diagnosis.OK, fmt.Sprintf("version %d, that of this program", s.Version)
	}
	return f
}

// migrationFile is a migration with its number.
type migrationFile struct {
	version int64
	text    string
}

func migrationFiles(folder string) (list []migrationFile, err error) {
	names, err := fs.Glob(migrations, path.Join("migrations", folder, "*.sql"))
	if err != nil {
		return nil, err
	}
	for _, name := range names { // in order of their names
		number, _, _ := strings.Cut(path.Base(name), "_")
		v, err := strconv.ParseInt(number, 10, 64)
		if err != nil {
			return nil, err
		}
		text, err := migrations.ReadFile(name)
		if err != nil {
			return nil, err
		}
		list = append(list, migrationFile{v, string(text)})
	}
	return list, nil
}

// schemaObject is a table, an index or a trigger that the migrations make, with the statement that does.
type schemaObject struct{ kind, name, statement string }

var (
	schemaComment   = regexp.MustCompile(`(?m)^\s*--.*$`)
	schemaStatement = regexp.MustCompile(`(?s)\s*(?:CREATE TRIGGER \w+.*?(?:\nEND;|EXECUTE FUNCTION [^;]*;)|CREATE (?:OR REPLACE )?FUNCTION .*?END \$\$;|DO \$\$.*?\n\$\$;|[^;]*;)`)
	schemaCreate    = regexp.MustCompile(`(?s)^\s*CREATE (?:UNIQUE )?(TABLE|INDEX|TRIGGER) (\w+)`)
	schemaDrop      = regexp.MustCompile(`(?s)^\s*DROP (TABLE|INDEX|TRIGGER) (?:IF EXISTS )?(\w+)`)
	schemaRename    = regexp.MustCompile(`(?s)^\s*ALTER TABLE (\w+) RENAME TO (\w+)`)
)

// schemaObjects lists what the migrations of a database leave, in the order in which it is made.
func schemaObjects(folder string) ([]schemaObject, error) {
	files, err := migrationFiles(folder)
	if err != nil {
		return nil, err
	}
	var list []schemaObject
	remove := func(kind, name string) {
		list = slices.DeleteFunc(list, func(o schemaObject) bool { return o.kind == kind && o.name == name })
	}
	for _, f := range files {
		for _, statement := range schemaStatement.FindAllString(schemaComment.ReplaceAllString(f.text, ""), -1) {
			if m := schemaCreate.FindStringSubmatch(statement); m != nil {
				remove(m[1], m[2]) // made again with its table
				list = append(list, schemaObject{m[1], m[2], strings.TrimSpace(statement)})
			} else if m := schemaDrop.FindStringSubmatch(statement); m != nil {
				remove(m[1], m[2])
			} else if m := schemaRename.FindStringSubmatch(statement); m != nil {
				remove("TABLE", m[1])
			}
		}
	}
	return list, nil
}

// missingObjects returns those of the schema that are not there. text selects the kinds and names of what is.
func missingObjects(ctx context.Context, c Conn, folder, text string) (missing []schemaObject, err error) {
	there := map[schemaObject]bool{}
	if err := Each(ctx, c, text, nil, func(scan func(...any) error) error {
		var o schemaObject
		err := scan(&o.kind, &o.name)
		there[o] = true
		return err
	}); err != nil {
		return nil, err
	}
	list, err := schemaObjects(folder)
	for _, o := range list {
		if !there[schemaObject{kind: o.kind, name: o.name}] {
			missing = append(missing, o)
		}
	}
	return missing, err
}

// recordMissing records tables, indexes and triggers that are missing.
func recordMissing(r *diagnosis.Recorder, missing []schemaObject) {
	cases := map[string]*diagnosis.Cases{"TABLE": {}, "INDEX": {}, "TRIGGER": {}}
	for _, o := range missing {
		cases[o.kind].Add(o.name)
	}
	for _, x := range []struct {
		kind, text, advice string
		mendable           bool
	}{
		{"TABLE", "%d tables of the schema are missing", "restore a backup: what was in a table cannot be made again", false},
		{"INDEX", "%d indexes are missing: reads and writes that use them read whole tables instead, and a unique one keeps events from being stored twice",
			"--mend makes them again; writes to their table wait meanwhile", true},
		{"TRIGGER", "%d triggers are missing: changes of events since then are not on record, and searches may give old values",
			"--mend makes them again, and builds all segments anew", true},
	} {
		if c := cases[x.kind]; c.N > 0 {
			r.Add(c.Finding(diagnosis.Finding{Severity: diagnosis.Error, Text: x.text, Advice: x.advice, Mendable: x.mendable}))
		}
	}
}

// ObjectsCheck is the name of the check for tables, indexes and triggers.
const ObjectsCheck = "objects"

// mendObjects makes the missing indexes and triggers. triggers tells whether there were any of the latter.
func mendObjects(ctx context.Context, missing []schemaObject, change Changer) (done string, triggers bool, err error) {
	var names []string
	for _, o := range missing {
		if o.kind == "TABLE" {
			continue
		}
		err := change(ctx, func(ctx context.Context, tx Tx) error {
			_, err := tx.Exec(ctx, o.statement)
			return err
		})
		if err != nil {
			return "", triggers, fmt.Errorf("make %s again: %w", o.name, err)
		}
		names, triggers = append(names, o.name), triggers || o.kind == "TRIGGER"
	}
	return fmt.Sprintf("made %d indexes and triggers again: %s", len(names), strings.Join(names, ", ")), triggers, nil
}
