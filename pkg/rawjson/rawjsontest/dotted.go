// Package rawjsontest makes documents for tests.
package rawjsontest

import (
	"fmt"
	"math/rand/v2"
	"strings"
)

// dottedKeys are keys that look like paths of each other.
var dottedKeys = []string{"a", "b", "0", "a.b", "b.a", "a.0", "a.b.a", "b.0.a"}

// Dotted returns a random document whose keys may hold dots, and a path that often leads somewhere in it.
func Dotted(rnd *rand.Rand) (doc []byte, path []string) {
	doc = []byte(dotted(rnd, 3))
	for range 1 + rnd.IntN(4) {
		path = append(path, dottedKeys[rnd.IntN(3)])
	}
	return doc, path
}

func dotted(rnd *rand.Rand, depth int) string {
	switch n := rnd.IntN(8); {
	case n == 0:
		return "null"
	case n < 3 || depth == 0:
		return fmt.Sprint(rnd.IntN(1000))
	case n == 3:
		return "[" + dotted(rnd, depth-1) + "," + dotted(rnd, depth-1) + "]"
	}
	var members []string
	for _, i := range rnd.Perm(len(dottedKeys))[:4] {
		members = append(members, fmt.Sprintf("%q:%s", dottedKeys[i], dotted(rnd, depth-1)))
	}
	return "{" + strings.Join(members, ",") + "}"
}
