package evaluateextension

import (
	"fmt"
	"time"

	"go.opentelemetry.io/collector/component"

	"github.com/spangrove/spangrove/pkg/evaluate/online"
	"github.com/spangrove/spangrove/pkg/mount"
)

// OnlineConfig is about evaluations that nobody waits for: of new events, and of past ones.
type OnlineConfig struct {
	// Enabled says whether this server works on them. Where it does not, another one that
	// shares the database may. Default true.
	Enabled bool `mapstructure:"enabled"`

	// BatchEvents is how many events of one version of a metric an engine gets at once, at most.
	// Default 100, at most 1000.
	BatchEvents int `mapstructure:"batch_events"`

	// Timeout is how long an engine may take for a batch. Default 2m.
	Timeout time.Duration `mapstructure:"timeout"`

	// Attempts is how often an engine that breaks is asked about an event before the evaluation
	// is a dead letter. Default 5, at most 100.
	Attempts int `mapstructure:"attempts"`

	// Backoff is how long the second attempt waits; each further one waits twice as long, up to
	// an hour. Default 5s.
	Backoff time.Duration `mapstructure:"backoff"`

	// QueueEvaluations is how many evaluations of a project may wait. Where more do, its new
	// events are looked at later; none is left out. Default 10000, at most 1000000.
	QueueEvaluations int `mapstructure:"queue_evaluations"`

	// SessionIdle is how long nothing must come for a session before metrics for sessions score
	// it. Default 5m.
	SessionIdle time.Duration `mapstructure:"session_idle"`

	// UnfinishedAfter is how long an event that has not ended is waited for before it is scored
	// as it stands. Default 10m.
	UnfinishedAfter time.Duration `mapstructure:"unfinished_after"`

	// PollInterval is how often an idle server looks for something to do. Default 500ms.
	PollInterval time.Duration `mapstructure:"poll_interval"`
}

func defaultOnline() OnlineConfig {
	return OnlineConfig{
		Enabled:          true,
		BatchEvents:      100,
		Timeout:          2 * time.Minute,
		Attempts:         5,
		Backoff:          5 * time.Second,
		QueueEvaluations: 10_000,
		SessionIdle:      5 * time.Minute,
		UnfinishedAfter:  10 * time.Minute,
		PollInterval:     500 * time.Millisecond,
	}
}

// Validate reports the first setting that cannot work.
func (c *OnlineConfig) Validate() error {
	for _, n := range []struct {
		name    string
		is, max int
	}{{"batch_events", c.BatchEvents, 1000}, {"attempts", c.Attempts, 100}, {"queue_evaluations", c.QueueEvaluations, 1_000_000}} {
		if n.is < 1 || n.is > n.max {
			return fmt.Errorf("%s: must be between 1 and %d, not %d", n.name, n.max, n.is)
		}
	}
	for _, d := range []struct {
		name     string
		is, from time.Duration
	}{{"timeout", c.Timeout, time.Second}, {"backoff", c.Backoff, time.Millisecond}, {"session_idle", c.SessionIdle, 0}, {"unfinished_after", c.UnfinishedAfter, 0},
		{"poll_interval", c.PollInterval, 10 * time.Millisecond}} {
		if d.is < d.from || d.is > 24*time.Hour {
			return fmt.Errorf("%s: must be between %s and %s, not %s", d.name, d.from, 24*time.Hour, d.is)
		}
	}
	return nil
}

const onlineScope = "github.com/spangrove/spangrove/pkg/evaluate/online"

// newRunner returns the runner that works on the queue.
func (e *evaluateExtension) newRunner(host component.Host) (*online.Runner, error) {
	s, err := mount.StoreOf[online.Store](host, e.cfg.Store, fmt.Sprintf("extensions::%s::store", e.set.ID))
	if err != nil {
		return nil, err
	}
	c := e.cfg.Online
	return online.New(s, ofQueue{e}, online.Options{
		Workers: e.cfg.Workers, Share: e.queueShare, Batch: c.BatchEvents, Timeout: c.Timeout, Attempts: c.Attempts, Backoff: c.Backoff, Queue: c.QueueEvaluations,
		SessionIdle: c.SessionIdle, Unfinished: c.UnfinishedAfter, Poll: c.PollInterval,
		Logger: e.set.Logger, Meter: e.set.MeterProvider.Meter(onlineScope),
	})
}
