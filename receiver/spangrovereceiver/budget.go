package spangrovereceiver

import (
	"errors"
	"io"
	"net/http"
	"slices"
	"sync/atomic"

	"github.com/spangrove/spangrove/pkg/fault"
)

// budget bounds the bytes of all requests under way.
type budget struct {
	limit   int64
	used    atomic.Int64
	changed func(n int64) // told of every change, for the gauge
}

// take reserves n bytes, or nothing and false.
func (b *budget) take(n int64) bool {
	if b.used.Add(n) > b.limit {
		b.used.Add(-n)
		return false
	}
	b.changed(n)
	return true
}

func (b *budget) release(n int64) {
	b.used.Add(-n)
	b.changed(-n)
}

func errBusy() error {
	return fault.New(fault.Unavailable, "too much data is being received; try again")
}

// firstRead is the buffer of a body whose length is not known.
const firstRead = 32 << 10

// read reads a whole body. What it holds is reserved until release is called, which the
// caller must do, also after an error. Errors are Unavailable if the budget is used up,
// TooLarge for a body over its bound, Invalid for one that cannot be read.
func (b *budget) read(req *http.Request) (body []byte, release func(), err error) {
	var held int64
	release = func() { b.release(held) }
	grow := func(n int64) bool {
		if !b.take(n) {
			return false
		}
		held += n
		body = slices.Grow(body, int(n))
		return true
	}
	first := int64(firstRead)
	// One byte more than announced, so that the end is found without growing. A length over
	// the limit is not believed: the bound of the body will say so.
	if n := req.ContentLength; n >= 0 && n < b.limit {
		first = n + 1
	}
	if !grow(first) {
		return nil, release, errBusy()
	}
	for {
		if len(body) == cap(body) && !grow(int64(cap(body))) {
			return nil, release, errBusy()
		}
		n, err := req.Body.Read(body[len(body):cap(body)])
		body = body[:len(body)+n]
		switch {
		case err == nil:
		case errors.Is(err, io.EOF):
			return body, release, nil
		default:
			return nil, release, readFault(err)
		}
	}
}

// readFault says whose fault it is that a body could not be read.
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
