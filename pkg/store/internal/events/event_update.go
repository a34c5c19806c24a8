package events

import (
	"context"

	"github.com/google/uuid"

	"github.com/spangrove/spangrove/pkg/event"
	"github.com/spangrove/spangrove/pkg/fault"
	"github.com/spangrove/spangrove/pkg/rawjson"
	"github.com/spangrove/spangrove/pkg/store/internal/sqldb"
)

// Update changes a stored event. An update that comes before its event waits for it, for PendingTTL (pending).
func (s *Store) Update(ctx context.Context, projectID int64, u event.Update) (pending bool, err error) {
	size := int64(len(u.Inputs) + len(u.Outputs) + len(u.Config) + len(u.Metadata) +
		len(u.Metrics) + len(u.Feedback) + len(u.UserProperties) + len(u.ChildrenIDs))
	var full error
	err = s.Change(ctx, projectID, u.EventID, size, func(ctx context.Context, tx *Commit) error {
		pending, full = false, nil
		if u.Telemetry {
			// Telemetry is told to come again later if it cannot wait; a person who names an event that is not there is told that.
			full = s.pending.full(projectID, s.options.MaxPending)
		}
		// In the transaction, which holds the row: two updates of one event follow each other, and neither is lost.
		old, err := s.Find(ctx, tx, projectID, u.EventID)
		if fault.IsNotFound(err) {
			if full != nil {
				return full
			}
			pending = true
			return s.deferUpdate(ctx, tx, projectID, &u)
		}
		if err != nil {
			return err
		}
		return s.ApplyUpdate(ctx, tx, old, &u)
	})
	if err == nil {
		err = full
	}
	if err == nil && pending && !s.db.Exclusive() {
		// The event may have been stored by another writer meanwhile.
		var applied bool
		applied, err = s.catchUp(ctx, projectID, u.EventID)
		pending = !applied
	}
	return pending, err
}

// catchUp applies what waits for an event, if the event is there. An event and an update of it
// that writers store at the same time do not see each other; whichever is stored last comes here
// and sees both.
func (s *Store) catchUp(ctx context.Context, project int64, id uuid.UUID) (applied bool, err error) {
	// Without a transaction first: mostly the event is not there yet, and then there is nothing to do.
	if _, err := s.Find(ctx, s.db.Quick(), project, id); err != nil {
		if fault.IsNotFound(err) {
			err = nil
		}
		return false, sqldb.WrapError(s.db, err, "read event")
	}
	var w *writing
	err = s.Change(ctx, project, id, 0, func(ctx context.Context, tx *Commit) error {
		w = &writing{s: s}
		if _, err := s.Find(ctx, tx, project, id); err != nil {
			return err
		}
		return w.applyPendingOf(ctx, tx, project, []uuid.UUID{id})
	})
	if fault.IsNotFound(err) {
		return false, nil // deleted again
	}
	if err == nil {
		w.publish()
	}
	return err == nil, err
}

// ApplyUpdate changes one stored event by an update. What a person sets is final: an end or a duration of a session no longer
// follows its events, nor does its user. An update of telemetry changes no score and no ground truth that somebody
// else has given (keepVerdicts).
func (s *Store) ApplyUpdate(ctx context.Context, tx *Commit, old *Stored, u *event.Update) error {
	if u.Telemetry {
		var err error
		if u, err = s.keepVerdicts(ctx, tx, old, u); err != nil {
			return err
		}
	}
	now := old.Event
	now.Apply(u)
	now.ColdMetadata = rawjson.Without(now.ColdMetadata, u.Metadata) // what the update sets is in Metadata
	// The update was valid by itself. Together with the event it may not be, as with an end before the start.
	if err := now.Validate(); err != nil {
		return err
	}
	if now.Outgrown(&old.Event) {
		return fault.New(fault.TooLarge, "the event would have %d bytes; at most %d are stored of one event", now.Bytes(), event.MaxBytes)
	}
	if now.IsSession() && (u.EndTime != nil || u.Duration != nil) {
		// From now on the end is what somebody set, not what follows from the events.
		if _, err := tx.Exec(ctx, `UPDATE session
			SET implicit = 0
			WHERE project_id = $1 AND session_id = $2 AND implicit = 2`, old.project, tx.ID(now.ID)); err != nil {
			return err
		}
		now.EndGiven = now.EndGiven || u.EndTime != nil
	}
	if now.IsSession() && rawjson.Get(u.UserProperties, "user_id") != nil {
		if _, err := tx.Exec(ctx, `UPDATE session
			SET user_ms = $3
			WHERE project_id = $1 AND session_id = $2`, old.project, tx.ID(now.ID), userGiven); err != nil {
			return err
		}
	}
	if now.IsSession() {
		// Rewrite enqueues no session event, since most of its changes only follow its events. This one somebody asked for.
		tx.Outbox.add(old.project, &now, now.ID)
	}
	return s.Rewrite(ctx, tx, old.project, old, &now)
}

// keepVerdicts returns an update of telemetry without its changes of scores that the pipeline, the
// server or a person has given the event, and of a ground truth that it has.
func (s *Store) keepVerdicts(ctx context.Context, c sqldb.Conn, old *Stored, u *event.Update) (*event.Update, error) {
	// A copy: the transaction may be tried again with the update as it came.
	kept := *u
	if !rawjson.Null(rawjson.Get(old.Feedback, event.TruthKey)) {
		kept.WithoutTruth()
	}
	byPipeline := old.PipelineScores()
	if byPipeline != nil {
		kept.WithoutPipelineScores()
	}
	if rawjson.Empty(u.Metrics) || rawjson.Empty(old.Metrics) {
		return &kept, nil
	}
	names, err := s.hooks.ScoreNames(ctx, c, old.project, old.ID)
	if err != nil {
		return nil, err
	}
	for _, name := range byPipeline {
		names = AddScore(names, name)
	}
	kept.Without(names)
	return &kept, nil
}

// AddScore appends the members of metrics that a score of this name is: itself and its explanation.
func AddScore(names []string, name string) []string {
	return append(names, name, name+ExplanationSuffix)
}
