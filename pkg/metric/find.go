package metric

import (
	"context"
	"iter"
)

// Query is what a list of metrics can be narrowed by; what is empty does not count.
type Query struct {
	ID          string
	Type        Type
	Limit, Page int
}

// Finder finds and reads the metrics of a project.
type Finder interface {
	// FindMetrics lists the ids of the metrics that match, oldest first, a page of them, and counts all.
	FindMetrics(ctx context.Context, projectID int64, q Query) (ids []string, total int, err error)
	// LoadMetrics reads metrics in the order of ids. Those that are gone are left out.
	LoadMetrics(ctx context.Context, projectID int64, ids []string) ([]Metric, error)
}

// groupSize is how many metrics stand in memory at a time while All looks through them.
const groupSize = 100

// All walks through the metrics of a project of a type, or of all types if it is empty, oldest first. An error ends it.
func All(ctx context.Context, in Finder, projectID int64, of Type) iter.Seq2[*Metric, error] {
	return func(yield func(*Metric, error) bool) {
		q := Query{Type: of, Limit: groupSize}
		for q.Page = 1; ; q.Page++ {
			ids, _, err := in.FindMetrics(ctx, projectID, q)
			var list []Metric
			if err == nil {
				list, err = in.LoadMetrics(ctx, projectID, ids)
			}
			if err != nil {
				yield(nil, err)
				return
			}
			for i := range list {
				if !yield(&list[i], nil) {
					return
				}
			}
			if len(ids) < q.Limit {
				return
			}
		}
	}
}
