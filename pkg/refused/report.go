package refused

import (
	"net/http"
	"sync"
)

// MaxReported is how many senders and reasons a Report tells apart at a time. Requests of others are counted together.
const MaxReported = 100

// Report decides what the server's log says of senders that are refused: that a sender is, at once; and how often it was, an interval
// later and for as long as it goes on. So a sender that is set up wrongly is a line a minute, whatever it sends. It is safe for concurrent
// use.
type Report struct {
	mu      sync.Mutex
	senders map[sender]*Line
	others  int64
}

// sender is one that is refused for one reason.
type sender struct {
	projectID, keyPrefix string
	status               int
}

// Line is what there is to say of a sender: its project, empty if that is not known, and a refused request of it, with how many like it
// there were.
type Line struct {
	ProjectID string
	Request
}

// NewReport returns a report of nobody.
func NewReport() *Report { return &Report{senders: map[sender]*Line{}} }

// reports reports whether a status is one that the person who runs the sender must do something about: the key is wrong or may not do that,
// the request is too large, or over a limit. Others are in answers, and in Log.
func reports(status int) bool {
	switch status {
	case http.StatusUnauthorized, http.StatusForbidden, http.StatusRequestEntityTooLarge, http.StatusTooManyRequests:
		return true
	}
	return false
}

// Add counts a refused request, as Log.Add returns it. first is true if it is to be said now, since nothing was said of its sender and reason lately.
func (r *Report) Add(projectID string, q Request) (line Line, first bool) {
	if !reports(q.Status) {
		return Line{}, false
	}
	key := sender{projectID, q.KeyPrefix, q.Status}
	r.mu.Lock()
	defer r.mu.Unlock()
	if known := r.senders[key]; known != nil {
		q.Count = known.Count + 1
		known.Request = q
		return Line{}, false
	}
	if len(r.senders) == MaxReported {
		r.others++
		return Line{}, false
	}
	r.senders[key] = &Line{ProjectID: projectID, Request: q}
	q.Count = 1
	return Line{projectID, q}, true
}

// Flush ends an interval. It returns the senders that were refused again since the last call or since they were said, with how often, and how often
// those that were too many to be told apart. Of a sender that has not been refused since the last call, the next request is a first one.
func (r *Report) Flush() (again []Line, others int64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for key, line := range r.senders {
		if line.Count == 0 {
			delete(r.senders, key)
			continue
		}
		again = append(again, *line)
		line.Count = 0
	}
	others, r.others = r.others, 0
	return again, others
}
