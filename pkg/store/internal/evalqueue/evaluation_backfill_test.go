package evalqueue

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"github.com/spangrove/spangrove/pkg/evaluation"
	"github.com/spangrove/spangrove/pkg/metric"
	"github.com/spangrove/spangrove/pkg/store/internal/events"
	"github.com/spangrove/spangrove/pkg/store/internal/sqldb"
)

// A server may die between a backfill's new state and that of its evaluations, and one backfill
// that cannot go on must not hold up the others.
func TestBackfillTorn(t *testing.T) {
	t.Parallel()
	_, s := openTest(t)
	p, err := s.resources.EnsureProject(t.Context(), "default")
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	must(err)
	d := metric.Definition{Name: "m", Type: metric.Human}
	d.Complete(metric.DefaultSampling)
	id, err := s.resources.CreateMetric(t.Context(), p.ID, d)
	must(err)
	for range 3 {
		must(s.events.Put(t.Context(), p.ID, oneEvent()))
	}
	create := func(filters string) evaluation.Backfill {
		t.Helper()
		b, err := s.CreateBackfill(t.Context(), p.ID, evaluation.Backfill{MetricID: id, Version: 1, Filters: json.RawMessage(filters)})
		must(err)
		return b
	}
	broken := create(`"none"`)
	b := create(`[{"Field":"event_type","Operator":"is","Type":"string","Value":"tool"}]`)
	for range 2 { // it asks for all, and sees that there are no more
		if _, err := s.StepBackfills(t.Context()); err == nil {
			t.Errorf("backfill %s, which has no filters, goes on", broken.ID)
		}
	}
	_, err = s.MoveBackfill(t.Context(), p.ID, id, b.ID, evaluation.BackfillPaused)
	must(err)
	must(s.resources.ChangeDocs(t.Context(), 0, "resume", func(ctx context.Context, tx *events.Commit) error {
		b, d, err := s.readBackfill(ctx, tx, p.ID, b.ID, tx.ForUpdate(""))
		if err != nil || b.Paused != 0 || !b.Asked {
			t.Errorf("%+v, %v", b, err)
		}
		b.State = evaluation.BackfillRunning
		return s.writeBackfill(ctx, tx, p.ID, &b, &d)
	}))
	_, _ = s.StepBackfills(t.Context())
	list, err := s.LoadBackfills(t.Context(), p.ID, []string{b.ID})
	must(err)
	if got := list[0]; got.State != evaluation.BackfillRunning || got.Waiting != 3 || got.Paused != 0 {
		t.Errorf("resumed: %+v", got)
	}
}

// asked records the statements that are read outside of transactions, with their arguments.
type asked struct {
	sqldb.DB
	texts []string
	args  [][]any
}

func (a *asked) Query(ctx context.Context, text string, args ...any) (sqldb.Rows, error) {
	a.texts, a.args = append(a.texts, text), append(a.args, args)
	return a.DB.Query(ctx, text, args...)
}

// TestBackfillStepReadsNoResults has a backfill that has done much: what a step reads of it are the evaluations that have not ended.
func TestBackfillStepReadsNoResults(t *testing.T) {
	t.Parallel()
	_, s := openTest(t)
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	p, err := s.resources.EnsureProject(t.Context(), "default")
	must(err)
	d := metric.Definition{Name: "m", Type: metric.Human}
	d.Complete(metric.DefaultSampling)
	id, err := s.resources.CreateMetric(t.Context(), p.ID, d)
	must(err)
	for range 3 {
		must(s.events.Put(t.Context(), p.ID, oneEvent()))
	}
	b, err := s.CreateBackfill(t.Context(), p.ID, evaluation.Backfill{MetricID: id, Version: 1, Filters: json.RawMessage(`[]`)})
	must(err)
	db := &asked{DB: s.db}
	s.db = db
	_, err = s.StepBackfills(t.Context())
	must(err)
	must(s.resources.ChangeDocs(t.Context(), 0, "finish", func(ctx context.Context, tx *events.Commit) error {
		_, err := tx.Exec(ctx, `UPDATE evaluation SET state = $1`, stateCode(evaluation.Done))
		return err
	}))
	db.texts, db.args = nil, nil
	_, err = s.StepBackfills(t.Context())
	must(err)
	found := 0
	for i, text := range db.texts {
		if !strings.Contains(text, "backfill_id = $2") {
			continue
		}
		found++
		must(sqldb.Each(t.Context(), db.DB, `EXPLAIN QUERY PLAN `+text, db.args[i], func(scan func(...any) error) error {
			var id, parent, unused int
			var line string
			err := scan(&id, &parent, &unused, &line)
			if strings.Contains(line, " evaluation ") && !strings.Contains(line, "backfill_id=? AND state<?") {
				t.Errorf("%s\nreads all evaluations of the backfill: %s", text, line)
			}
			return err
		}))
	}
	list, err := s.LoadBackfills(t.Context(), p.ID, []string{b.ID})
	must(err)
	if got := list[0]; found == 0 || got.Looked == 0 || got.Done != got.Looked {
		t.Errorf("%d statements, %+v", found, got)
	}
}
