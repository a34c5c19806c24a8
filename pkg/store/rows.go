package store

import (
	"context"
	"fmt"
	"slices"
	"strings"
)

// insertSizes are how many rows one statement inserts: few different counts, since SQLite keeps
// its prepared statements.
var insertSizes = []int{100, 10, 1}

// insertRows inserts rows, each with a value for every column; a row whose key is taken is left
// out. n counts the others.
func insertRows(ctx context.Context, tx *commit, table string, columns []string, rows [][]any) (n int64, err error) {
	return putRows(ctx, tx, table, columns, rows, "ON CONFLICT DO NOTHING")
}

// putRows is the same, with what to do about a row whose key is taken. n counts the rows that
// were inserted or changed.
func putRows(ctx context.Context, tx *commit, table string, columns []string, rows [][]any, conflict string) (n int64, err error) {
	document := slices.Contains(columns, "doc") // what else there is has its own bounds
	for _, size := range insertSizes {
		for ; len(rows) >= size; rows = rows[size:] {
			args := make([]any, 0, size*len(columns))
			for _, row := range rows[:size] {
				args = append(args, row...)
				if document {
					countRow(tx, row)
				}
			}
			done, err := tx.exec(ctx, `INSERT INTO `+table+`(`+strings.Join(columns, ", ")+`) VALUES `+
				valueLists(size, len(columns))+" "+conflict, args...)
			if err != nil {
				return n, err
			}
			n += done
		}
	}
	return n, nil
}

// countRow counts the bytes of a row whose first column is its project.
func countRow(tx *commit, row []any) {
	project, ok := row[0].(int64)
	if !ok {
		return
	}
	n := int64(rowBytes)
	for _, v := range row[1:] {
		switch v := v.(type) {
		case string:
			n += int64(len(v))
		case []byte:
			n += int64(len(v))
		}
	}
	tx.counts.stored(project, n)
}

// valueLists is "($1, $2), ($3, $4)" for two rows of two columns.
func valueLists(rows, columns int) string {
	var b strings.Builder
	for i := range rows * columns {
		switch {
		case i == 0:
			b.WriteString("(")
		case i%columns == 0:
			b.WriteString("), (")
		default:
			b.WriteString(", ")
		}
		fmt.Fprintf(&b, "$%d", i+1)
	}
	b.WriteString(")")
	return b.String()
}

// deleteDocsSlice is how many rows go in one transaction where there may be many, so that
// ingestion never waits long for a deletion.
const deleteDocsSlice = 500

// deleteRows deletes at most deleteDocsSlice rows that meet cond; key is the table's key.
func deleteRows(ctx context.Context, tx *commit, table, key, cond string, args ...any) (more bool, err error) {
	n, err := tx.exec(ctx, fmt.Sprintf(`DELETE FROM %s WHERE (%s) IN (SELECT %s FROM %s WHERE %s LIMIT %d)`,
		table, key, key, table, cond, deleteDocsSlice), args...)
	if err == nil && n > 0 {
		err = tx.deleted(ctx)
	}
	return n == deleteDocsSlice, err
}
