package evaluateextension

import (
	"fmt"
	"runtime"
	"time"

	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/config/configopaque"

	"github.com/spangrove/spangrove/pkg/evaluate/expression"
	"github.com/spangrove/spangrove/pkg/evaluate/llm"
	"github.com/spangrove/spangrove/pkg/evaluate/python"
)

// maxWorkers bounds Workers: each may hold the events of a batch and an engine's memory.
const maxWorkers = 256

// Config is the configuration of the extension.
type Config struct {
	// Store is the store extension whose events are evaluated. Default spangrove_store.
	Store component.ID `mapstructure:"store"`

	// Workers is how many batches of the queue are worked on at the same time; twice as many
	// tasks ask models, those of requests included. A project has at most half of the workers.
	// Further tasks wait, and projects take turns. Default four times the CPUs that may be
	// used, at least 8; at most 256.
	Workers int `mapstructure:"workers"`

	// MaxWait is how long a request waits for its turn before it is refused for now. Default
	// 30s, at most 10m.
	MaxWait time.Duration `mapstructure:"max_wait"`

	// Online is about evaluations that nobody waits for.
	Online OnlineConfig `mapstructure:"online"`

	// Alerts is about alerts on figures of events.
	Alerts AlertsConfig `mapstructure:"alerts"`

	// Expression bounds metrics of type EXPRESSION.
	Expression expression.Config `mapstructure:"expression"`

	// LLM has the providers of models that judge, for metrics of type LLM.
	LLM llm.Config `mapstructure:"llm"`

	// Python bounds metrics of type PYTHON.
	Python python.Config `mapstructure:"python"`

	// Secret is what the keys of providers that projects set up are encrypted with, at least 32
	// random characters. Servers that share a database must have the same. Default empty: that
	// of SecretFile.
	Secret configopaque.String `mapstructure:"secret"`

	// SecretFile holds the secret where Secret is empty. It is made when it is needed. Default
	// none: keys cannot be set over HTTP.
	SecretFile string `mapstructure:"secret_file"`
}

// Validate reports the first setting that cannot work.
func (c *Config) Validate() error {
	if c.Workers < 1 || c.Workers > maxWorkers {
		return fmt.Errorf("workers: must be between 1 and %d, not %d", maxWorkers, c.Workers)
	}
	if c.MaxWait < time.Millisecond || c.MaxWait > 10*time.Minute {
		return fmt.Errorf("max_wait: must be between 1ms and 10m, not %s", c.MaxWait)
	}
	return nil
}

// defaultWorkers lets most of the evaluations wait for models' answers while the rest compute.
func defaultWorkers() int { return max(8, min(4*runtime.GOMAXPROCS(0), maxWorkers)) }
