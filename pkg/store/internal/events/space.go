package events

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/spangrove/spangrove/pkg/status"
	"github.com/spangrove/spangrove/pkg/store/internal/segment"
	"github.com/spangrove/spangrove/pkg/store/internal/sqldb"
)

// Kinds of what takes the space of a database, as an operator sees them.
const (
	spaceHeads       = "heads"       // rows of events
	spacePayload     = "payload"     // inputs, outputs, config, attributes and large fields, compressed
	spaceSessions    = "sessions"    // sessions, traces and aliases
	spaceLogs        = "logs"        // what waits for its event
	spaceSegments    = "segments"    // events as columns
	spaceWords       = "words"       // indexes of words
	spaceEvaluations = "evaluations" // evaluations and their queue
	spaceFields      = "fields"      // the index of fields
	spaceResources   = "resources"   // datasets, metrics, queues, keys and all else
	spaceIndexes     = "indexes"     // of all tables
	spaceFree        = "free"        // of the files, what nothing takes
)

// spaceOf has the kind of each table that is not of spaceResources.
var spaceOf = map[string]string{
	"event":            spaceHeads,
	"chunk":            spacePayload,
	"session":          spaceSessions,
	"trace":            spaceSessions,
	"alias":            spaceSessions,
	"log_part":         spaceLogs,
	"pending":          spaceLogs,
	"segment":          spaceSegments,
	"segment_column":   spaceSegments,
	"segment_stale":    spaceSegments,
	"segment_progress": spaceSegments,
	"evaluation":       spaceEvaluations,
	"outbox":           spaceEvaluations,
	"outbox_delayed":   spaceEvaluations,
	"field_index":      spaceFields,
	"far_event":        spaceIndexes, // by id to the day
	"id_filter_day":    spaceIndexes,
}

// Space counts what takes the space of the database, by kind. It may read all of its files, within the time that a read may take.
func (s *Store) Space(ctx context.Context) (x status.Space, err error) {
	ctx, end, err := s.HeavyRead(ctx, 0, 1)
	if err != nil {
		return x, err
	}
	defer end()
	began := time.Now()
	x, err = s.countSpace(ctx)
	x.Counted, x.TookMS = s.options.Now().UTC(), float64(time.Since(began).Milliseconds())
	return x, sqldb.WrapError(s.db, err, "count what takes the space of the database")
}

func (s *Store) countSpace(ctx context.Context) (x status.Space, err error) {
	tables, err := s.db.TableBytes(ctx)
	if err != nil {
		return x, err
	}
	bytes := map[string]int64{}
	var used, words int64
	for _, t := range tables {
		kind, ok := spaceOf[t.Name]
		if !ok {
			kind = spaceResources
		}
		bytes[kind] += t.Table
		bytes[spaceIndexes] += t.Indexes
		used += t.Table + t.Indexes
	}
	if _, err := sqldb.One(ctx, s.db, `SELECT CAST(coalesce(sum(octet_length(data)), 0) AS bigint)
		FROM segment_column
		WHERE number >= $1`, []any{segment.FirstWords}, &words); err != nil {
		return x, err
	}
	words = min(words, bytes[spaceSegments]) // pages are counted for the one, and bytes for the other
	bytes[spaceWords] += words
	bytes[spaceSegments] -= words
	if x.Bytes, err = s.db.DiskBytes(ctx); err != nil {
		return x, err
	}
	// Of files that are the store's own, some pages are free, and some are twice there, in the log as well. What was written while
	// this counted may make it less.
	bytes[spaceFree] = max(x.Bytes-used, 0)
	for kind, n := range bytes {
		if n > 0 {
			x.Kinds = append(x.Kinds, status.KindSpace{Kind: kind, Bytes: n})
		}
	}
	slices.SortFunc(x.Kinds, func(a, b status.KindSpace) int {
		return cmp.Or(cmp.Compare(b.Bytes, a.Bytes), cmp.Compare(a.Kind, b.Kind))
	})
	return x, nil
}
