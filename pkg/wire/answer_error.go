package wire

import (
	"errors"
	"math"
	"net/http"
	"strconv"

	"github.com/spangrove/spangrove/pkg/fault"
	"github.com/spangrove/spangrove/pkg/rawjson"
)

// WriteError answers with err in the form every client reads:
//
//	{"statusCode": 400, "message": "inputs: must be an object", "success": false, "errorCode": "VALIDATION_ERROR"}
//
// Status and code follow from the error's kind; what is not a *fault.Error is an internal
// error, whose cause is not shown. Unavailable carries Retry-After in whole seconds.
func WriteError(w http.ResponseWriter, err error) {
	kind := fault.Of(err)
	message := (&fault.Error{Kind: kind}).Message()
	var f *fault.Error
	if errors.As(err, &f) {
		message = f.Message()
	}
	var b rawjson.Builder
	b.Int("statusCode", int64(kind.Status()))
	b.String("message", message)
	b.Bool("success", false)
	b.String("errorCode", kind.Code())
	object := b.Bytes()

	h := w.Header()
	switch kind {
	case fault.Unavailable:
		after := fault.DefaultRetryAfter
		if f != nil && f.RetryAfter > 0 {
			after = f.RetryAfter
		}
		h.Set("Retry-After", strconv.Itoa(int(math.Ceil(after.Seconds()))))
	case fault.Unauthorized:
		h.Set("WWW-Authenticate", "Bearer")
	}
	h.Set("Content-Type", "application/json")
	h.Set("Content-Length", strconv.Itoa(len(object)))
	w.WriteHeader(kind.Status())
	_, _ = w.Write(object) // an error here is the caller's connection, gone
}
