package sqldb

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/spangrove/spangrove/pkg/diagnosis"
)

// Bounds of what the doctor finds normal.
const (
	// agedIDs and oldIDs are ages in transactions. At two billion PostgreSQL takes no writes any more.
	agedIDs = 1_000_000_000
	oldIDs  = 1_600_000_000
	// deadRows is from how many rows on that wait for VACUUM a table is looked at, and deadShare which share of its rows they must be, as a
	// divisor.
	deadRows  = 1_000_000
	deadShare = 3
	// sequenceShare is how much of a sequence may be used up, in percent.
	sequenceShare = 75
)

// OpenPostgresReadOnly opens a database to look at it: it brings no schema up to date and changes nothing. Snapshot and Query are what it is
// for.
func OpenPostgresReadOnly(ctx context.Context, dsn string) (*Postgres, error) {
	const connections = 3
	conf, err := postgresConfig("dsn", dsn, 1)
	if err != nil {
		return nil, err
	}
	d := &Postgres{nWriters: 1, conf: conf.ConnConfig.Copy(), readLimit: "0"}
	conf = d.readingConfig(conf, connections)
	for _, pool := range []**pgxpool.Pool{&d.Pool, &d.quickReads, &d.reads} {
		conf.MinConns = 0
		if *pool, err = pgxpool.NewWithConfig(ctx, conf.Copy()); err != nil {
			_ = d.Close(ctx)
			return nil, err
		}
	}
	err = d.checkPooler(ctx) // limits of time are set for a whole connection
	if err == nil {
		err = d.openCluster(ctx, conf)
	}
	if err != nil {
		_ = d.Close(ctx)
		return nil, err
	}
	return d, nil
}

// Schema looks at which migrations were applied.
func (d *Postgres) Schema(ctx context.Context) (x SchemaState, err error) {
	there, unfinished := false, false
	if _, err := One(ctx, d, `SELECT to_regclass('goose_db_version') IS NOT NULL, to_regclass('`+UnfinishedTable+`') IS NOT NULL`, nil, &there, &unfinished); err != nil {
		return x, err
	}
	x, err = schemaState(ctx, d, "postgres", there)
	x.Unfinished = unfinished
	return x, err
}

// Checks returns those of the server and the database itself.
func (d *Postgres) Checks(bool) []diagnosis.Check {
	list := []diagnosis.Check{
		{Name: "version", Run: d.checkVersion},
		{Name: "settings", Run: d.checkSettings},
		{Name: "connections", Run: d.checkConnections},
		{Name: "clock", Run: d.checkClock},
		{Name: "ages", Run: d.checkAges},
		{Name: "sequences", Run: d.checkSequences},
		{Name: "vacuum", Run: d.checkVacuum},
	}
	if d.distributed {
		list = append(list, diagnosis.Check{Name: "cluster", Run: d.checkCluster})
	}
	return list
}

// checkCluster looks for nodes that cannot be reached.
func (d *Postgres) checkCluster(ctx context.Context, r *diagnosis.Recorder) error {
	conn, err := d.reads.Acquire(ctx)
	if err != nil {
		return err
	}
	defer conn.Release()
	x, err := readCluster(ctx, conn.Conn())
	if err != nil {
		return err
	}
	var down diagnosis.Cases
	for _, address := range x.Unreachable() {
		down.Add(address)
	}
	if down.N > 0 {
		r.Add(down.Finding(diagnosis.Finding{Severity: diagnosis.Error, Text: "%d nodes of the cluster cannot be reached: their payloads cannot be read, and writes that need them are refused",
			Advice: "start them, or promote their standbys and tell Citus their addresses (citus_update_node)"}))
		return nil
	}
	r.OK("all %d nodes of the cluster can be reached", len(x.Nodes))
	return nil
}

func (d *Postgres) checkVersion(ctx context.Context, r *diagnosis.Recorder) error {
	var version int
	var name string
	if _, err := One(ctx, d, `SELECT current_setting('server_version_num')::int, current_setting('server_version')`, nil, &version, &name); err != nil {
		return err
	}
	if version < minPostgres {
		r.Add(diagnosis.Finding{Severity: diagnosis.Error, Text: "PostgreSQL " + name + " is too old", Advice: "upgrade it to version 15 or later"})
		return nil
	}
	r.OK("PostgreSQL %s", name)
	return nil
}

func (d *Postgres) checkSettings(ctx context.Context, r *diagnosis.Recorder) error {
	wrong := false
	for _, x := range []struct {
		name, bad, text string
		severity        diagnosis.Severity
	}{
		{"fsync", "off", "fsync is off: a power cut or a crash of the machine may destroy the whole database", diagnosis.Error},
		{"full_page_writes", "off", "full_page_writes is off: a power cut may leave pages half written, unless the file system excludes that", diagnosis.Warn},
		{"synchronous_commit", "off", "synchronous_commit is off: a crash of PostgreSQL may take the last events that were answered as stored", diagnosis.Warn},
		{"autovacuum", "off", "autovacuum is off: rows that were changed or deleted keep their room, and the ages of transactions grow until writes stop", diagnosis.Error},
	} {
		var value string
		if _, err := One(ctx, d, `SELECT current_setting($1)`, []any{x.name}, &value); err != nil {
			return err
		}
		if value == x.bad {
			wrong = true
			r.Add(diagnosis.Finding{Severity: x.severity, Text: x.text, Examples: []string{x.name + " = " + value}, Advice: "set " + x.name + " = on"})
		}
	}
	if !wrong {
		r.OK("fsync, full_page_writes, synchronous_commit and autovacuum are as they should be")
	}
	return nil
}

func (d *Postgres) checkConnections(ctx context.Context, r *diagnosis.Recorder) error {
	var most, used int
	if _, err := One(ctx, d, `SELECT current_setting('max_connections')::int - current_setting('superuser_reserved_connections')::int,
		(SELECT count(*)::int FROM pg_stat_activity WHERE backend_type = 'client backend')`, nil, &most, &used); err != nil {
		return err
	}
	const need = postgresReaders + postgresQuickReaders + 4 + 1 // with the writers that there are by default
	switch {
	case most < need:
		r.Add(diagnosis.Finding{Severity: diagnosis.Error, Text: fmt.Sprintf("PostgreSQL allows %d connections, and one server of Spangrove needs %d", most, need),
			Advice: "raise max_connections"})
	case most-used < need:
		r.Add(diagnosis.Finding{Severity: diagnosis.Warn, Text: fmt.Sprintf("%d of %d connections are in use: another server of Spangrove, which needs %d, would find too few", used, most, need),
			Advice: "raise max_connections, or lower pool_max_conns of what else uses the database"})
	default:
		r.OK("%d of %d are in use", used, most)
	}
	return nil
}

func (d *Postgres) checkClock(ctx context.Context, r *diagnosis.Recorder) error {
	before := time.Now()
	var ms float64
	if _, err := One(ctx, d, `SELECT (extract(epoch FROM clock_timestamp()) * 1000)::float8`, nil, &ms); err != nil {
		return err
	}
	took := time.Since(before)
	off := time.UnixMilli(int64(ms)).Sub(before.Add(took / 2))
	if off.Abs() > clockSlack+took {
		way := "ahead of"
		if off < 0 {
			way = "behind"
		}
		r.Add(diagnosis.Finding{Severity: diagnosis.Warn, Text: fmt.Sprintf("PostgreSQL's clock is %s %s this machine's", off.Abs().Round(time.Millisecond), way),
			Advice: "keep the clocks of all machines right, such as by NTP: leases between servers go by them"})
		return nil
	}
	r.OK("PostgreSQL's clock and this machine's are together")
	return nil
}

func (d *Postgres) checkAges(ctx context.Context, r *diagnosis.Recorder) error {
	var ids, multi int64
	if _, err := One(ctx, d, `SELECT age(datfrozenxid)::bigint, mxid_age(datminmxid)::bigint FROM pg_database WHERE datname = current_database()`,
		nil, &ids, &multi); err != nil {
		return err
	}
	f := diagnosis.Finding{Severity: diagnosis.OK, Text: fmt.Sprintf("the oldest transaction is %d back, the oldest shared lock %d, of two billion", ids, multi)}
	if age := max(ids, multi); age > agedIDs {
		f.Severity = diagnosis.Warn
		f.Advice = "let autovacuum freeze old rows: end transactions that are open for long, drop unused replication slots, and run VACUUM FREEZE"
		if age > oldIDs {
			f.Severity = diagnosis.Error
		}
	}
	r.Add(f)
	return nil
}

func (d *Postgres) checkSequences(ctx context.Context, r *diagnosis.Recorder) error {
	var cases diagnosis.Cases
	n := 0
	err := Each(ctx, d, `SELECT sequencename::text, last_value, max_value
		FROM pg_sequences
		WHERE schemaname = current_schema() AND last_value IS NOT NULL`, nil, func(scan func(...any) error) error {
		var name string
		var last, most int64
		if err := scan(&name, &last, &most); err != nil {
			return err
		}
		n++
		if last/(most/100) >= sequenceShare {
			cases.Add(name + " at " + strconv.FormatInt(last, 10))
		}
		return nil
	})
	if err != nil {
		return err
	}
	if cases.N > 0 {
		r.Add(cases.Finding(diagnosis.Finding{Severity: diagnosis.Error, Text: "%d sequences are nearly used up",
			Advice: "writes fail at the end of a sequence; ask for help before"}))
		return nil
	}
	r.OK("none of %d is near its end", n)
	return nil
}

func (d *Postgres) checkVacuum(ctx context.Context, r *diagnosis.Recorder) error {
	var cases diagnosis.Cases
	err := Each(ctx, d, `SELECT relname::text, n_dead_tup, n_live_tup
		FROM pg_stat_user_tables
		WHERE schemaname = current_schema() AND n_dead_tup > $1 AND n_dead_tup > n_live_tup / $2
		ORDER BY n_dead_tup DESC`, []any{deadRows, deadShare}, func(scan func(...any) error) error {
		var name string
		var dead, live int64
		if err := scan(&name, &dead, &live); err != nil {
			return err
		}
		cases.Add(fmt.Sprintf("%s: %d beside %d", name, dead, live))
		return nil
	})
	if err != nil {
		return err
	}
	if cases.N > 0 {
		r.Add(cases.Finding(diagnosis.Finding{Severity: diagnosis.Warn, Text: "%d tables have many rows that are dead and wait for VACUUM",
			Advice: "see whether autovacuum gets through (pg_stat_progress_vacuum) and what holds old rows (pg_stat_activity, replication slots); VACUUM (ANALYZE) helps at once"}))
		return nil
	}
	r.OK("no table has many dead rows")
	return nil
}

func (d *Postgres) missing(ctx context.Context) ([]schemaObject, error) {
	return missingObjects(ctx, d, "postgres", `SELECT CASE WHEN relkind IN ('r', 'p') THEN 'TABLE' ELSE 'INDEX' END, relname::text
		FROM pg_class
		WHERE relnamespace = current_schema()::regnamespace AND relkind IN ('r', 'p', 'i', 'I')
		UNION ALL
		SELECT 'TRIGGER', t.tgname::text
		FROM pg_trigger AS t JOIN pg_class AS c ON c.oid = t.tgrelid
		WHERE c.relnamespace = current_schema()::regnamespace AND NOT t.tgisinternal AND t.tgenabled <> 'D'`)
}

// CheckObjects compares tables, indexes and triggers with those of the schema, and looks for indexes that PostgreSQL does not use.
func (d *Postgres) CheckObjects(ctx context.Context, r *diagnosis.Recorder) error {
	missing, err := d.missing(ctx)
	if err != nil {
		return err
	}
	recordMissing(r, missing)
	var invalid diagnosis.Cases
	err = Each(ctx, d, `SELECT c.relname::text
		FROM pg_index AS i JOIN pg_class AS c ON c.oid = i.indexrelid
		WHERE c.relnamespace = current_schema()::regnamespace AND NOT (i.indisvalid AND i.indisready)
		ORDER BY 1`, nil, func(scan func(...any) error) error {
		var name string
		err := scan(&name)
		invalid.Add(name)
		return err
	})
	if err != nil {
		return err
	}
	if invalid.N > 0 {
		r.Add(invalid.Finding(diagnosis.Finding{Severity: diagnosis.Error, Text: "%d indexes are not valid: PostgreSQL does not use them, and unique ones do not hold",
			Advice: "--mend builds them anew; writes to their table wait meanwhile. REINDEX INDEX CONCURRENTLY does so beside them", Mendable: true}))
	}
	if len(missing) == 0 && invalid.N == 0 {
		r.OK("all tables, indexes and triggers of the schema are there")
	}
	return nil
}

// MendObjects makes indexes and triggers that are missing, and builds invalid indexes anew. triggers tells whether there were any
// triggers missing.
func (d *Postgres) MendObjects(ctx context.Context, change Changer) (done string, triggers bool, err error) {
	type index struct {
		name        string
		partitioned bool
	}
	var invalid []index
	err = Each(ctx, d, `SELECT c.oid::regclass::text, c.relkind = 'I'
		FROM pg_index AS i JOIN pg_class AS c ON c.oid = i.indexrelid
		WHERE c.relnamespace = current_schema()::regnamespace AND NOT (i.indisvalid AND i.indisready)
		ORDER BY 2, 1`, nil, func(scan func(...any) error) error {
		var x index
		err := scan(&x.name, &x.partitioned)
		invalid = append(invalid, x)
		return err
	})
	if err != nil {
		return "", false, err
	}
	for _, x := range invalid {
		statement := "REINDEX INDEX " + x.name
		if x.partitioned { // that of all partitions is made again below
			statement = "DROP INDEX " + x.name
		}
		err := change(ctx, func(ctx context.Context, tx Tx) error {
			_, err := tx.Exec(ctx, statement)
			return err
		})
		if err != nil {
			return "", false, fmt.Errorf("build index %s anew: %w", x.name, err)
		}
	}
	missing, err := d.missing(ctx)
	if err != nil {
		return "", false, err
	}
	for i, o := range missing {
		if o.kind == "TRIGGER" { // one that is switched off is there
			missing[i].statement = strings.Replace(o.statement, "CREATE TRIGGER", "CREATE OR REPLACE TRIGGER", 1)
		}
	}
	done, triggers, err = mendObjects(ctx, missing, change)
	if len(invalid) > 0 && err == nil {
		done += fmt.Sprintf("; %d were not valid", len(invalid))
	}
	return done, triggers, err
}
