package record

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/klauspost/compress/s2"
	"github.com/klauspost/compress/zstd"

	"github.com/spangrove/spangrove/pkg/event"
)

// prose returns text of made-up words, of which some are far more frequent than others: zstd's first level leaves some 0.42 of
// it, as of English.
func prose(r *rand.Rand, size int) []byte {
	words := make([][]byte, 8192)
	for i := range words {
		var w []byte
		for range 1 + r.IntN(4) {
			w = append(w, "bcdfghjklmnprstvw"[r.IntN(17)], "aeiou"[r.IntN(5)])
		}
		words[i] = append(w, ' ')
	}
	text := make([]byte, 0, size+16)
	for len(text) < size {
		u := r.Float64()
		text = append(text, words[int(u*u*u*8191)]...)
	}
	return text[:size]
}

// benchChunks returns chunks of twelve steps each, whose payloads are of about so many bytes.
func benchChunks(n, size int) (chunks [][]byte) {
	r := rand.New(rand.NewPCG(1, 2))
	pool := prose(r, 4<<20)
	cut := func(n int) []byte { at := r.IntN(len(pool) - n); return pool[at : at+n] }
	system := cut(min(600, size/4))
	for range n {
		var raw []byte
		for i := range 12 {
			in, out := size*(1+r.IntN(8))/6, size*(1+r.IntN(5))/12
			e := event.Event{
				Inputs: json.RawMessage(fmt.Sprintf(`{"chat_history":[{"role":"system","content":"%s"},{"role":"user","content":"%s"}]}`,
					system, cut(max(in-len(system), 8)))),
				Outputs: json.RawMessage(fmt.Sprintf(`{"role":"assistant","content":"%s"}`, cut(max(out, 8)))),
				Config:  json.RawMessage(fmt.Sprintf(`{"model":"gpt-4o-mini","provider":"openai","temperature":0.%d}`, i)),
			}
			raw = Append(raw, &e, 0)
		}
		chunks = append(chunks, raw)
	}
	return chunks
}

// chunkSizes are payload bytes of a step: spans of 1 KB and of 6.7 KB have these.
var chunkSizes = []struct {
	name string
	size int
}{{"1KB", 600}, {"6.7KB", 5200}}

// BenchmarkChunkEncode sets what ingestion may write side by side; ns/span and bytes/span are what counts.
func BenchmarkChunkEncode(b *testing.B) {
	enc := func(l zstd.EncoderLevel) func([]byte) []byte {
		e, err := zstd.NewWriter(nil, zstd.WithEncoderLevel(l), zstd.WithEncoderConcurrency(1), zstd.WithWindowSize(1<<20))
		if err != nil {
			b.Fatal(err)
		}
		return func(text []byte) []byte { return e.EncodeAll(text, nil) }
	}
	for _, c := range chunkSizes {
		chunks := benchChunks(16, c.size)
		for _, f := range []struct {
			name   string
			encode func([]byte) []byte
		}{
			{"s2", Compress},
			{"s2-better", func(text []byte) []byte { return s2.EncodeBetter(nil, text) }},
			{"zstd-fastest", enc(zstd.SpeedFastest)},
			{"zstd-default", enc(zstd.SpeedDefault)},
			{"zstd-better", enc(zstd.SpeedBetterCompression)},
		} {
			b.Run(c.name+"/"+f.name, func(b *testing.B) {
				bytes, n := 0, 0
				for b.Loop() {
					bytes += len(f.encode(chunks[n%len(chunks)]))
					n++
				}
				b.ReportMetric(float64(bytes)/float64(12*n), "bytes/span")
				b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(12*n), "ns/span")
			})
		}
	}
}

// BenchmarkChunkDecode reads what BenchmarkChunkEncode writes.
func BenchmarkChunkDecode(b *testing.B) {
	e, err := zstd.NewWriter(nil, zstd.WithEncoderLevel(zstd.SpeedDefault), zstd.WithEncoderConcurrency(1))
	if err != nil {
		b.Fatal(err)
	}
	for _, c := range chunkSizes {
		text := benchChunks(1, c.size)[0]
		for name, z := range map[string][]byte{"s2": Compress(text), "zstd": e.EncodeAll(text, nil)} {
			b.Run(c.name+"/"+name, func(b *testing.B) {
				b.SetBytes(int64(len(text)))
				for b.Loop() {
					if _, err := Decompress(z); err != nil {
						b.Fatal(err)
					}
				}
				b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(12*b.N), "ns/span")
			})
		}
	}
}

// BenchmarkPack joins chunks of sessions in packs of different sizes. ns/span of reading are for one span of a pack, all of which is
// decompressed.
func BenchmarkPack(b *testing.B) {
	for _, c := range chunkSizes {
		chunks := benchChunks(64, c.size)
		for _, kb := range []int{0, 64, 128, 256, 1024} {
			b.Run(fmt.Sprintf("%s/%dKB", c.name, kb), func(b *testing.B) {
				bytes, spans, packs := 0, 0, [][]byte(nil)
				for b.Loop() {
					bytes, spans, packs = 0, 0, nil
					var text []byte
					for i, raw := range chunks {
						text = append(text, raw...)
						spans += 12
						if len(text) >= kb<<10 || i == len(chunks)-1 {
							packs = append(packs, CompressPack(1, text))
							bytes += len(packs[len(packs)-1])
							text = nil
						}
					}
				}
				b.ReportMetric(float64(bytes)/float64(spans), "bytes/span")
				b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*spans), "ns/span")
				start := time.Now()
				const reads = 50
				for i := range reads {
					if _, _, err := DecompressPack(packs[i%len(packs)]); err != nil {
						b.Fatal(err)
					}
				}
				b.ReportMetric(float64(time.Since(start).Microseconds())/reads, "us/read")
			})
		}
	}
}
