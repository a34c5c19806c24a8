package events

import (
	"context"
	"fmt"
	"maps"
	"math"
	"slices"

	"github.com/google/uuid"

	"github.com/spangrove/spangrove/pkg/diagnosis"
	"github.com/spangrove/spangrove/pkg/store/internal/sqldb"
)

// Mends returns what puts right what an examination found, in an order in which each finds what it needs. All of it follows from the rows of
// events and their payloads, which stay as they are. On PostgreSQL other servers may go on: each step is a transaction that
// holds the rows that it goes by.
func (s *Store) Mends() []diagnosis.Mend {
	return append(s.bulk.mends(),
		diagnosis.Mend{Checks: []string{checkOrphans}, Run: s.mendOrphans},
		diagnosis.Mend{Checks: []string{checkIDs}, Run: s.mendIDs},
		diagnosis.Mend{Checks: []string{checkTotals}, Run: s.mendTotals},
		diagnosis.Mend{Checks: []string{checkCounts}, Run: s.mendCounts},
		diagnosis.Mend{Checks: []string{checkFields}, Run: s.mendFields},
		diagnosis.Mend{Checks: []string{checkSegments, checkWords}, Run: s.mendSegments},
	)
}

// everything returns an examiner of all that is stored.
func (s *Store) everything(ctx context.Context) (*Examiner, error) {
	return newExaminer(ctx, s.db, s.bulk, s.Dialect, ExamineOptions{Full: true, Now: s.options.Now, PendingTTL: s.options.PendingTTL})
}

func (s *Store) mendOrphans(ctx context.Context) (string, error) {
	var n int64
	for _, o := range derivedOrphans {
		var rows int64
		err := s.Change(ctx, 0, uuid.Nil, 0, func(ctx context.Context, tx *Commit) (err error) {
			if rows, err = tx.Exec(ctx, `DELETE FROM `+o.table+` WHERE `+o.cond); err == nil && rows > 0 {
				err = tx.Deleted(ctx)
			}
			return err
		})
		if err != nil {
			return "", err
		}
		n += rows
	}
	return fmt.Sprintf("deleted %d rows of indexes and counts", n), nil
}

// mendIDs lists the ids of events that are not found by them.
func (s *Store) mendIDs(ctx context.Context) (string, error) {
	x, err := s.everything(ctx)
	if err != nil {
		return "", err
	}
	n := 0
	err = x.eachWrong(ctx, func(p *sessionPass) *diagnosis.Cases { return &p.unseen }, func(project int64, session uuid.UUID) error {
		return s.eachOfSession(ctx, s.db, project, session, func(page []*Stored) error {
			unseen, err := s.unfindable(ctx, s.db, project, page)
			if err != nil {
				return err
			}
			for day, ids := range unseen {
				if len(ids) == 0 {
					continue
				}
				n += len(ids)
				if err := s.Change(ctx, project, session, 0, func(ctx context.Context, tx *Commit) error {
					return tx.addIDs(ctx, project, day, ids...)
				}); err != nil {
					return err
				}
			}
			return nil
		})
	})
	return fmt.Sprintf("listed the ids of %d events", n), err
}

// mendTotals counts the totals of sessions anew that are not what their events add up to.
func (s *Store) mendTotals(ctx context.Context) (string, error) {
	x, err := s.everything(ctx)
	if err != nil {
		return "", err
	}
	n := 0
	err = x.eachWrong(ctx, func(p *sessionPass) *diagnosis.Cases { return &p.totals }, func(project int64, session uuid.UUID) error {
		changed := false
		err := s.Change(ctx, project, session, 0, func(ctx context.Context, tx *Commit) (err error) {
			changed, err = s.recountTotals(ctx, tx, project, session)
			return err
		})
		if err == nil && changed {
			n++
		}
		return err
	})
	return fmt.Sprintf("counted the totals of %d sessions anew", n), err
}

// eachWrong calls f with the sessions of which a pass over all of them finds a case of some kind.
func (x *Examiner) eachWrong(ctx context.Context, of func(p *sessionPass) *diagnosis.Cases, f func(project int64, session uuid.UUID) error) error {
	p := newSessionPass(x)
	return x.eachSession(ctx, func(project int64, sessions []uuid.UUID) error {
		var wrong []uuid.UUID
		before := of(p).N
		err := p.lookAt(ctx, project, sessions, func(session uuid.UUID) {
			if n := of(p).N; n > before {
				before, wrong = n, append(wrong, session)
			}
		})
		for _, session := range wrong {
			if err != nil {
				break
			}
			err = f(project, session)
		}
		return err
	})
}

// recountTotals sets the totals and times of a session's row by its events, if they differ. Whoever stores events of the session changes its row
// first, and so waits for this transaction, or has been waited for.
func (s *Store) recountTotals(ctx context.Context, tx *Commit, project int64, session uuid.UUID) (changed bool, err error) {
	row, found, err := readSessionRow(ctx, tx, project, session, tx.ForUpdate(""))
	if err != nil || !found {
		return false, err
	}
	if going, err := deletionRecorded(ctx, tx, project, session); err != nil || going {
		return false, err
	}
	var sums sessionSums
	err = s.eachOfSession(ctx, tx, project, session, func(page []*Stored) error {
		for _, e := range page {
			if s.fillFrom(ctx, tx, e) != nil {
				sums.unread = sums.unread || !e.inHeads()
			}
			sums.add(e, e.asHead())
			e.Inputs, e.Outputs, e.Config, e.ColdMetadata = nil, nil, nil, nil
		}
		return nil
	})
	if err != nil || sums.own == nil || sums.unread || row.differs(&sums) == "" {
		return false, err
	}
	if err := s.addTotals(ctx, tx, project, session, sums.totals.minus(row.totals), math.Inf(1), math.Inf(-1)); err != nil {
		return false, err
	}
	// What a double lost in going up and down is lost by the difference, too.
	t := sums.totals
	if _, err := tx.Exec(ctx, `UPDATE session SET prompt_tokens = $3, completion_tokens = $4, total_tokens = $5, cost = $6
		WHERE project_id = $1 AND session_id = $2`, project, tx.ID(session), t.prompt, t.completion, t.total, t.cost); err != nil {
		return false, err
	}
	return true, s.recount(ctx, tx, project, session)
}

// mendedCounts is the writer under whose number differences of counts are kept that were found.
const mendedCounts = -1

// mendCounts sets the kept counts of events by the rows. The difference is a row of its own, so that writers go on adding to theirs.
func (s *Store) mendCounts(ctx context.Context) (string, error) {
	n := 0
	err := s.Change(ctx, 0, uuid.Nil, 0, func(ctx context.Context, tx *Commit) error {
		type wrong struct{ project, typ, off int64 }
		var list []wrong
		// One statement sees the counts and the rows of the same commits.
		err := sqldb.Each(ctx, tx, countsDiffer, nil, func(scan func(...any) error) error {
			var w wrong
			var kept, rows int64
			err := scan(&w.project, &w.typ, &kept, &rows)
			w.off = rows - kept
			list = append(list, w)
			return err
		})
		n = len(list)
		for _, w := range list {
			if err != nil {
				break
			}
			_, err = tx.Exec(ctx, `INSERT INTO event_count AS t (project_id, type, writer, count) VALUES ($1, $2, $3, $4)
				ON CONFLICT (project_id, type, writer) DO UPDATE SET count = t.count + excluded.count`, w.project, w.typ, mendedCounts, w.off)
		}
		return err
	})
	return fmt.Sprintf("set %d counts by the rows", n), err
}

// mendFields makes a pass over the field index of each project of which something is not listed, as after deletions, and lists the keys of all
// its events.
func (s *Store) mendFields(ctx context.Context) (string, error) {
	x, err := s.everything(ctx)
	if err != nil {
		return "", err
	}
	p := newSessionPass(x)
	if err := p.run(ctx, func() {}); err != nil {
		return "", err
	}
	projects := slices.Sorted(maps.Keys(p.unlistedOf))
	for _, project := range projects {
		if _, err := s.eraseNamesOf(ctx, project, true); err != nil {
			return "", fmt.Errorf("project %d: %w", project, err)
		}
	}
	return fmt.Sprintf("listed the fields of %d projects anew", len(projects)), nil
}

// mendSegments builds damaged segments anew, those that overlap, and those of events that are in none.
func (s *Store) mendSegments(ctx context.Context) (string, error) {
	x, err := s.everything(ctx)
	if err != nil {
		return "", err
	}
	list, err := s.segmentStates(ctx)
	if err != nil {
		return "", err
	}
	var damaged, overlapping []int64
	for i, g := range list {
		if !slices.Contains(x.projects, g.project) {
			continue
		}
		if i > 0 && list[i-1].project == g.project && list[i-1].LastSeq >= g.FirstSeq {
			overlapping = append(overlapping, list[i-1].ID, g.ID)
		}
		if !g.HasHeader {
			continue
		}
		p := &segmentPass{x: x}
		if err := s.db.Snapshot(ctx, func(c sqldb.Conn) error {
			x.s.forgetRead()
			return p.look(ctx, c, g.ID)
		}); err != nil {
			return "", err
		}
		if p.damaged.N+p.rows.N+p.values.N+p.words.N > 0 {
			damaged = append(damaged, g.ID)
		}
	}
	if err := s.dropSegments(ctx, overlapping); err != nil {
		return "", err
	}
	if err := s.dropColumns(ctx, damaged); err != nil {
		return "", err
	}
	gaps, err := s.coverGaps(ctx)
	if err == nil {
		err = s.Seal(ctx)
	}
	return fmt.Sprintf("built %d segments anew, and %d for events that were in none", len(damaged)+len(overlapping), gaps), err
}

// dropSegments deletes segments; their events are in none then (coverGaps).
func (s *Store) dropSegments(ctx context.Context, ids []int64) error {
	if len(ids) == 0 {
		return nil
	}
	err := s.changeSegments(ctx, func(ctx context.Context, tx *Commit) error {
		for _, id := range ids {
			if _, err := deleteSegment(ctx, tx, id); err != nil {
				return err
			}
		}
		return nil
	})
	s.forget(ids...)
	return err
}

// coverGaps makes segments without columns for sealed events that are in none: until they are built, their rows are read.
func (s *Store) coverGaps(ctx context.Context) (n int, err error) {
	err = s.changeSegments(ctx, func(ctx context.Context, tx *Commit) error {
		gaps, err := s.segmentGaps(ctx, tx)
		for _, g := range gaps {
			if err != nil {
				break
			}
			_, err = tx.Exec(ctx, `INSERT INTO segment(project_id, first_seq, last_seq, num_events, first_ms, last_ms) VALUES ($1, $2, $3, $4, $5, $6)`,
				g.project, g.first, g.last, g.events, g.from, g.to)
		}
		n = len(gaps)
		return err
	})
	return n, err
}

// Changer runs what changes the database in transactions of the writer of all that is not telemetry.
func (s *Store) Changer() sqldb.Changer { return s.changeTx }

// RebuildAll has the segments of all projects built anew, for when changes of events were not on record.
func (s *Store) RebuildAll(ctx context.Context) error {
	err := s.changeSegments(ctx, func(ctx context.Context, tx *Commit) error {
		_, err := tx.Exec(ctx, `UPDATE segment SET header = NULL WHERE header IS NOT NULL`)
		return err
	})
	if err != nil {
		return err
	}
	return s.Seal(ctx)
}
