package store_test

import (
	"context"
	"encoding/json"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/spangrove/spangrove/pkg/event"
	"github.com/spangrove/spangrove/pkg/fault"
	"github.com/spangrove/spangrove/pkg/queue"
	"github.com/spangrove/spangrove/pkg/store"
)

// An annotation that is stored at the moment in which its session moves goes to the session to which it moves.
func TestPostgresAnnotationMeetsMove(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	place := newPostgresPlace(t)
	s := place.Open(t, store.Options{})
	p, err := s.EnsureProject(ctx, "default")
	if err != nil {
		t.Fatal(err)
	}
	from, to := uuid.New(), uuid.New()
	for _, session := range []uuid.UUID{from, to} {
		e := event.Incoming{Event: event.Event{ID: uuid.New(), SessionID: session, Type: event.TypeTool, Name: "e", Start: 1767355200000, Duration: 1}}
		e.Complete(time.UnixMilli(1767355200000))
		if err := s.Put(ctx, p.ID, event.Batch{Events: []event.Incoming{e}}); err != nil {
			t.Fatal(err)
		}
	}
	name := "q"
	q, err := s.CreateQueue(ctx, p.ID, queue.New(&queue.Update{Name: &name}, 0), []uuid.UUID{from})
	if err != nil {
		t.Fatal(err)
	}
	other := place.conn(t)
	defer func() { _ = other.Close(context.Background()) }()
	for _, text := range []string{
		`BEGIN`,
		fmt.Sprintf(`UPDATE queue_item SET event_id = '%s'`, to),
		fmt.Sprintf(`INSERT INTO alias(project_id, session_id, target) VALUES (%d, '%s', '%s')`, p.ID, from, to),
	} {
		if _, err := other.Exec(ctx, text); err != nil {
			t.Fatal(err)
		}
	}
	done := make(chan error, 1)
	go func() {
		_, err := s.AnnotateItem(ctx, p.ID, q.ID, from, queue.Annotation{Annotator: "ann", Scores: json.RawMessage(`{"m":1}`)})
		done <- err
	}()
	const waits = `SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND query LIKE '%queue_item%' AND datname = current_database()`
	for end := time.Now().Add(10 * time.Second); place.Count(t, waits) == 0 && time.Now().Before(end); {
		time.Sleep(5 * time.Millisecond)
	}
	if _, err := other.Exec(ctx, `COMMIT`); err != nil {
		t.Fatal(err)
	}
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	items, err := s.LoadQueueItems(ctx, p.ID, q.ID, []string{to.String()})
	if err != nil || len(items) != 1 || len(items[0].Annotations) != 1 {
		t.Errorf("%+v, %v: want the annotation", items, err)
	}
}

// Two processes on one PostgreSQL fill one queue, claim its items and annotate them at once, while
// the events are updated: each event enters once, no slot is given twice, and each gets its score.
func TestPostgresQueueOfTwoProcesses(t *testing.T) {
	t.Parallel()
	place := newPostgresPlace(t)
	stores := []*store.Store{place.Open(t, store.Options{}), place.Open(t, store.Options{})}
	p, err := stores[0].EnsureProject(t.Context(), "default")
	if err != nil {
		t.Fatal(err)
	}
	const events, annotators = 20, 6
	var ids []uuid.UUID
	var batch event.Batch
	for i := range events {
		e := event.Incoming{Event: event.Event{ID: uuid.New(), SessionID: uuid.New(), Type: event.TypeTool, Name: "e", Start: 1767355200000 + float64(i), Duration: 1}}
		e.Complete(time.UnixMilli(1767355200000))
		ids, batch.Events = append(ids, e.ID), append(batch.Events, e)
	}
	if err := stores[0].Put(t.Context(), p.ID, batch); err != nil {
		t.Fatal(err)
	}
	name := "q"
	made := queue.New(&queue.Update{Name: &name, Filters: json.RawMessage(`{"filterArray":[{"field":"event_type","operator":"is","value":"tool"}]}`)}, 0)
	q, err := stores[0].CreateQueue(t.Context(), p.ID, made, nil)
	if err != nil {
		t.Fatal(err)
	}
	var mu sync.Mutex
	turns := map[string]int{}
	var group sync.WaitGroup
	for n := range annotators {
		s, who := stores[n%2], fmt.Sprint("annotator ", n)
		group.Go(func() {
			more := true
			for {
				if more {
					if _, more, err := s.FillQueue(t.Context(), p, q.ID); err != nil || more {
						t.Errorf("more: %t, %v", more, err)
						return
					}
					more = false
				}
				it, found, err := s.ClaimItem(t.Context(), p.ID, q.ID, who)
				if err != nil {
					t.Error(err)
					return
				}
				if !found {
					return
				}
				mu.Lock()
				turns[it.EventID.String()]++
				mu.Unlock()
				if _, err := s.Update(t.Context(), p.ID, event.Update{EventID: it.EventID, Metadata: json.RawMessage(`{"seen":true}`)}); err != nil {
					t.Error(err)
				}
				if _, err := s.AnnotateItem(t.Context(), p.ID, q.ID, it.EventID, queue.Annotation{Annotator: who, Scores: json.RawMessage(`{"m":1.50}`)}); err != nil {
					t.Error(fault.Of(err), err)
				}
			}
		})
	}
	group.Wait()
	for _, id := range ids {
		if n := turns[id.String()]; n != 2 {
			t.Errorf("%d people had %s", n, id)
		}
		e, err := stores[1].Event(t.Context(), p.ID, id)
		if err != nil || string(e.Metrics) != `{"m":1.50}` {
			t.Errorf("%s: %s, %v", id, e.Metrics, err)
		}
	}
	now, err := stores[1].Queue(t.Context(), p.ID, q.ID)
	if want := (queue.Counts{Done: events}); err != nil || now.Counts != want {
		t.Errorf("%+v, %v", now.Counts, err)
	}
}
