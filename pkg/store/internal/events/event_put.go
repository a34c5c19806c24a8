package events

import (
	"context"
	"time"

	"github.com/google/uuid"

	"github.com/spangrove/spangrove/pkg/evaluation"
	"github.com/spangrove/spangrove/pkg/event"
	"github.com/spangrove/spangrove/pkg/store/internal/writer"
)

// Ingesting reports whether events are being stored right now, others than those of evaluators.
func (s *Store) Ingesting() bool { return s.putting.Load() > 0 }

// Put stores a batch: all of it or nothing. Without an error it is committed and synced.
//
//  1. A project over its limit of stored bytes is refused, but for what evaluation stores.
//  2. Room for the batch is taken in the queue, which is bounded in bytes, before anything is done for it.
//  3. It is prepared on the caller's goroutine, and submitted to the writer of its session.
//  4. Where there are several writers, log parts and updates that came at the same time through another one may not have
//     seen these events, nor these events them: they are brought together now.
func (s *Store) Put(ctx context.Context, projectID int64, b event.Batch) error {
	if len(b.Events) == 0 && len(b.LogParts) == 0 {
		return nil
	}
	if len(b.Events) == 0 || b.Events[0].Source != evaluation.Source { // what evaluation stores, it need not wait for
		s.putting.Add(1)
		defer func() {
			s.putting.Add(-1)
			s.lastPut.Store(time.Now().UnixNano())
		}()
		if err := s.CheckStored(ctx, projectID); err != nil {
			return err
		}
	}
	size := sizeOf(&b)
	if err := s.takeQueue(ctx, size); err != nil {
		return err
	}
	p, err := s.prepare(projectID, b)
	if err != nil {
		s.pool.GiveBack(size)
		return err
	}
	if err := s.pool.Submit(ctx, s.writerOf(shardKey(&b)), &writer.Request[*Commit]{Batch: p, Bytes: size}); err != nil {
		return err
	}
	if err := s.reconcileLogs(ctx, projectID, &b); err != nil {
		return err
	}
	if s.db.Exclusive() {
		return nil
	}
	some := s.pending.count() > 0
	for _, g := range p.groups {
		for _, h := range g.heads {
			// Where updates were applied with an event, memory has forgotten all that waited for it, also one that the transaction
			// did not see.
			if h.waited || some && s.pending.has(writer.Key{Project: projectID, ID: h.ev.ID}) {
				if _, err := s.catchUp(ctx, projectID, h.ev.ID); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// CheckStart returns a fault.Invalid about start_time if an event that is no span begins outside
// the window of the store, so that a sender can be told before the event is on its way.
func (s *Store) CheckStart(e *event.Event) error { return s.options.Window.Check(e, s.options.Now()) }

// shardKey returns the session id that selects the writer; for a batch of log records only, the
// trace id.
func shardKey(b *event.Batch) uuid.UUID {
	if len(b.Events) > 0 {
		return b.Events[0].SessionID
	}
	return b.LogParts[0].TraceID
}

func sizeOf(b *event.Batch) (n int64) {
	for i := range b.LogParts {
		n += int64(len(b.LogParts[i].Content)) + 64
	}
	for i := range b.Events {
		e := &b.Events[i]
		n += int64(len(e.Inputs)+len(e.Outputs)+len(e.Config)+len(e.Metadata)+len(e.ColdMetadata)+len(e.Metrics)+len(e.Feedback)+
			len(e.UserProperties)+len(e.ChildrenIDs)) + 256
	}
	return n
}

// today returns the day of the store's clock, in days since 1970.
func (s *Store) today() int32 { return dayOf(float64(s.options.Now().UnixMilli())) }
