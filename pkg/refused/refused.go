// Package refused keeps the latest requests that the server refused, in memory, so that who waits for data sees why none comes.
package refused

import (
	"cmp"
	"container/list"
	"errors"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/spangrove/spangrove/pkg/fault"
)

// Bounds of a Log. A full one takes about 20 MB.
const (
	MaxOfProject = 200 // entries of a project
	MaxUnknown   = 50  // entries of callers whose project is not known
	MaxProjects  = 100 // projects with entries; past it those of the one that was refused longest ago go
)

// Bounds of the texts of an entry, in bytes.
const (
	MaxPath    = 200
	MaxMessage = 300
	maxMethod  = 16
	maxPrefix  = 16 // more than project.Prefix returns
)

// Request is a refused request, or several alike: of one method, path, status, message and key.
type Request struct {
	Time      time.Time // of the last one
	Method    string
	Path      string // without the query string; where the path is one of the server's, its pattern: /v1/events/{id}
	Status    int    // that of HTTP, also for gRPC
	Message   string // what the caller was told
	KeyPrefix string // the first characters of the key that was sent; empty if there was none
	Count     int64
}

// From returns the status and the message of an error that refuses a request. It is false for errors that are the server's own:
// only those of the caller (statuses 400 to 499) refuse.
func From(err error) (Request, bool) {
	var f *fault.Error
	if !errors.As(err, &f) {
		return Request{}, false
	}
	r := Request{Status: f.Kind.Status(), Message: f.Message()}
	return r, r.Status >= 400 && r.Status < 500
}

// Log holds refused requests by project. It is safe for concurrent use, and never blocks for long.
type Log struct {
	now func() time.Time

	mu       sync.Mutex
	reasons  reasons // of all projects, and of unknown callers
	unknown  *ring
	projects map[string]*list.Element // by public id; values of recent
	recent   *list.List               // of *projectRing, the one that was refused last first
}

type projectRing struct {
	id string
	*ring
}

// NewLog returns an empty log. If now is nil, it is the clock.
func NewLog(now func() time.Time) *Log {
	if now == nil {
		now = time.Now
	}
	return &Log{now: now, reasons: reasons{}, unknown: newRing(MaxUnknown), projects: map[string]*list.Element{}, recent: list.New()}
}

// Add notes a refused request of now of the project with a public id, or of an unknown caller if that is empty. Requests alike are counted.
// Texts over their bounds are cut, and what looks like a key is cut to its first characters: it returns the request as it is kept.
func (l *Log) Add(projectID string, r Request) Request {
	r = bounded(r) // not while others wait
	l.mu.Lock()
	defer l.mu.Unlock()
	now := l.now()
	l.reasons.add(r.Status, now)
	l.ring(projectID).add(r, now)
	return r
}

// bounded returns a request with texts within their bounds, without a time and a count.
func bounded(r Request) Request {
	r.Method = cut(r.Method, maxMethod)
	r.Path = cut(maskKeys(r.Path), MaxPath)
	r.Message = cut(maskKeys(r.Message), MaxMessage)
	r.KeyPrefix = cut(r.KeyPrefix, maxPrefix)
	r.Count, r.Time = 0, time.Time{}
	return r
}

// ring returns the ring of a project, made if it has none. The caller holds mu.
func (l *Log) ring(projectID string) *ring {
	if projectID == "" {
		return l.unknown
	}
	if e, ok := l.projects[projectID]; ok {
		l.recent.MoveToFront(e)
		return e.Value.(*projectRing).ring
	}
	if l.recent.Len() == MaxProjects {
		delete(l.projects, l.recent.Remove(l.recent.Back()).(*projectRing).id)
	}
	r := newRing(MaxOfProject)
	l.projects[projectID] = l.recent.PushFront(&projectRing{projectID, r})
	return r
}

// Of returns the refused requests of a project, and those of unknown callers if unknown is set, the last one first.
func (l *Log) Of(projectID string, unknown bool) []Request {
	l.mu.Lock()
	defer l.mu.Unlock()
	var all []Request
	if e, ok := l.projects[projectID]; ok {
		all = e.Value.(*projectRing).appendTo(all)
	}
	if unknown {
		all = l.unknown.appendTo(all)
		slices.SortStableFunc(all, func(a, b Request) int { return b.Time.Compare(a.Time) })
	}
	return all
}

// Reason is why requests were refused: how many by one status, and when the last one was.
type Reason struct {
	Status int
	Count  int64
	Last   time.Time
}

// Reasons returns what was refused of all callers since the log was made, by status, the most frequent first.
func (l *Log) Reasons() []Reason {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.reasons.list()
}

// ReasonsOf does so of the callers of a project, for as long as the log has entries of it.
func (l *Log) ReasonsOf(projectID string) []Reason {
	l.mu.Lock()
	defer l.mu.Unlock()
	if e, ok := l.projects[projectID]; ok {
		return e.Value.(*projectRing).reasons.list()
	}
	return nil
}

// reasons are by status, of which there are a hundred at most.
type reasons map[int]*Reason

func (m reasons) add(status int, now time.Time) {
	r := m[status]
	if r == nil {
		r = &Reason{Status: status}
		m[status] = r
	}
	r.Count++
	r.Last = now
}

func (m reasons) list() (list []Reason) {
	for _, r := range m {
		list = append(list, *r)
	}
	slices.SortFunc(list, func(a, b Reason) int {
		return cmp.Or(cmp.Compare(b.Count, a.Count), cmp.Compare(a.Status, b.Status))
	})
	return list
}

// Added returns a number that is another one whenever a request was added to those that Of returns.
func (l *Log) Added(projectID string, unknown bool) (n int64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if e, ok := l.projects[projectID]; ok {
		n = e.Value.(*projectRing).added
	}
	if unknown {
		n += l.unknown.added
	}
	return n
}

// ring holds the last requests, at most max.
type ring struct {
	max     int
	added   int64 // requests so far, those that are gone as well
	reasons reasons
	alike   map[Request]*list.Element // by the request without its time and count
	recent  *list.List                // of *Request, the last one first
}

func newRing(max int) *ring {
	return &ring{max: max, reasons: reasons{}, alike: map[Request]*list.Element{}, recent: list.New()}
}

// add counts a request, whose time and count are empty.
func (r *ring) add(kind Request, now time.Time) {
	r.added++
	r.reasons.add(kind.Status, now)
	e, ok := r.alike[kind]
	if ok {
		r.recent.MoveToFront(e)
	} else {
		if r.recent.Len() == r.max {
			last := *r.recent.Remove(r.recent.Back()).(*Request)
			last.Count, last.Time = 0, time.Time{}
			delete(r.alike, last)
		}
		first := kind
		e = r.recent.PushFront(&first)
		r.alike[kind] = e
	}
	entry := e.Value.(*Request)
	entry.Count++
	entry.Time = now
}

func (r *ring) appendTo(all []Request) []Request {
	for e := r.recent.Front(); e != nil; e = e.Next() {
		all = append(all, *e.Value.(*Request))
	}
	return all
}

// secretLike finds keys of the forms that the server makes (project.Kind), wherever somebody has put one.
var secretLike = regexp.MustCompile(`((?:sg_|hh_ingst_|hh_fgdp_)[A-Za-z0-9]{7})[A-Za-z0-9_-]{8,}`)

// maskKeys cuts what looks like a key to the characters that lists of keys show. Words of the server's own such as
// sg_token_expired are shorter than a key.
func maskKeys(s string) string {
	if !strings.Contains(s, "sg_") && !strings.Contains(s, "hh_") {
		return s
	}
	return secretLike.ReplaceAllString(s, "$1…")
}

// cut returns valid UTF-8 of at most max bytes, with an ellipsis where something is missing, and of memory of its own: an
// entry must not hold a whole request's text.
func cut(s string, max int) string {
	s = strings.ToValidUTF8(s, "�")
	if len(s) <= max {
		return strings.Clone(s)
	}
	const ellipsis = "…"
	return strings.ToValidUTF8(s[:max-len(ellipsis)], "") + ellipsis
}
