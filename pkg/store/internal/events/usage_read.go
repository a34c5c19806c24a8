package events

import (
	"context"
	"fmt"

	"github.com/spangrove/spangrove/pkg/project"
	"github.com/spangrove/spangrove/pkg/store/internal/sqldb"
)

// rowTexts returns what the texts of some columns take, in bytes as the database has them.
func rowTexts(columns ...string) (sum string) {
	for _, c := range columns {
		sum += ` + coalesce(octet_length(CAST(` + c + ` AS text)), 0)`
	}
	return sum
}

// headBytes is what the row of an event takes.
var headBytes = fmt.Sprint(rowBytes) + rowTexts("e.metadata", "e.metrics", "e.feedback", "e.user_properties", "e.children_ids")

// DatabaseBytes returns what the database takes on disk: of SQLite its files, of PostgreSQL the tables of the store with their
// indexes.
func (s *Store) DatabaseBytes(ctx context.Context) (int64, error) {
	n, err := s.db.DiskBytes(ctx)
	return n, sqldb.WrapError(s.db, err, "read the size of the database")
}

// EventCount returns how many events a project has, session events among them.
func (s *Store) EventCount(ctx context.Context, projectID int64) (n int64, err error) {
	_, err = sqldb.One(ctx, s.db.Quick(), `SELECT CAST(coalesce(sum(count), 0) AS bigint) FROM event_count WHERE project_id = $1`,
		[]any{projectID}, &n)
	return n, sqldb.WrapError(s.db, err, "count events")
}

// Usage counts what takes the space of a project, by day. It reads all rows of its events, within the time that a read may take.
func (s *Store) Usage(ctx context.Context, projectID int64) (u project.Usage, err error) {
	ctx, end, err := s.HeavyRead(ctx, projectID, 1)
	if err != nil {
		return u, err
	}
	defer end()
	u, err = s.countUsage(ctx, projectID)
	return u, sqldb.WrapError(s.db, err, "count what takes space")
}

func (s *Store) countUsage(ctx context.Context, projectID int64) (u project.Usage, err error) {
	at := map[int32]int{} // day to its place
	err = sqldb.Each(ctx, s.db, `SELECT e.day, count(*), CAST(sum(`+headBytes+`) AS bigint)
		FROM event AS e
		WHERE e.project_id = $1
		GROUP BY e.day
		ORDER BY e.day`, []any{projectID}, func(scan func(...any) error) error {
		var d project.DayUsage
		err := scan(&d.Day, &d.Events, &d.HeadBytes)
		at[d.Day] = len(u.Days)
		u.Days = append(u.Days, d)
		u.Events += d.Events
		u.HeadBytes += d.HeadBytes
		return err
	})
	if err != nil {
		return u, err
	}
	for _, rows := range []string{
		`SELECT chunk AS id, min(day) AS day FROM event WHERE project_id = $1 AND chunk IS NOT NULL GROUP BY chunk`,
		`SELECT c.pack AS id, min(e.day) AS day
			FROM event AS e JOIN chunk AS c ON c.id = e.chunk
			WHERE e.project_id = $1 AND c.pack IS NOT NULL
			GROUP BY c.pack`,
	} {
		err := sqldb.Each(ctx, s.db, `SELECT e.day, CAST(sum(octet_length(c.data)) AS bigint)
			FROM (`+rows+`) AS e
			JOIN chunk AS c ON c.id = e.id
			GROUP BY e.day`, []any{projectID}, func(scan func(...any) error) error {
			var day int32
			var n int64
			err := scan(&day, &n)
			if i, ok := at[day]; ok { // else its events came between the statements
				u.Days[i].PayloadBytes += n
				u.PayloadBytes += n
			}
			return err
		})
		if err != nil {
			return u, err
		}
	}
	_, err = sqldb.One(ctx, s.db, `SELECT
			(SELECT CAST(coalesce(sum(`+fmt.Sprint(rowBytes)+` + octet_length(data)), 0) AS bigint) FROM log_part WHERE project_id = $1),
			(SELECT count(*) FROM session WHERE project_id = $1)`, []any{projectID}, &u.LogBytes, &u.Sessions)
	return u, err
}
