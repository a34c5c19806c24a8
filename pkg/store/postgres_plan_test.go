package store_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"go.uber.org/zap"

	"github.com/spangrove/spangrove/pkg/event"
	"github.com/spangrove/spangrove/pkg/fault"
	"github.com/spangrove/spangrove/pkg/project"
	"github.com/spangrove/spangrove/pkg/query"
	"github.com/spangrove/spangrove/pkg/queue"
	"github.com/spangrove/spangrove/pkg/store"
	"github.com/spangrove/spangrove/pkg/store/internal/sqldb"
)

// readsAll are the statements that may read all rows of a large table, each by words that stand in it and in no other, with the reason.
var readsAll = []struct{ words, reason string }{
	{"SELECT (SELECT CAST(coalesce(sum(256 + coalesce(octet_length(CAST(metadata", "what a project has stored is counted from its rows"},
	{"GROUP BY e.day", "usage by day is asked for of all days"},
	{"(SELECT count(*) FROM session WHERE project_id = $1)", "the same, of all sessions"},
	{"sum(octet_length(data)), 0) AS bigint) FROM chunk WHERE id IN (SELECT e.chunk", "what a rule would remove is counted from all rows"},
	{"sum(x.gone * octet_length(p.data) / x.total)", "the same, of packs"},
	{"SELECT EXISTS (SELECT 1 FROM event_d", "the first row of a partition will do"},
	{"FROM segment ORDER BY project_id, first_seq", "a segment has up to 65,536 events, and the list has all of them"},
	{"FROM segment WHERE header IS NOT NULL AND NOT words", "the same, of those that have no index of words yet"},
	{"FROM segment_stale ORDER BY project_id, seq", "the background looks at all that has changed"},
	{"SELECT project_id, day, event_id FROM segment_stale", "a start reads the ids of all that has changed"},
	{"WHERE project_id = $1 LIMIT 500)", "a slice of a deleted project: a table of some thousand rows is read, a larger one by its key"},
	{"FROM unpacked WHERE written_ms <= $1 LIMIT", "sessions are on the list for minutes, and any that are at rest will do"},
}

// bigTable is from how many rows on a table must be read by an index.
const bigTable = 1000

// TestPostgresPlans runs what requests and the background do in a store of some ten thousand events, and has PostgreSQL explain each
// statement that ran: no table of many rows is read from end to end, and where a statement names days, only their partitions are read.
func TestPostgresPlans(t *testing.T) {
	t.Parallel()
	place := newPostgresPlace(t)
	seen := &statements{args: map[string][][]any{}}
	ctx := sqldb.Traced(t.Context(), seen)
	now := time.Now().Truncate(24 * time.Hour)
	for now.Unix()/86400%28 != 27 { // the last day of four weeks, so that no partition has few events
		now = now.Add(24 * time.Hour)
	}
	open := func() *store.Store {
		s, err := store.OpenPostgres(ctx, place.dsn, store.Options{PackAfter: -1, Now: func() time.Time { return now }})
		return closeAfter(t, s, err)
	}
	s := &planStore{T: t, Store: open(), now: now}
	s.fill(place)
	place.Exec(t, "ANALYZE")
	seen.begin()
	s.work(place)
	if err := s.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	s.Store = open() // reads what it keeps in memory
	s.remove()
	seen.check(t, place)
}

// statements are those that a store has run, with some of the arguments of each.
type statements struct {
	mu    sync.Mutex
	on    bool
	texts []string
	args  map[string][][]any
}

// TraceQueryStart implements pgx.QueryTracer.
func (s *statements) TraceQueryStart(ctx context.Context, _ *pgx.Conn, q pgx.TraceQueryStartData) context.Context {
	const samples = 5 // plans are made for the arguments
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.on && planned.MatchString(q.SQL) && len(s.args[q.SQL]) < samples {
		if s.args[q.SQL] == nil {
			s.texts = append(s.texts, q.SQL)
		}
		s.args[q.SQL] = append(s.args[q.SQL], q.Args)
	}
	return ctx
}

// planned are statements that have a plan.
var planned = regexp.MustCompile(`^\s*(SELECT|INSERT|UPDATE|DELETE|WITH)\b`)

// TraceQueryEnd implements pgx.QueryTracer.
func (s *statements) TraceQueryEnd(context.Context, *pgx.Conn, pgx.TraceQueryEndData) {}

func (s *statements) begin() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.on = true
}

// check has each statement explained, by a connection such as the store's own.
func (s *statements) check(t *testing.T, place postgresPlace) {
	s.mu.Lock()
	defer s.mu.Unlock()
	db, err := sqldb.OpenPostgres(t.Context(), sqldb.ServerOptions{DSN: place.dsn, Writers: 1, ReadTimeout: time.Minute, Logger: zap.NewNop()})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = db.Close(context.Background()) }()
	rows := map[string]float64{}
	err = sqldb.Each(t.Context(), db, `SELECT relname, reltuples::float8 FROM pg_class WHERE relnamespace = current_schema()::regnamespace`, nil,
		func(scan func(...any) error) error {
			var name string
			var n float64
			err := scan(&name, &n)
			rows[name] = n
			return err
		})
	if err != nil {
		t.Fatal(err)
	}
	used := make([]bool, len(readsAll))
	for _, text := range s.texts {
		line := strings.Join(strings.Fields(text), " ")
		excepted := slices.IndexFunc(readsAll, func(x struct{ words, reason string }) bool { return strings.Contains(line, x.words) })
		if excepted >= 0 {
			used[excepted] = true
		}
		for _, args := range s.args[text] {
			found, plan := wrong(t, db, rows, text, args, excepted >= 0)
			if len(found) > 0 {
				t.Errorf("%s\n\t%s\n%.4000s", strings.Join(found, "; "), line, plan)
				break
			}
		}
	}
	for i, x := range readsAll {
		if !used[i] {
			t.Errorf("no statement has %q", x.words)
		}
	}
	t.Logf("%d statements", len(s.texts))
}

// planNode is what EXPLAIN says of a step of a plan.
type planNode struct {
	Type     string     `json:"Node Type"`
	Relation string     `json:"Relation Name"`
	Index    string     `json:"Index Name"`
	Cond     string     `json:"Index Cond"`
	Filter   string     `json:"Filter"`
	Rows     float64    `json:"Plan Rows"`
	Cost     float64    `json:"Total Cost"`
	Plans    []planNode `json:"Plans"`
}

// each calls f with a step and those below it.
func (p *planNode) each(depth int, f func(p *planNode, depth int)) {
	f(p, depth)
	for i := range p.Plans {
		p.Plans[i].each(depth+1, f)
	}
}

// wrong returns what is wrong with the plan of a statement, and the plan.
func wrong(t *testing.T, db *sqldb.Postgres, rows map[string]float64, text string, args []any, all bool) (found []string, plan string) {
	t.Helper()
	root, ok := explain(t, db, "on", text, args)
	if !ok {
		return nil, ""
	}
	found, plan = wrongIn(&root, rows, text, args, all)
	if len(found) == 0 {
		return nil, plan
	}
	// Many keys of a table of little more than bigTable rows cost as much by an index as reading it all, and the plan changes from run to
	// run. As the table grows only the cost of reading it all grows with it, so a statement whose plan by indexes costs less than twice
	// as much is not wrong.
	if indexed, ok := explain(t, db, "off", text, args); ok && indexed.Cost < 2*root.Cost {
		if still, by := wrongIn(&indexed, rows, text, args, all); len(still) == 0 {
			return nil, by
		}
	}
	return found, plan
}

// explain returns the plan of a statement, with enable_seqscan on or off. It reports false for one that names a partition that was
// dropped since.
func explain(t *testing.T, db *sqldb.Postgres, seqScan, text string, args []any) (planNode, bool) {
	t.Helper()
	var data []byte
	err := db.Write(t.Context(), func(tx sqldb.Tx) error {
		if _, err := tx.Exec(t.Context(), "SET LOCAL enable_seqscan = "+seqScan); err != nil {
			return err
		}
		_, err := sqldb.One(t.Context(), tx, "EXPLAIN (FORMAT JSON) "+text, args, &data)
		return err
	})
	var gone *pgconn.PgError
	if errors.As(err, &gone) && gone.Code == "42P01" {
		return planNode{}, false
	}
	if err != nil {
		t.Fatalf("explain %s: %v", text, err)
	}
	var list []struct{ Plan planNode }
	if err := json.Unmarshal(data, &list); err != nil {
		t.Fatal(err)
	}
	return list[0].Plan, true
}

// wrongIn returns what is wrong with a plan, and the plan as text.
func wrongIn(root *planNode, rows map[string]float64, text string, args []any, all bool) (found []string, plan string) {
	partitions, named := partitionsOf(text, args)
	root.each(1, func(p *planNode, depth int) {
		plan += fmt.Sprintf("%s%s %s %s cond %q filter %q rows %.0f cost %.0f\n",
			strings.Repeat("\t", depth), p.Type, p.Relation, p.Index, p.Cond, p.Filter, p.Rows, p.Cost)
		if p.Relation == "" || !strings.Contains(p.Type, "Scan") {
			return
		}
		// A bitmap's condition is that of the scan of the index below it.
		byIndex := p.Cond != "" || p.Type == "Bitmap Heap Scan" || p.Type == "Tid Scan"
		if !all && !byIndex && rows[p.Relation] >= bigTable {
			found = append(found, p.Type+" of "+p.Relation+" without a condition of an index")
		}
		if named && isPartition.MatchString(p.Relation) && !slices.Contains(partitions, p.Relation[strings.Index(p.Relation, "_"):]) {
			found = append(found, p.Relation+" is read")
		}
	})
	return found, plan
}

var (
	isPartition = regexp.MustCompile(`^(event|chunk)_(d\d+|archive)$`)
	// namesDays finds days that are arguments of a statement. Days that it looks up itself are not known before it runs.
	namesDays = regexp.MustCompile(`\bday = (?:\$(\d+)|ANY\(\$(\d+)\))`)
)

// partitionsOf returns the ends of the names of the partitions of the days that a statement names, if it does.
func partitionsOf(text string, args []any) (list []string, named bool) {
	if strings.Contains(text, "day <") { // or all before a day
		return nil, false
	}
	for _, m := range namesDays.FindAllStringSubmatch(text, -1) {
		n, _ := strconv.Atoi(m[1] + m[2])
		var days []int32
		switch v := args[n-1].(type) {
		case int32:
			days = []int32{v}
		case []int32:
			days = v
		}
		for _, day := range days {
			list = append(list, fmt.Sprintf("_d%d", day/28*28), "_archive")
		}
		named = true
	}
	return list, named
}

// planStore is a store whose statements are looked at.
type planStore struct {
	*testing.T
	*store.Store
	now            time.Time
	project, other int64
	events         []event.Incoming // of project, the oldest first
}

func (s *planStore) ok(err error) {
	s.Helper()
	if err != nil {
		s.Fatal(err)
	}
}

// Of fill: four weeks share a partition, so that the events lie in five of them.
const (
	planSessions = 5000
	planSteps    = 3
	planWeeks    = 16
)

// fill stores planSessions sessions of planSteps events of one project, and few of another one.
func (s *planStore) fill(place postgresPlace) {
	for _, p := range []struct {
		name     string
		id       *int64
		sessions int
	}{{"large", &s.project, planSessions}, {"small", &s.other, planSessions / 100}} {
		made, err := s.EnsureProject(s.Context(), p.name)
		s.ok(err)
		*p.id = made.ID
		var b event.Batch
		for i := range p.sessions {
			ago := time.Duration(p.sessions-i) * (planWeeks * 7 * 24 * time.Hour / time.Duration(p.sessions))
			b.Events = append(b.Events, s.session(i, s.now.Add(-ago))...)
			if len(b.Events) >= 1500 || i == p.sessions-1 {
				s.ok(s.Put(s.Context(), *p.id, b))
				if p.id == &s.project {
					s.events = append(s.events, b.Events...)
				}
				b = event.Batch{}
			}
		}
	}
	s.ok(s.Seal(s.Context()))
	// Segments of other projects, whose events nobody reads: what one project's question reads is a small part of them.
	place.Exec(s.T, `
		INSERT INTO segment(project_id, first_seq, last_seq, num_events, first_ms, last_ms, header, words)
		SELECT 1000 + g % 100, 1 + g * 65536, (g + 1) * 65536, 65536, 0, 0, '\x00', true
		FROM generate_series(1000, 3999) AS g;
		INSERT INTO segment_column(segment_id, number, data)
		SELECT id, n, '\x00' FROM segment, generate_series(0, 9) AS n WHERE project_id >= 1000;
		INSERT INTO segment_stale(project_id, seq, day, event_id, gone)
		SELECT project_id, first_seq + n, 0, gen_random_uuid(), false FROM segment, generate_series(0, 9) AS n WHERE project_id >= 1000`)
}

// session makes the i-th session, of planSteps events.
func (s *planStore) session(i int, at time.Time) (list []event.Incoming) {
	id, refused := uuid.New(), "refused"
	for n := range planSteps {
		e := event.Incoming{Event: event.Event{ID: uuid.New(), SessionID: id, Type: event.TypeModel, Name: fmt.Sprint("step ", n), Source: "test",
			Start: float64(at.Add(time.Duration(n) * time.Second).UnixMilli()), Duration: 900,
			Inputs:         fmt.Appendf(nil, `{"q":"%s"}`, benchText[i*64:i*64+300]),
			Outputs:        fmt.Appendf(nil, `{"a":"%s"}`, benchText[i*32:i*32+300]),
			Config:         json.RawMessage(`{"model":"m"}`),
			Metadata:       fmt.Appendf(nil, `{"prompt_tokens":%d,"completion_tokens":7,"cost":0.01,"response_id":"r%d"}`, i, i*10+n),
			UserProperties: fmt.Appendf(nil, `{"user_id":"user-%04d"}`, i%700)}}
		if i%2 == 0 { // a span
			e.TraceID, e.Type = id, event.TypeTool
		}
		if i%100 == 7 {
			e.Error = &refused
		}
		if i%500 == 9 {
			e.Metadata = fmt.Appendf(nil, `{"run_id":"run-%d"}`, i/1000)
		}
		e.Complete(s.now)
		list = append(list, e)
	}
	return list
}

// work does what requests and the background do, but for deletions.
func (s *planStore) work(place postgresPlace) {
	s.write()
	s.read()
	place.Exec(s.T, "DELETE FROM unpacked WHERE ctid NOT IN (SELECT ctid FROM unpacked LIMIT 200)") // packing rests between sessions
	s.background()
}

// write stores and changes events as requests do.
func (s *planStore) write() {
	ctx, put := s.Context(), func(b event.Batch) { s.Helper(); s.ok(s.Put(s.Context(), s.project, b)) }
	for i := range 20 { // of now, and late ones
		put(event.Batch{Events: s.session(planSessions+i, s.now.Add(-time.Duration(i%5)*20*24*time.Hour))})
	}
	put(event.Batch{Events: s.events[6000:6030]}) // sent again
	// Another span of a trace, which names another session than those before it; it is their parent.
	root := s.events[9000]
	root.ID, root.SessionID, root.Name, root.Start = uuid.New(), uuid.New(), "root", root.Start-1000
	put(event.Batch{Events: []event.Incoming{root}})
	for _, e := range s.events[3000:3003] {
		put(event.Batch{LogParts: []event.LogPart{
			{Kind: event.LogInput, SpanID: e.ID, TraceID: e.TraceID, Nanos: 1, Content: json.RawMessage(`[{"role":"user","content":"x"}]`)},
			{Kind: event.LogEvaluation, SpanID: e.ID, TraceID: e.TraceID, Nanos: 2, ResponseID: "r10001",
				Content: json.RawMessage(`{"name":"tone","value":0.5}`)},
		}})
		for _, id := range []uuid.UUID{e.ID, e.SessionID, uuid.New()} { // the last one waits
			u := event.Update{EventID: id, Metadata: json.RawMessage(`{"cost":0.5}`), Outputs: json.RawMessage(`{"a":"b"}`)}
			_, err := s.Update(ctx, s.project, u)
			s.ok(err)
		}
	}
	s.ok(s.PutAbout(ctx, s.project, s.events[100].ID, event.Batch{Events: s.session(planSessions+50, s.now)}))
}

// read asks what the API asks, also for events that are not in segments yet and for those that have changed.
func (s *planStore) read() {
	ctx := s.Context()
	e := s.events[len(s.events)/2]
	_, err := s.Event(ctx, s.project, e.ID)
	s.ok(err)
	_, err = s.ReadSession(ctx, s.project, e.SessionID)
	s.ok(err)
	_, err = s.Session(ctx, s.project, e.SessionID)
	s.ok(err)
	set, err := s.EventsByID(ctx, s.project, []uuid.UUID{e.ID, e.SessionID, s.events[0].ID})
	s.ok(err)
	s.drain(set)
	for _, filters := range []string{
		`[]`,
		`[{"field":"event_type","operator":"is","value":"session"}]`,
		`[{"field":"user_properties.user_id","operator":"is","value":"user-0007"}]`,
		`[{"field":"error","operator":"exists"}]`,
		fmt.Sprintf(`[{"field":"session_id","operator":"is","value":"%s"}]`, e.SessionID),
		fmt.Sprintf(`[{"field":"event_id","operator":"is","value":"%s"}]`, e.ID),
		`[{"field":"metadata.run_id","operator":"is","value":"run-1"}]`,
		`[{"field":"metadata.prompt_tokens","operator":"greater than","value":4990,"type":"number"}]`,
		`[{"field":"inputs","operator":"contains","value":"qzneedle"}]`,
	} {
		fs, err := query.ParseFilters([]byte(filters), "filters")
		s.ok(err)
		from, to := float64(s.now.Add(-48*time.Hour).UnixMilli()), float64(s.now.UnixMilli())
		for _, q := range []query.Search{
			{Filters: fs, Limit: 50, Page: 1, Uncounted: true},
			{Filters: fs, Limit: 50, Page: 3},
			{Filters: fs, Limit: 50, Page: 1, From: &from, To: &to},
		} {
			set, err := s.Search(ctx, s.project, q)
			s.ok(err)
			s.drain(set)
		}
		if filters == `[]` || strings.Contains(filters, "prompt_tokens") {
			for _, counted := range []bool{false, true} {
				q := query.SessionSearch{EventFilters: fs, Limit: 50, Counted: counted, Sort: query.SortStart}
				list, err := s.SearchSessions(ctx, s.project, q)
				s.ok(err)
				s.drain(&list.Set)
			}
		}
	}
	field, err := query.NewFieldReader("config.model")
	s.ok(err)
	cost, err := query.NewFieldReader("metadata.cost")
	s.ok(err)
	bucket, err := query.ParseBucket("day")
	s.ok(err)
	_, err = s.Chart(ctx, s.project, &query.Chart{Zone: time.UTC, Metric: cost, Group: &field, Bucket: bucket, Aggregation: query.Sum})
	s.ok(err)
	_, err = s.Values(ctx, s.project, &query.ValueQuery{Search: query.Search{Limit: 10}, Field: field})
	s.ok(err)
	_, err = s.FieldIndex(ctx, s.project, query.Search{})
	s.ok(err)
	_, err = s.StoredBytes(ctx, s.project)
	s.ok(err)
	_, err = s.EventCount(ctx, s.project)
	s.ok(err)
	_, err = s.IndexState(ctx, s.project)
	s.ok(err)
}

// drain loads some events of a list.
func (s *planStore) drain(set *event.Set) {
	s.Helper()
	for i := range min(len(set.Events), 3) {
		_, err := set.Load(s.Context(), i)
		s.ok(err)
	}
}

// background does what the store does by itself.
func (s *planStore) background() {
	ctx := s.Context()
	s.ok(s.Seal(ctx))
	s.ok(s.RebuildIndex(ctx, s.project))
	_, err := s.IndexState(ctx, s.project)
	s.ok(err)
	s.ok(s.Seal(ctx))
	s.ok(s.Pack(ctx))
	s.ok(s.Recount(ctx, s.project))
	_, err = s.Usage(ctx, s.project)
	s.ok(err)
	e, err := s.Event(ctx, s.project, s.events[len(s.events)-1].ID) // from a pack
	s.ok(err)
	if len(e.Inputs) == 0 {
		s.Error("an event in a pack has no inputs")
	}
	filters := json.RawMessage(`{"filterArray":[{"field":"error","operator":"exists"}]}`)
	q, err := s.CreateQueue(ctx, s.project, queue.New(&queue.Update{Filters: filters}, 0), nil)
	s.ok(err)
	_, _, err = s.FillQueue(ctx, project.Project{ID: s.project}, q.ID)
	s.ok(err)
	s.Tidy(ctx)
}

// remove deletes an event, a session and a project, and what a rule of retention does not keep: the sessions and payloads of some days.
func (s *planStore) remove() {
	ctx := s.Context()
	s.ok(s.DeleteEvent(ctx, s.project, s.events[200].ID))
	s.ok(s.DeleteSession(ctx, s.project, s.events[300].SessionID))
	rule := project.RetentionRule{EventDays: planWeeks*7 - 1, PayloadDays: planWeeks*7 - 2}
	_, err := s.PreviewRetention(ctx, s.project, rule)
	s.ok(err)
	_, err = s.ChangeRetention(ctx, s.project, func(r *project.Retention) error {
		r.EventDays, r.PayloadDays = &rule.EventDays, &rule.PayloadDays
		return nil
	})
	s.ok(err)
	s.ok(s.Retain(ctx))
	if _, err := s.ReadSession(ctx, s.project, s.events[0].SessionID); !fault.IsNotFound(err) {
		s.Errorf("the oldest session: %v, want it gone", err)
	}
	gone, err := s.DeleteProject(ctx, s.other)
	s.ok(err)
	<-gone
}
