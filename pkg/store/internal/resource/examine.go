package resource

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/spangrove/spangrove/pkg/alert"
	"github.com/spangrove/spangrove/pkg/diagnosis"
	"github.com/spangrove/spangrove/pkg/provider"
	"github.com/spangrove/spangrove/pkg/store/internal/events"
	"github.com/spangrove/spangrove/pkg/store/internal/sqldb"
)

// Names of checks.
const (
	checkKeys      = "keys"
	checkAlerts    = "alerts"
	checkDeletions = "deletions"
	checkLeases    = "leases"
)

const (
	// overdue is how long what a running server does at once may stand.
	overdue = time.Hour
	// longLease is how much later than now the lease of an alert, or of a server that packs or removes events, may end: all are of minutes.
	longLease = time.Hour
)

// Checks returns what is looked at of resources. secret is that which provider keys and addresses of webhooks are sealed with; nil: it is not
// known.
func Checks(db sqldb.DB, now func() time.Time, secret []byte) []diagnosis.Check {
	return []diagnosis.Check{
		{Name: checkKeys, Run: func(ctx context.Context, r *diagnosis.Recorder) error { return lookAtKeys(ctx, db, secret, r) }},
		{Name: checkAlerts, Run: func(ctx context.Context, r *diagnosis.Recorder) error { return lookAtAlerts(ctx, db, now(), r) }},
		{Name: checkDeletions, Run: func(ctx context.Context, r *diagnosis.Recorder) error { return lookAtDeletions(ctx, db, now(), r) }},
		{Name: checkLeases, Run: func(ctx context.Context, r *diagnosis.Recorder) error { return lookAtLeases(ctx, db, now(), r) }},
	}
}

// Mends returns what puts right what the checks found.
func (s *Store) Mends() []diagnosis.Mend {
	return []diagnosis.Mend{{Checks: []string{checkAlerts}, Run: s.mendAlerts}, {Checks: []string{checkLeases}, Run: s.mendLeases}}
}

// lookAtKeys opens what is sealed, and forgets it.
func lookAtKeys(ctx context.Context, db sqldb.DB, secret []byte, r *diagnosis.Recorder) error {
	var closed diagnosis.Cases
	sealed := 0
	var providers *provider.Box
	var alerts *alert.Box
	if secret != nil {
		var err error
		if providers, err = provider.NewBox(secret); err != nil {
			return fmt.Errorf("secret: %w", err)
		}
		if alerts, err = alert.NewBox(secret); err != nil {
			return fmt.Errorf("secret: %w", err)
		}
	}
	each := func(table string, look func(project int64, id string, doc []byte)) error {
		return sqldb.Each(ctx, db, `SELECT project_id, id, doc FROM `+table+` ORDER BY project_id, id`, nil, func(scan func(...any) error) error {
			var project int64
			var id, doc string
			err := scan(&project, &id, &doc)
			if err == nil {
				look(project, id, []byte(doc))
			}
			return err
		})
	}
	err := each("provider", func(project int64, id string, doc []byte) {
		p := provider.FromDoc(doc)
		if p.Name = id; p.SealedKey == nil {
			return
		}
		sealed++
		if providers == nil {
			return
		}
		if _, err := providers.Open(project, &p); err != nil {
			closed.Add(fmt.Sprintf("key of provider %s of project %d", id, project))
		}
	})
	if err != nil {
		return err
	}
	err = each("alert", func(project int64, id string, doc []byte) {
		a := alert.FromDoc(doc)
		for i := range a.To {
			c := &a.To[i]
			if c.URL == nil && c.Secret == nil {
				continue
			}
			sealed++
			if alerts == nil {
				continue
			}
			if _, _, ok := alerts.Open(project, c); !ok {
				closed.Add(fmt.Sprintf("channel %s of alert %s of project %d", c.ID, id, project))
			}
		}
	})
	switch {
	case err != nil:
		return err
	case closed.N > 0:
		r.Add(closed.Finding(diagnosis.Finding{Severity: diagnosis.Error,
			Text:   "%d sealed values cannot be opened: they were sealed with another secret than this server's",
			Advice: "give the server the secret that it had (SPANGROVE_SECRET, or provider-secret of its data directory), or set these keys and addresses again"}))
	case sealed > 0 && secret == nil:
		r.Add(diagnosis.Finding{Severity: diagnosis.Warn, Count: int64(sealed), Text: fmt.Sprintf("%d sealed values were not opened: the secret is not known here", sealed),
			Advice: "name the file with the server's secret with --secret-file, or set SPANGROVE_SECRET"})
	default:
		r.OK("all of %d sealed values can be opened", sealed)
	}
	return nil
}

func lookAtAlerts(ctx context.Context, db sqldb.DB, now time.Time, r *diagnosis.Recorder) error {
	var held, late, waiting, given int64
	if _, err := sqldb.One(ctx, db, `SELECT
			CAST(coalesce(sum(CASE WHEN lease_ms > $1 THEN 1 ELSE 0 END), 0) AS bigint),
			CAST(coalesce(sum(CASE WHEN due_ms > 0 AND due_ms < $2 AND lease_ms < $2 THEN 1 ELSE 0 END), 0) AS bigint)
		FROM alert`, []any{now.Add(longLease).UnixMilli(), now.Add(-overdue).UnixMilli()}, &held, &late); err != nil {
		return err
	}
	if _, err := sqldb.One(ctx, db, `SELECT
			CAST(coalesce(sum(CASE WHEN state = 0 AND due_ms < $1 THEN 1 ELSE 0 END), 0) AS bigint),
			CAST(coalesce(sum(CASE WHEN state = 2 THEN 1 ELSE 0 END), 0) AS bigint)
		FROM alert_notice`, []any{now.Add(-overdue).UnixMilli()}, &waiting, &given); err != nil {
		return err
	}
	if held > 0 {
		r.Add(diagnosis.Finding{Severity: diagnosis.Error, Count: held, Mendable: true,
			Text:   fmt.Sprintf("%d alerts are taken for longer than any server takes one: its clock was wrong, and nobody measures them until then", held),
			Advice: "--mend gives them free"})
	}
	if late+waiting > 0 {
		r.Add(diagnosis.Finding{Severity: diagnosis.Warn, Count: late + waiting,
			Text:   fmt.Sprintf("%d alerts should have been measured, and %d notices sent, more than an hour ago", late, waiting),
			Advice: "a server that runs does so; if one does, see its log"})
	}
	if given > 0 {
		r.Add(diagnosis.Finding{Severity: diagnosis.Warn, Count: given, Text: fmt.Sprintf("%d notices of alerts were given up: their receiver did not take them", given),
			Advice: "spangrove alerts notices ID says why; spangrove alerts test ID tries the receivers"})
	}
	if held+late+waiting+given == 0 {
		r.OK("none is stuck or late, and all notices were taken")
	}
	return nil
}

// mendAlerts gives alerts free that are taken for too long.
func (s *Store) mendAlerts(ctx context.Context) (string, error) {
	var n int64
	err := s.events.Change(ctx, 0, uuid.Nil, 0, func(ctx context.Context, tx *events.Commit) (err error) {
		n, err = tx.Exec(ctx, `UPDATE alert SET lease_ms = 0 WHERE lease_ms > $1`, s.options.Now().Add(longLease).UnixMilli())
		return err
	})
	return fmt.Sprintf("gave %d alerts free", n), err
}

func lookAtDeletions(ctx context.Context, db sqldb.DB, now time.Time, r *diagnosis.Recorder) error {
	var n, projects int64
	if _, err := sqldb.One(ctx, db, `SELECT count(*) FROM deletion`, nil, &n); err != nil {
		return err
	}
	if _, err := sqldb.One(ctx, db, `SELECT count(*) FROM project WHERE deleted_ms > 0 AND purged_ms = 0 AND deleted_ms < $1`,
		[]any{now.Add(-24 * time.Hour).UnixMilli()}, &projects); err != nil {
		return err
	}
	if projects > 0 {
		r.Add(diagnosis.Finding{Severity: diagnosis.Warn, Count: projects,
			Text:   fmt.Sprintf("the data of %d projects that were deleted more than a day ago is still there", projects),
			Advice: "a server that runs deletes it in the background; if one does, see its log"})
		return nil
	}
	r.OK("%d go on in the background, none for too long", n)
	return nil
}

// longLeases returns the rows of table setting that say for too long which server does a kind of work in the background.
func longLeases(ctx context.Context, c sqldb.Conn, now time.Time) (names []string, err error) {
	cond, args := c.AnyText("name", 1, append(slices.Clone(events.Leases), leaseSetting))
	err = sqldb.Each(ctx, c, `SELECT name, value FROM setting WHERE `+cond+` ORDER BY name`, args,
		func(scan func(...any) error) error {
			var name, value string
			if err := scan(&name, &value); err != nil {
				return err
			}
			until := events.LeaseEnd(value)
			if name == leaseSetting {
				_, ms, _ := strings.Cut(value, " ")
				until, _ = strconv.ParseInt(ms, 10, 64)
			}
			if until > now.Add(longLease).UnixMilli() {
				names = append(names, name)
			}
			return nil
		})
	return names, err
}

func lookAtLeases(ctx context.Context, db sqldb.DB, now time.Time, r *diagnosis.Recorder) error {
	names, err := longLeases(ctx, db, now)
	if err != nil {
		return err
	}
	if len(names) > 0 {
		r.Add(diagnosis.Finding{Severity: diagnosis.Error, Count: int64(len(names)), Examples: names, Mendable: true,
			Text:   fmt.Sprintf("%d leases of servers end later than any server takes one: its clock was wrong, and nobody else packs, builds segments, or removes names or events until then", len(names)),
			Advice: "--mend gives them free"})
		return nil
	}
	r.OK("none ends too late")
	return nil
}

// mendLeases takes leases of servers away that end too late.
func (s *Store) mendLeases(ctx context.Context) (string, error) {
	n := 0
	err := s.events.Change(ctx, 0, uuid.Nil, 0, func(ctx context.Context, tx *events.Commit) error {
		names, err := longLeases(ctx, tx, s.options.Now())
		n = len(names)
		for _, name := range names {
			if err == nil {
				_, err = tx.Exec(ctx, `DELETE FROM setting WHERE name = $1`, name)
			}
		}
		return err
	})
	return fmt.Sprintf("gave %d leases free", n), err
}
