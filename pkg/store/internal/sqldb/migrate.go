package sqldb

import (
	"context"
	"database/sql"
	"embed"
	"errors"
	"fmt"
	"io/fs"

	"github.com/pressly/goose/v3"
)

// Each database has migrations of its own, numbered files of SQL that goose applies in order and records in
// goose_db_version. One with a lower number than the last one applied, such as from a branch that was merged later, runs as
// well.

//go:embed migrations
var migrations embed.FS

// migrateSQLite brings the schema up to date. The caller holds the data directory, so no lock
// of the database's own is needed.
func migrateSQLite(ctx context.Context, db *sql.DB) error {
	files, err := fs.Sub(migrations, "migrations/sqlite")
	if err != nil {
		return err
	}
	p, err := goose.NewProvider(goose.DialectSQLite3, db, files, goose.WithDisableGlobalRegistry(true), goose.WithAllowOutofOrder(true))
	if err != nil {
		return err
	}
	_, err = p.Up(ctx)
	return err
}

// migrateLock is the advisory lock under which a schema is migrated, together with a hash of its name.
const migrateLock = 0x6d696772

// migratePostgres brings the schema up to date under an advisory lock: one process at a time
// migrates, the others wait for it, and find nothing left to do. The lock belongs to a connection that is held for it, so
// it ends with the process, however that ends; the migrations run by another connection of the same pool.
func migratePostgres(ctx context.Context, db *sql.DB) (err error) {
	files, err := fs.Sub(migrations, "migrations/postgres")
	if err != nil {
		return err
	}
	p, err := goose.NewProvider(goose.DialectPostgres, db, files, goose.WithDisableGlobalRegistry(true), goose.WithAllowOutofOrder(true))
	if err != nil {
		return err
	}
	// Our own lock, since goose's polls every few seconds, and is one for all schemas.
	held, err := db.Conn(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, held.Close()) }()
	if _, err := held.ExecContext(ctx, `SELECT pg_advisory_lock($1, hashtext(current_schema()))`, migrateLock); err != nil {
		return fmt.Errorf("wait for another process that migrates: %w", err)
	}
	defer func() {
		_, unlock := held.ExecContext(context.WithoutCancel(ctx), `SELECT pg_advisory_unlock($1, hashtext(current_schema()))`, migrateLock)
		err = errors.Join(err, unlock)
	}()
	_, err = p.Up(ctx)
	return err
}
