package move

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/spangrove/spangrove/pkg/store/internal/sqldb"
)

// SQLite is the database of a data directory as source or as target.
type SQLite struct {
	dir     string
	db      *sql.DB
	conn    *sql.Conn
	file    *sqldb.UnfinishedSQLite // of a target
	inserts map[string]*sql.Stmt
	filters map[[2]int64]bool // of a target: rows of id_filter_day
}

// OpenSQLite opens the database of a data directory that a server may use meanwhile.
func OpenSQLite(ctx context.Context, dir string) (*SQLite, error) {
	db, err := sqldb.OpenSQLiteBeside(ctx, dir)
	if err != nil {
		return nil, err
	}
	return newSQLite(ctx, dir, db)
}

// MakeSQLite makes the database of a data directory, which must have none, or goes on with making it.
func MakeSQLite(ctx context.Context, dir string) (*SQLite, error) {
	file, err := sqldb.MakeSQLite(ctx, dir)
	if err != nil {
		return nil, err
	}
	s, err := newSQLite(ctx, dir, file.DB)
	if err != nil {
		return nil, errors.Join(err, file.Close())
	}
	s.file = file
	return s, nil
}

func newSQLite(ctx context.Context, dir string, db *sql.DB) (*SQLite, error) {
	conn, err := db.Conn(ctx)
	if err != nil {
		return nil, errors.Join(err, db.Close())
	}
	return &SQLite{dir: dir, db: db, conn: conn, inserts: map[string]*sql.Stmt{}, filters: map[[2]int64]bool{}}, nil
}

func (s *SQLite) Close(context.Context) error {
	var errs []error
	for _, st := range s.inserts {
		errs = append(errs, st.Close())
	}
	if s.conn != nil {
		errs = append(errs, s.conn.Close())
	}
	if s.file != nil {
		return errors.Join(append(errs, s.file.Close())...)
	}
	return errors.Join(append(errs, s.db.Close())...)
}

func (s *SQLite) describe() string { return "SQLite in " + s.dir }

func (s *SQLite) query(ctx context.Context, text string, args []any, f func(row []any) error) error {
	rows, err := s.conn.QueryContext(ctx, text, args...)
	if err != nil {
		return err
	}
	return eachRow(rows, f)
}

// eachRow calls f with each of some rows, and closes them.
func eachRow(rows *sql.Rows, f func(row []any) error) (err error) {
	defer func() { err = errors.Join(err, rows.Close()) }()
	columns, err := rows.Columns()
	if err != nil {
		return err
	}
	into := make([]any, len(columns))
	for rows.Next() {
		row := make([]any, len(columns))
		for i := range row {
			into[i] = &row[i]
		}
		if err := rows.Scan(into...); err != nil {
			return err
		}
		for i, v := range row {
			if text, ok := v.(string); ok {
				row[i] = wellFormed(text)
			}
		}
		if err := f(row); err != nil {
			return err
		}
	}
	return rows.Err()
}

// wellFormed returns a text as PostgreSQL takes it, and as it is stored today: with U+FFFD for NUL and for what is not UTF-8.
func wellFormed(text string) string {
	if utf8.ValidString(text) && !strings.Contains(text, "\x00") {
		return text
	}
	return strings.ReplaceAll(strings.ToValidUTF8(text, "\uFFFD"), "\x00", "\uFFFD")
}

func (s *SQLite) exec(ctx context.Context, text string, args ...any) error {
	_, err := s.conn.ExecContext(ctx, text, args...)
	return err
}

func (s *SQLite) snapshot(ctx context.Context, f func() error) error {
	return within(ctx, s, "BEGIN", f)
}

// change waits for the writer of a server by trying often: it goes from one transaction to the next within microseconds, and SQLite's own way to
// wait, which tries ten times a second, might never find it between two.
func (s *SQLite) change(ctx context.Context, f func() error) error {
	if err := s.exec(ctx, "PRAGMA busy_timeout = 0"); err != nil {
		return err
	}
	end := time.Now().Add(lockPatience)
	for {
		err := s.exec(ctx, "BEGIN IMMEDIATE")
		if err == nil {
			break
		}
		if !sqldb.Busy(err) || time.Now().After(end) {
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(lockPause):
		}
	}
	return within(ctx, s, fmt.Sprintf("PRAGMA busy_timeout = %d", lockPatience.Milliseconds()), f)
}

const (
	lockPatience = 30 * time.Second
	lockPause    = 50 * time.Microsecond
)

// longIDs are columns with an index in which earlier versions stored ids of any length, and what is read instead of one that an index of PostgreSQL
// does not take: what is stored of such an id today. The event has it whole, and filters find it there. An evaluation stays at the event that it is
// at; the beginning of the id keeps it apart from log records that name no answer.
var longIDs = map[string]map[string]string{
	eventTable:   {"run_id": "NULL", "user_id": "NULL", "target_id": "NULL"},
	sessionTable: {"run_id": "NULL"},
	"log_part":   {"response_id": "substr(t.response_id, 1, 500)"},
}

// maxIndexed is up to how many bytes an id goes into an index of PostgreSQL, together with the numbers beside it: a row there has at most 2,704.
const maxIndexed = 2500

func (s *SQLite) selects(t *table) (columns, from string) {
	list := make([]string, len(t.columns))
	for i, c := range t.columns {
		list[i] = "t." + sqldb.QuoteName(c.name)
		switch {
		case t.name == eventTable && c.name == "session_id", t.name == unpackedTable && c.name == "session":
			list[i] = "s.session_id"
		case t.name == chunkTable && c.name == "day":
			list[i] = "NULL"
		case longIDs[t.name][c.name] != "":
			list[i] = fmt.Sprintf("iif(octet_length(%[1]s) > %[2]d, %[3]s, %[1]s)", list[i], maxIndexed, longIDs[t.name][c.name])
		}
	}
	from = sqldb.QuoteName(t.name) + " AS t"
	switch t.name {
	case eventTable:
		from += " JOIN session AS s ON s.session_rowid = t.session_rowid"
	case unpackedTable:
		from += " JOIN session AS s ON s.session_rowid = t.session"
	}
	return strings.Join(list, ", "), from
}

func (s *SQLite) compare(c column, placeholder int) (name, argument string) {
	return "t." + sqldb.QuoteName(c.name), fmt.Sprintf("$%d", placeholder)
}

func (s *SQLite) argument(_ column, v any) any { return v }

func (s *SQLite) byKeys(ctx context.Context, t *table, keys [][]any, f func(row []any) error) (err error) {
	columns, from := s.selects(t)
	if len(keys) == 0 {
		return nil
	}
	st, err := s.conn.PrepareContext(ctx, `SELECT `+columns+` FROM `+from+` WHERE `+s.isKey(t))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, st.Close()) }()
	for _, key := range keys {
		rows, err := st.QueryContext(ctx, key...)
		if err == nil {
			err = eachRow(rows, f)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// isKey is the condition that a row has the key of the arguments.
func (s *SQLite) isKey(t *table) string {
	list := make([]string, len(t.key))
	for i, name := range t.keyNames() {
		list[i] = fmt.Sprintf("t.%s = $%d", sqldb.QuoteName(name), i+1)
	}
	return strings.Join(list, " AND ")
}

func (s *SQLite) catalog() string { return `sqlite_schema WHERE type = 'table' AND name` }

func (s *SQLite) capture(ctx context.Context, tables []*table, id, to string) error {
	return s.change(ctx, func() error {
		texts := []string{`CREATE TABLE ` + stateTable + `(name TEXT PRIMARY KEY, value TEXT NOT NULL) STRICT`}
		for _, t := range tables {
			if !t.noted() {
				continue
			}
			name, of, keys := t.notes(), sqldb.QuoteName(t.name), t.keyNames()
			into := ` INSERT INTO ` + sqldb.QuoteName(name) + `(` + sqldb.QuoteNames(keys) + `) `
			texts = append(texts,
				`CREATE TABLE `+sqldb.QuoteName(name)+`(move_note INTEGER PRIMARY KEY AUTOINCREMENT, `+sqldb.QuoteNames(keys)+`)`,
				`CREATE TRIGGER `+sqldb.QuoteName(name+"_insert")+` AFTER INSERT ON `+of+` BEGIN`+into+`VALUES (`+prefixed("NEW.", keys)+`); END`,
				`CREATE TRIGGER `+sqldb.QuoteName(name+"_update")+` AFTER UPDATE ON `+of+` BEGIN`+into+`VALUES (`+prefixed("NEW.", keys)+`);`+
					into+`SELECT `+prefixed("OLD.", keys)+` WHERE (`+prefixed("OLD.", keys)+`) IS NOT (`+prefixed("NEW.", keys)+`); END`,
				`CREATE TRIGGER `+sqldb.QuoteName(name+"_delete")+` AFTER DELETE ON `+of+` BEGIN`+into+`VALUES (`+prefixed("OLD.", keys)+`); END`)
		}
		if err := execAll(ctx, s, texts...); err != nil {
			return err
		}
		return errors.Join(writeState(ctx, s, stateID, id), writeState(ctx, s, stateTo, to))
	})
}

func (s *SQLite) forget(ctx context.Context, t *table, numbers []int64) error {
	list, err := json.Marshal(numbers)
	if err != nil {
		return err
	}
	return s.exec(ctx, `DELETE FROM `+sqldb.QuoteName(t.notes())+` WHERE move_note IN (SELECT value FROM json_each($1))`, string(list))
}

func (s *SQLite) fence(ctx context.Context, tables []*table, message string) error {
	return s.change(ctx, func() error {
		for _, t := range tables {
			for _, what := range []string{"INSERT", "UPDATE", "DELETE"} {
				if err := s.exec(ctx, `CREATE TRIGGER IF NOT EXISTS `+sqldb.QuoteName(t.notes()+"_no_"+strings.ToLower(what))+` BEFORE `+what+` ON `+sqldb.QuoteName(t.name)+
					` BEGIN SELECT RAISE(ABORT, `+literal(message)+`); END`); err != nil {
					return err
				}
			}
		}
		return upsert(ctx, s, settingTable, movedSetting, message)
	})
}

func (s *SQLite) release(ctx context.Context) error {
	return s.change(ctx, func() error {
		var drop []string
		for _, kind := range []string{"trigger", "table"} { // a table takes its triggers along, not those that write it
			err := s.query(ctx, `SELECT name FROM sqlite_schema WHERE type = $1 AND name GLOB '`+prefix+`*'`, []any{kind}, func(row []any) error {
				name, _ := row[0].(string)
				drop = append(drop, `DROP `+strings.ToUpper(kind)+` `+sqldb.QuoteName(name))
				return nil
			})
			if err != nil {
				return err
			}
		}
		return execAll(ctx, s, append(drop, `DELETE FROM setting WHERE name = '`+movedSetting+`'`)...)
	})
}

// lock has nothing to do: the data directory is this process's.
func (s *SQLite) lock(context.Context) (bool, error) { return true, nil }

func (s *SQLite) prepare(ctx context.Context) error {
	begun, err := hasTable(ctx, s, stateTable)
	if err != nil {
		return err
	}
	if !begun {
		if err := s.change(ctx, func() error { return s.leaveOut(ctx) }); err != nil {
			return err
		}
	}
	return s.query(ctx, `SELECT project_id, day FROM id_filter_day`, nil, func(row []any) error {
		s.filters[[2]int64{row[0].(int64), row[1].(int64)}] = true
		return nil
	})
}

// leaveOut drops indexes but those of keys, and triggers, which must not see the rows.
func (s *SQLite) leaveOut(ctx context.Context) error {
	if err := s.exec(ctx, `CREATE TABLE `+stateTable+`(name TEXT PRIMARY KEY, value TEXT NOT NULL) STRICT`); err != nil {
		return err
	}
	return leaveOut(ctx, s, `SELECT 'DROP ' || type || ' "' || name || '"', sql
		FROM sqlite_schema
		WHERE type IN ('index', 'trigger') AND sql IS NOT NULL AND tbl_name <> 'goose_db_version' AND name NOT IN ('event_key', 'session_key')
		ORDER BY type, rowid`)
}

func (s *SQLite) ready(context.Context, []int64) error { return nil }

// remove leaves sessions where they are until their events are gone: these name the number of the row.
func (s *SQLite) remove(ctx context.Context, t *table, keys [][]any) error {
	text := `DELETE FROM ` + sqldb.QuoteName(t.name) + ` AS t WHERE ` + s.isKey(t)
	for _, key := range keys {
		if err := s.exec(ctx, text, key...); err != nil {
			return err
		}
		if t.name == eventTable {
			// The key's columns are those of far_event.
			if err := s.exec(ctx, `DELETE FROM far_event AS t WHERE `+s.isKey(t), key...); err != nil {
				return err
			}
		}
	}
	return nil
}

func (s *SQLite) insert(ctx context.Context, t *table, rows [][]any) error {
	st, err := s.statement(ctx, t)
	if err != nil {
		return err
	}
	project, day, id, session := t.index("project_id"), t.index("day"), t.index("event_id"), t.index("session_id")
	for _, row := range rows {
		args := row
		switch t.name {
		case chunkTable:
			args = slices.Delete(slices.Clone(row), day, day+1)
		case eventTable:
			args = append(slices.Clone(row), row[project])
			if err := s.place(ctx, row[project].(int64), row[day].(int64), row[id]); err != nil {
				return err
			}
		}
		if _, err := st.ExecContext(ctx, args...); err != nil {
			if t.name == eventTable {
				err = fmt.Errorf("event %x of session %x: %w", row[id], row[session], err)
			}
			return err
		}
	}
	return nil
}

// place lists an event where the server looks for it by its id: around the present a day has a filter, other events are listed by id.
func (s *SQLite) place(ctx context.Context, project, day int64, id any) error {
	k := [2]int64{project, day}
	if s.filters[k] {
		return nil
	}
	if today := time.Now().Unix() / 86400; day < today-sqldb.NearDays || day > today+1 {
		return s.exec(ctx, `INSERT INTO far_event(project_id, event_id, day) VALUES ($1, $2, $3) ON CONFLICT DO NOTHING`, project, id, day)
	}
	s.filters[k] = true
	return s.exec(ctx, `INSERT INTO id_filter_day(project_id, day) VALUES ($1, $2) ON CONFLICT DO NOTHING`, project, day)
}

func (s *SQLite) statement(ctx context.Context, t *table) (*sql.Stmt, error) {
	if st := s.inserts[t.name]; st != nil {
		return st, nil
	}
	var names, values, sets []string
	n := 0
	for _, c := range t.columns {
		if t.name == chunkTable && c.name == "day" {
			continue
		}
		n++
		name, value := sqldb.QuoteName(c.name), fmt.Sprintf("$%d", n)
		switch {
		case t.name == eventTable && c.name == "session_id":
			name, value = "session_rowid", fmt.Sprintf("(SELECT session_rowid FROM session WHERE project_id = $%d AND session_id = $%d)", len(t.columns)+1, n)
		case t.name == unpackedTable && c.name == "session":
			value = "session_rowid"
		}
		names, values, sets = append(names, name), append(values, value), append(sets, name+" = excluded."+name)
	}
	text := `INSERT INTO ` + sqldb.QuoteName(t.name) + `(` + strings.Join(names, ", ") + `) `
	switch t.name {
	case sessionTable: // a row keeps its number
		text += `VALUES (` + strings.Join(values, ", ") + `) ON CONFLICT (project_id, session_id) DO UPDATE SET ` + strings.Join(sets, ", ")
	case unpackedTable: // also lists sessions that are gone, until the packer comes to them: these have no number
		text += fmt.Sprintf(`SELECT %s FROM session WHERE project_id = $%d AND session_id = $%d`,
			strings.Join(values, ", "), t.index("project_id")+1, t.index("session")+1)
	default:
		text += `VALUES (` + strings.Join(values, ", ") + `)`
	}
	st, err := s.conn.PrepareContext(ctx, text)
	if err == nil {
		s.inserts[t.name] = st
	}
	return st, err
}

// finish takes off what the move remembers when the database has its place: if it fails or ends before that, it goes on when it is started again.
func (s *SQLite) finish(ctx context.Context, _ []*table) (err error) {
	for _, st := range s.inserts {
		_ = st.Close()
	}
	s.inserts = nil
	err = s.conn.Close()
	s.conn = nil
	if err != nil {
		return err
	}
	if err := s.file.Finish(ctx); err != nil {
		return err
	}
	db, err := sqldb.OpenSQLiteBeside(ctx, s.dir)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	_, err = db.ExecContext(ctx, `DROP TABLE `+stateTable)
	return err
}
