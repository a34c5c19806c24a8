package wire

import (
	"errors"
	"math"
	"net/http"
	"strconv"
	"time"

	"github.com/spangrove/spangrove/pkg/fault"
	"github.com/spangrove/spangrove/pkg/rawjson"
)

// WriteError answers a request with an error: the status of its kind and the body
// {"statusCode", "message", "success": false, "errorCode"}. What may be tried again later
// carries Retry-After. A body that went over its bound (http.MaxBytesError) is TooLarge. The
// caller of an Internal error learns nothing but that; logging it is up to the handler.
func WriteError(w http.ResponseWriter, err error) {
	f := asFault(err)
	h := w.Header()
	h.Set("Content-Type", "application/json")
	if f.Kind.Later() {
		h.Set("Retry-After", RetryAfter(f.RetryAfter))
	}
	if f.Kind == fault.Unauthorized {
		h.Set("WWW-Authenticate", "Bearer")
	}
	w.WriteHeader(f.Kind.Status())
	_, _ = w.Write(AppendError(nil, f)) // a client that is gone cannot be told
}

// AppendError appends the body that WriteError sends.
func AppendError(dst []byte, f *fault.Error) []byte {
	dst = append(dst, `{"statusCode":`...)
	dst = strconv.AppendInt(dst, int64(f.Kind.Status()), 10)
	dst = append(dst, `,"message":`...)
	dst = rawjson.AppendString(dst, f.Message())
	dst = append(dst, `,"success":false,"errorCode":`...)
	dst = rawjson.AppendString(dst, f.Kind.Code())
	return append(dst, '}')
}

// RetryAfter returns the value of the header: whole seconds, at least 1; 0 means the default.
func RetryAfter(d time.Duration) string {
	if d <= 0 {
		d = fault.DefaultRetryAfter
	}
	return strconv.Itoa(int(max(1, math.Ceil(d.Seconds()))))
}

// asFault returns err as a fault, which gets a kind if it has none. Only the texts of faults and those written here reach
// the caller, never that of another error.
func asFault(err error) *fault.Error {
	var f *fault.Error
	var tooLarge *http.MaxBytesError
	switch {
	case errors.As(err, &f):
		return f
	case errors.As(err, &tooLarge):
		return &fault.Error{Kind: fault.TooLarge, Msg: "the body is larger than " + strconv.FormatInt(tooLarge.Limit, 10) + " bytes"}
	}
	k := fault.Of(err)
	messages := map[fault.Kind]string{
		fault.Timeout:     "the time limit ran out",
		fault.Unavailable: "the request was cancelled",
	}
	return &fault.Error{Kind: k, Msg: messages[k], Err: err}
}
