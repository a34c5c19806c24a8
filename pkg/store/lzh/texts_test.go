package lzh

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"strings"
)

// texts returns the shapes that take different ways through the decoder. testdata has the block of each, as the last version of
// the encoder made it.
func texts() map[string][]byte {
	rng := rand.New(rand.NewPCG(1, 2))
	noise := make([]byte, 70_000)
	for i := range noise {
		noise[i] = byte(rng.Uint32())
	}
	letters := make([]byte, 140_000) // more than a part of a stream, hardly any matches
	for i := range letters {
		letters[i] = ' ' + byte(rng.IntN(64))
	}
	var words strings.Builder
	for words.Len() < 200_000 {
		fmt.Fprintf(&words, `{"role":"user","content":"word%d and %d more"},`, rng.IntN(300), rng.IntN(20))
	}
	prose := words.String()
	return map[string][]byte{
		"empty": nil, "one": {7}, "short": []byte("hello"), "zeros": make([]byte, 1<<20), "tiny_noise": noise[:70],
		"letters": letters, "prose": []byte(prose), "prose_200": []byte(prose[:200]), "prose_2000": []byte(prose[:2000]),
		"prose_30000": []byte(prose[:30_000]),
		"far_repeat":  append(append([]byte(prose[:30_000]), noise...), prose[:30_000]...),
		"near_repeat": bytes.Repeat([]byte("abcdefg"), 5000),
	}
}
