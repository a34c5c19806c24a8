//go:build !race

// The race detector makes many things allocate that do not otherwise.

package otlpmap

import (
	"runtime"
	"strings"
	"testing"

	"go.opentelemetry.io/collector/pdata/pcommon"
)

// Reading the chunks of Gemini's answer allocates a few times their text, however small they are.
func TestMemoryOfChunks(t *testing.T) {
	text := "[" + strings.Repeat("{},", 1<<20) + `{"candidates":[{"content":{"parts":[{"text":"a"}]}}],"responseId":"r"}]`
	out := pcommon.NewMap()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	ok := geminiChunks(text, out)
	runtime.ReadMemStats(&after)
	if took := after.TotalAlloc - before.TotalAlloc; !ok || took > 4*uint64(len(text)) {
		t.Errorf("%t: %d bytes of %d took %d", ok, len(text), len(text), took)
	}
	if v, _ := out.Get("gen_ai.output.messages"); v.Str() != `[{"role":"model","parts":[{"text":"a"}]}]` {
		t.Errorf("the message is %s", v.Str())
	}
	if v, _ := out.Get("gen_ai.response.id"); v.Str() != "r" {
		t.Errorf("the id is %q", v.Str())
	}
}
