package events

import (
	"context"
	"encoding/json"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/spangrove/spangrove/pkg/event"
	"github.com/spangrove/spangrove/pkg/store/internal/sqldb"
	"github.com/spangrove/spangrove/pkg/store/internal/writer"
)

// Updates that begin to wait while others expire, or while a project is forgotten, are known to wait: memory that has lost one would never
// apply it.
func TestUpdatesThatComeWhileOthersExpire(t *testing.T) {
	t.Parallel()
	s := openTest(t, Options{PendingTTL: time.Hour})
	ctx := t.Context()
	const senders, each = 8, 80
	var ids [senders][each]uuid.UUID
	var sending sync.WaitGroup
	for i := range ids {
		sending.Go(func() {
			for j := range ids[i] {
				ids[i][j] = uuid.New()
				if _, err := s.Update(ctx, testProject, event.Update{EventID: ids[i][j], Metrics: json.RawMessage(`{"late":1}`)}); err != nil {
					t.Errorf("update: %v", err)
				}
				time.Sleep(time.Duration(i*j%7) * 100 * time.Microsecond) // so that they do not all wait for the same commit
			}
		})
	}
	done := make(chan struct{})
	go func() { sending.Wait(); close(done) }()
	for round := 0; ; round++ {
		err := s.Change(ctx, 0, uuid.Nil, 0, func(ctx context.Context, tx *Commit) error {
			_, err := tx.Exec(ctx, `INSERT INTO pending(project_id, event_id, body, created_ms) VALUES ($1, $2, '{}', 1)`, testProject, tx.ID(uuid.New()))
			return err
		})
		if err == nil {
			err = s.expirePending(ctx, s.options.Now())
		}
		if err == nil && round%3 == 0 {
			err = s.ForgetProject(ctx, testProject+1)
		}
		if err != nil {
			t.Fatal(err)
		}
		select {
		case <-done:
		default:
			continue
		}
		break
	}
	lost := 0
	for _, list := range ids {
		for _, id := range list {
			if !s.pending.has(writer.Key{Project: testProject, ID: id}) {
				lost++
			}
		}
	}
	if lost > 0 || s.pending.count() != senders*each {
		t.Errorf("%d of %d updates are forgotten; %d counted", lost, senders*each, s.pending.count())
	}
}

// An update that begins to wait counts once its transaction has committed, however often that was tried: what is counted and does not wait
// would take the place of updates that could, until the server starts again.
func TestUpdatesThatWaitAreCountedOnce(t *testing.T) {
	t.Parallel()
	s := openTest(t, Options{})
	update := event.Update{EventID: uuid.New(), Metrics: json.RawMessage(`{"late":1}`)}
	full := errors.New("database or disk is full")
	for _, tt := range []struct {
		fails []error // of the tries, one after the other
		want  int
	}{
		{[]error{full}, 0},
		{[]error{sqldb.ErrConflict, sqldb.ErrConflict, nil}, 1},
		{[]error{nil}, 2},
	} {
		try := 0
		err := s.Change(t.Context(), testProject, update.EventID, 0, func(ctx context.Context, tx *Commit) error {
			try++
			return errors.Join(s.deferUpdate(ctx, tx, testProject, &update), tt.fails[try-1])
		})
		if last := tt.fails[len(tt.fails)-1]; !errors.Is(err, last) || try != len(tt.fails) {
			t.Errorf("after %d tries: %v", try, err)
		}
		var rows int
		if _, err := sqldb.One(t.Context(), s.db, `SELECT count(*) FROM pending`, nil, &rows); err != nil {
			t.Fatal(err)
		}
		if n, of := s.pending.count(), s.pending.countOf(testProject); n != tt.want || of != tt.want || rows != tt.want {
			t.Errorf("%v: %d updates are counted, %d of the project; %d wait, want %d", tt.fails, n, of, rows, tt.want)
		}
	}
	if err := s.DeleteEvent(t.Context(), testProject, update.EventID); err != nil || s.pending.count() != 0 {
		t.Errorf("%d updates are counted after they were deleted (%v)", s.pending.count(), err)
	}
}
