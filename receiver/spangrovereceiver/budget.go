package spangrovereceiver

import (
	"errors"
	"net/http"

	"github.com/spangrove/spangrove/pkg/fault"
	"github.com/spangrove/spangrove/pkg/ingress"
	"github.com/spangrove/spangrove/pkg/project"
)

// caller is who sent a request, and what of the budget the request holds.
type caller struct {
	project.Identity
	hold *ingress.Hold
}

// readFault returns an error of reading a body as a fault of whoever caused it. Faults of package ingress, such as a
// budget that is used up, stay what they are; anything else is the sender's.
func readFault(err error) error {
	var tooLarge *http.MaxBytesError
	if errors.As(err, &tooLarge) {
		return fault.Wrap(fault.TooLarge, err, "the body is larger than %d bytes", tooLarge.Limit)
	}
	var f *fault.Error
	if errors.As(err, &f) {
		return err
	}
	return fault.Wrap(fault.Invalid, err, "the body cannot be read: it is cut off or wrongly compressed")
}
