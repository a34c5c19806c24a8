package event

import (
	"github.com/spangrove/spangrove/pkg/rawjson"
)

// ReplacedKey is the member of metadata that holds how many characters of an event could not
// be stored (NUL, broken UTF-8, lone surrogates) and stand as U+FFFD.
const ReplacedKey = "replaced_characters"

// CountReplaced adds n to the count in the metadata of a valid event; 0 changes nothing.
func (e *Event) CountReplaced(n int) {
	if n <= 0 {
		return
	}
	before, _ := rawjson.Number(rawjson.Get(e.Metadata, ReplacedKey))
	var b rawjson.Builder
	b.Number(ReplacedKey, before+float64(n))
	e.Metadata = rawjson.Merge(e.Metadata, b.Bytes())
}
