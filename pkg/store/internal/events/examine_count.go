package events

import (
	"context"
	"fmt"
	"time"

	"github.com/google/uuid"

	"github.com/spangrove/spangrove/pkg/diagnosis"
	"github.com/spangrove/spangrove/pkg/query"
	"github.com/spangrove/spangrove/pkg/store/internal/sqldb"
)

// countsDiffer finds where the kept counts are not those of the rows, of projects that are not deleted.
const countsDiffer = `SELECT project_id, type, CAST(sum(kept) AS bigint), CAST(sum(rows) AS bigint)
	FROM (
		SELECT project_id, type, sum(count) AS kept, 0 AS rows FROM event_count GROUP BY project_id, type
		UNION ALL
		SELECT project_id, type, 0 AS kept, count(*) AS rows FROM event GROUP BY project_id, type) AS x
	WHERE project_id IN (SELECT id FROM project WHERE deleted_ms = 0)
	GROUP BY project_id, type
	HAVING sum(kept) <> sum(rows)
	ORDER BY project_id, type`

func (x *Examiner) checkCounts(ctx context.Context, r *diagnosis.Recorder) error {
	if !x.readsTables(r) {
		return nil
	}
	var cases diagnosis.Cases
	err := sqldb.Each(ctx, x.s.db, countsDiffer, nil, func(scan func(...any) error) error {
		var project, kept, rows int64
		var typ int
		err := scan(&project, &typ, &kept, &rows)
		cases.Add(fmt.Sprintf("%s events of project %d: %d kept, %d rows", query.TypeOf(typ), project, kept, rows))
		return err
	})
	if err != nil {
		return err
	}
	if cases.N > 0 {
		r.Add(cases.Finding(diagnosis.Finding{Severity: diagnosis.Error, Text: "%d kept counts of events are not those of the rows: lists show wrong totals",
			Advice: "--mend counts the rows", Mendable: true}))
		return nil
	}
	r.OK("the kept counts are those of the rows")
	return nil
}

// derivedOrphans are rows of derived tables that belong to nothing any more, by table: the condition that a row is one.
var derivedOrphans = []struct{ table, cond string }{
	{"segment_column", `NOT EXISTS (SELECT 1 FROM segment AS g WHERE g.id = segment_column.segment_id)`},
	{"segment", `NOT EXISTS (SELECT 1 FROM project AS p WHERE p.id = segment.project_id)`},
	{"field_index", `NOT EXISTS (SELECT 1 FROM project AS p WHERE p.id = field_index.project_id)`},
	{"event_count", `NOT EXISTS (SELECT 1 FROM project AS p WHERE p.id = event_count.project_id)`},
	{"stored_bytes", `NOT EXISTS (SELECT 1 FROM project AS p WHERE p.id = stored_bytes.project_id)`},
}

func (x *Examiner) checkOrphans(ctx context.Context, r *diagnosis.Recorder) error {
	found := false
	var derived diagnosis.Cases
	for _, o := range derivedOrphans {
		var n int64
		if _, err := sqldb.One(ctx, x.s.db, `SELECT count(*) FROM `+o.table+` WHERE `+o.cond, nil, &n); err != nil {
			return err
		}
		if n > 0 {
			derived.Add(fmt.Sprintf("%d of %s", n, o.table))
			derived.N += n - 1
		}
	}
	if derived.N > 0 {
		found = true
		r.Add(derived.Finding(diagnosis.Finding{Severity: diagnosis.Warn, Text: "%d rows of indexes and counts belong to nothing any more",
			Advice: "--mend deletes them", Mendable: true}))
	}
	if !x.readsTables(r) {
		return nil
	}
	var alone diagnosis.Cases
	err := sqldb.Each(ctx, x.s.db, `SELECT e.event_id, e.project_id FROM event AS e WHERE `+x.s.bulk.withoutSession(), nil,
		func(scan func(...any) error) error {
			var id uuid.UUID
			var project int64
			err := scan(sqldb.ScanID(&id), &project)
			alone.Add(name(project, id))
			return err
		})
	if err != nil {
		return err
	}
	if alone.N > 0 {
		found = true
		r.Add(alone.Finding(diagnosis.Finding{Severity: diagnosis.Error, Text: "%d events belong to a session that is not there",
			Advice: "restore a backup from before the session's row was lost; nothing else shows these events, and --mend leaves them as they are"}))
	}
	if !x.o.Full { // all payloads would be read
		if !found {
			r.OK("no events are without their session")
		}
		return nil
	}
	chunks, bytes, err := x.s.unusedChunks(ctx)
	if err != nil {
		return err
	}
	if chunks > 0 {
		found = true
		r.Add(diagnosis.Finding{Severity: diagnosis.Warn, Count: chunks,
			Text:   fmt.Sprintf("%d payloads with %s are of no event", chunks, diagnosis.Bytes(bytes)),
			Advice: "nothing shows them; --mend leaves them, since they may be all that is left of events that were lost. If none was, they only take room"})
	}
	if !found {
		r.OK("no event is without its session, and no payload without its event")
	}
	return nil
}

func (x *Examiner) checkWaiting(ctx context.Context, r *diagnosis.Recorder) error {
	late := false
	look := func(what, text string) (n int64, err error) {
		var oldest *int64
		if _, err := sqldb.One(ctx, x.s.db, text, nil, &n, &oldest); err != nil || oldest == nil {
			return n, err
		}
		// Servers drop what is too old every few minutes.
		if age := x.o.Now().Sub(time.UnixMilli(*oldest)); age > x.o.PendingTTL+time.Hour {
			late = true
			r.Add(diagnosis.Finding{Severity: diagnosis.Warn, Count: n,
				Text:   fmt.Sprintf("%d %s wait for events that did not come, the oldest for %s", n, what, age.Round(time.Hour)),
				Advice: "a server that runs drops them after pending_ttl (24h); if one does, see its log"})
		}
		return n, nil
	}
	updates, err := look("updates", `SELECT count(*), min(created_ms) FROM pending`)
	if err == nil {
		_, err = look("parts from log records", `SELECT count(*), min(created_ms) FROM log_part WHERE event_id IS NULL`)
	}
	if err == nil && !late {
		r.OK("%d updates wait for their event, none for too long", updates)
	}
	return err
}

// fromUnused is where chunks are selected, c, that neither an event nor another chunk names.
const fromUnused = `
	FROM chunk AS c
	LEFT JOIN (SELECT chunk AS id FROM event WHERE chunk IS NOT NULL UNION SELECT pack AS id FROM chunk WHERE pack IS NOT NULL) AS u ON u.id = c.id
	WHERE u.id IS NULL`

// unusedChunks counts the chunks that neither an event nor another chunk names, and their bytes.
func (s *Store) unusedChunks(ctx context.Context) (n, bytes int64, err error) {
	if s.removal != nil {
		return s.removal.unused(ctx)
	}
	_, err = sqldb.One(ctx, s.db, `SELECT count(*), CAST(coalesce(sum(octet_length(c.data)), 0) AS bigint)`+fromUnused, nil, &n, &bytes)
	return n, bytes, err
}
