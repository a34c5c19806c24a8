package resource

import (
	"context"
	"errors"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/spangrove/spangrove/pkg/dataset"
	"github.com/spangrove/spangrove/pkg/store/internal/events"
	"github.com/spangrove/spangrove/pkg/store/internal/sqldb"
)

// stagedSets is a store with a dataset of more rows than one transaction writes.
type stagedSets struct {
	s       *Store
	project int64
	set     string
	points  []string
}

func newStagedSets(t *testing.T) stagedSets {
	t.Helper()
	s := openTest(t)
	p, err := s.EnsureProject(t.Context(), "default")
	if err != nil {
		t.Fatal(err)
	}
	list := make([]dataset.Datapoint, 2*stageSlice+stageSlice/2)
	for i := range list {
		list[i].Complete()
	}
	points, err := s.CreateDatapoints(t.Context(), p.ID, list)
	if err != nil {
		t.Fatal(err)
	}
	name := "set"
	set, err := s.CreateDataset(t.Context(), p.ID, dataset.New(&dataset.Update{Name: &name}), points)
	if err != nil {
		t.Fatal(err)
	}
	return stagedSets{s, p.ID, set, points}
}

// seenSets is all that a reader sees of datasets and their links.
type seenSets struct {
	Sets, Named, Versions, Rows int
	Version                     int64
	IDs, First, Last            []string // the datapoints, and the datasets of the first and the last one
}

func (f stagedSets) see(t *testing.T) (v seenSets) {
	t.Helper()
	var list []dataset.Datapoint
	for _, read := range []func() error{
		func() (err error) {
			_, v.Sets, err = f.s.FindDatasets(t.Context(), f.project, dataset.Query{Limit: 1, Page: 1})
			return err
		},
		func() (err error) {
			_, v.Named, err = f.s.FindDatapoints(t.Context(), f.project, dataset.PointQuery{Dataset: "set", Limit: 1, Page: 1})
			return err
		},
		func() error {
			set, err := f.s.Dataset(t.Context(), f.project, f.set, 0)
			v.Version = set.Version
			return err
		},
		func() (err error) {
			v.IDs, err = f.s.DatapointIDs(t.Context(), f.project, f.set, v.Version)
			return err
		},
		func() (err error) {
			_, v.Versions, err = f.s.DatasetVersions(t.Context(), f.project, f.set, 1, 1)
			return err
		},
		func() (err error) {
			list, _, err = f.s.DatapointsIn(t.Context(), f.project, f.set, v.Version, 0, len(f.points))
			v.Rows = len(list)
			return err
		},
		func() (err error) {
			list, err = f.s.LoadDatapoints(t.Context(), f.project, []string{f.points[0], f.points[len(f.points)-1]})
			return err
		},
	} {
		if err := read(); err != nil {
			t.Fatal(err)
		}
	}
	v.First, v.Last = list[0].LinkedDatasets, list[1].LinkedDatasets
	return v
}

// turn turns the dataset around without its last datapoint, up to what ends the change.
func (f stagedSets) turn(ctx context.Context, c *datasetChange, last func() error) error {
	d, err := datasets.getForUpdate(ctx, c, f.project, f.set)
	if err != nil {
		return err
	}
	change, err := f.s.planRows(ctx, c, f.project, f.set, f.turned())
	if err != nil {
		return err
	}
	change.set = d
	change.set.Version++
	return c.publish(ctx, f.project, []rowChange{change}, func(context.Context, *events.Commit) error { return last() })
}

func (f stagedSets) turned() []string {
	list := slices.Clone(f.points[:len(f.points)-1])
	slices.Reverse(list)
	return list
}

var errBroken = errors.New("broken")

// A change that is written in slices shows only when it ends, and not if it fails.
func TestStagedRowsDoNotShow(t *testing.T) {
	t.Parallel()
	f := newStagedSets(t)
	before := f.see(t)
	if n := len(f.points); before.Named != n || before.Rows != n || len(before.IDs) != n || before.Versions != 1 {
		t.Fatalf("the dataset begins as %+v", before)
	}
	err := f.s.changeDatasets(t.Context(), 0, "turn", func(ctx context.Context, c *datasetChange) error {
		return f.turn(ctx, c, func() error {
			if d := cmp.Diff(before, f.see(t)); d != "" {
				t.Errorf("while the change is under way (-before +now)\n%s", d)
			}
			return errBroken
		})
	})
	if !errors.Is(err, errBroken) {
		t.Fatal(err)
	}
	if d := cmp.Diff(before, f.see(t)); d != "" {
		t.Errorf("after a change that failed (-before +after)\n%s", d)
	}
	if n := f.count(t, `SELECT count(*) FROM dataset_row WHERE from_version > 1 OR to_version IS NOT NULL`); n != 0 {
		t.Errorf("a change that failed left %d rows", n)
	}
}

func (f stagedSets) count(t *testing.T, text string) (n int) {
	t.Helper()
	if _, err := sqldb.One(t.Context(), f.s.db, text, nil, &n); err != nil {
		t.Fatal(err)
	}
	return n
}

// What a process leaves of a change that it did not end does not show, and the next change takes
// it back.
func TestStagedRowsOfAProcessThatEnded(t *testing.T) {
	t.Parallel()
	f := newStagedSets(t)
	before := f.see(t)
	written := 0
	for whole := false; !whole; {
		c, left := f.s.inSteps(t.Context(), 0, "turn"), written
		write := c.write
		c.write = func(step func(context.Context, *events.Commit) error) error {
			if left == 0 {
				return errBroken
			}
			left--
			return write(step)
		}
		err := f.s.serialize(t.Context(), func() error {
			return f.turn(t.Context(), c, func() error { whole = true; return errBroken })
		})
		if !errors.Is(err, errBroken) {
			t.Fatal(err)
		}
		if d := cmp.Diff(before, f.see(t)); d != "" {
			t.Errorf("after %d transactions (-before +after)\n%s", written, d)
		}
		written++
	}
	if written < 4 {
		t.Errorf("the change took %d transactions only", written)
	}
	set, err := f.s.UpdateDataset(t.Context(), f.project, dataset.Update{ID: f.set, Datapoints: f.turned()})
	if err != nil || set.Version != 2 {
		t.Fatal(set.Version, err)
	}
	n := len(f.points)
	want := seenSets{Sets: 1, Named: n - 1, Versions: 2, Rows: n - 1, Version: 2, IDs: f.turned(), First: []string{f.set}}
	if d := cmp.Diff(want, f.see(t)); d != "" {
		t.Errorf("after a change that ended (-want +got)\n%s", d)
	}
	old, err := f.s.DatapointIDs(t.Context(), f.project, f.set, 1)
	if err != nil || !slices.Equal(old, f.points) {
		t.Errorf("the old version has %d datapoints, want %d: %v", len(old), n, err)
	}
	if left := f.count(t, `SELECT count(*) FROM deletion`); left != 0 {
		t.Errorf("%d datasets are to be taken back", left)
	}
}
