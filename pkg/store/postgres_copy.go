package store

import (
	"context"

	"github.com/spangrove/spangrove/pkg/store/internal/sqldb"
)

// CopyPostgres copies a store as of one moment into an empty database or schema. Servers may go on in the first one. The copy gets the
// schema that the original has, unless that is newer than this program's, which is an error. progress is as that of CopySQLite.
func CopyPostgres(ctx context.Context, from, to string, progress func(done, total int64)) error {
	return sqldb.CopyPostgres(ctx, from, to, progress)
}
