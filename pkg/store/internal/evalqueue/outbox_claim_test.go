package evalqueue

import (
	"testing"

	"github.com/google/uuid"

	"github.com/spangrove/spangrove/pkg/evaluation"
)

// A composite metric waits for the evaluations of its parts that there are: so those of one event are made together.
func TestRequestsOfAnEventStayTogether(t *testing.T) {
	t.Parallel()
	for _, metrics := range []int{1, 3, 100} {
		var requests []evaluation.Request
		for len(requests) < 5*enqueueSlice {
			e := uuid.New()
			for range metrics {
				requests = append(requests, evaluation.Request{EventID: e})
			}
		}
		for len(requests) > enqueueSlice {
			end := sliceOf(requests)
			if end < enqueueSlice || end > enqueueSlice+metrics {
				t.Errorf("%d metrics: %d requests in a transaction", metrics, end)
			}
			if end < len(requests) && requests[end].EventID == requests[end-1].EventID {
				t.Errorf("%d metrics: an event is in two transactions", metrics)
			}
			requests = requests[end:]
		}
	}
}
