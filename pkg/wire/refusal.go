package wire

import (
	"github.com/spangrove/spangrove/pkg/rawjson"
	"github.com/spangrove/spangrove/pkg/refused"
)

// AppendRefusal writes a refused request: {"time", "method", "path", "status", "message", "key_prefix", "count"}. The time has
// microseconds.
func AppendRefusal(dst []byte, r *refused.Request) []byte {
	var b rawjson.Builder
	b.String("time", r.Time.UTC().Format("2006-01-02T15:04:05.000000Z"))
	b.String("method", r.Method)
	b.String("path", r.Path)
	b.Int("status", int64(r.Status))
	b.String("message", r.Message)
	b.String("key_prefix", r.KeyPrefix)
	b.Int("count", r.Count)
	return append(dst, b.Bytes()...)
}
