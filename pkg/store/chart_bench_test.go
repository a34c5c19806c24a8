package store_test

import (
	"context"
	"database/sql"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"github.com/google/uuid"
	_ "github.com/jackc/pgx/v5/stdlib"

	"github.com/spangrove/spangrove/pkg/event"
	"github.com/spangrove/spangrove/pkg/query"
	"github.com/spangrove/spangrove/pkg/store"
)

// benchChartEvents is how many events BenchmarkChart charts, unless SPANGROVE_BENCH_EVENTS says
// another number. Loading a million takes a minute or two.
const benchChartEvents = 1_000_000

// benchSmall fills a store with small events over 30 days.
func benchSmall(b *testing.B, s *store.Store, projectID int64, n int) {
	b.Helper()
	r := rand.New(rand.NewPCG(11, 13))
	begin := time.Now().Add(-30 * 24 * time.Hour).Truncate(time.Hour)
	tiers := []string{"gold", "silver", "free", "trial"}
	const each = 2000
	for done := 0; done < n; done += each {
		var batch event.Batch
		var sid uuid.UUID
		for i := range each {
			if i%20 == 0 {
				sid = uuid.New()
			}
			at := begin.Add(time.Duration(float64(30*24*time.Hour) * float64(done+i) / float64(n)))
			e := event.Incoming{Event: event.Event{ID: uuid.New(), SessionID: sid, Type: event.TypeModel, Name: "chat", Source: "bench", Start: float64(at.UnixMilli()),
				Duration: 1000 * r.ExpFloat64(),
				Metadata: fmt.Appendf(nil, `{"cost":%.6f,"tier":%q,"total_tokens":%d}`, r.ExpFloat64()/100, tiers[r.IntN(4)], r.IntN(4000))}}
			e.Complete(at)
			batch.Events = append(batch.Events, e)
		}
		if err := s.Put(b.Context(), projectID, batch); err != nil {
			b.Fatal(err)
		}
	}
}

// byHand is a second connection to the benchmark's database, and how it spells a chart: buckets
// of an hour of a value, by a group.
type byHand struct {
	db                          *sql.DB
	metadata                    func(key string) string
	number                      func(key string) string
	percentile, average, bucket string
}

func openByHand(b *testing.B, dir string) byHand {
	b.Helper()
	h := byHand{
		// SQLite has no percentiles: the two values between which they lie are found by their rank.
		percentile: `SELECT k, g, min(v) + (max(v) - min(v)) * (0.95 * (n - 1) - CAST(0.95 * (n - 1) AS INTEGER)) FROM (
			SELECT k, g, v, row_number() OVER (PARTITION BY k, g ORDER BY v) - 1 AS i, count(*) OVER (PARTITION BY k, g) AS n
			FROM (%s)
			WHERE v IS NOT NULL)
			WHERE i BETWEEN CAST(0.95 * (n - 1) AS INTEGER) AND CAST(0.95 * (n - 1) AS INTEGER) + 1 GROUP BY k, g, n`,
		bucket:   `CAST(start_ms / 3600000 AS INTEGER)`,
		metadata: func(key string) string { return "json_extract(metadata, '$." + key + "')" },
	}
	h.number = h.metadata
	driver, dsn := "sqlite", "file:"+filepath.Join(dir, "spangrove.db")+"?_pragma=query_only(ON)&_pragma=cache_size(-65536)"
	if pg := os.Getenv("SPANGROVE_BENCH_POSTGRES"); pg != "" {
		driver, dsn = "pgx", pg
		h.percentile = `SELECT k, g, percentile_cont(0.95) WITHIN GROUP (ORDER BY v) FROM (%s) AS x GROUP BY k, g`
		h.bucket = `floor(start_ms / 3600000)::bigint`
		h.metadata = func(key string) string { return "(metadata::json->>'" + key + "')" }
		h.number = func(key string) string { return "(metadata::json->>'" + key + "')::float8" }
	}
	h.average = `SELECT k, g, avg(v) FROM (%s) AS x GROUP BY k, g`
	var err error
	if h.db, err = sql.Open(driver, dsn); err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = h.db.Close() })
	return h
}

func (h byHand) run(ctx context.Context, statement string, projectID int64) (n int, err error) {
	rows, err := h.db.QueryContext(ctx, statement, projectID)
	if err != nil {
		return 0, err
	}
	defer rows.Close()
	for rows.Next() {
		var k int64
		var g *string
		var v *float64
		if err := rows.Scan(&k, &g, &v); err != nil {
			return 0, err
		}
		n++
	}
	return n, rows.Err()
}

// BenchmarkChart charts events of 30 days in hours, beside the same in SQL by hand: it reports
// the medians of both and their ratio, which is to stay under 3. The two take turns, so that what
// else runs on the machine meets both.
func BenchmarkChart(b *testing.B) {
	s, _, dir := benchStore(b)
	projectID := benchProject(b, s)
	n := benchChartEvents
	if text := os.Getenv("SPANGROVE_BENCH_EVENTS"); text != "" {
		var err error
		if n, err = strconv.Atoi(text); err != nil {
			b.Fatal(err)
		}
	}
	benchSmall(b, s, projectID, n)
	h := openByHand(b, dir)
	for _, tt := range []struct {
		name, metric, group, aggregation string
		value, by, shape                 string
	}{
		{"p95 of duration by tier", "duration", "metadata.tier", "p95", "duration", h.metadata("tier"), h.percentile},
		{"p95 of cost by tier", "metadata.cost", "metadata.tier", "p95", h.number("cost"), h.metadata("tier"), h.percentile},
		{"p95 of duration by name", "duration", "event_name", "p95", "duration", "name", h.percentile},
		{"average cost by tier", "metadata.cost", "metadata.tier", "average", h.number("cost"), h.metadata("tier"), h.average},
	} {
		b.Run(tt.name, func(b *testing.B) {
			metric, err := query.NewFieldReader(tt.metric)
			if err != nil {
				b.Fatal(err)
			}
			group, err := query.NewFieldReader(tt.group)
			if err != nil {
				b.Fatal(err)
			}
			from, to := float64(time.Now().Add(-31*24*time.Hour).UnixMilli()), float64(time.Now().UnixMilli())
			c := &query.Chart{Metric: metric, Group: &group, Bucket: query.Hour, Aggregation: query.Aggregation(tt.aggregation), Zone: time.UTC}
			c.From, c.To = &from, &to
			c.Filters, err = query.ParseFilters([]byte(`[{"field":"event_type","operator":"is","value":"model"}]`), "filters")
			if err != nil {
				b.Fatal(err)
			}
			statement := fmt.Sprintf(tt.shape, fmt.Sprintf(`SELECT %s AS k, %s AS g, %s AS v
				FROM event
				WHERE project_id = $1 AND type = %d AND start_ms BETWEEN %f AND %f`,
				h.bucket, tt.by, tt.value, query.TypeCode(event.TypeModel), from, to))
			var ours, theirs []time.Duration
			for b.Loop() {
				at := time.Now()
				points, err := h.run(b.Context(), statement, projectID)
				if err != nil {
					b.Fatal(err)
				}
				theirs = append(theirs, time.Since(at))
				at = time.Now()
				a, err := s.Chart(b.Context(), projectID, c)
				if err != nil {
					b.Fatal(err)
				}
				ours = append(ours, time.Since(at))
				if len(a.Points) != points || a.Total != int64(n) {
					b.Fatalf("%d points of %d events, by hand %d", len(a.Points), a.Total, points)
				}
			}
			mine, hand := report(b, ours, "median-ms"), report(b, theirs, "by-hand-ms")
			b.ReportMetric(float64(mine)/float64(hand), "ratio")
		})
	}
}
