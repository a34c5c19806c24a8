package lzh

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"testing"
)

// block returns the stored block of a text.
func block(t testing.TB, name string) []byte {
	t.Helper()
	b, err := os.ReadFile(filepath.Join("testdata", name+".lzh"))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func TestDecode(t *testing.T) {
	t.Parallel()
	for name, text := range texts() {
		got, err := Decode(block(t, name))
		if err != nil || !bytes.Equal(got, text) {
			t.Errorf("%s: got %d bytes, error %v; want %d bytes", name, len(got), err, len(text))
		}
	}
}

// A flipped byte or a cut is always found.
func TestDecodeDamaged(t *testing.T) {
	t.Parallel()
	text, block := texts()["prose_30000"], block(t, "prose_30000")
	for i := range block {
		bad := bytes.Clone(block)
		bad[i] ^= 0x41
		if got, err := Decode(bad); err == nil && !bytes.Equal(got, text) || err != nil && !errors.Is(err, ErrDamaged) {
			t.Fatalf("byte %d changed: %d bytes, error %v", i, len(got), err)
		}
		if _, err := Decode(block[:i]); !errors.Is(err, ErrDamaged) {
			t.Fatalf("cut to %d bytes: error %v", i, err)
		}
	}
	if _, err := Decode(append(bytes.Clone(block), 0)); !errors.Is(err, ErrDamaged) {
		t.Errorf("a byte more: error %v", err)
	}
}

func FuzzDecode(f *testing.F) {
	for name := range texts() {
		if b := block(f, name); len(b) < 8<<10 {
			f.Add(b)
		}
	}
	f.Fuzz(func(t *testing.T, block []byte) {
		if len(block) > 1<<16 {
			return
		}
		if _, err := Decode(block); err != nil && !errors.Is(err, ErrDamaged) {
			t.Errorf("error %v", err)
		}
	})
}
