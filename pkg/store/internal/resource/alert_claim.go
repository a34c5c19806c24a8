package resource

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/spangrove/spangrove/pkg/alert"
	"github.com/spangrove/spangrove/pkg/store/internal/events"
	"github.com/spangrove/spangrove/pkg/store/internal/sqldb"
)

// Alerts that are due, and notices that wait, are taken by one server each: a claim is a time until which nobody else takes the same
// row. If its holder ends, the row is taken again after that.
//
// What an evaluation makes of an alert (its state, the next due time, the entry of its history, and the notices that follow) is one
// transaction, which changes nothing unless the claim still holds. So each due time counts once. A notice is sent outside of any
// transaction: one whose sender ends before it has written that down is sent again, with the same id.

// alertDue is the condition that an alert is due at time $1 and not claimed. Times later than $2 (latestDue) were written while a server's clock
// was ahead, and count as past: alerts would be silent until then.
const alertDue = `due_ms > 0 AND (due_ms <= $1 OR due_ms > $2) AND (lease_ms <= $1 OR lease_ms > $2)`

// latestDue returns the latest time at which an alert can be due or its lease can end. Both are Unix milliseconds.
func latestDue(now int64) int64 { return now + (alert.MaxEvery+1)*time.Minute.Milliseconds() }

// ClaimAlerts takes at most limit alerts of all projects that are due, longest due first, for the time of lease. FinishAlert ends
// the claim. A claim is for the time at which the alert is due, which is that of its change if it was not evaluated since. Where due
// times were missed, the last one stands for all.
func (s *Store) ClaimAlerts(ctx context.Context, limit int, lease time.Duration) (list []alert.Claim, err error) {
	now := s.options.Now().UnixMilli()
	if some, err := s.any(ctx, `SELECT 1 FROM alert WHERE `+alertDue+` LIMIT 1`, now, latestDue(now)); err != nil || !some {
		return nil, sqldb.WrapError(s.db, err, "look for alerts")
	}
	until := now + lease.Milliseconds()
	err = s.ChangeDocs(ctx, 0, "claim alerts", func(ctx context.Context, tx *events.Commit) error {
		list = nil
		err := sqldb.Each(ctx, tx, `SELECT project_id, id, created_ms, updated_ms, due_ms, doc, status
			FROM alert a
			WHERE `+alertDue+`
				AND EXISTS (SELECT 1 FROM project p WHERE p.id = a.project_id AND p.deleted_ms = 0)
			ORDER BY due_ms, project_id, id LIMIT $3`+tx.SkipLocked(), []any{now, latestDue(now), limit}, func(scan func(...any) error) error {
			c := alert.Claim{Lease: until}
			var d Document
			var doc, status string
			err := scan(&c.Project, &d.ID, &d.Created, &d.Updated, &c.At, &doc, &status)
			d.Doc = json.RawMessage(doc)
			c.Alert = alerts.of(d)
			c.Alert.Status = alert.StatusFromDoc(json.RawMessage(status))
			if last := c.Alert.LastDue(now); c.At < last || c.At > now {
				c.At = last
			}
			list = append(list, c)
			return err
		})
		for i := 0; i < len(list) && err == nil; i++ {
			_, err = tx.Exec(ctx, `UPDATE alert SET lease_ms = $3 WHERE project_id = $1 AND id = $2`, list[i].Project, list[i].Alert.ID, until)
		}
		return err
	})
	return list, err
}

// any reports whether a read finds a row.
func (s *Store) any(ctx context.Context, sql string, args ...any) (bool, error) {
	var one int
	return sqldb.One(ctx, s.db.Quick(), sql, args, &one)
}

// FinishAlert stores what the evaluation of a claimed alert has made of its status, the change of its state, if there was one, and
// the notices that follow. done is false, and nothing is stored, if the claim holds no longer: another server has taken it over, or
// the alert was changed or deleted.
func (s *Store) FinishAlert(ctx context.Context, c *alert.Claim, status alert.Status, change *alert.Change, notices []alert.Notice) (
	done bool, err error) {
	err = s.ChangeDocs(ctx, 0, "store what an alert has come to", func(ctx context.Context, tx *events.Commit) error {
		next := c.Alert.NextDue(max(s.options.Now().UnixMilli(), c.At))
		n, err := tx.Exec(ctx, `UPDATE alert SET due_ms = $4, lease_ms = 0, status = $5 WHERE project_id = $1 AND id = $2 AND lease_ms = $3`,
			c.Project, c.Alert.ID, c.Lease, next, string(status.Doc()))
		if done = n > 0; err != nil || !done {
			return err
		}
		return s.noteAlert(ctx, tx, c.Project, c.Alert.ID, change, notices)
	})
	return done && err == nil, err
}

// PutOffAlert ends a claim without a result: the alert stays due, and can be claimed again after a pause. It does nothing if the claim no longer
// holds.
func (s *Store) PutOffAlert(ctx context.Context, c *alert.Claim, pause time.Duration) error {
	return s.ChangeDocs(ctx, 0, "put off an alert", func(ctx context.Context, tx *events.Commit) error {
		_, err := tx.Exec(ctx, `UPDATE alert SET lease_ms = $4 WHERE project_id = $1 AND id = $2 AND lease_ms = $3`,
			c.Project, c.Alert.ID, c.Lease, s.options.Now().Add(pause).UnixMilli())
		return err
	})
}

// noteAlert adds to the history and to the notices of an alert, and deletes what is beyond their bounds.
func (s *Store) noteAlert(ctx context.Context, tx *events.Commit, project int64, id string, change *alert.Change, notices []alert.Notice) error {
	now := s.options.Now()
	if change != nil {
		if _, err := tx.Exec(ctx, `INSERT INTO alert_change(project_id, alert_id, id, at_ms, record) VALUES ($1, $2, $3, $4, $5)`,
			project, id, NewDocumentID(now), change.At, string(change.Doc())); err != nil {
			return err
		}
		if err := trim(ctx, tx, "alert_change", "", project, id, alert.MaxChanges); err != nil {
			return err
		}
	}
	if len(notices) == 0 {
		return nil
	}
	waiting := map[string]int{} // by channel: one that takes nothing keeps no other from being told
	others, err := waitingNotices(ctx, tx, project, id)
	if err != nil {
		return err
	}
	for i := range others {
		waiting[others[i].ChannelID]++
	}
	for i := range notices {
		n := notices[i]
		n.ID, n.AlertID, n.Created = NewDocumentID(now), id, now.UnixMilli()
		if n.State == alert.Waiting {
			n.Due = n.Created
			if waiting[n.ChannelID]++; waiting[n.ChannelID] > alert.MaxWaiting {
				n.Tried(alert.Outcome{Error: "too many notices of this alert wait to be sent there", Final: true}, n.Created)
			}
		}
		if _, err := tx.Exec(ctx, `INSERT INTO alert_notice(`+noticeColumns+`) VALUES ($1, $2, $3, $4, $5, $6, $7, $8)`,
			project, id, n.ID, n.Created, noticeCode(n.State), n.Attempts, n.Due, string(n.Doc())); err != nil {
			return err
		}
		notices[i] = n
	}
	return trim(ctx, tx, "alert_notice", " AND state <> 0", project, id, alert.MaxNotices)
}

// trim deletes all but the newest rows of an alert that meet cond.
func trim(ctx context.Context, tx *events.Commit, table, cond string, project int64, id string, keep int) error {
	where := ` WHERE project_id = $1 AND alert_id = $2` + cond
	_, err := tx.Exec(ctx, `DELETE FROM `+table+where+` AND id < (
			SELECT id
			FROM `+table+where+`
			ORDER BY id DESC LIMIT 1 OFFSET $3)`, project, id, keep-1)
	return err
}

// noticeColumns are the columns of a notice in the order of scanNotice.
const noticeColumns = `project_id, alert_id, id, created_ms, state, attempts, due_ms, record`

func scanNotice(scan func(...any) error) (project int64, n alert.Notice, err error) {
	var alertID, id, record string
	var created, due int64
	var state, attempts int
	err = scan(&project, &alertID, &id, &created, &state, &attempts, &due, &record)
	n = alert.NoticeFromDoc(json.RawMessage(record))
	n.AlertID, n.ID, n.Created, n.Attempts, n.Due = alertID, id, created, attempts, due
	if state >= 0 && state < len(noticeStates) {
		n.State = noticeStates[state]
	}
	return project, n, err
}

// noticeStates are the states of notices by the numbers that rows have.
var noticeStates = []alert.NoticeState{alert.Waiting, alert.Sent, alert.Failed}

func noticeCode(state alert.NoticeState) int {
	for i, s := range noticeStates {
		if s == state {
			return i
		}
	}
	return len(noticeStates) - 1
}

// RecordNotices stores notices of an alert that were sent already, such as tests, under ids of their own, which it sets. fault.NotFound
// if the alert is gone.
func (s *Store) RecordNotices(ctx context.Context, projectID int64, id string, notices []alert.Notice) error {
	return s.ChangeDocs(ctx, 0, "record notices", func(ctx context.Context, tx *events.Commit) error {
		if _, err := alerts.getForUpdate(ctx, tx, projectID, id); err != nil {
			return err
		}
		return s.noteAlert(ctx, tx, projectID, id, nil, notices)
	})
}

// noticeDue is the condition that a notice waits and is due at time $1. Times later than $2 (latestNotice) count as past, as in alertDue.
const noticeDue = `state = 0 AND (due_ms <= $1 OR due_ms > $2)`

// latestNotice returns the latest time at which a notice can be due. Both are Unix milliseconds.
func latestNotice(now int64) int64 { return now + 2*alert.MaxPause.Milliseconds() }

// noticeTurn is how long a notice is put off while an earlier one to the same channel waits.
const noticeTurn = 10 * time.Second

// noticesSeen is how many due notices a claim looks at, beside those to receivers for which there is no place.
const noticesSeen = 200

// ClaimNotices claims due notices of all projects for the time of lease, longest due first, as many as there are places for, and counts the
// attempt. FinishNotice ends the claim. A notice waits while an earlier one of the same alert waits for the same channel: otherwise people would
// read that an alert is over before they read that it fires.
func (s *Store) ClaimNotices(ctx context.Context, places alert.Places, lease time.Duration) (list []alert.NoticeClaim, err error) {
	now := s.options.Now().UnixMilli()
	if some, err := s.any(ctx, `SELECT 1 FROM alert_notice WHERE `+noticeDue+` LIMIT 1`, now, latestNotice(now)); err != nil || !some {
		return nil, sqldb.WrapError(s.db, err, "look for notices")
	}
	due := noticeDue
	args := []any{now, latestNotice(now), noticesSeen}
	for to, n := range places.Busy {
		if n >= places.Each {
			args = append(args, alert.TextOfReceiver(to))
			due += fmt.Sprintf(" AND NOT %s", s.events.Dialect.Contains("record", fmt.Sprintf("$%d", len(args))))
		}
	}
	err = s.ChangeDocs(ctx, 0, "claim notices", func(ctx context.Context, tx *events.Commit) error {
		list = nil
		var found []alert.NoticeClaim
		err := sqldb.Each(ctx, tx, `SELECT `+noticeColumns+`
			FROM alert_notice
			WHERE `+due+`
			ORDER BY due_ms, id LIMIT $3`+tx.SkipLocked(), args, func(scan func(...any) error) error {
			project, n, err := scanNotice(scan)
			found = append(found, alert.NoticeClaim{Project: project, Notice: n})
			return err
		})
		if err != nil {
			return err
		}
		busy := maps.Clone(places.Busy)
		if busy == nil {
			busy = map[string]int{}
		}
		waiting := map[string][]alert.Notice{} // by alert, of those that are looked at
		for _, c := range found {
			n := &c.Notice
			if len(list) == places.Free {
				break
			}
			if busy[n.Receiver()] >= places.Each {
				continue
			}
			others, known := waiting[n.AlertID]
			if !known && len(waiting) == alertsSeen {
				continue
			}
			if !known {
				if others, err = waitingNotices(ctx, tx, c.Project, n.AlertID); err != nil {
					return err
				}
				waiting[n.AlertID] = others
			}
			due := now + noticeTurn.Milliseconds()
			if !isEarly(n, others) {
				n.Attempts++
				busy[n.Receiver()]++
				due = now + lease.Milliseconds()
				list = append(list, c)
			}
			if _, err := tx.Exec(ctx, `UPDATE alert_notice SET attempts = $4, due_ms = $5 WHERE project_id = $1 AND alert_id = $2 AND id = $3`,
				c.Project, n.AlertID, n.ID, n.Attempts, due); err != nil {
				return err
			}
		}
		return nil
	})
	return list, err
}

// alertsSeen is of how many alerts a claim reads the notices that wait.
const alertsSeen = 50

// isEarly reports whether one of the notices of the same alert that wait is an earlier one to the same channel.
func isEarly(n *alert.Notice, waiting []alert.Notice) bool {
	return slices.ContainsFunc(waiting, func(w alert.Notice) bool {
		return w.ChannelID == n.ChannelID && (w.Created < n.Created || w.Created == n.Created && w.ID < n.ID)
	})
}

// waitingNotices reads the notices of an alert that wait to be sent, at most alert.MaxWaiting a channel.
func waitingNotices(ctx context.Context, tx *events.Commit, project int64, id string) (list []alert.Notice, err error) {
	err = sqldb.Each(ctx, tx, `SELECT `+noticeColumns+` FROM alert_notice WHERE project_id = $1 AND alert_id = $2 AND state = 0`,
		[]any{project, id}, func(scan func(...any) error) error {
			_, n, err := scanNotice(scan)
			list = append(list, n)
			return err
		})
	return list, err
}

// FinishNotice stores what became of a claimed notice. Nothing is stored if another server has taken it over since.
func (s *Store) FinishNotice(ctx context.Context, projectID int64, n alert.Notice) error {
	return s.ChangeDocs(ctx, 0, "store what became of a notice", func(ctx context.Context, tx *events.Commit) error {
		_, err := tx.Exec(ctx, `UPDATE alert_notice SET state = $5, due_ms = $6, record = $7
			WHERE project_id = $1 AND alert_id = $2 AND id = $3 AND attempts = $4 AND state = 0`,
			projectID, n.AlertID, n.ID, n.Attempts, noticeCode(n.State), n.Due, string(n.Doc()))
		if err != nil || n.State == alert.Waiting {
			return err
		}
		return trim(ctx, tx, "alert_notice", " AND state <> 0", projectID, n.AlertID, alert.MaxNotices)
	})
}
