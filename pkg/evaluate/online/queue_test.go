package online

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/spangrove/spangrove/pkg/evaluation"
)

// lists is a store that lists what waits.
type lists struct {
	Store
	groups []evaluation.Group
}

func (l *lists) EvaluationQueue(context.Context) ([]evaluation.Group, error) { return l.groups, nil }

func TestQueueTakesTurns(t *testing.T) {
	t.Parallel()
	l := &lists{}
	for i := range 16 {
		l.groups = append(l.groups, evaluation.Group{Project: 1, MetricID: fmt.Sprint("m", i), Version: 1, Waiting: 1000, Due: 1000})
	}
	l.groups = append(l.groups,
		evaluation.Group{Project: 2, MetricID: "a", Version: 1, Waiting: 30, Due: 30},
		evaluation.Group{Project: 2, MetricID: "b", Version: 1, Waiting: 30, Due: 30},
	)
	r, err := New(l, nil, Options{Share: func(context.Context, int64) (int, error) { return 2, nil }})
	if err != nil {
		t.Fatal(err)
	}
	q := r.queue
	var got []string
	take := func() {
		t.Helper()
		q.read = time.Now().Add(-time.Hour) // every list is too old
		g, ok, err := q.take(t.Context(), 10)
		if err != nil {
			t.Fatal(err)
		}
		if ok {
			got = append(got, fmt.Sprint(g.Project, g.MetricID))
		}
	}
	for range 6 {
		take()
	}
	if s := strings.Join(got, " "); s != "1m0 2a 1m1 2b" {
		t.Errorf("the first are %s; then both have their share", s)
	}
	got = nil
	q.leave(1)
	take()
	if s := strings.Join(got, " "); s != "1m2" {
		t.Errorf("after one has left: %s", s)
	}
	got = nil
	for range 4 {
		q.leave(1)
		take()
		q.leave(2)
		take()
	}
	if s := strings.Join(got, " "); s != "1m3 2a 1m4 2b 1m5 2a 1m6 2b" {
		t.Errorf("in turn: %s", s)
	}
}
