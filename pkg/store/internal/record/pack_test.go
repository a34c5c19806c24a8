package record

import (
	"bytes"
	"errors"
	"testing"

	"github.com/klauspost/compress/zstd"
)

func TestPack(t *testing.T) {
	t.Parallel()
	text := shapes()["prose"][:60_000]
	z := CompressPack(3, text)
	n, got, err := DecompressPack(z)
	if err != nil || n != 3 || !bytes.Equal(got, text) {
		t.Errorf("%d chunks, %d bytes, %v", n, len(got), err)
	}
	d, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(1))
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	if public, err := d.DecodeAll(z, nil); err != nil || !bytes.Equal(public, text) {
		t.Errorf("a reader of zstd got %d bytes, %v", len(public), err)
	}
	if !Dense(CompressDense(text)) || Dense(Compress(text)) || Dense(z) {
		t.Error("what is dense is not told from what is not")
	}
	for i := range z {
		bad := bytes.Clone(z)
		bad[i] ^= 0x41
		if _, got, err := DecompressPack(bad); err == nil && !bytes.Equal(got, text) || err != nil && !errors.Is(err, ErrDamaged) {
			t.Fatalf("byte %d changed: %d bytes, %v", i, len(got), err)
		}
		if _, _, err := DecompressPack(z[:i]); !errors.Is(err, ErrDamaged) {
			t.Fatalf("cut to %d bytes: %v", i, err)
		}
	}
}

func TestPlace(t *testing.T) {
	t.Parallel()
	text := []byte("\x01abc\x00\x00\x00\x01d")
	for _, tt := range []struct {
		place Place
		part  string
		gone  bool
		fails bool
	}{
		{place: Place{0, 4}, part: "\x01abc"},
		{place: Place{4, 3}, part: "\x00\x00\x00", gone: true},
		{place: Place{7, 2}, part: "\x01d"},
		{place: Place{7, 3}, fails: true},
		{place: Place{10, 1}, fails: true},
		{place: Place{MaxBytes, MaxBytes}, fails: true},
	} {
		p, err := ReadPlace(tt.place.Append(nil))
		if err != nil || p != tt.place {
			t.Errorf("%v came back as %v, %v", tt.place, p, err)
		}
		part, gone, err := p.In(text)
		if (err != nil) != tt.fails || err == nil && (string(part) != tt.part || gone != tt.gone) || err != nil && !errors.Is(err, ErrDamaged) {
			t.Errorf("%v: %q, gone %v, %v", tt.place, part, gone, err)
		}
	}
	for _, b := range [][]byte{nil, {1}, {1, 0}, {1, 2, 3}, {0x80}, {255, 255, 255, 255, 255, 255, 255, 255, 255, 1, 1}, {1, 255, 255, 255, 255, 127}} {
		if p, err := ReadPlace(b); !errors.Is(err, ErrDamaged) {
			t.Errorf("%x: %v, %v", b, p, err)
		}
	}
}

func FuzzDecompressPack(f *testing.F) {
	for _, text := range shapes() {
		f.Add(CompressPack(2, text[:min(len(text), 3000)]), Place{1, 200}.Append(nil))
	}
	f.Fuzz(func(t *testing.T, z, place []byte) {
		if len(z) > 1<<10 {
			return
		}
		_, text, err := DecompressPack(z)
		if err != nil && !errors.Is(err, ErrDamaged) {
			t.Errorf("error %v", err)
		}
		if p, err := ReadPlace(place); err == nil {
			if part, _, err := p.In(text); err == nil && len(part) != p.Length {
				t.Errorf("%v: %d bytes", p, len(part))
			}
		}
	})
}
