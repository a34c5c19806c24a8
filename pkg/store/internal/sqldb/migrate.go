package sqldb

import (
	"context"
	"database/sql"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"path"

	"github.com/pressly/goose/v3"
	"go.uber.org/zap"
)

// Each database has migrations of its own, numbered files of SQL that goose applies in order and records in
// goose_db_version. One with a lower number than the last one applied, such as from a branch that was merged later, runs as
// well.

//go:embed migrations
var migrations embed.FS

// migrationsOf returns what applies the migrations of a folder to a database.
func migrationsOf(db *sql.DB, dialect goose.Dialect, folder string) (*goose.Provider, error) {
	files, err := fs.Sub(migrations, path.Join("migrations", folder))
	if err != nil {
		return nil, err
	}
	return goose.NewProvider(dialect, db, files, goose.WithDisableGlobalRegistry(true), goose.WithAllowOutofOrder(true))
}

// migrateSQLite brings the schema up to date. The caller holds the data directory, so no lock
// of the database's own is needed.
func migrateSQLite(ctx context.Context, db *sql.DB, log *zap.Logger) error {
	p, err := migrationsOf(db, goose.DialectSQLite3, "sqlite")
	if err != nil {
		return err
	}
	return migrate(ctx, db, p, log)
}

// needsSetting is the row of table setting with the number of a migration that a program must know to open the store. A migration that leaves
// earlier programs unable to work with the schema stores its own number there; without the row they all can.
const needsSetting = "needs_migration"

// checkKnown refuses a store that needs a later program.
func checkKnown(ctx context.Context, db *sql.DB, p *goose.Provider) error {
	var needs int64
	err := db.QueryRowContext(ctx, `SELECT CAST(value AS bigint) FROM setting WHERE name = '`+needsSetting+`'`).Scan(&needs)
	if errors.Is(err, sql.ErrNoRows) {
		return nil
	}
	if err != nil {
		return err
	}
	sources := p.ListSources()
	if last := sources[len(sources)-1].Version; last < needs {
		return fmt.Errorf("the store was upgraded by a later version of this program, and this one can no longer work with it: it needs migration %d, and %d is the last that is known here", needs, last)
	}
	return nil
}

// migrate applies what is new. Where a store was there before, the log tells of each migration, with its time.
func migrate(ctx context.Context, db *sql.DB, p *goose.Provider, log *zap.Logger) error {
	before, err := p.GetDBVersion(ctx)
	if err == nil && before > 0 {
		err = checkKnown(ctx, db, p)
	}
	if err != nil {
		return err
	}
	if pending, err := p.HasPending(ctx); err != nil {
		return err
	} else if pending && before > 0 {
		log.Info("the schema of the store is brought up to date; a large store may take minutes")
	}
	results, err := p.Up(ctx)
	if before > 0 {
		for _, r := range results {
			log.Info("schema migrated", zap.String("migration", path.Base(r.Source.Path)), zap.Duration("took", r.Duration))
		}
	}
	return err
}

// migrateLock is the advisory lock under which a schema is migrated, together with a hash of its name.
const migrateLock = 0x6d696772

// migratePostgres brings the schema up to date under an advisory lock: one process at a time
// migrates, the others wait for it, and find nothing left to do. The lock belongs to a connection that is held for it, so
// it ends with the process, however that ends; the migrations run by another connection of the same pool.
func migratePostgres(ctx context.Context, db *sql.DB, log *zap.Logger) (err error) {
	p, err := migrationsOf(db, goose.DialectPostgres, "postgres")
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
	if err := migrate(ctx, db, p, log); err != nil {
		return err
	}
	return distribute(ctx, db, log)
}

// Migrations lists the numbers of the migrations that this program knows. They are the same for both databases.
func Migrations() (list []int64, err error) {
	files, err := migrationFiles("sqlite")
	for _, f := range files {
		list = append(list, f.version)
	}
	return list, err
}
