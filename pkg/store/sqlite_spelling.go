package store

import (
	"fmt"
	"strings"

	"github.com/google/uuid"
)

// sqliteSpelling is what SQLite spells in its own way.
type sqliteSpelling struct{}

func (sqliteSpelling) id(u uuid.UUID) any { return u[:] }

func (sqliteSpelling) anyID(column string, placeholder int, list []uuid.UUID) (string, []any) {
	args := make([]any, len(list))
	for i := range list {
		args[i] = list[i][:]
	}
	return oneOf(column, placeholder, len(list)), args
}

func (sqliteSpelling) anyText(column string, placeholder int, list []string) (string, []any) {
	return oneOf(column, placeholder, len(list)), anySlice(list)
}

func (sqliteSpelling) anyNumber(column string, placeholder int, list []int64) (string, []any) {
	return oneOf(column, placeholder, len(list)), anySlice(list)
}

func anySlice[T any](list []T) []any {
	out := make([]any, len(list))
	for i := range list {
		out[i] = list[i]
	}
	return out
}

func (sqliteSpelling) jsonPairs(placeholder string) string {
	return fmt.Sprintf("(SELECT key + 1 AS n, value ->> 0 AS name, value ->> 1 AS number FROM json_each(%s))", placeholder)
}

func (sqliteSpelling) fence() string { return " LIMIT -1" }

// question turns $1 into ?1, SQLite's numbered parameter.
func question(sql string) string { return strings.ReplaceAll(sql, "$", "?") }
