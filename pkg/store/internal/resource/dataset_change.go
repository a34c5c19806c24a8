package resource

import (
	"context"
	"errors"
	"math"

	"go.uber.org/zap"

	"github.com/spangrove/spangrove/pkg/store/internal/events"
	"github.com/spangrove/spangrove/pkg/store/internal/sqldb"
	"github.com/spangrove/spangrove/pkg/store/internal/writer"
)

// A change of many rows of datasets would keep SQLite's writer, and with it ingestion, for as long
// as it takes. There it is staged: its rows are written in slices, with the number of the version
// that its last transaction makes. Nobody reads them before, since readers go by the current
// version; the table deletion names them, so that the next change takes back what one that broke off
// has left. Changes of datasets and of links take turns, so that what one has read holds until its end.
//
// Where there are other writers only changes of the same dataset wait for each other: it is one
// transaction, which holds what it has read. What a store has staged that was moved there is taken back when it is opened.

// stageSlice is how many rows of datasets one transaction writes on SQLite.
const stageSlice = 1000

// stagedRows is the kind under which the table deletion names datasets with staged rows.
const stagedRows = "staged rows"

// datasetChange is one change of datasets. What it reads by its conn holds until it ends: on PostgreSQL since the conn is the
// transaction, which holds the datasets; on SQLite since nobody else changes datasets or links meanwhile.
type datasetChange struct {
	sqldb.Conn
	s     *Store
	slice int // how many rows one transaction writes
	write func(f func(context.Context, *events.Commit) error) error
}

// changeDatasets runs f, which reads and checks all before it writes anything by publish. On PostgreSQL f may run more than once.
// On SQLite it runs once, and its steps may run more than once; if f fails, what it has staged is taken back before the
// caller is answered, or by the next change if that fails, too.
func (s *Store) changeDatasets(ctx context.Context, size int, op string, f func(context.Context, *datasetChange) error) error {
	if !s.db.Exclusive() {
		return s.ChangeDocs(ctx, size, op, func(ctx context.Context, tx *events.Commit) error {
			write := func(step func(context.Context, *events.Commit) error) error { return step(ctx, tx) }
			return f(ctx, &datasetChange{Conn: tx, s: s, slice: math.MaxInt, write: write})
		})
	}
	return s.serialize(ctx, func() error {
		err := f(ctx, s.inSteps(ctx, size, op))
		if err == nil {
			return nil
		}
		if left := s.rollback(context.WithoutCancel(ctx)); left != nil && !errors.Is(left, writer.ErrClosed) {
			s.options.Logger.Warn("roll back an unfinished change of a dataset; the next change tries again", zap.Error(left))
		}
		return sqldb.WrapError(s.db, err, op)
	})
}

// inSteps returns a change whose every step is a transaction.
func (s *Store) inSteps(ctx context.Context, size int, op string) *datasetChange {
	return &datasetChange{Conn: s.db, s: s, slice: stageSlice, write: func(step func(context.Context, *events.Commit) error) error {
		return s.ChangeDocs(ctx, size, op, step)
	}}
}

// changeLinks runs f, which changes few rows of datasets, in one transaction.
func (s *Store) changeLinks(ctx context.Context, size int, op string, f func(context.Context, *events.Commit) error) error {
	return s.serialize(ctx, func() error { return s.ChangeDocs(ctx, size, op, f) })
}

// serialize runs f while nobody else changes datasets or links, after it has taken back what a change left that broke off. The
// wait ends with ctx. On PostgreSQL it only runs f.
func (s *Store) serialize(ctx context.Context, f func() error) error {
	if !s.db.Exclusive() {
		return f()
	}
	select {
	case s.datasetMu <- struct{}{}:
		defer func() { <-s.datasetMu }()
	case <-ctx.Done():
		return ctx.Err()
	}
	if err := s.rollback(ctx); err != nil {
		return sqldb.WrapError(s.db, err, "roll back an unfinished change of a dataset")
	}
	return f()
}

// publish writes the rows of changes, and then runs last in the transaction that ends the change.
//
//  1. As long as there are more rows than one transaction writes, so many of them are written by one of their own. It names the
//     dataset in table deletion, with the rows.
//  2. The last transaction runs last, which makes the versions, writes the rows that are left, and takes the datasets' names out of
//     deletion. From this commit on all of it is seen at once.
//
// What breaks off before the second step has rows of a version that does not exist: readers pass them over, and rollback
// finds the dataset in deletion.
func (c *datasetChange) publish(
	ctx context.Context,
	project int64,
	changes []rowChange,
	last func(context.Context, *events.Commit) error,
) error {
	rows := 0
	for i := range changes {
		rows += changes[i].rows()
	}
	var staged []string
	for i := range changes {
		for rows > c.slice && changes[i].rows() > 0 {
			part := changes[i].take(c.slice)
			rows -= part.rows()
			err := c.write(func(ctx context.Context, tx *events.Commit) error {
				columns, row := []string{"project_id", "kind", "id"}, []any{project, stagedRows, part.set.ID}
				if _, err := events.InsertRows(ctx, tx, "deletion", columns, [][]any{row}); err != nil {
					return err
				}
				return c.s.writeRows(ctx, tx, project, &part)
			})
			if err != nil {
				return err
			}
			staged = append(staged, part.set.ID)
		}
	}
	return c.write(func(ctx context.Context, tx *events.Commit) error {
		if err := last(ctx, tx); err != nil {
			return err
		}
		for i := range changes {
			if err := c.s.writeRows(ctx, tx, project, &changes[i]); err != nil {
				return err
			}
		}
		for _, id := range staged {
			if err := forgetStaged(ctx, tx, project, id); err != nil {
				return err
			}
		}
		return nil
	})
}

// take takes the next n rows off a change, or what it has: first those to close.
func (c *rowChange) take(n int) rowChange {
	part := *c
	part.gone = c.gone[:min(n, len(c.gone))]
	part.add = c.add[:min(n-len(part.gone), len(c.add))]
	c.gone, c.add = c.gone[len(part.gone):], c.add[len(part.add):]
	c.last += int64(len(part.add))
	return part
}

// writeRows closes and opens the rows of a change. Closing comes first: no datapoint may have two open rows in a dataset, which
// a unique index watches over.
func (s *Store) writeRows(ctx context.Context, tx *events.Commit, project int64, c *rowChange) error {
	if err := closeRows(ctx, tx, project, &c.set, c.gone); err != nil {
		return err
	}
	return s.addRows(ctx, tx, project, &c.set, c.last, c.add, c.revs)
}

func forgetStaged(ctx context.Context, tx *events.Commit, project int64, id string) error {
	_, err := tx.Exec(ctx, `DELETE FROM deletion WHERE project_id = $1 AND kind = $2 AND id = $3`, project, stagedRows, id)
	return err
}

// rollback takes back changes that broke off, of this process or one before it. Its transactions are as small as those that staged
// the rows. Where nothing is staged, it is one look at table deletion.
func (s *Store) rollback(ctx context.Context) error {
	type left struct {
		project int64
		id      string
	}
	var list []left
	err := sqldb.Each(ctx, s.db, `SELECT project_id, id
		FROM deletion
		WHERE kind = $1`, []any{stagedRows}, func(scan func(...any) error) error {
		var l left
		err := scan(&l.project, &l.id)
		list = append(list, l)
		return err
	})
	for _, l := range list {
		for more := true; more && err == nil; {
			err = s.ChangeDocs(ctx, 0, "take back rows", func(ctx context.Context, tx *events.Commit) (err error) {
				more, err = rollbackSlice(ctx, tx, l.project, l.id)
				return err
			})
		}
	}
	return err
}

// rollbackSlice takes back a slice of the rows of a version of a dataset that was never finished. It deletes the rows
// that were opened for it, and only then opens again those that were closed: no datapoint may be open twice.
func rollbackSlice(ctx context.Context, tx *events.Commit, project int64, id string) (more bool, err error) {
	var version int64 // 0: the dataset was not made
	if _, err := sqldb.One(ctx, tx, `SELECT version
		FROM dataset
		WHERE project_id = $1 AND id = $2`+tx.ForUpdate(""), []any{project, id}, &version); err != nil {
		return false, err
	}
	const key = "project_id, dataset_id, pos, from_version"
	const staged = `project_id = $1 AND dataset_id = $2 AND from_version > $3`
	if more, err = events.DeleteRows(ctx, tx, "dataset_row", key, staged, project, id, version); err != nil || more {
		return more, err
	}
	n, err := tx.Exec(ctx, `UPDATE dataset_row SET to_version = NULL WHERE (`+key+`) IN (SELECT `+key+` FROM dataset_row
		WHERE project_id = $1 AND dataset_id = $2 AND to_version > $3 LIMIT $4)`, project, id, version, events.DeleteDocsSlice)
	if err != nil || n == events.DeleteDocsSlice {
		return err == nil, err
	}
	return false, forgetStaged(ctx, tx, project, id)
}
