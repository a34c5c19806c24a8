package move

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgtype"

	"github.com/spangrove/spangrove/pkg/store/internal/sqldb"
)

// Postgres is a schema of PostgreSQL as source or as target.
type Postgres struct {
	conn    *pgx.Conn
	archive int64          // days before it share partitions
	chunks  bool           // are distributed, and held (sqldb.HoldChunks)
	made    map[int64]bool // partitions, by their first day
}

// OpenPostgres connects to a database.
func OpenPostgres(ctx context.Context, dsn string) (_ *Postgres, err error) {
	p := &Postgres{made: map[int64]bool{}}
	if p.conn, err = sqldb.ConnectPostgres(ctx, dsn); err != nil {
		return nil, err
	}
	if p.chunks, err = sqldb.HoldChunks(ctx, p.conn); err != nil {
		return nil, errors.Join(err, p.Close(ctx))
	}
	// Rows are looked up by keys, whatever statistics say of a table that was just filled.
	for _, text := range []string{`SET statement_timeout = 0`, `SET idle_in_transaction_session_timeout = 0`, `SET enable_seqscan = off`, `SET enable_hashjoin = off`, `SET enable_mergejoin = off`} {
		if _, err := p.conn.Exec(ctx, text); err != nil {
			return nil, errors.Join(err, p.Close(ctx))
		}
	}
	return p, nil
}

func (p *Postgres) Close(ctx context.Context) error { return p.conn.Close(context.WithoutCancel(ctx)) }

func (p *Postgres) describe() string {
	c := p.conn.Config()
	return fmt.Sprintf("PostgreSQL at %s, database %s", c.Host, c.Database)
}

func (p *Postgres) query(ctx context.Context, text string, args []any, f func(row []any) error) error {
	rows, err := p.conn.Query(ctx, text, args...)
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		row, err := rows.Values()
		if err != nil {
			return err
		}
		if err := f(row); err != nil {
			return err
		}
	}
	return rows.Err()
}

func (p *Postgres) exec(ctx context.Context, text string, args ...any) error {
	_, err := p.conn.Exec(ctx, text, args...)
	return err
}

func (p *Postgres) snapshot(ctx context.Context, f func() error) error {
	return within(ctx, p, `BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY`, f)
}

func (p *Postgres) change(ctx context.Context, f func() error) error {
	return within(ctx, p, `BEGIN`, f)
}

func (p *Postgres) selects(t *table) (columns, from string) {
	list := make([]string, len(t.columns))
	for i, c := range t.columns {
		name := "t." + sqldb.QuoteName(c.name)
		switch c.kind {
		case "uuid":
			name = "uuid_send(" + name + ")"
		case "boolean":
			name += "::int::bigint"
		case "smallint", "integer":
			name += "::bigint"
		case "json":
			name += "::text"
		}
		list[i] = name
	}
	return strings.Join(list, ", "), sqldb.QuoteName(t.name) + " AS t"
}

func (p *Postgres) compare(c column, placeholder int) (name, argument string) {
	name, argument = "t."+sqldb.QuoteName(c.name), fmt.Sprintf("$%d::%s", placeholder, c.kind)
	if c.kind == "text" {
		name, argument = name+` COLLATE "C"`, argument+` COLLATE "C"`
	}
	return name, argument
}

func (p *Postgres) argument(c column, v any) any {
	switch v := v.(type) {
	case []byte:
		if c.kind == "uuid" && len(v) == 16 {
			return pgtype.UUID{Bytes: [16]byte(v), Valid: true}
		}
	case int64:
		if c.kind == "boolean" {
			return v != 0
		}
	case string:
		if c.kind == "json" {
			return json.RawMessage(v)
		}
	}
	return v
}

// keyArrays returns a table of keys, k, and the condition that t has one of them.
func (p *Postgres) keyArrays(t *table, keys [][]any) (from, cond string, args []any) {
	var arrays, names, conds []string
	for i, k := range t.key {
		c := t.columns[k]
		name := fmt.Sprintf("k%d", i)
		column, value := "t."+sqldb.QuoteName(c.name), "k."+name
		kind := c.kind
		var arg any
		switch c.kind {
		case "uuid":
			list := make([]pgtype.UUID, len(keys))
			for n, key := range keys {
				b, _ := key[i].([]byte)
				list[n] = pgtype.UUID{Bytes: [16]byte(b), Valid: true}
			}
			arg = list
		case "text":
			list := make([]string, len(keys))
			for n, key := range keys {
				list[n], _ = key[i].(string)
			}
			arg, value = list, value+` COLLATE "C"`
		default:
			list := make([]int64, len(keys))
			for n, key := range keys {
				list[n], _ = key[i].(int64)
			}
			arg, kind = list, "bigint"
		}
		args = append(args, arg)
		arrays, names, conds = append(arrays, fmt.Sprintf("$%d::%s[]", i+1, kind)), append(names, name), append(conds, column+" = "+value)
	}
	return `unnest(` + strings.Join(arrays, ", ") + `) AS k(` + strings.Join(names, ", ") + `)`, strings.Join(conds, " AND "), args
}

func (p *Postgres) byKeys(ctx context.Context, t *table, keys [][]any, f func(row []any) error) error {
	if len(keys) == 0 {
		return nil
	}
	list, cond, args := p.keyArrays(t, keys)
	columns, from := p.selects(t)
	return p.query(ctx, `SELECT `+columns+` FROM `+list+` JOIN `+from+` ON `+cond, args, f)
}

func (p *Postgres) catalog() string {
	return `pg_class WHERE relnamespace = current_schema()::regnamespace AND relkind IN ('r', 'p') AND relname`
}

// tables lists what moves.
func (p *Postgres) tables(ctx context.Context) (list []*table, err error) {
	err = p.query(ctx, `SELECT c.relname::text, a.attname::text, format_type(a.atttypid, NULL), coalesce(a.attnum = ANY((
			SELECT i.indkey::int2[] FROM pg_index AS i WHERE i.indrelid = c.oid AND i.indisunique AND i.indpred IS NULL ORDER BY i.indisprimary DESC, i.indexrelid LIMIT 1)::int2[]), false)::int::bigint
		FROM pg_class AS c
		JOIN pg_attribute AS a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped
		WHERE c.relnamespace = current_schema()::regnamespace AND c.relkind IN ('r', 'p') AND NOT c.relispartition
			AND NOT c.relname = ANY($1) AND NOT starts_with(c.relname, 'spangrove_')
		ORDER BY c.relname, a.attnum`, []any{notMoved}, func(row []any) error {
		name, _ := row[0].(string)
		if n := len(list); n == 0 || list[n-1].name != name {
			list = append(list, &table{name: name})
		}
		t := list[len(list)-1]
		if row[3] == int64(1) {
			t.key = append(t.key, len(t.columns))
		}
		c := column{}
		c.name, _ = row[1].(string)
		c.kind, _ = row[2].(string)
		t.columns = append(t.columns, c)
		return nil
	})
	arrange(list)
	return list, err
}

// capture implements Source. To make a trigger waits for those who write the table, and the next ones wait for it: not for long.
func (p *Postgres) capture(ctx context.Context, tables []*table, id, to string) error {
	return p.lockedAll(ctx, tables, func() error {
		texts := []string{`CREATE TABLE ` + stateTable + `(name text PRIMARY KEY, value text NOT NULL)`}
		for _, t := range tables {
			if !t.noted() {
				continue
			}
			name, of, keys := sqldb.QuoteName(t.notes()), sqldb.QuoteName(t.name), sqldb.QuoteNames(t.keyNames())
			texts = append(texts,
				`CREATE TABLE `+name+` AS SELECT `+keys+` FROM `+of+` WITH NO DATA`,
				`ALTER TABLE `+name+` ADD COLUMN move_note bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY`,
				`CREATE FUNCTION `+name+`() RETURNS trigger LANGUAGE plpgsql AS $$
				BEGIN
					IF TG_OP <> 'INSERT' THEN INSERT INTO `+name+`(`+keys+`) SELECT `+keys+` FROM before; END IF;
					IF TG_OP <> 'DELETE' THEN INSERT INTO `+name+`(`+keys+`) SELECT `+keys+` FROM after; END IF;
					RETURN NULL;
				END $$`)
			if p.fixed(t) {
				continue
			}
			for _, x := range [][2]string{{"INSERT", "NEW TABLE AS after"}, {"UPDATE", "OLD TABLE AS before NEW TABLE AS after"}, {"DELETE", "OLD TABLE AS before"}} {
				texts = append(texts, `CREATE TRIGGER `+sqldb.QuoteName(prefix+"_"+strings.ToLower(x[0]))+` AFTER `+x[0]+` ON `+of+` REFERENCING `+x[1]+` FOR EACH STATEMENT EXECUTE FUNCTION `+name+`()`)
			}
		}
		if err := execAll(ctx, p, texts...); err != nil {
			return err
		}
		return errors.Join(writeState(ctx, p, stateID, id), writeState(ctx, p, stateTo, to))
	})
}

// fixed reports whether the rows of a table stay as they are for as long as this connection stands. Triggers on it are impossible then.
func (p *Postgres) fixed(t *table) bool { return p.chunks && t.name == chunkTable }

// lockWait is how long a lock on all tables is waited for at once; tries are repeated.
const lockWait = "2s"

// lockedAll runs a transaction in which nobody else writes any of the tables.
func (p *Postgres) lockedAll(ctx context.Context, tables []*table, f func() error) error {
	names := make([]string, len(tables))
	for i, t := range tables {
		names[i] = t.name
	}
	for {
		err := p.change(ctx, func() error {
			if err := p.exec(ctx, `SET LOCAL lock_timeout = '`+lockWait+`'`); err != nil {
				return err
			}
			if err := p.exec(ctx, `LOCK TABLE `+sqldb.QuoteNames(names)+` IN SHARE ROW EXCLUSIVE MODE`); err != nil {
				return err
			}
			return f()
		})
		var e *pgconn.PgError
		if errors.As(err, &e) && (e.Code == "55P03" || e.Code == "40P01") && ctx.Err() == nil {
			continue // somebody writes for long, or locks in another order
		}
		return err
	}
}

func (p *Postgres) forget(ctx context.Context, t *table, numbers []int64) error {
	return p.exec(ctx, `DELETE FROM `+sqldb.QuoteName(t.notes())+` WHERE move_note = ANY($1)`, numbers)
}

func (p *Postgres) fence(ctx context.Context, tables []*table, message string) error {
	return p.lockedAll(ctx, tables, func() error {
		if err := p.exec(ctx, `CREATE OR REPLACE FUNCTION `+prefix+`() RETURNS trigger LANGUAGE plpgsql AS $$
			BEGIN
				RAISE EXCEPTION USING MESSAGE = `+literal(message)+`, ERRCODE = '`+sqldb.MovedCode+`';
			END $$`); err != nil {
			return err
		}
		for _, t := range tables {
			if p.fixed(t) {
				continue // a payload whose event cannot be stored is no change
			}
			if err := p.exec(ctx, `CREATE OR REPLACE TRIGGER `+prefix+`_fence BEFORE INSERT OR UPDATE OR DELETE ON `+sqldb.QuoteName(t.name)+` FOR EACH STATEMENT EXECUTE FUNCTION `+prefix+`()`); err != nil {
				return err
			}
		}
		return upsert(ctx, p, settingTable, movedSetting, message)
	})
}

// release drops everything by its name; triggers go with their functions.
func (p *Postgres) release(ctx context.Context) error {
	list, err := p.tables(ctx)
	if err != nil {
		return err
	}
	return p.lockedAll(ctx, list, func() error {
		texts := []string{`DROP FUNCTION IF EXISTS ` + prefix + `() CASCADE`, `DROP TABLE IF EXISTS ` + stateTable, `DELETE FROM setting WHERE name = '` + movedSetting + `'`}
		for _, t := range list {
			texts = append(texts, `DROP FUNCTION IF EXISTS `+sqldb.QuoteName(t.notes())+`() CASCADE`, `DROP TABLE IF EXISTS `+sqldb.QuoteName(t.notes()))
		}
		return execAll(ctx, p, texts...)
	})
}

// moveLock is the advisory lock, together with a hash of the name of the schema, that a move has on its target.
const moveLock = 0x6d6f7665

func (p *Postgres) lock(ctx context.Context) (mine bool, err error) {
	err = p.conn.QueryRow(ctx, fmt.Sprintf(`SELECT pg_try_advisory_lock(%d, hashtext(current_schema()))`, moveLock)).Scan(&mine)
	return mine, err
}

func (p *Postgres) prepare(ctx context.Context) error {
	begun, err := hasTable(ctx, p, stateTable)
	if err != nil {
		return err
	}
	if !begun {
		there, err := number(ctx, p, `SELECT count(*) FROM pg_class WHERE relnamespace = current_schema()::regnamespace AND relkind IN ('r', 'p')`)
		if err != nil {
			return err
		}
		if there > 0 {
			return fmt.Errorf("the new store must be an empty database or schema; it has %d tables", there)
		}
		if err := p.exec(ctx, `CREATE TABLE `+sqldb.UnfinishedTable+`(); CREATE TABLE `+stateTable+`(name text PRIMARY KEY, value text NOT NULL)`); err != nil {
			return err
		}
	}
	later, err := readState(ctx, p, stateLater)
	if err != nil {
		return err
	}
	if later == "" {
		if err := sqldb.MigratePostgres(ctx, p.conn); err != nil {
			return err
		}
		if err := p.change(ctx, func() error { return p.leaveOut(ctx) }); err != nil {
			return err
		}
	}
	if p.archive, err = number(ctx, p, `SELECT value::bigint FROM setting WHERE name = 'archive_before'`); err != nil {
		return err
	}
	return p.query(ctx, `SELECT substr(c.relname, 8)::bigint FROM pg_inherits AS i JOIN pg_class AS c ON c.oid = i.inhrelid
		WHERE i.inhparent = 'event'::regclass AND c.relname ~ '^event_d[0-9]+$'`, nil, func(row []any) error {
		p.made[row[0].(int64)] = true
		return nil
	})
}

// leaveOut drops what is made faster after all rows: indexes but those of keys, and references to other tables.
func (p *Postgres) leaveOut(ctx context.Context) error {
	return leaveOut(ctx, p, `SELECT 'DROP INDEX ' || quote_ident(x.relname), replace(pg_get_indexdef(i.indexrelid), ' ON ONLY ', ' ON ')
		FROM pg_index AS i
		JOIN pg_class AS x ON x.oid = i.indexrelid
		JOIN pg_class AS c ON c.oid = i.indrelid
		WHERE c.relnamespace = current_schema()::regnamespace AND NOT c.relispartition AND NOT c.relname = ANY($1)
			AND NOT EXISTS (SELECT FROM pg_constraint WHERE conindid = i.indexrelid) AND NOT x.relname = ANY($2)
		UNION ALL
		SELECT 'ALTER TABLE ' || conrelid::regclass || ' DROP CONSTRAINT ' || quote_ident(conname),
			'ALTER TABLE ' || conrelid::regclass || ' ADD CONSTRAINT ' || quote_ident(conname) || ' ' || pg_get_constraintdef(oid)
		FROM pg_constraint
		WHERE connamespace = current_schema()::regnamespace AND contype = 'f'`,
		notMoved, []string{"event_key", "chunk_key", "event_seq_range"})
}

// ready makes partitions.
func (p *Postgres) ready(ctx context.Context, days []int64) error {
	for _, day := range days {
		first := day / sqldb.PartitionDays * sqldb.PartitionDays
		if day < p.archive || p.made[first] {
			continue
		}
		for _, name := range []string{chunkTable, eventTable} {
			if err := p.exec(ctx, fmt.Sprintf(`CREATE TABLE IF NOT EXISTS %[1]s_d%[2]d PARTITION OF %[1]s FOR VALUES FROM (%[2]d) TO (%[3]d)`, name, first, first+sqldb.PartitionDays)); err != nil {
				return err
			}
		}
		p.made[first] = true
	}
	return nil
}

func (p *Postgres) remove(ctx context.Context, t *table, keys [][]any) error {
	if len(keys) == 0 {
		return nil
	}
	list, cond, args := p.keyArrays(t, keys)
	return p.exec(ctx, `DELETE FROM `+sqldb.QuoteName(t.name)+` AS t USING `+list+` WHERE `+cond, args...)
}

func (p *Postgres) insert(ctx context.Context, t *table, rows [][]any) error {
	_, err := p.conn.CopyFrom(ctx, pgx.Identifier{t.name}, t.names(), pgx.CopyFromSlice(len(rows), func(i int) ([]any, error) {
		row := make([]any, len(t.columns))
		for n, c := range t.columns {
			row[n] = p.argument(c, rows[i][n])
		}
		return row, nil
	}))
	return err
}

// finish sets the sequences behind the rows.
func (p *Postgres) finish(ctx context.Context, tables []*table) error {
	if err := p.exec(ctx, `ANALYZE`); err != nil {
		return err
	}
	return p.change(ctx, func() error {
		texts := []string{
			`SELECT setval('event_seq', greatest(1, (SELECT coalesce(max(seq), 0) FROM event) + 1), false)`,
			`SELECT setval('chunk_id', greatest(1, (SELECT coalesce(max(id), 0) FROM chunk) + 1), false)`,
		}
		for _, t := range tables {
			if len(t.key) == 1 && t.columns[t.key[0]].name == "id" && t.columns[t.key[0]].kind == "bigint" && t.name != chunkTable {
				texts = append(texts, fmt.Sprintf(`SELECT setval(pg_get_serial_sequence('%[1]s', 'id'), (SELECT coalesce(max(id), 0) FROM %[1]s) + 1, false)`, sqldb.QuoteName(t.name)))
			}
		}
		texts = append(texts, `DROP TABLE `+stateTable, `DROP TABLE `+sqldb.UnfinishedTable)
		return execAll(ctx, p, texts...)
	})
}
