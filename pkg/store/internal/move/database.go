package move

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/spangrove/spangrove/pkg/store/internal/sqldb"
)

// database is one of the two of a move. All is done by one connection.
type database interface {
	// query calls f for each row, whose values are in the form of table.
	query(ctx context.Context, text string, args []any, f func(row []any) error) error
	exec(ctx context.Context, text string, args ...any) error
	// snapshot runs reads that see one moment.
	snapshot(ctx context.Context, f func() error) error
	// change runs a transaction.
	change(ctx context.Context, f func() error) error
	// selects returns what reads the columns of a table, from what.
	selects(t *table) (columns, from string)
	// compare returns a column and an argument in the form in which they are compared and ordered.
	compare(c column, placeholder int) (column, argument string)
	argument(c column, v any) any
	// byKeys reads the rows that have one of some keys.
	byKeys(ctx context.Context, t *table, keys [][]any, f func(row []any) error) error
	// catalog is the table that lists tables, and the condition that it is one of this store.
	catalog() string
	describe() string
	Close(ctx context.Context) error
}

// Source is the store that moves.
type Source interface {
	database
	// capture makes the database note the keys of rows that change, from now on, under the id of a move.
	capture(ctx context.Context, tables []*table, id, to string) error
	// forget removes notes.
	forget(ctx context.Context, t *table, numbers []int64) error
	// fence makes the database refuse all changes from now on.
	fence(ctx context.Context, tables []*table, message string) error
	// release ends capture and fence.
	release(ctx context.Context) error
}

// Target is the store that is made.
type Target interface {
	database
	// lock takes the store for this move for as long as the connection stands. It reports whether it could.
	lock(ctx context.Context) (bool, error)
	// prepare makes the tables, with as few indexes as possible, unless that was done.
	prepare(ctx context.Context) error
	// ready makes what rows of some days need, outside of a transaction.
	ready(ctx context.Context, days []int64) error
	remove(ctx context.Context, t *table, keys [][]any) error
	// insert stores rows that are not there. Those of sessions may be there.
	insert(ctx context.Context, t *table, rows [][]any) error
	// finish makes it a store that servers open.
	finish(ctx context.Context, tables []*table) error
}

// page reads rows in the order of their keys, behind one, nil for the first.
func page(ctx context.Context, d database, t *table, after []any, limit int, f func(row []any) error) error {
	columns, from := d.selects(t)
	var names, values []string
	var args []any
	for i, k := range t.key {
		name, value := d.compare(t.columns[k], i+1)
		names, values = append(names, name), append(values, value)
		if after != nil {
			args = append(args, d.argument(t.columns[k], after[i]))
		}
	}
	text := `SELECT ` + columns + ` FROM ` + from
	if after != nil {
		text += ` WHERE (` + strings.Join(names, ", ") + `) > (` + strings.Join(values, ", ") + `)`
	}
	return d.query(ctx, text+` ORDER BY `+strings.Join(names, ", ")+fmt.Sprintf(` LIMIT %d`, limit), args, f)
}

// window reads the events with places from first up to but without end. There is an index of places for that in both databases.
func window(ctx context.Context, d database, t *table, first, end int64, f func(row []any) error) error {
	columns, from := d.selects(t)
	return d.query(ctx, `SELECT `+columns+` FROM `+from+` WHERE t.seq >= $1 AND t.seq < $2 ORDER BY t.seq`, []any{first, end}, f)
}

// all reads a whole table.
func all(ctx context.Context, d database, t *table, f func(row []any) error) error {
	columns, from := d.selects(t)
	return d.query(ctx, `SELECT `+columns+` FROM `+from, nil, f)
}

// note is that a row has changed, or is new, or gone.
type note struct {
	number int64
	key    []any
}

// notes reads notes, the earliest first. limit 0: all.
func notes(ctx context.Context, d database, t *table, limit int) (list []note, err error) {
	of := &table{name: t.notes(), columns: []column{{"move_note", "bigint"}}}
	for _, k := range t.key {
		of.columns = append(of.columns, t.columns[k])
	}
	columns, from := d.selects(of)
	text := `SELECT ` + columns + ` FROM ` + from + ` ORDER BY t.move_note`
	if limit > 0 {
		text += fmt.Sprintf(` LIMIT %d`, limit)
	}
	err = d.query(ctx, text, nil, func(row []any) error {
		list = append(list, note{row[0].(int64), slices.Clone(row[1:])})
		return nil
	})
	return list, err
}

// number reads one integer.
func number(ctx context.Context, d database, text string, args ...any) (n int64, err error) {
	err = d.query(ctx, text, args, func(row []any) error {
		n, _ = row[0].(int64) // NULL is 0
		return nil
	})
	return n, err
}

// hasTable reports whether a store has a table.
func hasTable(ctx context.Context, d database, name string) (bool, error) {
	n, err := number(ctx, d, `SELECT count(*) FROM `+d.catalog()+` = $1`, name)
	return n > 0, err
}

// migrations lists those that a store has.
func migrations(ctx context.Context, d database) (list []int64, err error) {
	if there, err := hasTable(ctx, d, "goose_db_version"); err != nil || !there {
		return nil, err
	}
	err = d.query(ctx, `SELECT version_id FROM goose_db_version WHERE version_id > 0 ORDER BY version_id`, nil, func(row []any) error {
		list = append(list, row[0].(int64))
		return nil
	})
	return list, err
}

// within runs f in the transaction that a statement begins.
func within(ctx context.Context, d database, begin string, f func() error) (err error) {
	if err := d.exec(ctx, begin); err != nil {
		return err
	}
	defer func() {
		if err != nil {
			_ = d.exec(context.WithoutCancel(ctx), `ROLLBACK`)
		}
	}()
	if err := f(); err != nil {
		return err
	}
	return d.exec(ctx, `COMMIT`)
}

// execAll runs statements one after the other.
func execAll(ctx context.Context, d database, texts ...string) error {
	for _, text := range texts {
		if err := d.exec(ctx, text); err != nil {
			return fmt.Errorf("%.80s: %w", text, err)
		}
	}
	return nil
}

// rowsOf returns what a read gives.
func rowsOf(read func(f func(row []any) error) error) (rows [][]any, err error) {
	err = read(func(row []any) error {
		rows = append(rows, row)
		return nil
	})
	return rows, err
}

func literal(text string) string { return `'` + strings.ReplaceAll(text, `'`, `''`) + `'` }

// prefixed puts something before each name.
func prefixed(before string, names []string) string {
	list := make([]string, len(names))
	for i, name := range names {
		list[i] = before + sqldb.QuoteName(name)
	}
	return strings.Join(list, ", ")
}
