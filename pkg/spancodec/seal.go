package spancodec

import (
	"encoding/binary"
	"hash/maphash"
)

// sealSeed is drawn anew at each start of the program, so nobody outside can make a seal.
var sealSeed = maphash.MakeSeed()

// seal returns a hash of a span's JSON fields. Encode sets it over text that was checked when it
// was received; where Decode finds it unbroken, no processor touched the text and it need not
// be parsed a second time, which would be most of the cost of a large event. After a change, a
// restart (a persistent queue) or a hop from another process the seal does not match, and
// everything is checked.
func seal(texts *[len(fields)]string) int64 {
	var h maphash.Hash
	h.SetSeed(sealSeed)
	for _, text := range texts {
		var size [8]byte // keeps neighbours apart
		binary.LittleEndian.PutUint64(size[:], uint64(len(text)))
		_, _ = h.Write(size[:])
		_, _ = h.WriteString(text)
	}
	return int64(h.Sum64()) //nolint:gosec // a bit pattern, not a number
}
