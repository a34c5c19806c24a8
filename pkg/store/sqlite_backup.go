package store

import (
	"context"
	"errors"

	"github.com/spangrove/spangrove/pkg/diagnosis"
	"github.com/spangrove/spangrove/pkg/store/internal/backup"
	"github.com/spangrove/spangrove/pkg/store/internal/sqldb"
)

// BackupSQLite stores what the database of a data directory has at this moment in the directory of backups to, which is made if there is none.
// A server may go on with the data directory. Of what backups there have already, nothing is stored again. Other files of the data directory are not
// in it, such as keys.
func BackupSQLite(ctx context.Context, data, to string, o BackupOptions) (_ *BackupReport, err error) {
	source, err := sqldb.DumpSQLite(ctx, data)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, source.Close(ctx)) }()
	return backup.Write(ctx, to, sqliteKind, source, o)
}

// RestoreSQLite makes the database of a data directory, which must have none, from the backup of a name, "" being the newest one. All that was restored is
// read and compared before it is given its place, and nothing is left of what fails.
func RestoreSQLite(ctx context.Context, from, name, data string, progress diagnosis.Progress) (*Backup, error) {
	return backup.Restore(ctx, from, name, sqliteKind, func(ctx context.Context) (sqldb.Load, error) { return sqldb.LoadSQLite(ctx, data) }, progress)
}

const sqliteKind = "SQLite"
