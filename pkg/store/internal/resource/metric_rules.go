package resource

import (
	"context"

	"github.com/spangrove/spangrove/pkg/metric"
	"github.com/spangrove/spangrove/pkg/run"
	"github.com/spangrove/spangrove/pkg/store/internal/sqldb"
)

// MetricRules returns the rules of the project's metrics by name: what scores mean, and which of them pass. Scores in events have
// the names of metrics and not their ids. Of two metrics of one name the newer one's rules hold.
func (s *Store) MetricRules(ctx context.Context, projectID int64) (map[string]run.Rule, error) {
	rules := map[string]run.Rule{}
	err := sqldb.Each(ctx, s.db, `SELECT doc
		FROM metric
		WHERE project_id = $1
		ORDER BY created_ms, id`, []any{projectID}, func(scan func(...any) error) error {
		var doc string
		if err := scan(&doc); err != nil {
			return err
		}
		m := metricOf(Document{Doc: []byte(doc)})
		rules[m.Name] = ruleOf(&m.Definition)
		return nil
	})
	return rules, sqldb.WrapError(s.db, err, "read metrics")
}

func ruleOf(d *metric.Definition) run.Rule {
	rule := run.Rule{Type: string(d.Type)}
	t, err := metric.ThresholdOf(d.Threshold)
	if err != nil {
		return rule // it was checked when it was stored
	}
	rule.Range, rule.PassWhen, rule.Categories = run.Range{Min: t.Min, Max: t.Max}, t.PassWhen, t.Categories
	return rule
}
