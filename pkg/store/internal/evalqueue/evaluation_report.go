package evalqueue

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"slices"

	"github.com/google/uuid"

	"github.com/spangrove/spangrove/pkg/evaluation"
	"github.com/spangrove/spangrove/pkg/event"
	"github.com/spangrove/spangrove/pkg/query"
	"github.com/spangrove/spangrove/pkg/rawjson"
	"github.com/spangrove/spangrove/pkg/store/internal/events"
	"github.com/spangrove/spangrove/pkg/store/internal/sqldb"
)

// What a metric has done so far: its scores beside people's labels, and what became of its evaluations.

// labelPage is how many events are in memory at a time while labels are read.
const labelPage = 1000

// LabelledScores reads the newest events that people have labelled, at most q.Limit, each with the score of a metric. more reports
// whether others have a label, too.
func (s *Store) LabelledScores(ctx context.Context, projectID int64, q query.LabelSearch) (
	list []evaluation.Labelled, more bool, err error) {
	conns := 1
	if query.NeedPayload(q.Filters) {
		conns = events.ScanConns
	}
	ctx, end, err := s.events.HeavyRead(ctx, projectID, conns)
	if err != nil {
		return nil, false, err
	}
	defer end()
	page := q.Search
	page.HeadOnly, page.Uncounted, page.Continued, page.Page = true, true, true, 1
	for more = true; more && len(list) < q.Limit; {
		page.Limit = min(labelPage, q.Limit-len(list))
		set, err := s.events.Search(ctx, projectID, page)
		if err != nil {
			return nil, false, err
		}
		from := len(list)
		for i := range set.Events {
			x, err := labelled(ctx, set, i, &q)
			if err != nil {
				return nil, false, err
			}
			list = append(list, x)
		}
		if q.Version > 0 {
			if err := s.scoresOfVersion(ctx, projectID, &q, list[from:]); err != nil {
				return nil, false, err
			}
		}
		if more = set.HasMore; more {
			page.After = &query.Place{Value: set.Last, ID: list[len(list)-1].EventID}
		}
	}
	return list, more, nil
}

// labelled returns event i of a set with its label, and unless a version is asked for, with its score.
func labelled(ctx context.Context, set *event.Set, i int, q *query.LabelSearch) (evaluation.Labelled, error) {
	e := set.Events[i]
	if set.Complete != nil && !set.Complete(i) {
		var err error
		if e, err = set.Load(ctx, i); err != nil {
			return evaluation.Labelled{}, err
		}
	}
	x := evaluation.Labelled{EventID: e.ID, SessionID: e.SessionID, Name: begin(e.Name), Start: e.Start}
	field := e.Metrics
	if q.Label[0] == "feedback" {
		field = e.Feedback
	}
	x.Label = short(rawjson.Lookup(field, q.Label[1:]...))
	if q.Version == 0 {
		x.Explanation, _ = rawjson.Text(rawjson.Get(e.Metrics, q.Metric+events.ExplanationSuffix))
		x.Explanation = begin(x.Explanation)
		if score := rawjson.Get(e.Metrics, q.Metric); !rawjson.Null(score) {
			x.Score = short(score)
		}
	}
	return x, nil
}

// scoresOfVersion sets the scores that a version of the metric gave.
func (s *Store) scoresOfVersion(ctx context.Context, project int64, q *query.LabelSearch, list []evaluation.Labelled) error {
	at := make(map[uuid.UUID]int, len(list))
	ids := make([]uuid.UUID, len(list))
	for i := range list {
		ids[i], at[list[i].EventID] = list[i].EventID, i
	}
	cond, args := s.db.AnyID("event_id", 4, ids)
	err := sqldb.Each(ctx, s.db, `SELECT event_id, score, explanation
		FROM evaluation
		WHERE project_id = $1 AND metric_id = $2 AND version = $3 AND state = 2 AND score IS NOT NULL AND `+cond,
		append([]any{project, q.MetricID, q.Version}, args...), func(scan func(...any) error) error {
			var id uuid.UUID
			var score, explanation string
			if err := scan(sqldb.ScanID(&id), &score, &explanation); err != nil {
				return err
			}
			x := &list[at[id]]
			x.Score, x.Explanation = short(json.RawMessage(score)), begin(explanation)
			return nil
		})
	return sqldb.WrapError(s.db, err, "read scores of labelled events")
}

// short returns a copy of a value, or of one that is too long to be compared an empty array, which is like nothing else.
func short(v json.RawMessage) json.RawMessage {
	if len(v) > evaluation.MaxLabel {
		return json.RawMessage("[]")
	}
	return slices.Clone(v)
}

// begin returns a copy of the beginning of a text.
func begin(s string) string {
	if len(s) <= evaluation.MaxLabelledText {
		return s
	}
	return rawjson.Prefix(s, evaluation.MaxLabelledText) + "…"
}

// CountEvaluations counts the evaluations of a metric that were asked for from one time to another, in Unix milliseconds, both
// included; nil is open. Those that a backfill has asked for are counted apart.
//
// Ids begin with the second in which they were made, so that the index of a metric's evaluations gives those of the range. What it costs
// grows with their number.
func (s *Store) CountEvaluations(ctx context.Context, projectID int64, metricID string, from, to *float64) (
	online, backfills evaluation.Counts, err error) {
	ctx, end, err := s.events.HeavyRead(ctx, projectID, 1)
	if err != nil {
		return online, backfills, err
	}
	defer end()
	first, last := int64(0), int64(math.MaxInt64)
	if from != nil {
		first = wholeMillis(math.Ceil(*from))
	}
	if to != nil {
		last = wholeMillis(math.Floor(*to))
	}
	err = sqldb.Each(ctx, s.db, `SELECT backfill_id <> '', state, failure, count(*), sum(cost)
		FROM evaluation
		WHERE project_id = $1 AND metric_id = $2 AND id >= $3 AND id < $4 AND created_ms >= $5 AND created_ms <= $6
		GROUP BY backfill_id <> '', state, failure
		ORDER BY state, failure`,
		[]any{projectID, metricID, idFrom(first / 1000), idFrom(last/1000 + 1), first, last}, func(scan func(...any) error) error {
			var past bool
			var state int
			var failure string
			var n int64
			var cost float64
			err := scan(&past, &state, &failure, &n, &cost)
			if err != nil {
				return err
			}
			counts := &online
			if past {
				counts = &backfills
			}
			counts.Add(evaluation.States()[state], failure, n, cost)
			return nil
		})
	return online, backfills, sqldb.WrapError(s.db, err, "count evaluations")
}

// wholeMillis returns a time as a whole number, within what the columns of times hold.
func wholeMillis(ms float64) int64 { return int64(min(max(ms, 0), 1<<52)) }

// idFrom returns what the ids of a second, and all later ones, are not less than (resource.NewDocumentID).
func idFrom(second int64) string {
	return fmt.Sprintf("%08x", min(second, math.MaxUint32))
}
