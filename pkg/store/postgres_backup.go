package store

import (
	"context"
	"errors"

	"github.com/spangrove/spangrove/pkg/diagnosis"
	"github.com/spangrove/spangrove/pkg/store/internal/backup"
	"github.com/spangrove/spangrove/pkg/store/internal/sqldb"
)

// BackupPostgres stores what a database has at this moment, as BackupSQLite does.
func BackupPostgres(ctx context.Context, dsn, to string, o BackupOptions) (_ *BackupReport, err error) {
	source, err := sqldb.DumpPostgres(ctx, dsn)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, source.Close(ctx)) }()
	return backup.Write(ctx, to, postgresKind, source, o)
}

// RestorePostgres fills an empty database or schema from a backup, as RestoreSQLite does. Servers refuse the database until all is compared; what
// fails stays there, and is for the caller to drop.
func RestorePostgres(ctx context.Context, from, name, dsn string, progress diagnosis.Progress) (*Backup, error) {
	return backup.Restore(ctx, from, name, postgresKind, func(ctx context.Context) (sqldb.Load, error) { return sqldb.LoadPostgres(ctx, dsn) }, progress)
}

const postgresKind = "PostgreSQL"
