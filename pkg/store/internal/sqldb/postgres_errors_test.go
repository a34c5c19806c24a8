package sqldb

import (
	"fmt"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"
)

// TestPostgresUnavailable: what passes or is mended at the server is Unavailable, what lies in a statement and its values is not.
func TestPostgresUnavailable(t *testing.T) {
	t.Parallel()
	for code, want := range map[string]bool{
		"08006": true,  // the connection was lost
		"53100": true,  // disk full
		"53200": true,  // out of memory
		"57P01": true,  // the operator shuts the server down
		"58030": true,  // an error of the server's disk
		"25006": true,  // read-only
		"28P01": true,  // another password
		"3D000": true,  // no such database
		"42501": true,  // a right was withdrawn
		"22021": false, // a text with NUL
		"22003": false, // a number out of range
		"54000": false, // a row too large for an index
		"23502": false, // NULL
		"42P01": false, // no such table
		"XX000": false,
	} {
		if got := new(Postgres).Unavailable(fmt.Errorf("write: %w", &pgconn.PgError{Code: code})); got != want {
			t.Errorf("%s: %v, want %v", code, got, want)
		}
	}
}
