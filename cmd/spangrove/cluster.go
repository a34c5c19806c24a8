package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/spangrove/spangrove/pkg/diagnosis"
	"github.com/spangrove/spangrove/pkg/store"
)

func newCluster() *cobra.Command {
	c := &cobra.Command{
		Use:   "cluster",
		Short: "Look after a store that is distributed by Citus",
		Long: `Citus makes one database of several PostgreSQL servers. Where its extension is present when a
store is made, payloads stand in shards on its nodes, and all else on the coordinator.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	c.AddCommand(newClusterStatus(), newClusterRebalance())
	return c
}

// clusterPlace is where a command finds a cluster.
func clusterPlace(place *storePlace) (string, error) {
	dsn, data, err := place.find()
	if err != nil {
		return "", usageError("%s", err)
	}
	if dsn == "" {
		return "", usageError("--dsn: name the coordinator's database; the store in %s is SQLite", data)
	}
	return dsn, nil
}

func newClusterStatus() *cobra.Command {
	var place storePlace
	var asJSON bool
	c := &cobra.Command{
		Use:   "status",
		Short: "Tell the nodes, their shards and sizes, and what is under way",
		Long: `Lists the nodes of the cluster, whether the coordinator reaches them, and how many shards of
payloads and bytes each has.

The exit status is 1 if the store is not distributed or an active node cannot be reached.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			dsn, err := clusterPlace(&place)
			if err != nil {
				return err
			}
			x, err := storeCommand(cmd, asJSON, func(ctx context.Context, _ diagnosis.Progress) (*store.Cluster, error) {
				return store.ReadCluster(ctx, dsn)
			}, printCluster)
			if err != nil {
				return err
			}
			return clusterFault(x)
		},
	}
	place.flags(c)
	c.Flags().BoolVar(&asJSON, "json", false, "print the status as JSON")
	return c
}

// clusterFault returns how the command ends if something is wrong that its report shows.
func clusterFault(x *store.Cluster) error {
	if !x.Distributed {
		return failed("cluster status", errors.New("the store is not distributed"))
	}
	if down := x.Unreachable(); len(down) > 0 {
		return failed("cluster status", errors.New("not reachable: "+strings.Join(down, ", ")))
	}
	return nil
}

func printCluster(w io.Writer, x *store.Cluster) error {
	var b strings.Builder
	switch {
	case x.Citus == "":
		b.WriteString("PostgreSQL without the extension Citus: all of the store is on one server\n")
	case !x.Distributed:
		fmt.Fprintf(&b, "Citus %s; all of the store is on the coordinator, since it was made before the database had the extension and nodes\n", x.Citus)
		b.WriteString("to distribute it, move it into a new database: spangrove move --to\n")
	default:
		fmt.Fprintf(&b, "Citus %s; payloads in %d shards\n", x.Citus, x.Shards)
	}
	if len(x.Nodes) > 0 {
		t := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
		fmt.Fprintln(t, "NODE\tROLE\tSTATE\tSHARDS\tSIZE")
		for _, n := range x.Nodes {
			role, state, size := "worker", "ok", "unknown"
			if n.Coordinator {
				role = "coordinator"
			}
			switch {
			case !n.Active:
				state = "disabled"
			case !n.Reachable:
				state = "not reachable"
			case !n.TakesShards:
				state = "ok, takes no shards"
			}
			if n.Bytes != nil {
				size = diagnosis.Bytes(*n.Bytes)
			}
			fmt.Fprintf(t, "%s\t%s\t%s\t%d\t%s\n", n.Address, role, state, n.Shards, size)
		}
		if err := t.Flush(); err != nil {
			return err
		}
	}
	if x.Removed > 0 {
		fmt.Fprintf(&b, "%d payloads of deleted or changed events are still to be deleted\n", x.Removed)
	}
	if r := x.Rebalancing; r != nil {
		fmt.Fprintf(&b, "shards are being moved (%s): %d of %d\n", r.State, r.Done, r.Total)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

func newClusterRebalance() *cobra.Command {
	var place storePlace
	var asJSON bool
	c := &cobra.Command{
		Use:   "rebalance",
		Short: "Move shards between nodes until each has its share",
		Long: `Moves shards until each node has its share by size, while servers go on: after a node was added
(SELECT citus_add_node('host', 5432)), or to empty one that is to go
(SELECT citus_set_node_property('host', 5432, 'shouldhaveshards', false)).

The database does the work: if the command is interrupted, it goes on, and the command follows it
when it is started again. The nodes need wal_level = logical.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			dsn, err := clusterPlace(&place)
			if err != nil {
				return err
			}
			_, err = storeCommand(cmd, asJSON, func(ctx context.Context, progress diagnosis.Progress) (map[string]int64, error) {
				moves, err := store.RebalanceCluster(ctx, dsn, progress)
				return map[string]int64{"moved": moves}, err
			}, func(w io.Writer, x map[string]int64) error {
				text := "each node has its share already\n"
				if x["moved"] > 0 {
					text = fmt.Sprintf("%d shards moved; each node has its share now\n", x["moved"])
				}
				_, err := io.WriteString(w, text)
				return err
			})
			return err
		},
	}
	place.flags(c)
	c.Flags().BoolVar(&asJSON, "json", false, "print the result as JSON")
	return c
}
