package store_test

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"go.uber.org/zap"

	"github.com/spangrove/spangrove/pkg/event"
	"github.com/spangrove/spangrove/pkg/fault"
	"github.com/spangrove/spangrove/pkg/store"
	"github.com/spangrove/spangrove/pkg/store/internal/sqldb"
)

var updateStatements = flag.Bool("update", false, "write testdata/citus_statements.txt")

// TestCitusStatements runs what requests and the background do, and has Citus explain each statement that ran: one that reads or changes chunks
// goes to one shard, to the shards of the ids that it names, or to all shards, and is in testdata/citus_statements.txt with that. All others are the
// coordinator's own.
func TestCitusStatements(t *testing.T) {
	t.Parallel()
	place := newCitusPlace(t)
	seen := &statements{args: map[string][][]any{}}
	ctx := sqldb.Traced(t.Context(), seen)
	now := time.Now().Truncate(24 * time.Hour)
	db, err := store.OpenPostgres(ctx, place.dsn, store.Options{PackAfter: -1, Now: func() time.Time { return now }})
	s := &planStore{T: t, Store: closeAfter(t, db, err), now: now}
	s.fill(place)
	seen.begin()
	s.work(place)
	s.remove()
	place.settled(t)

	list := seen.shards(t, place)
	path := filepath.Join("testdata", "citus_statements.txt")
	text := strings.Join(list, "\n") + "\n"
	if *updateStatements {
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), text); diff != "" {
		t.Errorf("statements that go to shards (-want +got); go test -run TestCitusStatements ./pkg/store -update writes the list anew:\n%s", diff)
	}
}

var (
	byID   = regexp.MustCompile(`\bid = \$\d`)
	byIDs  = regexp.MustCompile(`\bid = ANY\(\$\d|chunk\.id = p\.id|^INSERT INTO chunk`)
	ofDay  = regexp.MustCompile(`\b(event|chunk)_d\d+`)
	nTasks = regexp.MustCompile(`Task Count: (\d+)`)
)

// shards returns the statements that go to shards, with where they go, in their order.
func (s *statements) shards(t *testing.T, place postgresPlace) (list []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	db, err := sqldb.OpenPostgres(t.Context(), sqldb.ServerOptions{DSN: place.dsn, Writers: 1, ReadTimeout: time.Minute, Logger: zap.NewNop()})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = db.Close(context.Background()) }()
	shards := place.Count(t, `SELECT count(*) FROM pg_dist_shard WHERE logicalrelid = 'chunk'::regclass`)
	for _, text := range s.texts {
		line := ofDay.ReplaceAllString(strings.Join(strings.Fields(text), " "), "${1}_d0")
		for i, args := range s.args[text] {
			plan, err := explainText(t.Context(), db, text, args)
			var gone *pgconn.PgError
			if errors.As(err, &gone) && gone.Code == "42P01" {
				continue // a partition that was dropped since
			}
			if err != nil {
				t.Errorf("%s\n\t%v", line, err)
				break
			}
			if !strings.Contains(plan, "Citus") {
				break
			}
			tasks := 0
			for _, m := range nTasks.FindAllStringSubmatch(plan, -1) {
				n, _ := strconv.Atoi(m[1])
				tasks = max(tasks, n)
			}
			where := "all shards"
			switch {
			case byID.MatchString(line):
				if where = "one shard"; tasks != 1 {
					t.Errorf("%d tasks:\n\t%s\n%s", tasks, line, plan)
				}
			case byIDs.MatchString(line):
				where = "shards of ids"
			case tasks != shards:
				t.Errorf("%d tasks for %d shards:\n\t%s\n%s", tasks, shards, line, plan)
			}
			if i == 0 {
				list = append(list, where+": "+line)
			}
		}
	}
	slices.Sort(list)
	return slices.Compact(list)
}

func explainText(ctx context.Context, db *sqldb.Postgres, text string, args []any) (plan string, err error) {
	err = db.Write(ctx, func(tx sqldb.Tx) error {
		return sqldb.Each(ctx, tx, "EXPLAIN (COSTS OFF) "+text, args, func(scan func(...any) error) error {
			var line string
			err := scan(&line)
			plan += line + "\n"
			return err
		})
	})
	return plan, err
}

// answers are events with outputs, of sessions of their own.
func answers(n int) []event.Incoming {
	list := tools(n, time.Now(), time.Millisecond)
	for i := range list {
		list[i].Outputs = json.RawMessage(fmt.Sprintf(`{"answer":%d}`, i))
	}
	return list
}

// TestCitusFailedTransaction checks that what a transaction has inserted ahead is deleted if it fails.
func TestCitusFailedTransaction(t *testing.T) {
	t.Parallel()
	place := newCitusPlace(t)
	s := place.Open(t, store.Options{})
	p, err := s.EnsureProject(t.Context(), "a")
	if err != nil {
		t.Fatal(err)
	}
	place.Exec(t, `
		CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION 'refused'; END $$;
		CREATE TRIGGER refuse BEFORE INSERT ON event FOR EACH STATEMENT EXECUTE FUNCTION refuse()`)
	list := answers(3)
	if err := s.Put(t.Context(), p.ID, event.Batch{Events: list}); err == nil {
		t.Fatal("stored")
	}
	if n := place.Count(t, `SELECT is_called::int FROM chunk_id`); n == 0 {
		t.Error("no payload was inserted")
	}
	place.Exec(t, `DROP TRIGGER refuse ON event`)
	place.settled(t)
	if n := place.Count(t, `SELECT count(*) FROM chunk`); n != 0 {
		t.Errorf("%d payloads of a transaction that failed", n)
	}
	if err := s.Put(t.Context(), p.ID, event.Batch{Events: list}); err != nil {
		t.Fatal(err)
	}
	e, err := s.Event(t.Context(), p.ID, list[1].ID)
	if err != nil || string(e.Outputs) != string(list[1].Outputs) {
		t.Errorf("%s, %v", e.Outputs, err)
	}
}

// TestCitusWithoutReplica checks that a replica is refused.
func TestCitusWithoutReplica(t *testing.T) {
	t.Parallel()
	place := newCitusPlace(t)
	place.Open(t, store.Options{})
	s, err := store.OpenPostgres(t.Context(), place.dsn, store.Options{ReadDSN: place.dsn})
	if err == nil {
		_ = s.Close(t.Context())
	}
	var refused *fault.Error
	if !errors.As(err, &refused) || refused.Field != "read_dsn" {
		t.Errorf("opened with a replica: %v", err)
	}
}

// TestCitusReadersHoldChunks checks that no payload goes or changes while somebody reads all of the store, and that it does afterwards.
func TestCitusReadersHoldChunks(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	place := newCitusPlace(t)
	s := place.Open(t, store.Options{PackAfter: -1})
	p, err := s.EnsureProject(ctx, "a")
	if err != nil {
		t.Fatal(err)
	}
	list := answers(3)
	for _, e := range list { // a chunk each
		if err := s.Put(ctx, p.ID, event.Batch{Events: []event.Incoming{e}}); err != nil {
			t.Fatal(err)
		}
	}
	const chunks = `SELECT count(*) FROM chunk`
	before := place.Count(t, chunks)
	reader := place.conn(t)
	if _, err := sqldb.HoldChunks(ctx, reader); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Update(ctx, p.ID, event.Update{EventID: list[0].ID, Outputs: json.RawMessage(`{"a":"changed"}`)}); err != nil {
		t.Fatal(err)
	}
	if err := s.Pack(ctx); err != nil {
		t.Fatal(err)
	}
	now := func(text string) (n int) {
		t.Helper()
		if err := reader.QueryRow(ctx, text).Scan(&n); err != nil {
			t.Fatal(err)
		}
		return n
	}
	if n := now(chunks); n != before+1 {
		t.Errorf("%d chunks, want %d and that of an update", n, before)
	}
	if n := now(`SELECT count(*) FROM chunk WHERE pack IS NOT NULL`); n != 0 {
		t.Errorf("%d chunks were packed", n)
	}
	if err := reader.Close(ctx); err != nil {
		t.Fatal(err)
	}
	place.settled(t)
	if n := place.Count(t, chunks); n != before {
		t.Errorf("%d chunks afterwards, want %d", n, before)
	}
	if err := s.Pack(ctx); err != nil {
		t.Fatal(err)
	}
	if n := place.Count(t, `SELECT count(*) FROM chunk WHERE pack IS NOT NULL`); n == 0 {
		t.Error("no chunk was packed")
	}
	for i, e := range list {
		got, err := s.Event(ctx, p.ID, e.ID)
		want := string(e.Outputs)
		if i == 0 {
			want = `{"a":"changed"}`
		}
		if err != nil || string(got.Outputs) != want {
			t.Errorf("event %d: %s, %v", i, got.Outputs, err)
		}
	}
}

// TestCitusRebalance moves all shards of a store to one node, and has them spread again while events are stored.
func TestCitusRebalance(t *testing.T) { // by itself: other tests make and drop shards
	ctx := t.Context()
	place := newCitusPlace(t)
	s := place.Open(t, store.Options{})
	p, err := s.EnsureProject(ctx, "a")
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Put(ctx, p.ID, event.Batch{Events: answers(100)}); err != nil {
		t.Fatal(err)
	}
	x, err := store.ReadCluster(ctx, place.dsn)
	if err != nil {
		t.Fatal(err)
	}
	var taking []int // shards of nodes that take some
	for _, n := range x.Nodes {
		if !n.Reachable || n.Bytes == nil {
			t.Errorf("node %+v", n)
		}
		if n.TakesShards {
			taking = append(taking, n.Shards)
		}
	}
	if !x.Distributed || len(taking) < 2 || slices.Min(taking) == 0 || x.Rebalancing != nil {
		t.Fatalf("%+v", x)
	}
	conn := place.conn(t)
	defer func() { _ = conn.Close(context.Background()) }()
	rows, err := conn.Query(ctx, `WITH n AS (SELECT nodename, nodeport, groupid FROM pg_dist_node WHERE shouldhaveshards AND noderole = 'primary' ORDER BY groupid LIMIT 1)
		SELECT format('SELECT citus_move_shard_placement(%s, %L, %s, %L, %s, ''block_writes'')', s.shardid, f.nodename, f.nodeport, n.nodename, n.nodeport)
		FROM n, pg_dist_shard AS s
		JOIN pg_dist_placement AS p ON p.shardid = s.shardid
		JOIN pg_dist_node AS f ON f.groupid = p.groupid
		WHERE s.logicalrelid = 'chunk'::regclass AND f.groupid <> n.groupid`)
	if err != nil {
		t.Fatal(err)
	}
	moves, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range moves {
		if _, err := conn.Exec(ctx, text); err != nil {
			t.Fatal(err)
		}
	}
	stop, stopped := make(chan struct{}), make(chan error)
	go func() {
		for {
			select {
			case <-stop:
				stopped <- nil
				return
			default:
			}
			if err := s.Put(ctx, p.ID, event.Batch{Events: answers(20)}); err != nil {
				stopped <- err
				return
			}
		}
	}()
	moved, err := store.RebalanceCluster(ctx, place.dsn, func(string, int64, int64) {})
	close(stop)
	if err := errors.Join(err, <-stopped); err != nil {
		t.Fatal(err)
	}
	if x, err = store.ReadCluster(ctx, place.dsn); err != nil {
		t.Fatal(err)
	}
	for _, n := range x.Nodes {
		if n.TakesShards && n.Shards == 0 {
			t.Errorf("after %d moves node %s has no shards", moved, n.Address)
		}
	}
	if n, err := store.RebalanceCluster(ctx, place.dsn, func(string, int64, int64) {}); err != nil || n != 0 {
		t.Errorf("%d moves, %v, where nothing is to be moved", n, err)
	}
}

// settled waits until an open store has deleted the payloads that it no longer needs.
func (p postgresPlace) settled(t *testing.T) {
	t.Helper()
	conn := p.conn(t)
	defer func() { _ = conn.Close(context.Background()) }()
	if left, err := awaitRemoval(t.Context(), conn, 30*time.Second); err != nil || left > 0 {
		t.Fatalf("%d payloads are still to be deleted, %v", left, err)
	}
}

// awaitRemoval waits for an open store to delete the payloads that it no longer needs, and returns how many are left.
func awaitRemoval(ctx context.Context, conn *pgx.Conn, limit time.Duration) (left int, err error) {
	for end := time.Now().Add(limit); ; time.Sleep(10 * time.Millisecond) {
		err := conn.QueryRow(ctx, `SELECT count(*) FROM `+sqldb.RemovedTable).Scan(&left)
		if err != nil || left == 0 || time.Now().After(end) {
			return left, err
		}
	}
}
