package evaluateextension

import (
	"fmt"

	"github.com/spangrove/spangrove/pkg/evaluate"
	"github.com/spangrove/spangrove/pkg/evaluate/expression"
	"github.com/spangrove/spangrove/pkg/evaluate/llm"
	"github.com/spangrove/spangrove/pkg/evaluate/python"
	"github.com/spangrove/spangrove/pkg/metric"
)

// newEngines builds the engines that the configuration asks for. Those that nothing is set for
// are left out: their metrics answer that this server has no engine for them.
func newEngines(cfg *Config, deps llm.Deps) (evaluate.Engines, error) {
	judges, err := llm.New(cfg.LLM, deps)
	if err != nil {
		return nil, fmt.Errorf("llm::%w", err)
	}
	engines := evaluate.Builtin()
	engines[metric.LLM] = judges
	engines[metric.Expression] = expression.New(cfg.Expression)
	engines[metric.Python] = python.New(cfg.Python, deps.Logger)
	return engines, nil
}
