package lzh

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
)

// texts returns the shapes that take different ways through the coder.
func texts() map[string][]byte {
	rng := rand.New(rand.NewPCG(1, 2))
	noise := make([]byte, 300_000)
	for i := range noise {
		noise[i] = byte(rng.Uint32())
	}
	var words strings.Builder
	for words.Len() < 700_000 {
		fmt.Fprintf(&words, `{"role":"user","content":"word%d and %d more"},`, rng.IntN(300), rng.IntN(20))
	}
	prose := words.String()
	return map[string][]byte{
		"empty": nil, "one": {7}, "short": []byte("hello"), "zeros": make([]byte, 1<<20), "tiny noise": noise[:70],
		"noise": noise, "prose": []byte(prose), "prose 200": []byte(prose[:200]), "prose 2000": []byte(prose[:2000]),
		"far repeat":  append(append([]byte(prose[:100_000]), noise...), prose[:100_000]...),
		"near repeat": bytes.Repeat([]byte("abcdefg"), 5000),
	}
}

func TestRoundTrip(t *testing.T) {
	t.Parallel()
	for name, text := range texts() {
		block := Encode([]byte("x"), text)
		got, err := Decode(block[1:])
		if err != nil || !bytes.Equal(got, text) {
			t.Errorf("%s: got %d bytes, error %v; want %d bytes", name, len(got), err, len(text))
		}
		if most := len(text) + len(text)/500 + 40; len(block) > most {
			t.Errorf("%s: %d bytes became %d", name, len(text), len(block))
		}
	}
	prose := texts()["prose"]
	if block := Encode(nil, prose); len(block) > len(prose)/4 {
		t.Errorf("prose of %d bytes became %d: not compressed well", len(prose), len(block))
	}
}

// A flipped byte or a cut is always found.
func TestDecodeDamaged(t *testing.T) {
	t.Parallel()
	text := texts()["prose"][:30_000]
	block := Encode(nil, text)
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
	for _, text := range texts() {
		block := Encode(nil, text[:min(len(text), 3000)])
		f.Add(block)
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

func FuzzRoundTrip(f *testing.F) {
	for _, text := range texts() {
		f.Add(text[:min(len(text), 3000)], 2)
	}
	f.Fuzz(func(t *testing.T, text []byte, times int) {
		text = bytes.Repeat(text, 1+times&7)
		block := Encode(nil, text)
		if got, err := Decode(block); err != nil || !bytes.Equal(got, text) {
			t.Errorf("%d bytes came back as %d, error %v", len(text), len(got), err)
		}
	})
}
