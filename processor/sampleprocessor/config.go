package sampleprocessor

import (
	"errors"
	"fmt"
	"time"
)

const (
	maxWait     = time.Minute
	maxKeep     = 100
	defaultWait = 5 * time.Second
)

// Config is the configuration of the processor.
type Config struct {
	// DecisionWait is how long after its first span a trace is decided about, and how long requests wait. Default 5s, at most 1m.
	DecisionWait time.Duration `mapstructure:"decision_wait"`

	// KeepErrors keeps traces that have a span whose status is an error. Default true.
	KeepErrors bool `mapstructure:"keep_errors"`

	// Keep are scores for which a trace is kept if one of its spans has them. Default none.
	Keep []ScoreConfig `mapstructure:"keep"`

	// Percentage is how many of the other traces are kept, chosen by their ids: the same ones everywhere. Default 100.
	Percentage float64 `mapstructure:"percentage"`

	// MaxTraces bounds the traces that are remembered, those that wait among them. Where all of them wait, requests are
	// told to come back later. Default 200000.
	MaxTraces int `mapstructure:"max_traces"`
}

// ScoreConfig is a score of a metric, as spangrove_evaluate puts it on spans. Exactly one of the conditions is set.
type ScoreConfig struct {
	Metric string   `mapstructure:"metric"`
	Is     any      `mapstructure:"is"` // a boolean or a string
	Below  *float64 `mapstructure:"below"`
	Above  *float64 `mapstructure:"above"`
}

// Validate reports the first setting that cannot work.
func (c *Config) Validate() error {
	switch {
	case c.DecisionWait < time.Millisecond || c.DecisionWait > maxWait:
		return fmt.Errorf("decision_wait: must be between 1ms and %s, not %s", maxWait, c.DecisionWait)
	case !(c.Percentage >= 0 && c.Percentage <= 100):
		return fmt.Errorf("percentage: must be between 0 and 100, not %v", c.Percentage)
	case c.MaxTraces < 1:
		return fmt.Errorf("max_traces: must be at least 1, not %d", c.MaxTraces)
	case len(c.Keep) > maxKeep:
		return fmt.Errorf("keep: at most %d, not %d", maxKeep, len(c.Keep))
	}
	for i, k := range c.Keep {
		if err := k.validate(); err != nil {
			return fmt.Errorf("keep::%d::%w", i, err)
		}
	}
	return nil
}

func (k *ScoreConfig) validate() error {
	if k.Metric == "" {
		return errors.New("metric: is required")
	}
	set := 0
	for _, given := range []bool{k.Is != nil, k.Below != nil, k.Above != nil} {
		if given {
			set++
		}
	}
	if set != 1 {
		return errors.New("is: exactly one of is, below, above must be set")
	}
	switch k.Is.(type) {
	case nil, bool, string:
		return nil
	}
	return fmt.Errorf("is: must be a boolean or a string, not %v; use below or above for numbers", k.Is)
}
