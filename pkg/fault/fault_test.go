package fault

import (
	"net/http"
	"testing"
)

func TestOfStatus(t *testing.T) {
	t.Parallel()
	for kind := range rows {
		if got := OfStatus(Kind(kind).Status()); got != Kind(kind) {
			t.Errorf("%d is kind %d, not %d", Kind(kind).Status(), got, kind)
		}
	}
	for status, want := range map[int]Kind{
		http.StatusUnprocessableEntity: Invalid, http.StatusTooManyRequests: Limited, http.StatusBadGateway: Unavailable,
		http.StatusRequestTimeout: Timeout, http.StatusNotImplemented: Internal, http.StatusMovedPermanently: Internal,
	} {
		if got := OfStatus(status); got != want {
			t.Errorf("%d is kind %d, not %d", status, got, want)
		}
	}
}
