package sqldb

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	lru "github.com/hashicorp/golang-lru/v2"
	"go.uber.org/zap"
	"modernc.org/libc"
	sqlite3 "modernc.org/sqlite/lib"
)

// SQLite is the embedded store: one writing connection, a pool of reading ones, and a
// connection of its own for checkpoints, so that they stay off the commit path.
//
// The database is in WAL mode. A commit appends pages to the log and syncs it; readers see the database as it was when they
// began, and nobody waits for anybody. Pages go from the log back into the database in the background (checkpoints).
// The log begins anew only while no reader stands on it, so a long read lets it grow.
type SQLite struct {
	sqliteSpelling

	reads  *sql.DB   // for searches and all that may take long
	writes *sql.DB   // of one connection, which is writer
	writer *sql.Conn // all transactions, one after the other
	check  *sql.DB   // of one connection, for checkpoints
	unlock func()    // gives the data directory free, which is this process's until then
	wal    string    // path of the write-ahead log
	dir    string    // of the data
	log    *zap.Logger
	asIs   fs.FileInfo // of a database that is read as one that nobody changes; else nil

	synchronous string
	dsn         func(busyMillis int, pragmas ...string) string

	stmts *lru.Cache[string, *sql.Stmt] // of the writer; used by the writer alone

	quickReads  *sql.DB       // for what no search may hold up (Quick)
	readTimeout time.Duration // of one statement outside a transaction; 0: no limit

	statements atomic.Int64 // that transactions ran

	stop    chan struct{}  // closed by Close; ends checkpoints
	done    sync.WaitGroup // of checkpoints
	dirty   atomic.Bool    // something was committed since the last checkpoint
	restart atomic.Bool    // the writer shall reset the log after its next commit

	truncate    atomic.Bool   // the writer shall cut the log's file after its next commit
	deletions   atomic.Int64  // commits that deleted something
	deletedKick chan struct{} // holds one: there was such a commit
}

// Sizes of SQLite's caches and of its log.
const (
	sqliteReaders      = 8
	sqliteStatements   = 256      // that the writer keeps prepared
	sqliteQuickReaders = 2        // for keys, and for what ingestion reads
	sqliteReadCacheKB  = 8 << 10  // of each reading connection
	sqliteQuickCacheKB = 2 << 10  // of each quick one
	sqliteWriteCacheKB = 16 << 10 // of the writer
	walCheckpointBytes = 8 << 20  // from here on, pages are copied back in the background
	walRestartPages    = 12_000   // of 4 KB; from here on, the writer lets the log begin anew
	walRestartBytes    = walRestartPages * 4096
	walAutoPages       = 64_000 // backstop: SQLite's own checkpoint inside a commit
	checkpointEvery    = 250 * time.Millisecond
	checkpointIdle     = time.Second
	// busyMillis is how long a connection waits for a lock that another program has, such as one
	// that copies the database. Ours never wait for one another.
	busyMillis = 5000
	// restartMillis is how long the writer waits for readers before the log begins anew.
	restartMillis = 20
)

// newStatements returns an empty cache of prepared statements. One that leaves it is closed: it was used longest
// ago, so nobody reads its rows any more.
func newStatements() *lru.Cache[string, *sql.Stmt] {
	c, _ := lru.NewWithEvict(sqliteStatements, func(_ string, st *sql.Stmt) { _ = st.Close() }) // the size is positive: no error
	return c
}

// sqliteFile is the database's name in the data directory.
const sqliteFile = "spangrove.db"

// OpenSQLite opens the database of a data directory, which it makes if there is none, and brings its schema up to
// date. synchronous is "full" or "normal". The directory is this process's until Close.
func OpenSQLite(ctx context.Context, dir, synchronous string, log *zap.Logger) (*SQLite, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("data directory: %w", err)
	}
	path, err := filepath.Abs(filepath.Join(dir, sqliteFile))
	if err != nil {
		return nil, err
	}
	if err := keepPrivate(dir, log); err != nil {
		return nil, fmt.Errorf("data directory: %w", err)
	}
	// No pragma here may write: a connection that opens would wait for the writer.
	dsn := func(busyMillis int, extra ...string) string {
		q := url.Values{"_pragma": append([]string{
			fmt.Sprintf("busy_timeout(%d)", busyMillis),
			"journal_mode(WAL)",
			"synchronous(" + synchronous + ")",
			"temp_store(MEMORY)",
			"foreign_keys(ON)",
			"secure_delete(ON)",
		}, extra...)}
		return "file:" + (&url.URL{Path: path}).EscapedPath() + "?" + q.Encode()
	}
	d := &SQLite{wal: path + "-wal", dir: filepath.Dir(path), synchronous: synchronous, log: log, dsn: dsn, stmts: newStatements(),
		stop: make(chan struct{}), deletedKick: make(chan struct{}, 1)}
	if err := d.openAll(ctx, dir, dsn); err != nil {
		_ = d.Close(ctx)
		return nil, err
	}
	return d, nil
}

// openAll opens the connections, in an order that matters: nothing else is opened before the directory is this process's,
// and nothing reads before the schema is up to date. What is open already is closed by the caller if this fails.
func (d *SQLite) openAll(ctx context.Context, dir string, dsn func(int, ...string) string) (err error) {
	if err := d.lockDataDir(ctx, dir); err != nil {
		return err
	}
	if err := d.migrate(ctx, dsn(busyMillis, "auto_vacuum(INCREMENTAL)")); err != nil {
		return fmt.Errorf("migrate %s: %w", sqliteFile, err)
	}
	if d.check, err = sql.Open("sqlite", dsn(0, "cache_size(-64)")); err != nil {
		return err
	}
	d.check.SetMaxOpenConns(1)
	writing := dsn(busyMillis, fmt.Sprintf("cache_size(-%d)", sqliteWriteCacheKB), fmt.Sprintf("wal_autocheckpoint(%d)", walAutoPages))
	if d.writes, err = sql.Open("sqlite", writing); err != nil {
		return err
	}
	d.writes.SetMaxOpenConns(1)
	if d.writer, err = d.writes.Conn(ctx); err != nil {
		return fmt.Errorf("open %s: %w", sqliteFile, err)
	}
	if d.reads, err = sql.Open("sqlite", dsn(busyMillis, fmt.Sprintf("cache_size(-%d)", sqliteReadCacheKB), "query_only(ON)")); err != nil {
		return err
	}
	d.reads.SetMaxOpenConns(sqliteReaders)
	d.reads.SetMaxIdleConns(sqliteReaders) // each has the schema and pages of its own to read anew
	d.reads.SetConnMaxIdleTime(time.Minute)
	quick := dsn(busyMillis, fmt.Sprintf("cache_size(-%d)", sqliteQuickCacheKB), "query_only(ON)")
	if d.quickReads, err = sql.Open("sqlite", quick); err != nil {
		return err
	}
	d.quickReads.SetMaxOpenConns(sqliteQuickReaders)
	d.quickReads.SetMaxIdleConns(sqliteQuickReaders)
	var to string
	if moved, err := One(ctx, d.Quick(), `SELECT value FROM setting WHERE name = $1`, []any{MovedSetting}, &to); err != nil {
		return err
	} else if moved {
		return hasMoved(to)
	}
	d.done.Add(1)
	go d.checkpoints()
	return nil
}

// migrate makes the database or brings its schema up to date, by a connection of its own: what it
// sets for the database to keep is written each time it is set.
func (d *SQLite) migrate(ctx context.Context, dsn string) error {
	db, err := sql.Open("sqlite", dsn)
	if err != nil {
		return err
	}
	db.SetMaxOpenConns(1)
	return errors.Join(migrateSQLite(ctx, db, d.log), db.Close())
}

// lockDataDir takes the data directory for this process, by an exclusive lock on a database of its
// own that ends with the process however it ends. What two processes remember of one database would be wrong in both
// (Exclusive). It is not the store's database that is locked: its own writer would wait for that transaction.
func (d *SQLite) lockDataDir(ctx context.Context, dir string) (err error) {
	d.unlock, err = LockDirectory(ctx, dir)
	if errors.Is(err, ErrInUse) {
		return fmt.Errorf("data directory %s is in use by another process", dir)
	}
	return err
}

// ErrInUse is returned for a directory that another process has locked.
var ErrInUse = errors.New("in use by another process")

// LockDirectory takes a directory for this process, by an exclusive transaction on a database of its own in it. It ends with unlock, or with
// the process.
func LockDirectory(ctx context.Context, dir string) (unlock func(), err error) {
	path, err := filepath.Abs(filepath.Join(dir, "lock.db"))
	if err != nil {
		return nil, err
	}
	db, err := sql.Open("sqlite", "file:"+(&url.URL{Path: path}).EscapedPath()+"?_pragma=busy_timeout(500)")
	if err != nil {
		return nil, err
	}
	db.SetMaxOpenConns(1)
	conn, err := db.Conn(ctx)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("open %s: %w", path, err), db.Close())
	}
	unlock = func() {
		_ = conn.Close()
		_ = db.Close()
	}
	if _, err := conn.ExecContext(ctx, "BEGIN EXCLUSIVE"); err != nil {
		unlock()
		if isBusy(err) {
			return nil, fmt.Errorf("%s is %w", dir, ErrInUse)
		}
		return nil, fmt.Errorf("lock %s: %w", path, err)
	}
	return unlock, nil
}

// Writers returns 1: SQLite runs one write transaction at a time, and those who wait for it share one (package writer).
func (d *SQLite) Writers() int { return 1 }

// Statements returns how many statements transactions have run.
func (d *SQLite) Statements() int64 { return d.statements.Load() }

func (d *SQLite) ReplicaReads() (replica, itself int64) { return 0, 0 }

func (d *SQLite) Exclusive() bool { return true }

func (d *SQLite) ForUpdate(string) string { return "" }

func (d *SQLite) Query(ctx context.Context, sql string, args ...any) (Rows, error) {
	return d.queryBy(ctx, d.reads, sql, args)
}

// queryBy reads by one of the pools. The connection, the limit of time and the interruption are given back when the rows are
// closed, or here if there are none. The connection is taken by itself, since the handle of the one that runs the
// statement must be known before it runs (interruptOnDone).
func (d *SQLite) queryBy(ctx context.Context, by *sql.DB, text string, args []any) (Rows, error) {
	numbered, err := question(text)
	if err != nil {
		return nil, err
	}
	ctx, cancel := readContext(ctx, d.readTimeout)
	conn, err := by.Conn(ctx)
	if err != nil {
		cancel()
		return nil, err
	}
	finish, err := interruptOnDone(ctx, conn)
	if err != nil {
		cancel()
		return nil, errors.Join(err, conn.Close())
	}
	rs, err := conn.QueryContext(ctx, numbered, args...)
	if err != nil {
		err = ended(ctx, err)
		finish()
		_ = conn.Close()
		cancel()
		return nil, err
	}
	return timedRows{connRows{rs, ctx, func() { finish(); _ = rs.Close(); _ = conn.Close() }}, cancel}, nil
}

// interruptOnDone interrupts what runs on a connection when ctx ends, until finish is called. The
// driver does so only until a statement's first row is there, and database/sql waits for the step to
// the next one, which may look at any number of rows.
func interruptOnDone(ctx context.Context, conn *sql.Conn) (finish func(), err error) {
	var db uintptr
	err = conn.Raw(func(driverConn any) error {
		// The driver has no method for it. Reading the handle needs no more than reflection.
		if v := reflect.ValueOf(driverConn); v.Kind() == reflect.Pointer && v.Elem().Kind() == reflect.Struct {
			if f := v.Elem().FieldByName("db"); f.Kind() == reflect.Uintptr {
				db = uintptr(f.Uint())
				return nil
			}
		}
		return fmt.Errorf("the SQLite driver's connection %T has no handle", driverConn)
	})
	if err != nil {
		return nil, err
	}
	var mu sync.Mutex
	finished := false
	stop := context.AfterFunc(ctx, func() {
		mu.Lock() // the handle is good until finish was called
		defer mu.Unlock()
		if !finished {
			tls := libc.NewTLS()
			sqlite3.Xsqlite3_interrupt(tls, db)
			tls.Close()
		}
	})
	return func() {
		stop()
		mu.Lock()
		defer mu.Unlock()
		finished = true
	}, nil
}

// Quick reads by connections that no search takes: else all eight readers could be in long searches, and no key could be
// checked.
func (d *SQLite) Quick() Conn { return sqliteQuick{d} }

type sqliteQuick struct{ *SQLite }

func (q sqliteQuick) Query(ctx context.Context, sql string, args ...any) (Rows, error) {
	return q.queryBy(ctx, q.quickReads, sql, args)
}

func (d *SQLite) Readers() int { return sqliteReaders }

func (d *SQLite) Bound(read time.Duration) { d.readTimeout = read }

type sqlRows struct{ *sql.Rows }

func (r sqlRows) Close() { _ = r.Rows.Close() }

// connRows are read by a connection that they give back.
type connRows struct {
	*sql.Rows
	ctx   context.Context
	close func()
}

func (r connRows) Err() error { return ended(r.ctx, r.Rows.Err()) }

func (r connRows) Close() { r.close() }

// ended returns the context's error for a statement that was interrupted because its context ended, and
// any other error as it is.
func ended(ctx context.Context, err error) error {
	if err != nil && sqliteCode(err) == sqlite3.SQLITE_INTERRUPT && ctx.Err() != nil {
		return ctx.Err()
	}
	return err
}

// Write runs f in a transaction, and commits durably. BEGIN IMMEDIATE takes the lock to write at once: a transaction that
// began by reading could find that another program has written since, and would fail at its first write. Once begun it
// is not cancelled by ctx: to commit takes less time than to do it all again.
func (d *SQLite) Write(ctx context.Context, f func(Tx) error) (err error) {
	if d.writer == nil {
		return ErrReadOnly
	}
	always := context.WithoutCancel(ctx)
	defer func() {
		if err != nil { // also if the begin failed: it may have come through when its time ran out
			_, _ = d.writer.ExecContext(always, "ROLLBACK")
		}
	}()
	if _, err := d.writer.ExecContext(ctx, "BEGIN IMMEDIATE"); err != nil {
		return err
	}
	tx := &sqliteTx{d: d}
	if err := f(tx); err != nil {
		return err
	}
	if _, err := d.writer.ExecContext(always, "COMMIT"); err != nil {
		return err
	}
	d.dirty.Store(true)
	if tx.deletes {
		d.deletions.Add(1)
		select {
		case d.deletedKick <- struct{}{}:
		default:
		}
	}
	restart, truncate := d.restart.Swap(false), d.truncate.Swap(false)
	if restart || truncate {
		// Nearly everything is copied back by now; what is left is small. A reader that
		// still stands on the log makes this a no-op, never an error to the caller.
		how := "wal_checkpoint(RESTART)"
		if truncate {
			how = "wal_checkpoint(TRUNCATE)"
		}
		for _, pragma := range []string{fmt.Sprintf("busy_timeout = %d", restartMillis), how, fmt.Sprintf("busy_timeout = %d", busyMillis)} {
			_, _ = d.writer.ExecContext(always, "PRAGMA "+pragma)
		}
	}
	return nil
}

// Close ends the checkpoints and closes the connections, of a database that was opened in part those that there are. It gives
// the data directory free last, so that no other process opens a database of which connections are still open here.
func (d *SQLite) Close(context.Context) error {
	select {
	case <-d.stop:
	default:
		close(d.stop)
	}
	d.done.Wait()
	d.stmts.Purge()
	var errs []error
	if d.writer != nil {
		errs = append(errs, d.writer.Close())
	}
	defer func() { // last: the directory is held until all else is closed
		if d.unlock != nil {
			d.unlock()
		}
	}()
	for _, db := range []*sql.DB{d.check, d.quickReads, d.reads, d.writes} { // the last connection cuts the log
		if db != nil {
			errs = append(errs, db.Close())
		}
	}
	return errors.Join(errs...)
}

// DiskBytes returns the sizes of the database and of its log.
func (d *SQLite) DiskBytes(context.Context) (n int64, err error) {
	for _, path := range []string{strings.TrimSuffix(d.wal, "-wal"), d.wal} {
		info, err := os.Stat(path)
		switch {
		case err == nil:
			n += info.Size()
		case !os.IsNotExist(err): // without a log there is nothing that waits
			return 0, err
		}
	}
	return n, nil
}
