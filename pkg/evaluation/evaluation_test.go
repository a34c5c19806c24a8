package evaluation

import (
	"testing"

	"github.com/google/uuid"
)

func TestSampled(t *testing.T) {
	t.Parallel()
	const n = 20_000
	in := map[float64]int{}
	other := 0
	for i := range n {
		id := uuid.NewSHA1(uuid.Nil, []byte{byte(i), byte(i >> 8)})
		for _, percent := range []float64{0, 0.5, 10, 50, 100} {
			if Sampled("metric", id, percent) {
				in[percent]++
				if percent < 100 && !Sampled("metric", id, percent+1) {
					t.Errorf("%s is in a sample of %v%% and not in a larger one", id, percent)
				}
			}
		}
		if Sampled("metric", id, 50) == Sampled("another", id, 50) {
			other++
		}
	}
	for percent, want := range map[float64]int{0: 0, 0.5: 100, 10: 2000, 50: 10_000, 100: n} {
		if got := in[percent]; got < want-want/20-30 || got > want+want/20+30 || percent == 0 && got != 0 {
			t.Errorf("%v%%: %d of %d, want about %d", percent, got, n, want)
		}
	}
	if other < n*45/100 || other > n*55/100 {
		t.Errorf("two metrics' samples of half the events agree on %d of %d events, want about half", other, n)
	}
}
