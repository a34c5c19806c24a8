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
