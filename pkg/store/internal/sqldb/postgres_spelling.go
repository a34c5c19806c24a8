package sqldb

import (
	"fmt"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5/pgtype"
)

// postgresSpelling is what PostgreSQL spells in its own way. Lists are one argument of an array type, so that a statement has one
// text for lists of any length.
type postgresSpelling struct{}

func (postgresSpelling) ID(u uuid.UUID) any { return [16]byte(u) }

func (postgresSpelling) AnyID(column string, placeholder int, list []uuid.UUID) (string, []any) {
	return fmt.Sprintf("%s = ANY($%d)", column, placeholder), []any{IDArray(list)}
}

func (postgresSpelling) AnyText(column string, placeholder int, list []string) (string, []any) {
	return fmt.Sprintf("%s = ANY($%d)", column, placeholder), []any{list}
}

func (postgresSpelling) AnyNumber(column string, placeholder int, list []int64) (string, []any) {
	return fmt.Sprintf("%s = ANY($%d)", column, placeholder), []any{list}
}

func (postgresSpelling) JSONPairs(placeholder string) string {
	return fmt.Sprintf("(SELECT n, v ->> 0 AS name, (v ->> 1)::bigint AS number"+
		" FROM json_array_elements(%s::json) WITH ORDINALITY AS x(v, n)) AS pairs", placeholder)
}

func (postgresSpelling) Fence() string { return " OFFSET 0" }

// IDArray returns ids as an argument of type uuid[].
func IDArray(list []uuid.UUID) []pgtype.UUID {
	out := make([]pgtype.UUID, len(list))
	for i, u := range list {
		out[i] = pgtype.UUID{Bytes: u, Valid: true}
	}
	return out
}
