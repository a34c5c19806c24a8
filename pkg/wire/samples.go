package wire

import (
	"github.com/google/uuid"

	"github.com/spangrove/spangrove/pkg/fault"
	"github.com/spangrove/spangrove/pkg/rawjson"
)

// DecodeNothing reads the body of an operation that takes no options: nothing, or an object without members. Errors are
// fault.Invalid.
func DecodeNothing(body []byte) error {
	r, err := newReader(body)
	if err != nil {
		return err
	}
	return r.object(func(string) error { return fault.New(fault.Invalid, "unknown field") })
}

// AppendSamples writes {"sessions": […]}, the ids of the sample sessions.
func AppendSamples(dst []byte, ids []uuid.UUID) []byte {
	list := make([]string, len(ids))
	for i, id := range ids {
		list[i] = id.String()
	}
	var b rawjson.Builder
	b.Raw("sessions", rawjson.AppendStrings(nil, list))
	return append(dst, b.Bytes()...)
}
