package otlpmap

import (
	"go.opentelemetry.io/collector/pdata/pcommon"

	"github.com/spangrove/spangrove/pkg/otlpmap/internal/jsonrepair"
)

// repairTruncatedJSON reads JSON that was cut off, by a limit on the length of attributes or by ours: it
// closes what is open after the last whole value. A part of a conversation is worth more than
// a text that no one can read. metadata.parse_error names the attribute. A text that came cut off stays under
// its own name, too; of one that this mapper cut, metadata.truncated has the length.
func (b *eventBuilder) repairTruncatedJSON(a *attr) ([]byte, bool) {
	if a.val.Type() != pcommon.ValueTypeStr {
		return nil, false
	}
	text := jsonrepair.Close(a.val.Str())
	if text == "" {
		return nil, false
	}
	raw, ok := b.clean(view(text))
	if ok {
		b.losses.failed = append(b.losses.failed, a.key)
		a.repaired = !cutShort(b.losses.cuts, a.key)
	}
	return raw, ok
}
