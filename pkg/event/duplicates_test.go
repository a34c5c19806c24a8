package event

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"
)

func TestDuplicatesOf(t *testing.T) {
	t.Parallel()
	call := func(id byte, scope uint32, end float64, depth int) Call {
		return Call{ID: uuid.UUID{id}, Scope: scope, End: end, Depth: func() int { return depth }}
	}
	full := func(c Call) Call {
		c.Content = Messages
		return c
	}
	for _, tt := range []struct {
		name  string
		calls []Call
		want  []byte // of which it is a duplicate
	}{
		{"later ended", []Call{call(1, 1, 9, 0), call(2, 2, 5, 0)}, []byte{2, 0}},
		{"at once: the deeper counts", []Call{call(1, 1, 5, 1), call(2, 2, 5, 2)}, []byte{2, 0}},
		{"else the smaller id", []Call{call(2, 1, 5, 1), call(1, 2, 5, 1)}, []byte{1, 0}},
		{"one instrumentor", []Call{call(1, 1, 5, 0), call(2, 1, 6, 0)}, []byte{0, 0}},
		{"three instrumentors", []Call{call(1, 1, 5, 0), call(2, 2, 6, 0), call(3, 3, 7, 0)}, []byte{0, 1, 1}},
		{"pairs", []Call{call(1, 1, 1, 0), call(2, 2, 2, 0), call(3, 1, 3, 0), call(4, 2, 4, 0)}, []byte{0, 1, 0, 3}},
		{"content before time", []Call{full(call(1, 1, 9, 0)), call(2, 2, 5, 0)}, []byte{0, 1}},
		{"content in both", []Call{full(call(1, 1, 9, 0)), full(call(2, 2, 5, 0))}, []byte{2, 0}},
		{"the first with content of three", []Call{call(1, 1, 5, 0), full(call(2, 2, 6, 0)), full(call(3, 3, 7, 0))}, []byte{2, 0, 2}},
		{"pairs, content once in each", []Call{call(1, 1, 1, 0), full(call(2, 2, 2, 0)), full(call(3, 1, 3, 0)), call(4, 2, 4, 0)}, []byte{2, 0, 0, 3}},
		{"one more than pairs", []Call{call(1, 1, 1, 0), call(2, 1, 2, 0), call(3, 2, 3, 0), call(4, 2, 4, 0), call(5, 2, 5, 0)}, []byte{0, 0, 1, 2, 0}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			var got []byte
			for _, id := range DuplicatesOf(tt.calls) {
				got = append(got, id[0])
			}
			if d := cmp.Diff(tt.want, got); d != "" {
				t.Errorf("(-want +got)\n%s", d)
			}
		})
	}
}
