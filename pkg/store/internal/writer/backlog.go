package writer

import "sync"

// backlog bounds what waits in all writers together, in bytes of payload.
type backlog struct {
	mu          sync.Mutex
	used, limit int64
}

// take reserves n bytes. A request larger than the bound is let in when nothing else waits.
func (q *backlog) take(n int64) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.used > 0 && q.used+n > q.limit {
		return false
	}
	q.used += n
	return true
}

func (q *backlog) give(n int64) {
	q.mu.Lock()
	q.used -= n
	q.mu.Unlock()
}

func (q *backlog) size() int64 {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.used
}
