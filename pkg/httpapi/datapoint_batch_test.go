package httpapi_test

import (
	"context"
	"encoding/json"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/spangrove/spangrove/pkg/event"
	"github.com/spangrove/spangrove/pkg/query"
	"github.com/spangrove/spangrove/pkg/store"
)

// shrinking is a store in which the newest event goes after each search.
type shrinking struct {
	*store.Store
	newest uuid.UUID
}

func (s *shrinking) Search(ctx context.Context, project int64, q query.Search) (*event.Set, error) {
	if s.newest != uuid.Nil {
		if err := s.DeleteEvent(ctx, project, s.newest); err != nil {
			return nil, err
		}
	}
	set, err := s.Store.Search(ctx, project, q)
	if err == nil && len(set.Events) > 0 {
		s.newest = set.Events[0].ID
	}
	return set, err
}

// Each event that a selection chose at the beginning, and that is not deleted before its turn, becomes a datapoint.
func TestBatchOfAllWhileEventsGo(t *testing.T) {
	t.Parallel()
	s, p := openStore(t, store.Options{}, "default")
	const all = 2100
	batch := event.Batch{}
	for i := range all {
		e := event.Incoming{Event: event.Event{ID: uuid.New(), SessionID: sessionID, Type: event.TypeTool, Name: "step", Start: 1_790_000_000_000 + float64(i)}}
		e.Complete(time.UnixMilli(1_790_000_000_000))
		batch.Events = append(batch.Events, e)
	}
	if err := s.Put(t.Context(), p.ID, batch); err != nil {
		t.Fatal(err)
	}
	w := httptest.NewRecorder()
	body := strings.NewReader(`{"selectAll":true,"filters":[{"field":"event_type","operator":"is","value":"tool"}]}`)
	routesOf(&shrinking{Store: s}).ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), "POST", "/v1/datapoints/batch", body))
	var answer struct {
		IDs []string `json:"insertedIds"`
	}
	if err := json.Unmarshal(w.Body.Bytes(), &answer); err != nil || len(answer.IDs) != all {
		t.Errorf("%d: %d datapoints of %d events, %v", w.Code, len(answer.IDs), all, err)
	}
}

// fleeting is a store in which the newest event, or session, goes between a search and the reading of what it has found.
type fleeting struct{ *store.Store }

func (s fleeting) Search(ctx context.Context, project int64, q query.Search) (*event.Set, error) {
	set, err := s.Store.Search(ctx, project, q)
	if err == nil {
		err = s.DeleteEvent(ctx, project, set.Events[0].ID)
	}
	return set, err
}

func (s fleeting) SearchSessions(ctx context.Context, project int64, q query.SessionSearch) (*event.SessionSet, error) {
	set, err := s.Store.SearchSessions(ctx, project, q)
	if err == nil {
		err = s.DeleteSession(ctx, project, set.Events[0].ID)
	}
	return set, err
}

// What is deleted after a search has found it becomes no datapoint, and no empty one.
func TestBatchOfWhatGoes(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ name, path, body string }{
		{"events", "/v1/datapoints/batch", `{"selectAll":true,"filters":[{"field":"event_type","operator":"is","value":"tool"}]}`},
		{"events of a dataset", "/v1/datasets/from_search", `{"name":"d","events":{"filters":[{"field":"event_type","operator":"is","value":"tool"}]}}`},
		{"sessions of a dataset", "/v1/datasets/from_search", `{"name":"d","sessions":{}}`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			s, p := openStore(t, store.Options{}, "default")
			for i := range 3 { // each with a payload of its own
				e := event.Incoming{Event: event.Event{ID: uuid.New(), SessionID: uuid.New(), Type: event.TypeTool, Name: "step",
					Start: 1_790_000_000_000 + float64(i), Inputs: json.RawMessage(`{"q":"` + strings.Repeat("x", 100) + `"}`)}}
				e.Complete(time.UnixMilli(1_790_000_000_000))
				if err := s.Put(t.Context(), p.ID, event.Batch{Events: []event.Incoming{e}}); err != nil {
					t.Fatal(err)
				}
			}
			h := routesOf(fleeting{s})
			if status, answer := ask(t, h, "POST "+tt.path, tt.body); status != 200 {
				t.Fatalf("%d %s", status, answer)
			}
			var answer struct {
				Datapoints []struct{ Inputs struct{ Q string } }
			}
			_, text := ask(t, h, "GET /v1/datapoints", "")
			if err := json.Unmarshal([]byte(text), &answer); err != nil || len(answer.Datapoints) != 2 {
				t.Fatalf("%d datapoints, want 2: %s, %v", len(answer.Datapoints), text, err)
			}
			for _, d := range answer.Datapoints {
				if len(d.Inputs.Q) != 100 {
					t.Errorf("a datapoint without its inputs: %s", text)
				}
			}
		})
	}
}
