package lzh_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/klauspost/compress/s2"
	"github.com/klauspost/compress/zstd"

	"github.com/spangrove/spangrove/pkg/store/lzh"
)

// conversation returns the payload of a session whose n model calls each carry all that was said
// before: about 70 KB for n = 8.
func conversation(n int) []byte {
	r := rand.New(rand.NewPCG(3, 4))
	words := make([][]byte, 20_000)
	for i := range words {
		w := make([]byte, 2+r.IntN(9))
		for j := range w {
			w[j] = "etaoinshrdlucmfwypvbgk"[min(r.IntN(22), r.IntN(22))]
		}
		words[i] = w
	}
	zipf := rand.NewZipf(r, 1.1, 4, uint64(len(words)-1))
	var history, out []byte
	for i := range n {
		history = fmt.Appendf(history, `{"role":"%s","content":"`, []string{"user", "assistant"}[i&1])
		for range 250 {
			history = append(append(history, words[zipf.Uint64()]...), ' ')
		}
		history = append(history, `"},`...)
		out = fmt.Appendf(out, `{"chat_history":[%s],"config":{"model":"gpt-4o-mini","temperature":0.2}}`, history)
	}
	return out
}

// BenchmarkCompress sets the coder beside those it was chosen over. "of" is the share of the
// text's size that is left.
func BenchmarkCompress(b *testing.B) {
	enc := func(l zstd.EncoderLevel) func(dst, text []byte) []byte {
		e, err := zstd.NewWriter(nil, zstd.WithEncoderLevel(l), zstd.WithEncoderConcurrency(1), zstd.WithWindowSize(1<<20))
		if err != nil {
			b.Fatal(err)
		}
		return func(dst, text []byte) []byte { return e.EncodeAll(text, dst) }
	}
	coders := []struct {
		name string
		f    func(dst, text []byte) []byte
	}{
		{"lzh", lzh.Encode},
		{"s2", func(dst, text []byte) []byte { return s2.Encode(dst[:cap(dst)], text) }},
		{"zstd-fastest", enc(zstd.SpeedFastest)},
		{"zstd-default", enc(zstd.SpeedDefault)},
	}
	for _, n := range []int{1, 8, 24} {
		text := conversation(n)
		for _, c := range coders {
			b.Run(fmt.Sprintf("%dKB/%s", len(text)>>10, c.name), func(b *testing.B) {
				b.SetBytes(int64(len(text)))
				var out []byte
				for b.Loop() {
					out = c.f(out[:0], text)
				}
				b.ReportMetric(float64(len(out))/float64(len(text)), "of")
			})
		}
	}
}

func BenchmarkDecompress(b *testing.B) {
	text := conversation(8)
	z := lzh.Encode(nil, text)
	e, err := zstd.NewWriter(nil, zstd.WithEncoderLevel(zstd.SpeedFastest))
	if err != nil {
		b.Fatal(err)
	}
	d, err := zstd.NewReader(nil)
	if err != nil {
		b.Fatal(err)
	}
	zz := e.EncodeAll(text, nil)
	b.Run("lzh", func(b *testing.B) {
		b.SetBytes(int64(len(text)))
		for b.Loop() {
			if _, err := lzh.Decode(z); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("zstd-fastest", func(b *testing.B) {
		b.SetBytes(int64(len(text)))
		for b.Loop() {
			if _, err := d.DecodeAll(zz, nil); err != nil {
				b.Fatal(err)
			}
		}
	})
}
