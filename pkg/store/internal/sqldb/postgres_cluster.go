package sqldb

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/spangrove/spangrove/pkg/diagnosis"
)

// Cluster is what an operator wants to know of a database with the extension Citus.
type Cluster struct {
	// Citus is the version of the extension, empty if the database does not have it.
	Citus string `json:"citus"`
	// Distributed is set if payloads stand on the nodes, and not with all else on the coordinator.
	Distributed bool `json:"distributed"`
	// Shards is into how many parts payloads are split.
	Shards int           `json:"shards"`
	Nodes  []ClusterNode `json:"nodes"`
	// Removed is how many payloads are still to be deleted that no event has any more.
	Removed int64 `json:"removed"`
	// Rebalancing is set while shards are moved between nodes.
	Rebalancing *Rebalancing `json:"rebalancing,omitempty"`
}

// ClusterNode is a PostgreSQL server of a cluster.
type ClusterNode struct {
	Address     string `json:"address"`
	Coordinator bool   `json:"coordinator"`
	Active      bool   `json:"active"`
	// TakesShards is not set on a node from which shards are moved away.
	TakesShards bool `json:"takes_shards"`
	// Reachable says whether the coordinator can connect to it.
	Reachable bool `json:"reachable"`
	Shards    int  `json:"shards"`
	// Bytes is what its shards take, nil if a node could not be asked.
	Bytes *int64 `json:"bytes"`
}

// Unreachable lists the nodes in use to which the coordinator cannot connect.
func (x *Cluster) Unreachable() (addresses []string) {
	for _, n := range x.Nodes {
		if n.Active && !n.Reachable {
			addresses = append(addresses, n.Address)
		}
	}
	return addresses
}

// Rebalancing counts the moves of shards.
type Rebalancing struct {
	job   int64
	State string `json:"state"`
	Done  int64  `json:"done"`
	Total int64  `json:"total"`
}

// ReadCluster returns how the store of a database is distributed.
func ReadCluster(ctx context.Context, dsn string) (x *Cluster, err error) {
	conn, err := ConnectPostgres(ctx, dsn)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, conn.Close(context.WithoutCancel(ctx))) }()
	return readCluster(ctx, conn)
}

func readCluster(ctx context.Context, conn *pgx.Conn) (*Cluster, error) {
	x := &Cluster{}
	there := false
	err := conn.QueryRow(ctx, `SELECT coalesce((SELECT extversion FROM pg_extension WHERE extname = 'citus'), ''), to_regclass('goose_db_version') IS NOT NULL, `+isDistributed).
		Scan(&x.Citus, &there, &x.Distributed)
	if err == nil && !there {
		err = errNoStore
	}
	if err != nil || x.Citus == "" {
		return x, err
	}
	rows, err := conn.Query(ctx, `SELECT nodename, nodeport, groupid = 0, isactive, shouldhaveshards,
			coalesce(citus_check_connection_to_node(nodename, nodeport), false)
		FROM pg_dist_node
		WHERE noderole = 'primary'
		ORDER BY groupid`)
	if err != nil {
		return nil, err
	}
	x.Nodes, err = pgx.CollectRows(rows, func(row pgx.CollectableRow) (n ClusterNode, err error) {
		var host string
		var port int
		err = row.Scan(&host, &port, &n.Coordinator, &n.Active, &n.TakesShards, &n.Reachable)
		n.Address = nodeAddress(host, port)
		return n, err
	})
	if err != nil || !x.Distributed {
		return x, err
	}
	if err := conn.QueryRow(ctx, `SELECT count(*) FROM `+RemovedTable).Scan(&x.Removed); err != nil {
		return nil, err
	}
	if err := x.readShards(ctx, conn); err != nil {
		return nil, err
	}
	x.Rebalancing, err = readRebalancing(ctx, conn)
	return x, err
}

func nodeAddress(host string, port int) string {
	if strings.Contains(host, ":") {
		host = "[" + host + "]"
	}
	return host + ":" + strconv.Itoa(port)
}

// readShards reads where shards are. Their sizes are asked of the nodes, and stay unknown if one does not answer.
func (x *Cluster) readShards(ctx context.Context, conn *pgx.Conn) error {
	each := func(text string, f func(n *ClusterNode, v int64)) error {
		rows, err := conn.Query(ctx, text)
		if err != nil {
			return err
		}
		var host string
		var port int
		var v int64
		_, err = pgx.ForEachRow(rows, []any{&host, &port, &v}, func() error {
			for i := range x.Nodes {
				if x.Nodes[i].Address == nodeAddress(host, port) {
					f(&x.Nodes[i], v)
				}
			}
			return nil
		})
		return err
	}
	err := each(`SELECT n.nodename, n.nodeport, count(*)
		FROM pg_dist_shard AS s
		JOIN pg_dist_placement AS p ON p.shardid = s.shardid
		JOIN pg_dist_node AS n ON n.groupid = p.groupid AND n.noderole = 'primary'
		WHERE s.logicalrelid = 'chunk'::regclass
		GROUP BY n.nodename, n.nodeport`, func(n *ClusterNode, v int64) {
		n.Shards = int(v)
		x.Shards += n.Shards
	})
	if err != nil {
		return err
	}
	if len(x.Unreachable()) > 0 {
		return nil
	}
	return each(`SELECT n.nodename, n.nodeport, CAST(coalesce(sum(s.shard_size), 0) AS bigint)
		FROM pg_dist_node AS n
		LEFT JOIN (SELECT nodename, nodeport, shard_size
			FROM citus_shards
			WHERE table_name IN (SELECT inhrelid FROM pg_inherits WHERE inhparent = 'chunk'::regclass)) AS s ON s.nodename = n.nodename AND s.nodeport = n.nodeport
		WHERE n.noderole = 'primary'
		GROUP BY n.nodename, n.nodeport`, func(n *ClusterNode, v int64) { n.Bytes = &v })
}

// readRebalancing returns nil if no shards are being moved.
func readRebalancing(ctx context.Context, conn *pgx.Conn) (*Rebalancing, error) {
	r := &Rebalancing{}
	err := conn.QueryRow(ctx, `SELECT j.job_id, j.state::text, count(t.task_id) FILTER (WHERE t.status = 'done'), count(t.task_id)
		FROM pg_dist_background_job AS j
		LEFT JOIN pg_dist_background_task AS t ON t.job_id = j.job_id
		WHERE j.job_type = 'rebalance' AND j.state IN ('scheduled', 'running', 'failing', 'cancelling')
		GROUP BY j.job_id, j.state`).Scan(&r.job, &r.State, &r.Done, &r.Total)
	if errors.Is(err, pgx.ErrNoRows) {
		return nil, nil
	}
	return r, err
}

// rebalanceLook is how often a rebalancing is looked at.
const rebalanceLook = 200 * time.Millisecond

// Rebalance moves shards between the nodes of a cluster until each has its share by size, while servers go on, and returns how many moves it took.
// The database does it: if ctx ends it goes on, and the next call follows it to its end.
func Rebalance(ctx context.Context, dsn string, progress diagnosis.Progress) (moves int64, err error) {
	conn, err := ConnectPostgres(ctx, dsn)
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, conn.Close(context.WithoutCancel(ctx))) }()
	x, err := readCluster(ctx, conn)
	switch {
	case err != nil:
		return 0, err
	case x.Citus == "":
		return 0, errors.New("the database does not have the extension Citus")
	case !x.Distributed:
		return 0, errors.New("the store is not distributed: all of it is on this server")
	}
	if down := x.Unreachable(); len(down) > 0 {
		return 0, fmt.Errorf("node %s is not reachable", down[0])
	}
	var job *int64
	if x.Rebalancing != nil {
		job = &x.Rebalancing.job
	} else if err := conn.QueryRow(ctx, `SELECT citus_rebalance_start()`).Scan(&job); err != nil || job == nil { // balanced as it is
		return 0, err
	}
	for {
		var state, failure string
		var total int64
		err := conn.QueryRow(ctx, `SELECT j.state::text, count(*) FILTER (WHERE t.status = 'done'), count(*), coalesce(max(t.message) FILTER (WHERE t.status IN ('error', 'unscheduled')), '')
			FROM pg_dist_background_job AS j
			JOIN pg_dist_background_task AS t ON t.job_id = j.job_id
			WHERE j.job_id = $1
			GROUP BY j.state`, *job).Scan(&state, &moves, &total, &failure)
		if err != nil {
			return moves, err
		}
		progress("shards moved", moves, total)
		switch state {
		case "finished":
			return moves, nil
		case "failed", "cancelled":
			return moves, fmt.Errorf("the rebalancing %s: %s", state, strings.TrimSpace(failure))
		}
		select {
		case <-ctx.Done():
			return moves, ctx.Err()
		case <-time.After(rebalanceLook):
		}
	}
}
