package spangroveexporter

import (
	"go.opentelemetry.io/collector/pdata/ptrace"

	"github.com/spangrove/spangrove/pkg/event"
	"github.com/spangrove/spangrove/pkg/otlpmap"
)

// mapper turns foreign spans into events, and names those that cannot be events.
type mapper func(ptrace.Traces) (event.Batch, []otlpmap.Rejection)

func newMapper(c MappingConfig, prices otlpmap.Prices) mapper {
	return otlpmap.New(otlpmap.Options{
		MaxFieldBytes: c.MaxFieldBytes,
		MaxMediaBytes: c.MaxMediaBytes,
		MaxVector:     c.MaxVector,
		Prices:        prices,
	}).Traces
}
