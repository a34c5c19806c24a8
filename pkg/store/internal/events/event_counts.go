package events

import (
	"cmp"
	"context"
	"maps"
	"slices"

	"github.com/spangrove/spangrove/pkg/event"
	"github.com/spangrove/spangrove/pkg/query"
	"github.com/spangrove/spangrove/pkg/rawjson"
	"github.com/spangrove/spangrove/pkg/store/internal/sqldb"
)

// eventCounts is how a transaction changes the number of events, by project and type, and how many bytes
// it adds to each project.
type eventCounts map[countKey]int64

type countKey struct {
	project int64
	typ     int
}

// What eventCounts counts in addition to the types of events.
const (
	typeStored   = -1 // bytes added; see usage.go
	typeShrunk   = -2 // something else than events was deleted
	typeReplaced = -3 // what was there before some bytes that were added has not been counted off
)

// Stored counts bytes that are written for a project.
func (t eventCounts) Stored(project, bytes int64) { t[countKey{project, typeStored}] += bytes }

// Shrunk records that something of a project goes.
func (t eventCounts) Shrunk(project int64) { t[countKey{project, typeShrunk}] = 0 }

// Replaced counts bytes that are written for a project in place of others, which are counted off when its rows are counted.
func (t eventCounts) Replaced(project, bytes int64) {
	t[countKey{project, typeReplaced}] = 0
	t.Stored(project, bytes)
}

func (t eventCounts) add(project int64, typ event.Type, n int64) {
	t[countKey{project, query.TypeCode(typ)}] += n
}

// shrinks reports whether a change says that something of its project went.
func (t eventCounts) shrinks(k countKey) bool { return k.typ == typeShrunk || k.typ >= 0 && t[k] < 0 }

// write adds the changes to the writer's rows, in one order for all writers.
func (t eventCounts) write(ctx context.Context, tx *Commit, writer int) error {
	keys := slices.SortedFunc(maps.Keys(t), func(a, b countKey) int {
		return cmp.Or(cmp.Compare(a.project, b.project), cmp.Compare(a.typ, b.typ))
	})
	for _, k := range keys {
		if t.shrinks(k) && !tx.s.usage.isShrunk(k.project) {
			if _, err := tx.Exec(ctx, `INSERT INTO stored_bytes(project_id, writer, bytes) VALUES ($1, $2, 0)
				ON CONFLICT (project_id, writer) DO NOTHING`, k.project, shrunkRow); err != nil {
				return err
			}
		}
		// A type may be counted on and off again in one transaction, and typeShrunk and typeReplaced are marks without a number.
		if t[k] == 0 {
			continue
		}
		if k.typ == typeStored {
			if _, err := tx.Exec(ctx, `INSERT INTO stored_bytes AS t (project_id, writer, bytes) VALUES ($1, $2, $3)
				ON CONFLICT (project_id, writer) DO UPDATE SET bytes = t.bytes + excluded.bytes`, k.project, writer, t[k]); err != nil {
				return err
			}
			continue
		}
		// A row for each writer: with one row for all, every commit of a project would wait for the one before it.
		if _, err := tx.Exec(ctx, `INSERT INTO event_count AS t (project_id, type, writer, count) VALUES ($1, $2, $3, $4)
			ON CONFLICT (project_id, type, writer) DO UPDATE SET count = t.count + excluded.count`, k.project, k.typ, writer, t[k]); err != nil {
			return err
		}
	}
	return nil
}

// countFromCounters returns the number of all events that match, if the search asks for nothing but the
// project, or one type of event in it.
func (s *Store) countFromCounters(ctx context.Context, projectID int64, q *query.Search) (total int, ok bool, err error) {
	if q.From != nil || q.To != nil || q.RunID != "" || q.InRuns || len(q.Filters) > 1 {
		return 0, false, nil
	}
	sql, args := `SELECT CAST(coalesce(sum(count), 0) AS bigint) FROM event_count WHERE project_id = $1`, []any{projectID}
	if len(q.Filters) == 1 {
		f := q.Filters[0]
		text, isText := rawjson.Text(f.Value)
		if f.Field != "event_type" || f.Operator != "is" || f.Type != "string" || !isText || !event.Type(text).Valid() {
			return 0, false, nil
		}
		sql, args = sql+` AND type = $2`, append(args, query.TypeCode(event.Type(text)))
	}
	_, err = sqldb.One(ctx, s.db, sql, args, &total)
	return total, true, err
}
