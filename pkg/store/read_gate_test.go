package store

import (
	"testing"
	"time"

	"github.com/spangrove/spangrove/pkg/fault"
	"github.com/spangrove/spangrove/pkg/project"
	"github.com/spangrove/spangrove/pkg/query"
	"github.com/spangrove/spangrove/pkg/store/internal/events"
)

// Searches of a project that has its share wait; another project searches, keys are found, events
// are stored.
func TestHeavyReadsLeaveOthersAlone(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	s := openTest(t, Options{ReadWait: 10 * time.Millisecond})
	var ids []int64
	for _, name := range []string{"a", "b"} {
		p, err := s.EnsureProject(ctx, name)
		if err != nil {
			t.Fatal(err)
		}
		ids = append(ids, p.ID)
	}
	a, b := ids[0], ids[1]
	key := project.Key{ID: "k", ProjectID: a, Name: "k", Hash: project.HashSecret("secret"), Scope: project.ScopeRead, Origin: project.OriginAPI, CreatedAt: time.Now()}
	if err := s.InsertKey(ctx, key); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		_, end, err := s.events.HeavyRead(ctx, b, events.ScanConns)
		if err != nil {
			t.Fatal(err)
		}
		defer end()
	}
	page := query.Search{Limit: 10, Page: 1}
	if _, err := s.Search(ctx, b, page); fault.Of(err) != fault.Limited {
		t.Errorf("the project that has its share: %v, want Limited", err)
	}
	if _, err := s.Search(ctx, a, page); err != nil {
		t.Errorf("another project: %v", err)
	}
	takeReaders(t, s.db) // all that searches could ever have
	if _, _, err := s.KeyByHash(ctx, key.Hash); err != nil {
		t.Errorf("a key: %v", err)
	}
	if err := s.Put(ctx, a, oneEvent()); err != nil {
		t.Errorf("an event: %v", err)
	}
}

// What a store reads when it is opened has no time limit: it would not start once it is large.
func TestOpenHasNoReadTimeout(t *testing.T) {
	t.Parallel()
	openTest(t, Options{ReadTimeout: 1})
}
