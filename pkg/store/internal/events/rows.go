package events

import (
	"context"
	"fmt"
	"slices"
	"strings"
)

// InsertSizes are how many rows one statement inserts: few different counts, since SQLite keeps
// its prepared statements.
var InsertSizes = []int{100, 10, 1}

// InsertRows inserts rows, each with a value for every column; a row whose key is taken is left
// out. n counts the others.
func InsertRows(ctx context.Context, tx *Commit, table string, columns []string, rows [][]any) (n int64, err error) {
	return PutRows(ctx, tx, table, columns, rows, "ON CONFLICT DO NOTHING")
}

// PutRows is the same, with what to do about a row whose key is taken. n counts the rows that
// were inserted or changed.
func PutRows(ctx context.Context, tx *Commit, table string, columns []string, rows [][]any, conflict string) (n int64, err error) {
	document := slices.Contains(columns, "doc") // what else there is has its own bounds
	for _, size := range InsertSizes {
		for ; len(rows) >= size; rows = rows[size:] {
			args := make([]any, 0, size*len(columns))
			for _, row := range rows[:size] {
				args = append(args, row...)
				if document {
					countRow(tx, row)
				}
			}
			done, err := tx.Exec(ctx, `INSERT INTO `+table+`(`+strings.Join(columns, ", ")+`) VALUES `+
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
func countRow(tx *Commit, row []any) {
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
	tx.Counts.Stored(project, n)
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

// DeleteDocsSlice is how many rows go in one transaction where there may be many, so that
// ingestion never waits long for a deletion.
const DeleteDocsSlice = 500

// DeleteRows deletes at most DeleteDocsSlice rows that meet cond; key is the table's key.
func DeleteRows(ctx context.Context, tx *Commit, table, key, cond string, args ...any) (more bool, err error) {
	n, err := tx.Exec(ctx, fmt.Sprintf(`DELETE FROM %s WHERE (%s) IN (SELECT %s FROM %s WHERE %s LIMIT %d)`,
		table, key, key, table, cond, DeleteDocsSlice), args...)
	if err == nil && n > 0 {
		err = tx.Deleted(ctx)
	}
	return n == DeleteDocsSlice, err
}
