package record

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"sync"

	"github.com/klauspost/compress/zstd"
)

// A pack is the texts of several chunks, one after the other, as a zstd frame. Before it stands a frame that readers of zstd
// skip, with the number of the chunks whose texts are still in it. Of a chunk that goes, the text in the pack becomes zeros, so
// that the places of the others stay as they are. The text of a chunk never begins with a zero: no record is empty (HasPayload).

// packMagic begins a frame that is skipped; the length of what it holds follows in four bytes.
var packMagic = []byte{0x50, 0x2a, 0x4d, 0x18}

const packHead = 4 + 4 + 4

// zstdWriter compresses what stays for long. It is shared by all, who take turns.
var zstdWriter = sync.OnceValue(func() *zstd.Encoder {
	e, err := zstd.NewWriter(nil, zstd.WithEncoderLevel(zstd.SpeedDefault), zstd.WithEncoderConcurrency(1), zstd.WithWindowSize(1<<20))
	if err != nil {
		panic(err) // the options are right
	}
	return e
})

// CompressDense returns a text as a zstd frame: fewer bytes than Compress makes of it, for several times its time.
func CompressDense(text []byte) []byte {
	return bytes.Clone(zstdWriter().EncodeAll(text, make([]byte, 0, len(text)/2+64)))
}

// Dense reports whether a block was made by CompressDense.
func Dense(z []byte) bool { return bytes.HasPrefix(z, zstdMagic) }

// CompressPack returns a pack of so many chunks.
func CompressPack(chunks int, text []byte) []byte {
	z := append(make([]byte, 0, len(text)/2+64), packMagic...)
	z = binary.LittleEndian.AppendUint32(z, 4)
	z = binary.LittleEndian.AppendUint32(z, uint32(chunks))
	return bytes.Clone(zstdWriter().EncodeAll(text, z))
}

// DecompressPack returns the text of a pack, and the number of chunks in it; ErrDamaged if it is not whole.
func DecompressPack(z []byte) (chunks int, text []byte, err error) {
	if len(z) < packHead || !bytes.HasPrefix(z, packMagic) || binary.LittleEndian.Uint32(z[4:]) != 4 || !Dense(z[packHead:]) {
		return 0, nil, fmt.Errorf("%w: %v", ErrDamaged, errFormat)
	}
	text, err = Decompress(z[packHead:])
	return int(binary.LittleEndian.Uint32(z[8:])), text, err
}

// Place is where the text of a chunk stands in that of its pack.
type Place struct{ Offset, Length int }

// Append appends a place as it is stored.
func (p Place) Append(dst []byte) []byte {
	return binary.AppendUvarint(binary.AppendUvarint(dst, uint64(p.Offset)), uint64(p.Length))
}

// ReadPlace reads what Append wrote; ErrDamaged if that is not it.
func ReadPlace(b []byte) (p Place, err error) {
	offset, n := binary.Uvarint(b)
	if n <= 0 || offset > MaxBytes {
		return p, ErrDamaged
	}
	length, m := binary.Uvarint(b[n:])
	if m <= 0 || n+m != len(b) || length > MaxBytes || length == 0 {
		return p, ErrDamaged
	}
	return Place{int(offset), int(length)}, nil
}

// In returns the part of a pack's text that the place names, a slice of it; gone is set if the chunk is not in the pack any more.
func (p Place) In(text []byte) (part []byte, gone bool, err error) {
	if p.Offset > len(text) || p.Length > len(text)-p.Offset {
		return nil, false, ErrDamaged
	}
	part = text[p.Offset : p.Offset+p.Length : p.Offset+p.Length]
	return part, part[0] == tagEnd, nil
}
