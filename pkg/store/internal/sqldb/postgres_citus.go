package sqldb

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"go.uber.org/zap"
)

// Citus makes one database of several PostgreSQL servers: a coordinator, to which clients connect, and workers. A table that is
// distributed stands on the workers, in shards; all others stay on the coordinator. Of a store, table chunk is distributed by the id of the
// chunk: it has the payloads, and each of its rows is found by that id (docs/adr/029-citus.md).
//
// Tables are distributed when the schema is made, where the extension is present and knows a node that takes shards. A schema that was
// made before stays as it is.
//
// A transaction of several servers commits on one after the other, and others see it on some before the rest. So that no row
// ever names a chunk that is not there, transactions of the store leave chunks alone: those that they name are inserted ahead of
// them (InsertAhead), and those that they no longer name are recorded in RemovedTable and deleted after them.

// RemovedTable lists chunks that no row names any more and that are still to be deleted, where chunks are distributed.
const RemovedTable = "spangrove_removed_chunk"

// isDistributed is the condition that the chunks of the schema are distributed.
const isDistributed = "to_regclass('" + RemovedTable + "') IS NOT NULL"

// holdChunksLock is the advisory lock, together with a hash of the name of the schema, that whoever reads all of a store holds in
// common, so that no chunk goes or changes meanwhile, and whoever deletes or changes chunks holds alone.
const holdChunksLock = 0x63686e6b

// holdArgs are the arguments of a function that takes holdChunksLock.
var holdArgs = fmt.Sprintf("(%d, hashtext(current_schema()))", holdChunksLock)

// oneConnection makes a coordinator insert into the shards of a worker by one connection, which it keeps. By one for each shard, which is what it does by
// itself, it makes new ones for each statement: with 16 shards on two workers that took five times as long.
const oneConnection = "citus.max_adaptive_executor_pool_size = 1"

// undoTime bounds how long it may take to record what a failed transaction has inserted ahead.
const undoTime = 10 * time.Second

// distribute distributes the tables of a schema in which no events have been stored yet, where the database is a cluster.
func distribute(ctx context.Context, db *sql.DB, log *zap.Logger) error {
	var citus, distributed, used bool
	err := db.QueryRowContext(ctx, `SELECT
		EXISTS (SELECT 1 FROM pg_extension WHERE extname = 'citus'),
		`+isDistributed).Scan(&citus, &distributed)
	if err != nil || !citus || distributed {
		return err
	}
	if err := db.QueryRowContext(ctx, `SELECT EXISTS (SELECT 1 FROM chunk)`).Scan(&used); err != nil {
		return err
	}
	if used {
		log.Info("the database has the extension Citus, and the store was made before it had: it stays on the coordinator (spangrove move copies it into a new database, which is distributed)")
		return nil
	}
	var nodes int
	if err := db.QueryRowContext(ctx, `SELECT count(*) FROM pg_dist_node WHERE isactive AND noderole = 'primary' AND shouldhaveshards`).Scan(&nodes); err != nil {
		return err
	}
	if nodes == 0 {
		log.Warn("the database has the extension Citus, which knows no node that takes shards: all of the store will be on this server; to distribute it, add nodes (citus_add_node) and begin with an empty database")
		return nil
	}
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	for _, text := range []string{
		// Rows of a shard that is moved to another node are followed by their primary key.
		`DROP INDEX chunk_key`,
		`ALTER TABLE chunk ADD CONSTRAINT chunk_key PRIMARY KEY (id, day)`,
		`SELECT create_distributed_table('chunk', 'id', colocate_with := 'none')`,
		`CREATE TABLE ` + RemovedTable + `(
			id   bigint PRIMARY KEY,
			days integer[] NOT NULL -- of one of them the chunk is
		)`,
	} {
		if _, err := tx.ExecContext(ctx, text); err != nil {
			return errors.Join(fmt.Errorf("distribute tables: %w", err), tx.Rollback())
		}
	}
	if err := tx.Commit(); err != nil {
		return fmt.Errorf("distribute tables: %w", err)
	}
	log.Info("payloads are distributed over the nodes of Citus", zap.Int("nodes", nodes))
	return nil
}

// openCluster finds out whether chunks are distributed, and makes the connections that insert them.
func (d *Postgres) openCluster(ctx context.Context, conf *pgxpool.Config) error {
	err := d.Pool.QueryRow(ctx, `SELECT `+isDistributed).Scan(&d.distributed)
	if err != nil || !d.distributed {
		return err
	}
	conf = conf.Copy()
	conf.MaxConns = int32(d.nWriters)
	if !d.pooled {
		conf.AfterConnect = func(ctx context.Context, c *pgx.Conn) error {
			_, err := c.Exec(ctx, settings+"; SET "+oneConnection)
			return err
		}
	}
	d.ahead, err = pgxpool.NewWithConfig(ctx, conf)
	return err
}

// lostWorker reports whether a coordinator has lost a worker in the middle of a transaction. Citus has no code for that.
func lostWorker(code string, err error) bool {
	return code == "XX000" && strings.Contains(err.Error(), "connection")
}

// Distributed reports whether chunks stand on other servers than the rows that name them.
func (d *Postgres) Distributed() bool { return d.distributed }

// InsertAhead inserts rows of chunks, by their ids, that nobody looks for before a transaction has committed; they are committed when it returns. If the
// transaction fails before its commit they are recorded in RemovedTable. Those of a commit that fails, or of a process that ends before it, stay: nobody knows whether the
// first took effect, and nothing names the others, which take room.
func (d *Postgres) InsertAhead(ctx context.Context, tx Tx, ids []int64, days []int32, text string, args ...any) error {
	t, ok := tx.(*postgresTx)
	if !ok {
		return fmt.Errorf("a transaction of another database: %T", tx)
	}
	t.aheadIDs, t.aheadDays = append(t.aheadIDs, ids...), append(t.aheadDays, days...)
	d.statements.Add(1)
	if !d.pooled {
		_, err := d.ahead.Exec(ctx, text, args...)
		return err
	}
	return pgx.BeginTxFunc(ctx, d.ahead, pgx.TxOptions{BeginQuery: "BEGIN; SET LOCAL " + oneConnection}, func(tx pgx.Tx) error {
		_, err := tx.Exec(ctx, text, args...)
		return err
	})
}

// undo records what a transaction has inserted ahead that has not come to its commit. If that fails as well, the rows stay.
func (d *Postgres) undo(ctx context.Context, t *postgresTx) {
	if len(t.aheadIDs) == 0 {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), undoTime)
	defer cancel()
	_, _ = d.ahead.Exec(ctx, `INSERT INTO `+RemovedTable+`(id, days)
		SELECT id, ARRAY[day] FROM unnest($1::bigint[], $2::integer[]) AS x(id, day)
		ON CONFLICT DO NOTHING`, t.aheadIDs, t.aheadDays)
}

// HoldChunks keeps chunks as they are for as long as a connection stands, for whoever reads all of a store: Citus has no snapshot of several servers. What
// is stored meanwhile comes beside them. It reports whether they are distributed; where they are not, it does nothing.
func HoldChunks(ctx context.Context, conn *pgx.Conn) (distributed bool, err error) {
	if err := conn.QueryRow(ctx, `SELECT `+isDistributed).Scan(&distributed); err != nil || !distributed {
		return false, err
	}
	_, err = conn.Exec(ctx, `SELECT pg_advisory_lock_shared`+holdArgs)
	return true, err
}

// ChangeChunks makes a transaction the only one that deletes or changes distributed chunks until it ends. Not ok while another one does,
// or while somebody reads all of the store.
func (d *Postgres) ChangeChunks(ctx context.Context, tx Tx) (ok bool, err error) {
	_, err = One(ctx, tx, `SELECT pg_try_advisory_xact_lock`+holdArgs, nil, &ok)
	return ok, err
}

// distributedBytes returns what the shards of chunks take on their nodes.
func (d *Postgres) distributedBytes(ctx context.Context) (t TableBytes, err error) {
	t.Name = "chunk"
	if !d.Distributed() {
		return t, nil
	}
	_, err = One(ctx, d, `SELECT
			CAST(coalesce(sum(citus_table_size(inhrelid)), 0) AS bigint),
			CAST(coalesce(sum(citus_total_relation_size(inhrelid) - citus_table_size(inhrelid)), 0) AS bigint)
		FROM pg_inherits
		WHERE inhparent = 'chunk'::regclass`, nil, &t.Table, &t.Indexes)
	return t, err
}
