package main

import (
	"context"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/spangrove/spangrove/pkg/diagnosis"
	"github.com/spangrove/spangrove/pkg/store"
)

// moveFlags are the flags of move.
type moveFlags struct {
	place                         storePlace
	to                            string
	dryRun, stay, abandon, asJSON bool
}

func newMove() *cobra.Command {
	var o moveFlags
	c := &cobra.Command{
		Use:   "move --to PLACE",
		Short: "Move a store into another database, beside a server that goes on writing",
		Long: `Copies the store of a data directory (SQLite) or of a PostgreSQL database into another one, while
servers go on writing to it; compares both row by row, with counts and SHA-256 for each table, and
for each project and day; then makes the old store refuse changes and finishes the new one. PLACE
is the connection string of an empty PostgreSQL database or schema, or a data directory without a
database.

From the moment of the switch on, servers on the old store answer writes with 503 and go on
reading. Restart them with the new place: senders that retry lose nothing. A server does not start
on a store that has moved.

A move that is interrupted goes on when it is started again with the same places. --stay ends it
before the switch, with both stores compared: start it again without --stay to switch, at a time
that suits. --abandon ends a move, also one that has switched, and opens the old store again,
without what the new one has stored since. Column and word indexes are built anew by the server;
until then, searches read rows.

The secret of sealed keys and the first API key are files of a data directory: copy
provider-secret to the new server, or set SPANGROVE_SECRET.

Examples:
  spangrove move --to postgres://db/grove --dry-run
  spangrove move --data ./spangrove-data --to postgres://db/grove
  spangrove move --dsn postgres://db/grove --to /var/lib/spangrove
  spangrove move --abandon`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			dsn, data, err := o.place.find()
			switch {
			case err != nil:
				return usageError("%s", err)
			case o.abandon:
				return o.abandonMove(cmd, dsn, data)
			case o.to == "":
				return usageError("--to: name a PostgreSQL database or a data directory")
			case dsn == "" && !isDSN(o.to):
				return usageError("--to: from a data directory a store moves to PostgreSQL; another data directory is made by backup and restore")
			case o.dryRun:
				return o.plan(cmd, dsn, data)
			}
			return o.move(cmd, dsn, data)
		},
	}
	f := c.Flags()
	o.place.flags(c)
	f.StringVar(&o.to, "to", "", "where the store moves: a connection string of PostgreSQL, or a data directory")
	f.BoolVar(&o.dryRun, "dry-run", false, "only tell how much there is and about how long it takes")
	f.BoolVar(&o.stay, "stay", false, "end when both stores are compared, before the old one refuses changes")
	f.BoolVar(&o.abandon, "abandon", false, "end a move, and let servers write to the old store again")
	f.BoolVar(&o.asJSON, "json", false, "print the report as JSON, with all tables, projects and days")
	c.MarkFlagsMutuallyExclusive("dry-run", "stay", "abandon")
	return c
}

// abandonMove ends a move of the store in a database, or in a data directory if dsn is empty.
func (o *moveFlags) abandonMove(cmd *cobra.Command, dsn, data string) error {
	_, err := storeCommand(cmd, o.asJSON, func(ctx context.Context, _ diagnosis.Progress) (map[string]bool, error) {
		end, of := store.AbandonMoveSQLite, data
		if dsn != "" {
			end, of = store.AbandonMovePostgres, dsn
		}
		abandoned, err := end(ctx, of)
		return map[string]bool{"abandoned": abandoned}, err
	}, func(w io.Writer, result map[string]bool) error {
		text := "the move is ended, and servers can write here; empty the other database before another move to it"
		if !result["abandoned"] {
			text = "there is no move of this store, and servers can write here"
		}
		_, err := fmt.Fprintln(w, text)
		return err
	})
	return err
}

// plan tells how much a move has to copy.
func (o *moveFlags) plan(cmd *cobra.Command, dsn, data string) error {
	to := "PostgreSQL" // a connection string may have a password
	if !isDSN(o.to) {
		to = "SQLite in " + o.to
	}
	_, err := storeCommand(cmd, o.asJSON, func(ctx context.Context, _ diagnosis.Progress) (*store.MovePlan, error) {
		if dsn != "" {
			return store.ForeseeMovePostgres(ctx, dsn, to)
		}
		return store.ForeseeMoveSQLite(ctx, data, to)
	}, printMovePlan)
	return err
}

func (o *moveFlags) move(cmd *cobra.Command, dsn, data string) error {
	_, err := storeCommand(cmd, o.asJSON, func(ctx context.Context, progress diagnosis.Progress) (*store.MoveReport, error) {
		options := store.MoveOptions{Stay: o.stay, Progress: progress}
		switch {
		case dsn == "":
			return store.MoveSQLite(ctx, data, o.to, options)
		case isDSN(o.to):
			return store.MovePostgres(ctx, dsn, o.to, options)
		}
		return store.MovePostgresToSQLite(ctx, dsn, o.to, options)
	}, printMove)
	return err
}

// isDSN reports whether a place is a connection string, in either of the forms that PostgreSQL knows.
func isDSN(place string) bool {
	return strings.HasPrefix(place, "postgres://") || strings.HasPrefix(place, "postgresql://") || strings.Contains(place, "=")
}

func printMovePlan(w io.Writer, p *store.MovePlan) error {
	var b strings.Builder
	fmt.Fprintf(&b, "from %s to %s: %d events in %d sessions, %s on disk\n", p.From, p.To, p.Events, p.Sessions, diagnosis.Bytes(p.Bytes))
	fmt.Fprintf(&b, "it takes about %s, by reading a sample; writes are refused only at its end, usually for less than a few seconds and until servers are restarted\n",
		(time.Duration(p.Seconds+1) * time.Second).String())
	if p.Begun != "" {
		fmt.Fprintf(&b, "a move to %s has begun\n", p.Begun)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

func printMove(w io.Writer, r *store.MoveReport) error {
	var b strings.Builder
	projects := map[int64]bool{}
	for _, d := range r.Days {
		projects[d.Project] = true
	}
	var rows int64
	for _, t := range r.Tables {
		rows += t.Rows
	}
	fmt.Fprintf(&b, "from %s to %s\n", r.From, r.To)
	fmt.Fprintf(&b, "equal by count and SHA-256: %d rows of %d tables, with %d events of %d projects on %d days; and %d rows that changed later\n",
		rows, len(r.Tables), r.Events, len(projects), len(r.Days), r.Later)
	if r.LeftOut > 0 {
		fmt.Fprintf(&b, "left out: %d payloads that no event names\n", r.LeftOut)
	}
	if r.Moved {
		fmt.Fprintf(&b, "moved in %.1f s; the old store refuses changes since %.1f s before the end: restart servers with the new place now\n", r.Seconds, float64(r.PausedMS)/1000)
	} else {
		fmt.Fprintf(&b, "ready in %.1f s; the old store is still in use, and notes what changes: start the move again without --stay to switch\n", r.Seconds)
	}
	_, err := io.WriteString(w, b.String())
	return err
}
