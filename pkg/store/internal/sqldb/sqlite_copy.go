package sqldb

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"

	"github.com/shirou/gopsutil/v4/disk"
	"modernc.org/sqlite"
)

// copyPages is how many pages of a SQLite database are copied at once, 4 KB each: between two steps the caller may give up.
const copyPages = 4096

// CopySQLite copies the database of a data directory as of one moment into the directory to, which is made and must have no database. A
// server may use the first directory meanwhile: it is only read, and its log cannot begin anew until the copy is done. Nothing else of the directory is
// copied, and the schema stays what it is. progress is told how many bytes of how many are copied.
func CopySQLite(ctx context.Context, from, to string, progress func(done, total int64)) (err error) {
	source, err := OpenSQLiteReadOnly(ctx, from)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, source.Close(ctx)) }()
	if err := os.MkdirAll(to, 0o700); err != nil {
		return err
	}
	path, err := filepath.Abs(filepath.Join(to, sqliteFile))
	if err != nil {
		return err
	}
	if _, err := os.Lstat(path); err == nil {
		return fmt.Errorf("%s has a database already", to)
	}
	if err := os.WriteFile(path, nil, 0o600); err != nil {
		return err
	}
	conn, err := source.reads.Conn(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, conn.Close()) }()
	// The transaction keeps what the copy reads as it is now.
	tx, err := conn.BeginTx(ctx, &sql.TxOptions{ReadOnly: true})
	if err != nil {
		return err
	}
	defer func() { _ = tx.Rollback() }()
	var pageSize, pages int64
	if err := tx.QueryRowContext(ctx, `SELECT page_size, page_count FROM pragma_page_size, pragma_page_count, (SELECT count(*) FROM sqlite_schema)`).
		Scan(&pageSize, &pages); err != nil {
		return fmt.Errorf("read %s: %w", from, err)
	}
	if err := enoughSpace(ctx, to, pages*pageSize); err != nil {
		return err
	}
	err = conn.Raw(func(driver any) error {
		b, err := driver.(interface { //nolint:errcheck // the driver of this package
			NewBackup(uri string) (*sqlite.Backup, error)
		}).NewBackup("file:" + (&url.URL{Path: path}).EscapedPath() + "?_pragma=synchronous(off)")
		if err != nil {
			return err
		}
		for more := true; more && err == nil; {
			if err = ctx.Err(); err == nil {
				if more, err = b.Step(copyPages); err == nil && progress != nil {
					pages := int64(b.PageCount())
					progress((pages-int64(b.Remaining()))*pageSize, pages*pageSize)
				}
			}
		}
		return errors.Join(err, b.Finish())
	})
	if err == nil {
		err = source.unchanged()
	}
	return err
}

// enoughSpace refuses to fill a disk with a copy of so many bytes, to which a migration may add some.
func enoughSpace(ctx context.Context, dir string, bytes int64) error {
	u, err := disk.UsageWithContext(ctx, dir)
	if need := uint64(bytes + bytes/4); err == nil && u.Free < need {
		return fmt.Errorf("%s has %d MB free, and a copy and its migration may need %d MB", dir, u.Free>>20, need>>20)
	}
	return err
}
