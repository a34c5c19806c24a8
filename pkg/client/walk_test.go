package client_test

import (
	"encoding/json"
	"fmt"
	"io"
	"iter"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/uuid"

	"github.com/spangrove/spangrove/e2e/inprocess"
	"github.com/spangrove/spangrove/pkg/client"
)

// create makes n tool events, of which at says when they start, and gives their ids.
func create(t *testing.T, c *client.Client, name string, n int, at func(i int) time.Time) []string {
	t.Helper()
	session := uuid.NewString()
	batch := client.Batch{}
	for i := range n {
		batch.Events = append(batch.Events, client.EventInput{SessionID: session, EventType: client.EventTool, EventName: name,
			StartTime: client.Millis(at(i)), Inputs: client.Object{"i": i, "pad": strings.Repeat("x", 1000)}})
	}
	return must(c.Events.CreateBatch(t.Context(), batch))(t).EventIDs
}

func named(name string) []client.Filter {
	return []client.Filter{{Field: "event_name", Operator: client.Is, Value: name}, {Field: "event_type", Operator: client.Is, Value: client.EventTool}}
}

// TestWalkAgain walks twice by one iterator: a range up to now is that of each walk.
func TestWalkAgain(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) { // begins on 1 January 2000
		s := &scripted{replies: []reply{{status: 200, body: `{"events":[]}`}}}
		all := s.client(t).Events.All(t.Context(), client.EventQuery{DateRange: client.Last("1h")})
		for range 2 {
			for _, err := range all {
				check(t, err)
			}
			time.Sleep(time.Hour)
		}
		for i, want := range []string{`"$gte":946681200000`, `"$gte":946684800000`} {
			if !strings.Contains(s.bodies[i], want) {
				t.Errorf("walk %d asked %s, want %s", i+1, s.bodies[i], want)
			}
		}
	})
}

// TestWalk reads events while others come in: before, at and after the place where the walk is.
func TestWalk(t *testing.T) {
	inprocess.EachStore(t, func(t *testing.T, url string) {
		c := connect(t, url)
		now := time.Now().Truncate(time.Millisecond)
		for _, tt := range []struct {
			name string
			at   func(i int) time.Time
		}{
			{"each at its own time", func(i int) time.Time { return now.Add(-time.Duration(i) * time.Second) }},
			{"all at once", func(int) time.Time { return now.Add(-time.Minute) }},
			{"some at once", func(i int) time.Time { return now.Add(-time.Duration(i/7) * time.Second) }},
			{"at parts of a microsecond", func(i int) time.Time { return now.Add(-time.Duration(i*300) * time.Nanosecond) }},
		} {
			t.Run(tt.name, func(t *testing.T) {
				want := create(t, c, tt.name, 25, tt.at)
				times := map[string]int{}
				i := 0
				q := client.EventQuery{Filters: named(tt.name), Page: client.Page{Limit: 5}, Projections: []string{"event_name"}}
				for e, err := range c.Events.All(t.Context(), q) {
					check(t, err)
					times[e.EventID]++
					if i++; i%3 == 0 {
						create(t, c, tt.name, 2, func(j int) time.Time { return now.Add(time.Duration(j+1) * time.Second) })
					}
				}
				for _, id := range want {
					if times[id] != 1 {
						t.Errorf("event %s came %d times", id, times[id])
					}
				}
				if len(times) != len(want) {
					t.Errorf("%d events came, there were %d", len(times), len(want))
				}
			})
		}
		t.Run("some are deleted meanwhile", func(t *testing.T) {
			want := create(t, c, "deleted", 25, func(int) time.Time { return now.Add(-time.Minute) })
			q := client.EventQuery{Filters: named("deleted"), Page: client.Page{Limit: 5}}
			for _, walk := range []iter.Seq2[string, error]{
				func(yield func(string, error) bool) {
					for e, err := range c.Events.All(t.Context(), q) {
						if !yield(e.EventID, err) {
							return
						}
					}
				},
				func(yield func(string, error) bool) {
					for span, err := range c.OTLP.All(t.Context(), q) {
						check(t, err)
						id, _, err := span.Event()
						if !yield(id, err) {
							return
						}
					}
				},
			} {
				var got []string
				for id, err := range walk {
					check(t, err)
					if got = append(got, id); len(got) == 3 || len(got) == 9 {
						check(t, c.Events.Delete(t.Context(), got[0])) // which has come
						want = slices.DeleteFunc(want, func(id string) bool { return id == got[0] })
						got = got[1:]
					}
				}
				slices.Sort(got)
				slices.Sort(want)
				equal(t, "events that were not deleted", got, want)
			}
		})
		t.Run("larger than the client takes", func(t *testing.T) {
			want := create(t, c, "large", 20, func(i int) time.Time { return now.Add(-time.Duration(i) * time.Second) })
			small := connect(t, url, client.WithMaxAnswer(6_000))
			var got []string
			for text, err := range small.Events.AllRaw(t.Context(), client.EventQuery{Filters: named("large")}) {
				check(t, err)
				var e client.Event
				check(t, json.Unmarshal(text, &e))
				got = append(got, e.EventID)
			}
			equal(t, "events", got, want)
			_, err := small.Events.Search(t.Context(), client.EventQuery{Filters: named("large")})
			if err == nil || !strings.Contains(err.Error(), client.ErrTooLarge.Error()) {
				t.Errorf("a large page gives %v", err)
			}
		})
		t.Run("ranges", func(t *testing.T) {
			ids := create(t, c, "ranges", 3, func(i int) time.Time { return now.Add(-time.Duration(i) * 24 * time.Hour) })
			for _, tt := range []struct {
				r    client.DateRange
				want []string
			}{
				{client.Last("30h"), ids[:2]},
				{client.Last("1M"), ids},
				{client.DateRange{From: now.Add(-24 * time.Hour), To: now.Add(-time.Hour)}, ids[1:2]},
				{client.DateRange{To: now.Add(-time.Hour)}, ids[1:]},
			} {
				var got []string
				for e, err := range c.Events.All(t.Context(), client.EventQuery{Filters: named("ranges"), DateRange: tt.r, Page: client.Page{Limit: 1}}) {
					check(t, err)
					got = append(got, e.EventID)
				}
				equal(t, fmt.Sprint(tt.r), got, tt.want)
			}
			for _, wrong := range []string{"d", "x", "7y", "-1d", "1.5h"} {
				for _, err := range c.Events.All(t.Context(), client.EventQuery{DateRange: client.Last(wrong)}) {
					if err == nil {
						t.Errorf("%q was taken for a range", wrong)
					}
				}
			}
		})
		t.Run("ends early", func(t *testing.T) {
			n := 0
			for range c.Events.All(t.Context(), client.EventQuery{}) {
				n++
				break
			}
			equal(t, "events", n, 1)
		})
		t.Run("an error ends it", func(t *testing.T) {
			var errs []error
			for _, err := range c.Events.All(t.Context(), client.EventQuery{Filters: []client.Filter{{Field: "nothing", Operator: client.Is, Value: "x"}}}) {
				errs = append(errs, err)
			}
			if len(errs) != 1 || status(errs[0]) != 400 || slices.Contains(errs, nil) {
				t.Errorf("errors: %v", errs)
			}
		})
	})
}

// TestWalkByPageDeletes walks a list by page number of which the caller deletes some.
func TestWalkByPageDeletes(t *testing.T) {
	inprocess.EachStore(t, func(t *testing.T, url string) {
		c := connect(t, url)
		for _, tt := range []struct {
			name    string
			deletes map[int][]int // which, by the one that comes
		}{
			{"each as it comes", map[int][]int{0: {0}, 1: {1}, 2: {2}, 3: {3}, 4: {4}, 5: {5}, 6: {6}, 7: {7}, 8: {8}, 9: {9}, 10: {10}, 11: {11}}},
			{"some as they come", map[int][]int{1: {1}, 2: {2}, 7: {7}, 9: {9}}},
			{"many at once", map[int][]int{8: {0, 1, 2, 3, 4, 5, 6, 7, 8}}},
			{"one that has not come", map[int][]int{1: {6}, 4: {2}}},
		} {
			t.Run(tt.name, func(t *testing.T) {
				dataset := must(c.Datasets.Create(t.Context(), client.DatasetInput{Name: tt.name}))(t)
				var rows []client.Object
				for i := range 12 {
					rows = append(rows, client.Object{"i": i})
				}
				ids := must(c.Datasets.AddRows(t.Context(), dataset, rows, client.Mapping{Inputs: []string{"i"}}))(t)
				slices.Sort(ids) // as the list has those that were made at once
				want := slices.Clone(ids)
				var got []string
				for d, err := range c.Datapoints.All(t.Context(), client.DatapointQuery{DatasetName: tt.name, Page: client.Page{Limit: 4}}) {
					check(t, err)
					got = append(got, d.ID)
					for _, i := range tt.deletes[slices.Index(ids, d.ID)] {
						check(t, c.Datapoints.Delete(t.Context(), ids[i]))
						if ids[i] > d.ID {
							want = slices.DeleteFunc(want, func(id string) bool { return id == ids[i] })
						}
					}
				}
				equal(t, "datapoints", got, want)
			})
		}
	})
}

// TestWalkByPageWhileOthersDelete walks a list of which somebody deletes one with each page that is read: it goes on all the same.
func TestWalkByPageWhileOthersDelete(t *testing.T) {
	t.Parallel()
	const all, size = 100, 10
	left := make([]string, all)
	for i := range left {
		left[i] = fmt.Sprintf("%03d", i)
	}
	reads := 0
	server := roundTrip(func(r *http.Request) (*http.Response, error) {
		reads++
		q := r.URL.Query()
		limit, page := must(strconv.Atoi(q.Get("limit")))(t), must(strconv.Atoi(q.Get("page")))(t)
		var items []string
		for _, id := range left[min(len(left), (page-1)*limit):min(len(left), page*limit)] {
			items = append(items, `{"id":"`+id+`"}`)
		}
		header := http.Header{"X-Total-Count": {strconv.Itoa(len(left))}}
		left = left[min(len(left), 1):]
		return &http.Response{StatusCode: http.StatusOK, Header: header, Request: r,
			Body: io.NopCloser(strings.NewReader(`{"datasets":[` + strings.Join(items, ",") + `]}`))}, nil
	})
	c := must(client.New("http://server.test", "key", client.WithHTTPClient(&http.Client{Transport: server})))(t)
	came := map[string]int{}
	for d, err := range c.Datasets.All(t.Context(), client.DatasetQuery{Page: client.Page{Limit: size}}) {
		check(t, err)
		came[d.ID]++
	}
	for _, id := range left {
		if came[id] != 1 {
			t.Errorf("%s is there, and came %d times", id, came[id])
		}
	}
	if reads > 3*all/size {
		t.Errorf("%d pages were read, and there were %d", reads, all/size)
	}
}
