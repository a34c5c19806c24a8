package apiextension

import (
	"cmp"
	"slices"
	"sync"

	"github.com/spangrove/spangrove/pkg/mount"
)

// listeners are the ports that are open, and what is served on the API's.
type listeners struct {
	mu    sync.Mutex
	api   mount.Listener
	other []*mount.Listener
}

// open sets the API's own.
func (l *listeners) open(api mount.Listener) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.api = api
}

func (l *listeners) add(one mount.Listener) (closed func()) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.other = append(l.other, &one)
	return func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.other = slices.DeleteFunc(l.other, func(o *mount.Listener) bool { return o == &one })
	}
}

// list returns the API's, then the others by topic, each with its URL and bound of bytes.
func (l *listeners) list() []mount.Listener {
	l.mu.Lock()
	defer l.mu.Unlock()
	out := []mount.Listener{l.api}
	for _, o := range l.other {
		one := *o
		one.URL, one.MaxBytes = cmp.Or(one.URL, l.api.URL), cmp.Or(one.MaxBytes, l.api.MaxBytes)
		out = append(out, one)
	}
	slices.SortStableFunc(out, func(a, b mount.Listener) int {
		return cmp.Or(cmp.Compare(a.Topic, b.Topic), cmp.Compare(a.URL, b.URL))
	})
	return out
}
