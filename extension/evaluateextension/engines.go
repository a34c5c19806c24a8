package evaluateextension

import (
	"github.com/spangrove/spangrove/pkg/evaluate"
	"github.com/spangrove/spangrove/pkg/evaluate/expression"
	"github.com/spangrove/spangrove/pkg/metric"
)

// newEngines builds the engines that the configuration asks for. Those that nothing is set for
// are left out: their metrics answer that this server has no engine for them.
func newEngines(cfg *Config) (evaluate.Engines, error) {
	engines := evaluate.Builtin()
	engines[metric.Expression] = expression.New(cfg.Expression)
	return engines, nil
}
