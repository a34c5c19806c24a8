package sqldb

import (
	"context"
	"crypto/tls"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"net"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/jackc/pgx/v5/stdlib"
	"github.com/jackc/puddle/v2"
	"go.uber.org/zap"

	"github.com/spangrove/spangrove/pkg/fault"
)

// Postgres is the store in PostgreSQL. Other servers write the same tables, so nothing that is read outside of a transaction
// needs to be true any more inside of it, and rows that a change depends on are read with ForUpdate.
//
// Its three pools keep what must be quick from waiting for what takes long: a writer never waits for a search's connection,
// and the check of a key neither for one nor the other.
type Postgres struct {
	postgresSpelling

	conf       *pgx.ConnConfig // of a connection outside of the pools, with a session of its own
	Pool       *pgxpool.Pool   // of writers
	quickReads *pgxpool.Pool
	reads      *pgxpool.Pool // of all other reads
	replica    *replica      // that answers part of them; nil: there is none
	ahead      *pgxpool.Pool // of what is inserted ahead of transactions, where chunks are distributed
	nWriters   int

	distributed bool // chunks are
	readTimeout time.Duration
	readLimit   string // that of a statement of a connection that reads, in milliseconds
	pooled      bool   // the pools lead to a pooler that may give each transaction another session
	watches     bool   // such a transaction can have watchClient

	statements atomic.Int64 // that transactions ran
}

// Bounds of what the store asks of PostgreSQL.
const (
	postgresReaders = 8
	// postgresQuickReaders is how many connections read keys and what ingestion reads.
	postgresQuickReaders = 2
	// minPostgres is the oldest server version, as server_version_num.
	minPostgres = 150000
	// lockTimeout ends a transaction that waits for another writer's rows. Two that wait for
	// each other would else stand for a second, until PostgreSQL looks for deadlocks.
	lockTimeout = "SET LOCAL lock_timeout = '250ms'"
	// lockNotAvailable is the SQLSTATE of a statement that has waited for a lock for longer than lock_timeout.
	lockNotAvailable = "55P03"
	// settings are those of every connection. JSON stands in rows as text, and most filters run once: plans made for their
	// arguments use the day partitions and partial indexes that generic plans miss.
	//
	// They are set once a connection stands, not asked for with it: a pooler refuses what it does not know (or is told to ignore it,
	// and then the connection is without).
	settings = "SET plan_cache_mode = force_custom_plan; SET jit = off"
	// watchClient lets the server look whether the client, or the pooler's connection for it, is still there while a statement runs.
	watchClient = "SET client_connection_check_interval = " + watchEvery
	watchEvery  = "'2s'"
	// resetTime is how long a connection may take to get its limit of time again.
	resetTime = 5 * time.Second
)

// ServerOptions say how the database of a server is opened.
type ServerOptions struct {
	// DSN is a connection string. Connections that it allows beyond those needed (pool_max_conns) go to searches.
	DSN string
	// DirectDSN leads to the same database with a session for each connection. With it DSN may lead to a pooler that gives each
	// transaction another session. Empty: DSN serves for all.
	DirectDSN string
	// ReadDSN leads to a replica that answers heavy reads (FromReplica). Empty: there is none.
	ReadDSN string
	// ReplicaWait is how long a read waits for the replica to have what was committed when the read began.
	ReplicaWait time.Duration
	// Writers is how many transactions write telemetry at once; one more writes all else.
	Writers int
	// ReadTimeout bounds a statement that reads.
	ReadTimeout time.Duration
	Logger      *zap.Logger
}

// OpenPostgres opens a database. The schema is brought up to date before it returns. What was opened is closed again if a later step fails.
func OpenPostgres(ctx context.Context, o ServerOptions) (*Postgres, error) {
	writers := o.Writers + 1
	conf, err := postgresConfig("dsn", o.DSN, writers)
	if err != nil {
		return nil, err
	}
	conf.ConnConfig.Tracer, _ = ctx.Value(tracer{}).(pgx.QueryTracer)
	d := &Postgres{nWriters: writers, conf: conf.ConnConfig.Copy(), readLimit: strconv.FormatInt(max(o.ReadTimeout.Milliseconds(), 1), 10)}
	if o.DirectDSN != "" {
		direct, err := postgresConfig("direct_dsn", o.DirectDSN, writers)
		if err != nil {
			return nil, err
		}
		d.pooled, d.conf = true, direct.ConnConfig
		conf.AfterConnect = nil
		// A statement that was prepared under a name would be missing in another session.
		conf.ConnConfig.DefaultQueryExecMode = pgx.QueryExecModeCacheDescribe
	}
	readers := conf.MaxConns - int32(writers+postgresQuickReaders)
	conf.MaxConns = int32(writers)
	for _, p := range []struct {
		pool *(*pgxpool.Pool)
		conf *pgxpool.Config
	}{
		{&d.Pool, conf},
		{&d.quickReads, d.readingConfig(conf, postgresQuickReaders)},
		{&d.reads, d.readingConfig(conf, readers)},
	} {
		if *p.pool, err = pgxpool.NewWithConfig(ctx, p.conf); err != nil {
			_ = d.Close(ctx)
			return nil, err
		}
	}
	err = d.prepare(ctx, o.Logger)
	if err == nil {
		err = d.openCluster(ctx, conf)
	}
	switch {
	case err != nil || o.ReadDSN == "":
	case d.distributed: // a row of some time ago may name a payload that is gone from the workers
		err = fault.InvalidField("read_dsn", "a store that is distributed by Citus has no replica: remove the setting")
	default:
		err = d.openReplica(ctx, o)
	}
	if err != nil {
		_ = d.Close(ctx)
		return nil, err
	}
	return d, nil
}

// Traced returns a context with which a database is opened whose statements t sees, with their arguments. It is for tests.
func Traced(ctx context.Context, t pgx.QueryTracer) context.Context {
	return context.WithValue(ctx, tracer{}, t)
}

type tracer struct{}

// readingConfig returns that of connections that read. The server itself ends a statement that takes too
// long, and soon one whose client is gone: a cancellation may be lost on its way.
func (d *Postgres) readingConfig(conf *pgxpool.Config, connections int32) *pgxpool.Config {
	conf = conf.Copy()
	conf.MaxConns = connections
	if d.pooled {
		return conf // each transaction has them: localSettings
	}
	conf.AfterConnect = func(ctx context.Context, c *pgx.Conn) error {
		if _, err := c.Exec(ctx, settings+"; "+d.limitReads()); err != nil {
			return err
		}
		_, err := watch(ctx, c)
		return err
	}
	return conf
}

// limitReads returns the statement that sets the limit of time of a connection that reads.
func (d *Postgres) limitReads() string { return "SET statement_timeout = " + d.readLimit }

// watch sets watchClient, and reports whether the server's system can do it.
func watch(ctx context.Context, c *pgx.Conn) (bool, error) {
	_, err := c.Exec(ctx, watchClient)
	if sqlState(err) == "22023" {
		return false, nil
	}
	return err == nil, err
}

// postgresConfig reads a connection string, that of a setting, which may allow more connections than writers and readers need. One that allows
// fewer is not obeyed: writers would wait for one another, or no connection would be left to read by.
func postgresConfig(setting, dsn string, writers int) (*pgxpool.Config, error) {
	conf, err := pgxpool.ParseConfig(dsn)
	if err != nil {
		// The parser's own message repeats the password.
		return nil, fault.InvalidField(setting, "not a PostgreSQL connection string")
	}
	if need := int32(writers + postgresQuickReaders + postgresReaders); !strings.Contains(dsn, "pool_max_conns") || conf.MaxConns < need {
		conf.MaxConns = need
	}
	conf.MinConns = 1
	if conf.ConnConfig.ConnectTimeout == 0 {
		conf.ConnConfig.ConnectTimeout = 10 * time.Second
	}
	conf.AfterConnect = func(ctx context.Context, c *pgx.Conn) error {
		_, err := c.Exec(ctx, settings)
		return err
	}
	if conf.ConnConfig.RuntimeParams["application_name"] == "" {
		conf.ConnConfig.RuntimeParams["application_name"] = "spangrove"
	}
	return conf, nil
}

// prepare refuses servers that are too old, poolers that do not keep apart what must be and copies that are not finished, and brings the schema up to date.
func (d *Postgres) prepare(ctx context.Context, log *zap.Logger) error {
	if err := d.checkPooler(ctx); err != nil {
		return err
	}
	if err := d.warnInClear(ctx, log); err != nil {
		return err
	}
	var version int
	var unfinished bool
	if err := d.Pool.QueryRow(ctx, `SELECT current_setting('server_version_num')::int, to_regclass('`+UnfinishedTable+`') IS NOT NULL`).
		Scan(&version, &unfinished); err != nil {
		return fmt.Errorf("connect to PostgreSQL: %w", err)
	}
	if version < minPostgres {
		return fmt.Errorf("PostgreSQL %d.%d is too old: version 15 or later is needed", version/10000, version%10000)
	}
	if unfinished {
		return ErrUnfinished
	}
	var db *sql.DB
	if d.pooled {
		db = stdlib.OpenDB(*d.conf.Copy())
	} else {
		db = stdlib.OpenDBFromPool(d.Pool)
	}
	err := migratePostgres(ctx, db, log)
	_ = db.Close()
	if err != nil {
		return fmt.Errorf("migrate PostgreSQL: %w", err)
	}
	var to string
	if err := d.Pool.QueryRow(ctx, `SELECT value FROM setting WHERE name = $1`, MovedSetting).Scan(&to); errors.Is(err, pgx.ErrNoRows) {
		return nil
	} else if err != nil {
		return err
	}
	return hasMoved(to)
}

// warnInClear tells of a connection that goes over a network unencrypted although nobody said that it may.
func (d *Postgres) warnInClear(ctx context.Context, log *zap.Logger) error {
	conn, err := d.Pool.Acquire(ctx)
	if err != nil {
		return fmt.Errorf("connect to PostgreSQL: %w", err)
	}
	defer conn.Release()
	conf := conn.Conn().Config()
	if fellBack(conn.Conn().PgConn().Conn(), conf.TLSConfig) {
		log.Warn("the connection to PostgreSQL is not encrypted, since the server speaks no TLS; say sslmode=verify-full in the connection string to insist on it, or sslmode=disable if the network is safe",
			zap.String("host", conf.Host))
	}
	return nil
}

// fellBack reports whether a connection to another machine is in clear text although TLS was tried first, as sslmode "prefer", the default, does.
func fellBack(conn net.Conn, tried *tls.Config) bool {
	_, encrypted := conn.(*tls.Conn)
	at, tcp := conn.RemoteAddr().(*net.TCPAddr) // else it is a socket of this machine
	return tried != nil && !encrypted && tcp && !at.IP.IsLoopback()
}

func (d *Postgres) Writers() int { return d.nWriters }

// Statements returns how many statements transactions have run.
func (d *Postgres) Statements() int64 { return d.statements.Load() }

func (d *Postgres) Exclusive() bool { return false }

func (d *Postgres) ForUpdate(string) string { return "" }

func (d *Postgres) Query(ctx context.Context, sql string, args ...any) (Rows, error) {
	return d.queryBy(ctx, d.reads, sql, args)
}

func (d *Postgres) queryBy(ctx context.Context, by *pgxpool.Pool, sql string, args []any) (Rows, error) {
	ctx, cancel := readContext(ctx, d.readTimeout)
	if by == d.reads {
		if r := d.replicaFor(ctx); r != nil {
			if rs, ok := r.query(ctx, sql, args); ok {
				return timedRows{rs, cancel}, nil
			}
		}
	}
	var rs Rows
	var err error
	switch {
	case d.pooled:
		rs, err = d.pooledQuery(ctx, by, sql, args)
	case ctx.Value(patient{}) != nil:
		rs, err = d.patientQuery(ctx, by, sql, args)
	default:
		rs, err = by.Query(ctx, sql, args...)
	}
	if err != nil {
		d.renew(ctx, err)
		cancel()
		return nil, err
	}
	return timedRows{rs, cancel}, nil
}

// patientQuery reads without a limit of time, for work in the background. The limit is the server's (statement_timeout), set for
// the whole connection: it is taken off for this statement and put back before the connection is given back.
func (d *Postgres) patientQuery(ctx context.Context, by *pgxpool.Pool, sql string, args []any) (Rows, error) {
	conn, err := by.Acquire(ctx)
	if err != nil {
		return nil, err
	}
	finish := func() {
		after, cancel := context.WithTimeout(context.WithoutCancel(ctx), resetTime)
		defer cancel()
		if _, err := conn.Exec(after, d.limitReads()); err != nil {
			_ = conn.Conn().Close(after) // its next statement must not be without a limit
		}
		conn.Release()
	}
	if _, err := conn.Exec(ctx, "SET statement_timeout = 0"); err != nil {
		finish()
		return nil, err
	}
	rs, err := conn.Query(ctx, sql, args...)
	if err != nil {
		finish()
		return nil, err
	}
	return timedRows{rs, finish}, nil
}

// Quick reads by connections that no search takes.
func (d *Postgres) Quick() Conn { return postgresQuick{d} }

type postgresQuick struct{ *Postgres }

func (q postgresQuick) Query(ctx context.Context, sql string, args ...any) (Rows, error) {
	return q.queryBy(ctx, q.quickReads, sql, args)
}

func (d *Postgres) Readers() int { return int(d.reads.Config().MaxConns) }

func (d *Postgres) Bound(read time.Duration) { d.readTimeout = read }

// Write runs f in a transaction, and commits. Writers lock rows in one order, but several processes write: a transaction that
// waits for another one's rows for longer than lockTimeout fails, and is tried again (Retryable).
//
// If the connection is lost during the commit, nobody knows whether it took effect. The transaction is not run again then, and
// its callers are answered Unavailable; events that they send again are repeats, by their ids, if it did.
func (d *Postgres) Write(ctx context.Context, f func(Tx) error) error {
	t := &postgresTx{d: d}
	committing := false
	err := pgx.BeginFunc(ctx, d.Pool, func(tx pgx.Tx) error {
		begin := lockTimeout
		if d.pooled {
			begin += "; SET LOCAL jit = off"
		}
		if _, err := tx.Exec(ctx, begin); err != nil {
			return err
		}
		t.tx = tx
		err := f(t)
		committing = err == nil
		return err
	})
	if err != nil && !committing {
		d.undo(ctx, t)
	}
	d.renew(ctx, err)
	return err
}

// renew closes the idle connections after one was lost, so that the others that the server has
// closed as well fail no later statement.
func (d *Postgres) renew(ctx context.Context, err error) {
	if err != nil && ctx.Err() == nil && sqlState(err) == "" && d.Unavailable(err) {
		for _, p := range d.pools() {
			p.Reset()
		}
	}
}

// sqlState returns the five characters by which PostgreSQL classifies an error, empty for an error that is not the
// server's.
func sqlState(err error) string {
	var pe *pgconn.PgError
	if errors.As(err, &pe) {
		return pe.Code
	}
	return ""
}

// Retryable reports whether the transaction lost against another one, of this server or of another, and may win the next
// time. A unique key that is taken counts: the other writer's row is there when the transaction reads again.
func (d *Postgres) Retryable(err error) bool {
	switch sqlState(err) {
	case "40001", "40P01", lockNotAvailable, "23505": // serialization failure, deadlock, lock timeout, another writer's row
		return true
	case "23514": // a partition that another server dropped; no other check exists
		return true
	}
	return false
}

// Interrupted reports whether the server ended a statement: for statement_timeout, or since it was asked to.
func (d *Postgres) Interrupted(err error) bool { return sqlState(err) == "57014" }

// outage has the beginnings of SQLSTATE codes that say nothing of the statement or its data, but of a server that cannot work until it, or its
// operator, has done something.
var outage = []string{
	"08",    // connection trouble
	"25006", // a standby, which only reads
	"28",    // the password or the right to log in is another one now
	"3D",    // no such database
	"42501", // a right was withdrawn
	"53",    // out of resources
	"57P",   // the operator's shutdown
	"58",    // the operating system, such as a disk that fails
}

// Unavailable reports whether there was no server to answer, or one that cannot work now. Errors without a code of the
// server's come from the network or from the pool; the last of them has no value that it could be compared with.
func (d *Postgres) Unavailable(err error) bool {
	if code := sqlState(err); code != "" {
		return slices.ContainsFunc(outage, func(prefix string) bool { return strings.HasPrefix(code, prefix) }) || code == MovedCode ||
			d.distributed && lostWorker(code, err)
	}
	var ne net.Error
	var ce *pgconn.ConnectError
	return errors.As(err, &ne) || errors.As(err, &ce) || errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) ||
		errors.Is(err, net.ErrClosed) || errors.Is(err, puddle.ErrClosedPool) || pgconn.SafeToRetry(err) ||
		strings.Contains(err.Error(), "conn closed")
}

// Full reports whether the server's disk is full.
func (d *Postgres) Full(err error) bool { return sqlState(err) == "53100" }

// EraseDue returns no channel: the files are the server's, and Erase has nothing to do.
func (d *Postgres) EraseDue() <-chan struct{} { return nil }

func (d *Postgres) Erase(context.Context, func(context.Context) error, Changer) error { return nil }

// GiveBack has nothing to do: the server's VACUUM gives room back or keeps it for later rows.
func (d *Postgres) GiveBack(context.Context, Changer) error { return nil }

func (d *Postgres) Close(context.Context) error {
	if d.replica != nil {
		d.replica.close()
	}
	for _, p := range d.pools() {
		p.Close()
	}
	return nil
}

// pools returns those that are open.
func (d *Postgres) pools() (list []*pgxpool.Pool) {
	for _, p := range []*pgxpool.Pool{d.reads, d.quickReads, d.Pool, d.ahead} {
		if p != nil {
			list = append(list, p)
		}
	}
	return list
}

// DiskBytes returns the size of all tables of the schema, with their indexes and long values.
func (d *Postgres) DiskBytes(ctx context.Context) (n int64, err error) {
	if _, err = One(ctx, d, `SELECT CAST(coalesce(sum(pg_total_relation_size(oid)), 0) AS bigint)
		FROM pg_class
		WHERE relnamespace = current_schema()::regnamespace AND relkind = 'r'`, nil, &n); err != nil {
		return 0, err
	}
	elsewhere, err := d.distributedBytes(ctx)
	return n + elsewhere.Table + elsewhere.Indexes, err
}
