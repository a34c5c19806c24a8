package query

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// sumsOf returns empty sums of a chart by day, of counts if aggregation is Count and else of durations.
func sumsOf(t *testing.T, how Aggregation, fill bool) *ChartSums {
	t.Helper()
	metric, err := NewFieldReader("duration")
	if err != nil {
		t.Fatal(err)
	}
	group, err := NewFieldReader("event_name")
	if err != nil {
		t.Fatal(err)
	}
	c := &Chart{Metric: metric, Aggregation: how, Bucket: Day, Zone: time.UTC, Group: &group, Fill: fill}
	plan := CompileChart(NewBuilder(SQLite), 1, c, 0)
	return NewChartSums(c, &plan, nil)
}

// row is what a database has summed up of one day and group.
type chartRow struct {
	day   int64
	group string
	n     int64
	value float64
}

func pointsOf(t *testing.T, s *ChartSums, rows []chartRow) (list []string) {
	t.Helper()
	for _, r := range rows {
		unit := s.plan.unitOf(float64(r.day) * 86_400_000)
		if err := s.AddRow(unit, &r.group, r.n, &r.value); err != nil {
			t.Fatal(err)
		}
	}
	answer, err := s.Result(nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range answer.Points {
		value := "none"
		if p.Value != nil {
			value = fmt.Sprint(*p.Value)
		}
		list = append(list, fmt.Sprintf("%s %s %d %s", p.Start.Format(time.DateOnly), *p.Group, p.Count, value))
	}
	return list
}

func TestChartSums(t *testing.T) {
	t.Parallel()
	rows := []chartRow{{0, "a", 2, 10}, {2, "b", 1, 4}, {0, "a", 3, 5}}
	for _, tt := range []struct {
		how  Aggregation
		fill bool
		want []string
	}{
		{Sum, false, []string{"1970-01-01 a 5 15", "1970-01-03 b 1 4"}},
		{Average, false, []string{"1970-01-01 a 5 3", "1970-01-03 b 1 4"}},
		{Min, false, []string{"1970-01-01 a 5 5", "1970-01-03 b 1 4"}},
		{Max, false, []string{"1970-01-01 a 5 10", "1970-01-03 b 1 4"}},
		{Sum, true, []string{"1970-01-01 a 5 15", "1970-01-01 b 0 0", "1970-01-02 a 0 0", "1970-01-02 b 0 0", "1970-01-03 a 0 0", "1970-01-03 b 1 4"}},
	} {
		if diff := cmp.Diff(tt.want, pointsOf(t, sumsOf(t, tt.how, tt.fill), rows)); diff != "" {
			t.Errorf("%s, filled %t (-want +got):\n%s", tt.how, tt.fill, diff)
		}
	}
}

// All but the largest groups are one, the last of those with a name.
func TestChartSumsJoinSmallGroups(t *testing.T) {
	t.Parallel()
	var rows []chartRow
	for i := range MaxGroups + 2 {
		rows = append(rows, chartRow{0, fmt.Sprintf("g%03d", i), int64(i + 1), 1})
	}
	list := pointsOf(t, sumsOf(t, Sum, false), rows)
	if len(list) != MaxGroups+1 || list[0] != "1970-01-01 g002 3 1" || list[MaxGroups] != "1970-01-01 "+OtherGroup+" 3 2" {
		t.Errorf("%d points, from %s to %s", len(list), list[0], list[len(list)-1])
	}
}

// A group may have the name of all others.
func TestChartSumsGroupCalledOther(t *testing.T) {
	t.Parallel()
	value := 1.0
	for _, only := range []map[string]bool{nil, {OtherGroup: true}} {
		s := NewChartSums(sumsOf(t, Sum, false).chart, sumsOf(t, Sum, false).plan, only)
		add := func(group string, n int64) {
			if err := s.AddRow(0, &group, n, &value); err != nil {
				t.Fatal(err)
			}
		}
		add(OtherGroup, 1000)
		for i := range MaxGroups + 1 {
			add(fmt.Sprintf("g%03d", i), int64(i+1))
		}
		answer, err := s.Result(nil)
		if err != nil {
			t.Fatal(err)
		}
		named, rest := int64(0), int64(0)
		for _, p := range answer.Points {
			switch {
			case p.Rest:
				rest += p.Count
			case *p.Group == OtherGroup:
				named += p.Count
			}
		}
		want := int64(1 + 2) // the smallest two
		if only != nil {
			want = (MaxGroups + 1) * (MaxGroups + 2) / 2
		}
		if named != 1000 || rest != want {
			t.Errorf("only %v: the group has %d events, the others %d, want 1000 and %d", only, named, rest, want)
		}
	}
}

// More groups than points are refused, so that a second pass keeps fewer apart.
func TestChartSumsBound(t *testing.T) {
	t.Parallel()
	s := sumsOf(t, Sum, false)
	value := 1.0
	for i := range s.chart.Limit() + 1 {
		group := fmt.Sprint(i)
		if err := s.AddRow(0, &group, 1, &value); err != nil {
			if i != s.chart.Limit() || !errors.Is(err, ErrManyGroups) {
				t.Fatal(i, err)
			}
			return
		}
	}
	t.Error("there is no bound")
}
