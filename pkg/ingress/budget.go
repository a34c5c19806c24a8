package ingress

import (
	"io"
	"sync"

	"github.com/spangrove/spangrove/pkg/fault"
)

// Budget bounds the memory of all requests under way, and what one project may have of it.
type Budget struct {
	limit, share int64
	changed      func(n int64)

	mu   sync.Mutex
	used int64
	by   map[string]int64 // project's public id to its bytes
}

// Share returns what one project may have of a budget, in bytes: of both in MiB, or of two thirds of it if
// perProject is 0, and then at least one body of the largest size.
func Share(totalMiB, perProjectMiB int, largestBody int64) int64 {
	const mebibyte = 1 << 20
	if perProjectMiB > 0 {
		return int64(perProjectMiB) * mebibyte
	}
	total := int64(totalMiB) * mebibyte
	return max(total*2/3, min(total, largestBody))
}

// NewBudget returns a budget of limit bytes, of which one project may hold share. changed, if not
// nil, is told of every change, in bytes.
func NewBudget(limit, share int64, changed func(n int64)) *Budget {
	if changed == nil {
		changed = func(int64) {}
	}
	return &Budget{limit: limit, share: min(share, limit), changed: changed, by: map[string]int64{}}
}

// Used returns the number of bytes that are held now.
func (b *Budget) Used() int64 {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.used
}

// Hold begins a request of a project, named by its public id; callers without a project share the
// empty name. It holds nothing yet.
func (b *Budget) Hold(projectID string) *Hold { return &Hold{budget: b, project: projectID} }

// Hold is what one request has of a budget. It is for one goroutine.
type Hold struct {
	budget  *Budget
	project string
	bytes   int64
	reused  []byte // what ReadReused read
}

// Take adds n bytes. The error is fault.Limited if the project has its share, fault.Unavailable if
// the budget is used up; then nothing is added.
func (h *Hold) Take(n int64) error {
	b := h.budget
	b.mu.Lock()
	defer b.mu.Unlock()
	switch {
	case b.by[h.project]+n > b.share:
		return fault.New(fault.Limited, "this project has too much data under way; try again")
	case b.used+n > b.limit:
		return fault.New(fault.Unavailable, "too much data is being received; try again")
	}
	b.used += n
	b.by[h.project] += n
	h.bytes += n
	b.changed(n)
	return nil
}

// TakeUpToShare is Take for what decoding will need: no request needs more than the project's whole
// share, so one that is alone in its project is only refused if the server is busy with others.
func (h *Hold) TakeUpToShare(n int64) error {
	return h.Take(max(0, min(n, h.budget.share-h.bytes)))
}

// Release returns everything that was taken. The Hold can be used again.
func (h *Hold) Release() {
	freeBuffer(h.reused)
	h.reused = nil
	if h.bytes == 0 {
		return
	}
	b := h.budget
	b.mu.Lock()
	defer b.mu.Unlock()
	b.used -= h.bytes
	if b.by[h.project] -= h.bytes; b.by[h.project] == 0 {
		delete(b.by, h.project)
	}
	b.changed(-h.bytes)
	h.bytes = 0
}

// growth is the factor between two buffers of a body whose length is announced. An announced length is
// believed only as its bytes arrive.
const growth = 4

// ReadAll reads a whole body within the budget, as its bytes arrive. length is the announced length,
// negative if there is none. Errors are those of Take and of [Body.Read]; for another reader whatever
// it returns. What was taken stays until Release, also after an error.
func (h *Hold) ReadAll(body io.Reader, length int64) ([]byte, error) {
	return h.read(body, length, false)
}

// ReadReused is ReadAll into a buffer that serves other requests after Release: nothing may refer to
// the bytes then.
func (h *Hold) ReadReused(body io.Reader, length int64) ([]byte, error) {
	return h.read(body, length, true)
}

func (h *Hold) read(body io.Reader, length int64, reuse bool) ([]byte, error) {
	if opened, ok := body.(*Body); ok {
		opened.hold = h
		defer func() { opened.hold = nil }()
	}
	next := int64(firstRead)
	if length >= 0 {
		next = min(next, length+1) // one more, so that the end is found without growing
	}
	var buf []byte
	if reuse {
		defer func() { h.reused = buf }()
	}
	for {
		if len(buf) == cap(buf) {
			if reuse {
				next = bufferSize(next)
			}
			if err := h.Take(next - int64(cap(buf))); err != nil {
				return nil, err
			}
			var larger []byte
			if reuse {
				larger = newBuffer(next)
			} else {
				larger = make([]byte, next)
			}
			larger = larger[:copy(larger, buf)]
			if reuse {
				freeBuffer(buf)
			}
			buf = larger
			if next = int64(cap(buf)) * 2; length >= int64(cap(buf)) {
				next = min(int64(cap(buf))*growth, length+1)
			}
		}
		n, err := body.Read(buf[len(buf):cap(buf)])
		buf = buf[:len(buf)+n]
		if err == io.EOF {
			return buf, nil
		}
		if err != nil {
			return nil, err
		}
	}
}
