package query

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/spangrove/spangrove/pkg/run"
)

// TestQuantile holds the quantile of values in any order to that of the sorted ones.
func TestQuantile(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(3, 4))
	for _, n := range []int{0, 1, 2, 3, 16, 17, 18, 100, 1000, 20_000} {
		for _, kinds := range []int{1, 2, 10, 1_000_000} {
			values := make([]float64, n)
			for i := range values {
				values[i] = float64(r.IntN(kinds)) / 3
			}
			sorted := slices.Clone(values)
			slices.Sort(sorted)
			for _, q := range []float64{0, 0.5, 0.75, 0.9, 0.95, 0.99, 1} {
				want := run.Quantile(sorted, q)
				for name, list := range map[string][]float64{"any order": slices.Clone(values), "sorted": slices.Clone(sorted)} {
					if got := quantile(list, q); got != want && !(math.IsNaN(got) && math.IsNaN(want)) {
						t.Errorf("%v of %d, %s: %v, want %v", q, n, name, got, want)
					}
					slices.Sort(list)
					if !slices.Equal(list, sorted) {
						t.Fatalf("%v of %d: values were lost", q, n)
					}
				}
			}
		}
	}
}
