package wire

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/spangrove/spangrove/pkg/fault"
)

func TestWriteError(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		err    error
		status int
		retry  string
		body   string
	}{
		{fault.InvalidField("events[1].inputs", "is required"), 400, "", `{"statusCode":400,"message":"events[1].inputs: is required","success":false,"errorCode":"VALIDATION_ERROR"}`},
		{fault.New(fault.Forbidden, "the key may not write"), 403, "", `{"statusCode":403,"message":"the key may not write","success":false,"errorCode":"FORBIDDEN"}`},
		{&fault.Error{Kind: fault.Unavailable, Msg: "busy", RetryAfter: 1200 * time.Millisecond}, 503, "2", `{"statusCode":503,"message":"busy","success":false,"errorCode":"UNAVAILABLE"}`},
		{&fault.Error{Kind: fault.Limited, Msg: "too many requests", RetryAfter: 1}, 429, "1", `{"statusCode":429,"message":"too many requests","success":false,"errorCode":"RATE_LIMITED"}`},
		{fmt.Errorf("read: %w", &http.MaxBytesError{Limit: 7}), 413, "", `{"statusCode":413,"message":"the body is larger than 7 bytes","success":false,"errorCode":"PAYLOAD_TOO_LARGE"}`},
		{context.DeadlineExceeded, 504, "", `{"statusCode":504,"message":"the time limit ran out","success":false,"errorCode":"TIMEOUT"}`},
		{errors.New("secret"), 500, "", `{"statusCode":500,"message":"internal error","success":false,"errorCode":"INTERNAL_ERROR"}`},
	} {
		w := httptest.NewRecorder()
		WriteError(w, tt.err)
		if w.Code != tt.status || w.Header().Get("Retry-After") != tt.retry || w.Body.String() != tt.body || w.Header().Get("Content-Type") != "application/json" {
			t.Errorf("%v: %d, Retry-After %q, %s", tt.err, w.Code, w.Header().Get("Retry-After"), w.Body)
		}
	}
}
