package record

import (
	"bytes"
	"errors"
	"io"
	"math/rand/v2"
	"os"
	"testing"

	"github.com/klauspost/compress/s2"
	"github.com/klauspost/compress/zstd"
)

func shapes() map[string][]byte {
	r := rand.New(rand.NewPCG(1, 2))
	noise := make([]byte, 300_000)
	for i := range noise {
		noise[i] = byte(r.Uint32())
	}
	text := prose(r, 2_500_000) // of several parts
	return map[string][]byte{"empty": nil, "one": {7}, "short": []byte("hello"), "zeros": make([]byte, 1<<21), "noise": noise,
		"prose": text, "prose 200": text[:200], "a part": text[:s2PartBytes], "a part and a byte": text[:s2PartBytes+1]}
}

func zstdOf(t testing.TB, text []byte) []byte {
	t.Helper()
	e, err := zstd.NewWriter(nil, zstd.WithEncoderConcurrency(1))
	if err != nil {
		t.Fatal(err)
	}
	return e.EncodeAll(text, nil)
}

func lzhBlock(t testing.TB) []byte {
	t.Helper()
	b, err := os.ReadFile("../../lzh/testdata/prose_2000.lzh")
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func TestCompress(t *testing.T) {
	t.Parallel()
	for name, text := range shapes() {
		z := Compress(text)
		if got, err := Decompress(z); err != nil || !bytes.Equal(got, text) {
			t.Errorf("%s: got %d bytes, error %v; want %d bytes", name, len(got), err, len(text))
		}
		if public, err := io.ReadAll(s2.NewReader(bytes.NewReader(z))); err != nil || !bytes.Equal(public, text) {
			t.Errorf("%s: a reader of S2 streams got %d bytes, error %v; want %d bytes", name, len(public), err, len(text))
		}
		if most := len(text) + 8*(1+len(text)/s2PartBytes) + len(s2Magic); len(z) > most {
			t.Errorf("%s: %d bytes became %d", name, len(text), len(z))
		}
		if len(text) > 0 {
			if got, err := Decompress(zstdOf(t, text)); err != nil || !bytes.Equal(got, text) {
				t.Errorf("%s: of zstd %d bytes, error %v; want %d bytes", name, len(got), err, len(text))
			}
		}
	}
	text := shapes()["prose"]
	if z := Compress(text); len(z) > len(text)*7/10 {
		t.Errorf("prose of %d bytes became %d: not compressed well", len(text), len(z))
	}
	if got, err := Decompress(lzhBlock(t)); err != nil || len(got) != 2000 {
		t.Errorf("a block of an earlier version: %d bytes, error %v", len(got), err)
	}
}

// A flipped byte, a cut and what follows a block are always found.
func TestDecompressFlipped(t *testing.T) {
	t.Parallel()
	text := shapes()["prose"][:20_000]
	lzhText, err := Decompress(lzhBlock(t))
	if err != nil {
		t.Fatal(err)
	}
	for name, block := range map[string]struct{ text, z []byte }{
		"s2": {text, Compress(text)}, "s2 plain": {text[:40], Compress(text[:40])}, "zstd": {text, zstdOf(t, text)}, "lzh": {lzhText, lzhBlock(t)},
	} {
		for i := range block.z {
			bad := bytes.Clone(block.z)
			bad[i] ^= 0x41
			if got, err := Decompress(bad); err == nil && !bytes.Equal(got, block.text) || err != nil && !errors.Is(err, ErrDamaged) {
				t.Fatalf("%s: byte %d changed: %d bytes, error %v", name, i, len(got), err)
			}
			if i != len(s2Magic) || name == "zstd" || name == "lzh" { // an S2 stream may be empty
				if _, err := Decompress(block.z[:i]); !errors.Is(err, ErrDamaged) {
					t.Fatalf("%s: cut to %d bytes: error %v", name, i, err)
				}
			}
		}
		if _, err := Decompress(append(bytes.Clone(block.z), 0)); !errors.Is(err, ErrDamaged) {
			t.Errorf("%s: a byte more: error %v", name, err)
		}
	}
}

func TestDecompressUnknown(t *testing.T) {
	t.Parallel()
	for _, z := range [][]byte{nil, {0}, []byte("plain text"), {0xff}, {0x28, 0xb5}, {0x1f, 0x8b, 8, 0}, {0xb0}, {0xb2, 1, 2}} {
		if _, err := Decompress(z); !errors.Is(err, ErrDamaged) {
			t.Errorf("%x: error %v", z, err)
		}
	}
}

func FuzzDecompress(f *testing.F) {
	for _, text := range shapes() {
		text = text[:min(len(text), 3000)]
		f.Add(Compress(text))
		f.Add(zstdOf(f, text))
	}
	f.Add(lzhBlock(f))
	f.Add([]byte("\x28\xb5\x2f\xfd\xa0\x00\x00\x00\x30\x19\x00\x00abc")) // says that it is 768 MiB long
	f.Add(append(bytes.Clone(s2Magic), 5, 0, 0, 0, 0, 0, 0, 0, 1))
	f.Fuzz(func(t *testing.T, z []byte) {
		if len(z) > 1<<10 {
			return
		}
		if _, err := Decompress(z); err != nil && !errors.Is(err, ErrDamaged) {
			t.Errorf("error %v", err)
		}
	})
}

func FuzzCompress(f *testing.F) {
	for _, text := range shapes() {
		f.Add(text[:min(len(text), 3000)], 2)
	}
	f.Fuzz(func(t *testing.T, text []byte, times int) {
		text = bytes.Repeat(text, 1+times&7)
		if got, err := Decompress(Compress(text)); err != nil || !bytes.Equal(got, text) {
			t.Errorf("%d bytes came back as %d, error %v", len(text), len(got), err)
		}
	})
}
