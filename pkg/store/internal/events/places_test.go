package events

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"

	"github.com/spangrove/spangrove/pkg/query"
)

// TestFirstPlaces compares the pages of random places, many of which have the same value, with those of the sorted list.
func TestFirstPlaces(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for _, count := range []int{0, 1, 2, 3, 50, 1500, 20_000} {
		for _, n := range []int{0, 1, 2, 40, 1200, 9000} {
			for _, order := range []string{"ascending", "descending", "random"} {
				for _, ascending := range []bool{false, true} {
					places := make([]EventPlace, count)
					for i := range places {
						places[i].Value = float64(random.IntN(1 + count/2))
						places[i].ID = uuid.UUID{byte(i), byte(i >> 8), byte(random.IntN(4))}
						places[i].Day = int32(i)
					}
					sorted := slices.Clone(places)
					slices.SortFunc(sorted, func(a, b EventPlace) int {
						if before(a.Place, b.Place, ascending) {
							return -1
						}
						return 1
					})
					switch order {
					case "ascending":
						places = slices.Clone(sorted)
						slices.Reverse(places)
					case "descending":
						places = slices.Clone(sorted)
					}
					offset := random.IntN(n + 1)
					p := firstPlaces{n: n, ascending: ascending}
					for _, at := range places {
						if p.wants(at.Place) {
							if !p.wantsValue(at.Value) {
								t.Fatal("a place is wanted whose value is not")
							}
							p.add(at)
						}
						if len(p.list) > n+max(spare, n/4) {
							t.Fatalf("%d places are kept for %d", len(p.list), n)
						}
					}
					want := sorted[min(offset, n, count):min(n, count)]
					if diff := cmp.Diff(append([]EventPlace{}, want...), append([]EventPlace{}, p.page(offset)...)); diff != "" {
						t.Fatalf("%d of %d %s places, ascending %v: %s", n, count, order, ascending, diff)
					}
				}
			}
		}
	}
}

func BenchmarkFirstPlaces(b *testing.B) {
	random := rand.New(rand.NewPCG(1, 2))
	places := make([]EventPlace, 200_000)
	for i := range places {
		places[i] = EventPlace{query.Place{Value: float64(i), ID: uuid.UUID{byte(random.Uint32())}}, 0}
	}
	for _, n := range []int{100, 100_000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			for b.Loop() {
				p := firstPlaces{n: n}
				for _, at := range places {
					if p.wants(at.Place) {
						p.add(at)
					}
				}
				p.page(n - 20)
			}
		})
	}
}
