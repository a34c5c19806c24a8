package sqldb

import (
	"slices"

	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
)

// WithoutFull returns a logger without the warnings of background work that found the disk full: each pass would write one, and
// who watches commits has said it once for all. Errors stay: what they report is in no other place.
func WithoutFull(log *zap.Logger, db DB) *zap.Logger {
	return log.WithOptions(zap.WrapCore(func(core zapcore.Core) zapcore.Core { return &withoutFull{core, db} }))
}

type withoutFull struct {
	zapcore.Core
	db DB
}

func (c *withoutFull) With(fields []zapcore.Field) zapcore.Core {
	return &withoutFull{c.Core.With(fields), c.db}
}

func (c *withoutFull) Check(entry zapcore.Entry, checked *zapcore.CheckedEntry) *zapcore.CheckedEntry {
	if entry.Level != zapcore.WarnLevel || !c.Enabled(entry.Level) {
		return c.Core.Check(entry, checked)
	}
	return checked.AddCore(entry, c)
}

func (c *withoutFull) Write(entry zapcore.Entry, fields []zapcore.Field) error {
	if slices.ContainsFunc(fields, func(f zapcore.Field) bool {
		err, is := f.Interface.(error)
		return is && f.Type == zapcore.ErrorType && c.db.Full(err)
	}) {
		return nil
	}
	return c.Core.Write(entry, fields)
}
