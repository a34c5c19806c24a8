package events

import (
	"context"

	"github.com/google/uuid"

	"github.com/spangrove/spangrove/pkg/project"
	"github.com/spangrove/spangrove/pkg/store/internal/sqldb"
)

// PreviewRetention counts what a rule would remove now. It reads the rows that would go and, for a bound of bytes, all rows of the
// project's events, within the time that a read may take.
func (s *Store) PreviewRetention(ctx context.Context, projectID int64, rule project.RetentionRule) (r project.Removal, err error) {
	ctx, end, err := s.HeavyRead(ctx, projectID, 1)
	if err != nil {
		return r, err
	}
	defer end()
	r, err = s.previewRetention(ctx, projectID, rule)
	return r, sqldb.WrapError(s.db, err, "count what a rule would remove")
}

func (s *Store) previewRetention(ctx context.Context, projectID int64, rule project.RetentionRule) (r project.Removal, err error) {
	now := float64(s.options.Now().UnixMilli())
	sessionsFrom, payloadsFrom := -1.0, -1.0 // from when on they are kept
	if rule.EventDays > 0 {
		sessionsFrom = project.KeptFrom(rule.EventDays, now)
	}
	if rule.PayloadDays > 0 {
		payloadsFrom = project.KeptFrom(rule.PayloadDays, now)
	}
	if r, err = s.previewDays(ctx, projectID, sessionsFrom, payloadsFrom); err != nil || rule.Bytes == 0 {
		return r, err
	}
	u, err := s.countUsage(ctx, projectID)
	over := u.EventBytes() - r.Bytes - rule.Bytes
	if err != nil || over <= 0 {
		return r, err
	}
	return s.previewBytes(ctx, projectID, rule, sessionsFrom, payloadsFrom, over, r)
}

// previewDays counts what rules of days would remove. Sessions whose end is in the future are not among them.
func (s *Store) previewDays(ctx context.Context, projectID int64, sessionsFrom, payloadsFrom float64) (r project.Removal, err error) {
	from := ` FROM ` + s.Dialect.FromSessions() + ` WHERE e.project_id = $1 AND `
	args := []any{projectID, sessionsFrom}
	if _, err := sqldb.One(ctx, s.db, `SELECT count(*), count(CASE WHEN e.type = 4 THEN 1 END), CAST(coalesce(sum(`+headBytes+`), 0) AS bigint)`+
		from+`e.start_ms < $2 AND s.last_ms < $2`, args, &r.Events, &r.Sessions, &r.Bytes); err != nil {
		return r, err
	}
	args = append(args, payloadsFrom)
	var bytes int64
	if _, err := sqldb.One(ctx, s.db, `SELECT CAST(coalesce(sum(octet_length(data)), 0) AS bigint)
		FROM chunk
		WHERE id IN (SELECT e.chunk`+from+`e.chunk IS NOT NULL AND (e.start_ms < $2 AND s.last_ms < $2 OR e.start_ms < $3))`,
		args, &bytes); err != nil {
		return r, err
	}
	r.Bytes += bytes
	// Of a pack, as much as the share of its chunks.
	if _, err := sqldb.One(ctx, s.db, `SELECT CAST(coalesce(sum(x.gone * octet_length(p.data) / x.total), 0) AS bigint)
		FROM (
			SELECT c.pack, sum(e.gone) AS gone, count(*) AS total
			FROM (
				SELECT e.chunk, max(CASE WHEN e.start_ms < $2 AND s.last_ms < $2 OR e.start_ms < $3 THEN 1 ELSE 0 END) AS gone`+from+`e.chunk IS NOT NULL
				GROUP BY e.chunk) AS e
			JOIN chunk AS c ON c.id = e.chunk
			WHERE c.pack IS NOT NULL
			GROUP BY c.pack) AS x
		JOIN chunk AS p ON p.id = x.pack`, args, &bytes); err != nil {
		return r, err
	}
	r.Bytes += bytes
	_, err = sqldb.One(ctx, s.db, `SELECT count(*)`+from+`e.start_ms < $3 AND s.last_ms >= $2 AND e.chunk IS NOT NULL AND (e.spill & $4) = 0`,
		append(args, flagExpired), &r.Payloads)
	return r, err
}

// previewBytes adds what a bound of bytes would remove of what rules of days leave.
func (s *Store) previewBytes(ctx context.Context, projectID int64, rule project.RetentionRule, sessionsFrom, payloadsFrom float64,
	over int64, r project.Removal) (project.Removal, error) {
	if rule.PayloadFirst {
		// By the chunk, in the order of their events.
		err := sqldb.Each(ctx, s.db, `WITH c AS (
				SELECT p.start, p.n, c.pack, octet_length(c.data) AS bytes, count(*) OVER (PARTITION BY c.pack) AS total
				FROM (
					SELECT e.chunk, min(e.start_ms) AS start, count(*) AS n
					FROM `+s.Dialect.FromSessions()+`
					WHERE e.project_id = $1 AND e.chunk IS NOT NULL AND (e.spill & $4) = 0 AND e.start_ms >= $3 AND s.last_ms >= $2
					GROUP BY e.chunk) AS p
				JOIN chunk AS c ON c.id = p.chunk)
			SELECT bytes, n, start FROM c WHERE pack IS NULL
			UNION ALL
			SELECT c.bytes + octet_length(k.data) / c.total, c.n, c.start FROM c JOIN chunk AS k ON k.id = c.pack
			ORDER BY start`, []any{projectID, sessionsFrom, payloadsFrom, flagExpired}, func(scan func(...any) error) error {
			var bytes, n int64
			var start float64
			if err := scan(&bytes, &n, &start); err != nil || over <= 0 {
				return err
			}
			over -= bytes
			r.Bytes += bytes
			r.Payloads += n
			return nil
		})
		if err != nil {
			return r, err
		}
	}
	after := &sized{last: below(sessionsFrom), session: uuid.Max}
	for over > 0 {
		page, err := s.oldestSessions(ctx, projectID, after)
		if err != nil || len(page) == 0 {
			return r, err
		}
		for _, o := range page {
			if over <= 0 {
				break
			}
			over -= o.bytes
			r.Bytes += o.bytes
			r.Sessions++
			r.Events += o.events + 1
		}
		after = &page[len(page)-1]
	}
	return r, nil
}
