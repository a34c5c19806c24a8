package store

import (
	"context"

	"github.com/spangrove/spangrove/pkg/store/internal/sqldb"
)

// CopySQLite copies the database of a data directory as of one moment into the directory to, which is made and must have none. A server may
// go on in the first directory. The copy keeps the schema that the original has, whichever version wrote it. progress is told how many bytes of how many
// are copied; it may be nil.
func CopySQLite(ctx context.Context, from, to string, progress func(done, total int64)) error {
	return sqldb.CopySQLite(ctx, from, to, progress)
}
