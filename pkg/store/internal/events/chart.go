package events

import (
	"context"
	"errors"
	"fmt"

	"github.com/spangrove/spangrove/pkg/fault"
	"github.com/spangrove/spangrove/pkg/query"
	"github.com/spangrove/spangrove/pkg/store/internal/record"
	"github.com/spangrove/spangrove/pkg/store/internal/sqldb"
)

// Chart sums up the events that match.
//
// Segments sum it up, if columns hold all that it reads (chartSegments). Else, as in a search, rows that the database can decide are summed up there, by unit of time and group, and the others are read
// and added here (chart). If there turn out to be more groups than an answer may have, a first statement finds
// the largest ones, and a second pass keeps only these apart.
func (s *Store) Chart(ctx context.Context, projectID int64, c *query.Chart) (*query.ChartAnswer, error) {
	ctx, end, err := s.HeavyRead(ctx, projectID, ScanConns)
	if err != nil {
		return nil, err
	}
	defer end()
	// A copy, since the sessions of a run are added to it: the caller's chart is not changed.
	asked := *c
	c = &asked
	if err := s.findRunSessions(ctx, projectID, &c.Search); err != nil {
		return nil, sqldb.WrapError(s.db, err, "chart")
	}
	earliest, err := s.earliest(ctx, projectID, c.From)
	if err != nil {
		return nil, sqldb.WrapError(s.db, err, "chart")
	}
	if answer, ok, err := s.chartSegments(ctx, projectID, c, earliest); ok || err != nil {
		return answer, sqldb.WrapError(s.db, err, "chart")
	}
	answer, err := s.chart(ctx, projectID, c, earliest, nil)
	// The first pass stopped as soon as it had one group too many, with no more in memory than an answer may have.
	if errors.Is(err, query.ErrManyGroups) {
		var only map[string]bool
		if only, err = s.largestGroups(ctx, projectID, c, earliest); err == nil {
			answer, err = s.chart(ctx, projectID, c, earliest, only)
		}
	}
	return answer, sqldb.WrapError(s.db, err, "chart")
}

// earliest returns a time before which no event of the chart starts.
func (s *Store) earliest(ctx context.Context, projectID int64, from *float64) (float64, error) {
	if from != nil {
		return *from, nil
	}
	first, err := s.firstStart(ctx, projectID)
	if err != nil || first == nil {
		return 0, err
	}
	return *first, nil
}

// firstStart returns when the first event of a project starts; nil if there is none.
func (s *Store) firstStart(ctx context.Context, projectID int64) (first *float64, err error) {
	_, err = sqldb.One(ctx, s.db, `SELECT min(start_ms) FROM event WHERE project_id = $1`, []any{projectID}, &first)
	return first, err
}

// chart makes one pass. only are the groups to keep apart, nil for all. Rows are split by their spill column: those of which
// the head lacks a field that the chart reads are left out of the database's sums, and are the only ones to be read whole.
func (s *Store) chart(ctx context.Context, projectID int64, c *query.Chart, earliest float64, only map[string]bool) (
	*query.ChartAnswer, error) {
	b := query.NewBuilder(s.Dialect)
	plan := query.CompileChart(b, projectID, c, earliest)
	a := query.NewChartSums(c, &plan, only)
	where := plan.Plan.Where
	if !plan.InGo {
		// Without a single row that lacks a field, the database's sums are the whole answer.
		split := false
		if plan.Reads != 0 {
			var err error
			if split, err = s.anySpilled(ctx, projectID, plan.Reads); err != nil {
				return nil, err
			}
		}
		if split {
			where += fmt.Sprintf(" AND (e.spill & %d) = 0", plan.Reads)
		}
		if err := s.chartRows(ctx, b, c, &plan, where, a); err != nil || !split {
			return a.Result(err)
		}
	}
	// The second statement has its own arguments: it asks for whole rows by the same filters.
	rows, bits := query.NewBuilder(s.Dialect), plan.Reads
	wide := query.CompileSearch(rows, projectID, &c.Search)
	where = wide.Candidates
	if !plan.InGo {
		where += fmt.Sprintf(" AND (e.spill & %d) <> 0", bits)
		if bits&^record.HeadFields == 0 {
			where += fmt.Sprintf(" AND (e.spill & %d) <> 0", record.HeadFields) // as the index has it
		}
	}
	return a.Result(s.chartEvents(ctx, projectID, rows, c, where, a))
}

// chartRows lets the database read or sum up the rows that it can decide. Percentiles need every value: for these the
// statement gives a row for each event, without its other columns. Sums are bounded (MaxSummed), so that a
// single absurd value does not make an infinity of them.
func (s *Store) chartRows(ctx context.Context, b *query.Builder, c *query.Chart, plan *query.ChartPlan, where string,
	a *query.ChartSums) error {
	// Unit, group and value are expressions that package query has compiled; whatever a user wrote is an argument.
	inner, keys, by := plan.Unit+" AS k", "k, NULL", "k"
	if plan.Group != "" {
		inner, keys, by = inner+", "+plan.Group+" AS g", "k, g", "k, g"
	}
	if plan.Value != "" {
		inner += ", " + plan.Value + " AS v"
	}
	values, end := "count(v), ", " GROUP BY "+by
	switch c.Aggregation {
	case query.Count:
		values = "count(*), CAST(NULL AS float8)"
	case query.Average, query.Sum:
		values += fmt.Sprintf("sum(CASE WHEN v > %[1]g THEN %[1]g WHEN v < -%[1]g THEN -%[1]g ELSE v END)", query.MaxSummed)
	case query.Min:
		values += "min(v)"
	case query.Max:
		values += "max(v)"
	default:
		values, end = "1, v", " WHERE v IS NOT NULL"
	}
	// Values are computed in an inner query, once for each row, though the outer one names them several times.
	// Fence keeps the database from merging the two.
	return s.eachCell(ctx, "SELECT "+keys+", "+values+" FROM (SELECT "+inner+" FROM event e WHERE "+where+s.db.Fence()+") AS x"+end, b, a)
}

func (s *Store) eachCell(ctx context.Context, sql string, b *query.Builder, a *query.ChartSums) error {
	var unit, n int64
	var group *string
	var value *float64
	return sqldb.Each(ctx, s.db, sql, b.Args(), func(scan func(...any) error) error {
		if err := scan(&unit, &group, &n, &value); err != nil {
			return err
		}
		return a.AddRow(unit, group, n, value)
	})
}

// chartEvents reads rows whole, matches all filters and measures in Go.
func (s *Store) chartEvents(ctx context.Context, projectID int64, b *query.Builder, c *query.Chart, where string,
	a *query.ChartSums) error {
	match := query.NewMatcher(c.Filters)
	statement := `SELECT ` + s.Columns() + ` FROM ` + s.Dialect.From() + ` WHERE ` + where
	return s.eachAhead(ctx, projectID, statement, b.Args(), func(l *eventList, i int) error {
		e, ok, err := l.asRead(ctx, i)
		if err != nil || !ok || !match.Match(&e) {
			return err
		}
		return a.AddEvent(&e)
	})
}

// largestGroups asks the database for the groups with most events that enter; by all that match where it cannot read the metric.
func (s *Store) largestGroups(ctx context.Context, projectID int64, c *query.Chart, earliest float64) (map[string]bool, error) {
	b := query.NewBuilder(s.Dialect)
	plan := query.CompileChart(b, projectID, c, earliest)
	if plan.InGo {
		counted := *c
		counted.Aggregation = query.Count
		b = query.NewBuilder(s.Dialect)
		plan = query.CompileChart(b, projectID, &counted, earliest)
	}
	// Which groups are the largest would have to be counted here, with all of them in memory.
	if plan.InGo {
		return nil, fault.InvalidField("groupBy", "has too many values to read outside the database; narrow the date range or the filters")
	}
	columns, entered := plan.Group+" AS g", "count(*)"
	if plan.Value != "" {
		columns, entered = columns+", "+plan.Value+" AS v", "count(v)"
	}
	only := map[string]bool{}
	err := sqldb.Each(ctx, s.db, fmt.Sprintf(`SELECT g
		FROM (SELECT %s FROM event e WHERE %s%s) AS x
		WHERE g IS NOT NULL
		GROUP BY g
		ORDER BY %s DESC, g LIMIT %d`,
		columns, plan.Plan.Where, s.db.Fence(), entered, c.GroupLimit()), b.Args(), func(scan func(...any) error) error {
		var g *string
		if err := scan(&g); err != nil {
			return err
		}
		if text, ok := c.Group.TextOf(g); ok {
			only[text] = true
		}
		return nil
	})
	return only, err
}
