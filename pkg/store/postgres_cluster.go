package store

import (
	"context"

	"github.com/spangrove/spangrove/pkg/diagnosis"
	"github.com/spangrove/spangrove/pkg/store/internal/sqldb"
)

// Cluster is what an operator wants to know of a database with the extension Citus.
type Cluster = sqldb.Cluster

// ReadCluster returns how the store of a database is distributed over the nodes of Citus.
func ReadCluster(ctx context.Context, dsn string) (*Cluster, error) {
	return sqldb.ReadCluster(ctx, dsn)
}

// RebalanceCluster moves shards between nodes until each has its share, while servers go on, and returns how many moves it took. If ctx ends, the
// database goes on, and the next call follows it to its end.
func RebalanceCluster(ctx context.Context, dsn string, progress diagnosis.Progress) (moves int64, err error) {
	return sqldb.Rebalance(ctx, dsn, progress)
}
