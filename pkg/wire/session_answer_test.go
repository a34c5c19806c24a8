package wire_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/google/uuid"

	"github.com/spangrove/spangrove/pkg/event"
	"github.com/spangrove/spangrove/pkg/project"
	"github.com/spangrove/spangrove/pkg/wire"
)

func TestSessionText(t *testing.T) {
	t.Parallel()
	id := uuid.New()
	long := json.RawMessage(`{"x":"` + strings.Repeat("x", 200_000) + `"}`)
	set := &event.Set{Events: []event.Event{{ID: id, SessionID: id, Type: event.TypeSession, Name: "s"}, {ID: uuid.New(), SessionID: id, ParentID: id, Type: event.TypeTool, Name: "t", Inputs: long}}}
	set.Load = func(_ context.Context, i int) (event.Event, error) { return set.Events[i], nil }
	text, err := wire.SessionText(t.Context(), set, &project.Project{}, 1<<20)
	var got struct {
		Name     string `json:"event_name"`
		Children []struct {
			Inputs json.RawMessage `json:"inputs"`
		} `json:"children"`
	}
	if err != nil || json.Unmarshal(text, &got) != nil || got.Name != "s" || len(got.Children) != 1 || len(got.Children[0].Inputs) != len(long) {
		t.Errorf("%v, %.200s", err, text)
	}
	if _, err := wire.SessionText(t.Context(), set, &project.Project{}, 100_000); !errors.Is(err, wire.ErrTooLarge) {
		t.Errorf("over the bound: %v", err)
	}
}
