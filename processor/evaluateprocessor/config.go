package evaluateprocessor

import (
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"go.opentelemetry.io/collector/component"

	"github.com/spangrove/spangrove/pkg/metric"
	"github.com/spangrove/spangrove/pkg/query"
)

// maxMetrics bounds Metrics: each runs over every span that it matches.
const maxMetrics = 100

// Config is the configuration of the processor.
type Config struct {
	// Evaluate is the extension whose engines run the metrics. Default spangrove_evaluate.
	Evaluate component.ID `mapstructure:"evaluate"`

	// Timeout is how long one metric may take over the spans of one request, after which they go
	// on without its scores. Default 5s.
	Timeout time.Duration `mapstructure:"timeout"`

	// Metrics run in their order; one sees the scores of those before it in the event's metrics.
	Metrics []MetricConfig `mapstructure:"metrics"`
}

// MetricConfig is a metric. Its fields mean what those of a metric in the API mean.
type MetricConfig struct {
	Name       string         `mapstructure:"name"`
	Type       string         `mapstructure:"type"` // EXPRESSION, PYTHON or COMPOSITE
	Criteria   string         `mapstructure:"criteria"`
	ReturnType string         `mapstructure:"return_type"` // default float
	Threshold  map[string]any `mapstructure:"threshold"`
	Categories []any          `mapstructure:"categories"`
	Children   []any          `mapstructure:"child_metrics"`
	Scale      *int           `mapstructure:"scale"`
	Filters    []any          `mapstructure:"filters"` // which events it is for; none: all
}

// Validate reports the first setting that cannot work.
func (c *Config) Validate() error {
	if len(c.Metrics) == 0 {
		return errors.New("metrics: must not be empty")
	}
	if len(c.Metrics) > maxMetrics {
		return fmt.Errorf("metrics: at most %d, not %d", maxMetrics, len(c.Metrics))
	}
	if c.Timeout <= 0 {
		return fmt.Errorf("timeout: must be more than 0s, not %s", c.Timeout)
	}
	seen := map[string]bool{}
	for i := range c.Metrics {
		m := &c.Metrics[i]
		if seen[m.Name] {
			return fmt.Errorf("metrics::%d::name: %q is the name of two metrics", i, m.Name)
		}
		seen[m.Name] = true
		if _, err := m.scorer(); err != nil {
			return fmt.Errorf("metrics::%d: %w", i, err)
		}
	}
	return nil
}

// scorer is a metric as it is run.
type scorer struct {
	definition metric.Definition
	matcher    query.Matcher
}

func (m *MetricConfig) scorer() (*scorer, error) {
	s := &scorer{
		definition: metric.Definition{Name: m.Name, Type: metric.Type(m.Type), Criteria: m.Criteria, Return: metric.Return(m.ReturnType)},
	}
	d := &s.definition
	switch d.Type {
	case metric.Expression, metric.Python, metric.Composite:
	default:
		return nil, fmt.Errorf(
			"type: must be one of EXPRESSION, PYTHON, COMPOSITE, not %q: others are too slow to run before spans are passed on",
			m.Type,
		)
	}
	for _, part := range []struct {
		to    *json.RawMessage
		value any
		given bool
	}{{&d.Threshold, m.Threshold, m.Threshold != nil}, {&d.Categories, m.Categories, m.Categories != nil}, {&d.Children, m.Children, m.Children != nil}, {&d.Scale, m.Scale, m.Scale != nil}} {
		if !part.given {
			continue
		}
		text, err := json.Marshal(part.value)
		if err != nil {
			return nil, err
		}
		*part.to = text
	}
	d.Complete(metric.OlderSampling)
	if err := d.Validate(); err != nil {
		return nil, err
	}
	text, err := json.Marshal(m.Filters)
	if err != nil {
		return nil, err
	}
	filters, err := query.ParseFilters(text, "filters")
	if err != nil {
		return nil, err
	}
	s.matcher = query.NewMatcher(filters)
	return s, nil
}
