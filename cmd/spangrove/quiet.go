package main

import (
	"strings"

	"go.uber.org/zap/zapcore"
)

// chatter are the collector's own lines about starting and stopping, and those that repeat
// the error it returns, which is shown by itself. At level debug they are there.
var chatter = map[string]bool{
	"Starting spangrove...":                                   true,
	"Starting extensions...":                                  true,
	"Stopping extensions...":                                  true,
	"Extension is starting...":                                true,
	"Extension started.":                                      true,
	"Failed to start extension":                               true,
	"Failed to start component":                               true,
	"Everything is ready. Begin running and processing data.": true,
	"Received signal from OS":                                 true,
	"Received shutdown request":                               true,
	"Context done, terminating process":                       true,
	"Starting shutdown...":                                    true,
	"Shutdown complete.":                                      true,
	"Skipped telemetry setup.":                                true,
	"Memory limiter configured":                               true,
	"Configuration references empty environment variable":     true,
	"Internal metrics telemetry disabled":                     true,
	"Setting up own telemetry...":                             true,
	"Internal trace telemetry disabled":                       true,
	"error found during service initialization":               true,
}

// quiet leaves chatter out of a log that is not at level debug.
func quiet(core zapcore.Core) zapcore.Core { return &quietCore{core} }

type quietCore struct{ zapcore.Core }

func (c *quietCore) With(fields []zapcore.Field) zapcore.Core { return &quietCore{c.Core.With(fields)} }

func (c *quietCore) Check(entry zapcore.Entry, checked *zapcore.CheckedEntry) *zapcore.CheckedEntry {
	if chatter[strings.TrimSpace(entry.Message)] && !c.Enabled(zapcore.DebugLevel) {
		return checked
	}
	return c.Core.Check(entry, checked)
}
