package sqldb

import (
	"fmt"

	"github.com/google/uuid"
)

// sqliteSpelling is what SQLite spells in its own way. It has no arrays, so that lists are as many arguments. The writer keeps
// sqliteStatements texts prepared: statements that run often have lists of few different lengths (events.InsertSizes).
type sqliteSpelling struct{}

func (sqliteSpelling) ID(u uuid.UUID) any { return u[:] }

func (sqliteSpelling) AnyID(column string, placeholder int, list []uuid.UUID) (string, []any) {
	args := make([]any, len(list))
	for i := range list {
		args[i] = list[i][:]
	}
	return OneOf(column, placeholder, len(list)), args
}

func (sqliteSpelling) AnyText(column string, placeholder int, list []string) (string, []any) {
	return OneOf(column, placeholder, len(list)), anySlice(list)
}

func (sqliteSpelling) AnyNumber(column string, placeholder int, list []int64) (string, []any) {
	return OneOf(column, placeholder, len(list)), anySlice(list)
}

func anySlice[T any](list []T) []any {
	out := make([]any, len(list))
	for i := range list {
		out[i] = list[i]
	}
	return out
}

func (sqliteSpelling) JSONPairs(placeholder string) string {
	return fmt.Sprintf("(SELECT key + 1 AS n, value ->> 0 AS name, value ->> 1 AS number FROM json_each(%s))", placeholder)
}

func (sqliteSpelling) Fence() string { return " LIMIT -1" }

// question turns $1 into ?1, SQLite's numbered parameter. A $ that no digit follows is an error: it would be
// a parameter with a name here, and something else in PostgreSQL.
func question(text string) (string, error) {
	numbered := []byte(text)
	for i, c := range numbered {
		if c != '$' {
			continue
		}
		if i+1 == len(numbered) || numbered[i+1] < '1' || numbered[i+1] > '9' {
			return "", fmt.Errorf("a $ without a number in %q", text)
		}
		numbered[i] = '?'
	}
	return string(numbered), nil
}
