package spangroveexporter

import (
	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/plog"
	"go.opentelemetry.io/collector/pdata/ptrace"

	"github.com/spangrove/spangrove/pkg/event"
	"github.com/spangrove/spangrove/pkg/otlpmap"
)

// mapper turns foreign spans into events, and names those that cannot be events.
type mapper func(ptrace.Traces) (event.Batch, []otlpmap.Rejection)

// logMapper turns log records into log parts, names those that cannot be any, and counts those that are of no interest.
type logMapper func(plog.Logs) (parts []event.LogPart, rejected []otlpmap.Rejection, dropped int)

// stepMapper turns the log records that are steps of an agent into events.
type stepMapper func(plog.Logs) event.Batch

// nativeMapper puts attributes that processors added to a native event's span into the event.
type nativeMapper func(*event.Event, pcommon.Map)

func newMappers(c MappingConfig, prices otlpmap.Prices) (mapper, logMapper, stepMapper, nativeMapper) {
	m := otlpmap.New(otlpmap.Options{
		MaxFieldBytes: c.MaxFieldBytes,
		MaxMediaBytes: c.MaxMediaBytes,
		MaxVector:     c.MaxVector,
		PlainLogs:     c.KeepPlainLogs,
		Prices:        prices,
	})
	return m.Traces, m.Logs, m.Steps, m.Native
}
