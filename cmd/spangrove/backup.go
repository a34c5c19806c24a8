package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/spangrove/spangrove/cmd/spangrove/internal/cli"
	"github.com/spangrove/spangrove/pkg/diagnosis"
	"github.com/spangrove/spangrove/pkg/store"
)

func newBackup() *cobra.Command {
	var place storePlace
	var to string
	var keep int
	var asJSON bool
	c := &cobra.Command{
		Use:   "backup --to DIR",
		Short: "Store a backup of a data directory or a database, beside a server",
		Long: `Stores what a data directory (SQLite) or a database (PostgreSQL) has at this moment in a
directory of backups, which is made if there is none. A server may run, and goes on storing: what
it has acknowledged before is in the backup. After the first one, only what is new is stored, and
each backup can be restored by itself.

The secret of sealed keys and the first API key, files beside the database, are not in it: keep
them elsewhere.

Examples:
  spangrove backup --to /mnt/backups/grove
  spangrove backup --to /mnt/backups/grove --keep 30
  spangrove backup --dsn postgres://db/grove --to /mnt/backups/grove --json`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			dsn, data, err := place.find()
			switch {
			case err != nil:
				return usageError("%s", err)
			case to == "":
				return usageError("--to: name the directory of backups")
			case keep < 0:
				return usageError("--keep: must be at least 0, not %d", keep)
			}
			_, err = storeCommand(cmd, asJSON, func(ctx context.Context, progress diagnosis.Progress) (*store.BackupReport, error) {
				o := store.BackupOptions{Program: version(), Keep: keep, Progress: progress}
				if dsn != "" {
					return store.BackupPostgres(ctx, dsn, to, o)
				}
				return store.BackupSQLite(ctx, data, to, o)
			}, printBackup)
			return err
		},
	}
	f := c.Flags()
	place.flags(c)
	f.StringVar(&to, "to", "", "the directory of backups")
	f.IntVar(&keep, "keep", 0, "how many backups stay, the newest; older ones are removed (default all)")
	f.BoolVar(&asJSON, "json", false, "print the report as JSON")
	return c
}

func printBackup(w io.Writer, r *store.BackupReport) error {
	var b strings.Builder
	fmt.Fprintf(&b, "backup %s: %d events, %s of rows; stored %s in %d of %d blocks, in %.1f s\n", r.Name, r.Events, diagnosis.Bytes(r.Bytes),
		diagnosis.Bytes(r.NewBytes), r.NewBlocks, r.Blocks, r.Seconds)
	if len(r.Removed) > 0 {
		fmt.Fprintf(&b, "removed %d older ones: %s\n", len(r.Removed), strings.Join(r.Removed, ", "))
	}
	_, err := io.WriteString(w, b.String())
	return err
}

func newVerify() *cobra.Command {
	var asJSON bool
	c := &cobra.Command{
		Use:   "verify DIR",
		Short: "Read all backups of a directory, and say which can be restored",
		Long: `Reads every block of a directory of backups once, and holds it against its checksum. Names of
backups that are printed are those that restore --at takes.

The exit status is 0 if all backups are whole, and 1 if some are not or there is none.

Example:
  spangrove verify /mnt/backups/grove`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			v, err := storeCommand(cmd, asJSON, func(ctx context.Context, progress diagnosis.Progress) (*store.VerifiedBackups, error) {
				return store.VerifyBackups(ctx, args[0], progress)
			}, printVerified)
			switch {
			case err != nil:
				return err
			case len(v.Backups) == 0:
				return &cli.Failure{Line: "verify: " + args[0] + " has no backup yet", Exit: cli.ExitFailed}
			case v.Damaged() > 0:
				return &cli.Failure{Line: fmt.Sprintf("verify: %d of %d backups are damaged", v.Damaged(), len(v.Backups)), Exit: cli.ExitFailed}
			}
			return nil
		},
	}
	c.Flags().BoolVar(&asJSON, "json", false, "print the report as JSON")
	return c
}

// shownProblems is how many problems of a backup are printed; JSON has all.
const shownProblems = 5

func printVerified(w io.Writer, v *store.VerifiedBackups) error {
	var b strings.Builder
	for i := range v.Backups {
		x := &v.Backups[i]
		if len(x.Problems) == 0 {
			fmt.Fprintf(&b, "ok       %s  %s, %d events, %s of rows\n", x.Name, x.Database, x.Events, diagnosis.Bytes(x.Bytes))
			continue
		}
		fmt.Fprintf(&b, "damaged  %s\n", x.Name)
		for _, problem := range x.Problems[:min(len(x.Problems), shownProblems)] {
			fmt.Fprintf(&b, "         - %s\n", oneLine(problem))
		}
		if more := len(x.Problems) - shownProblems; more > 0 {
			fmt.Fprintf(&b, "         and %d more\n", more)
		}
	}
	if v.Damaged() > 0 {
		b.WriteString("         Restore another backup. A block that is damaged is stored again by the next backup if its file is removed and the store still has the rows.\n")
	}
	fmt.Fprintf(&b, "%d backups, %d blocks, %s\n", len(v.Backups), v.Blocks, diagnosis.Bytes(v.Bytes))
	if v.Unused > 0 {
		fmt.Fprintf(&b, "%d blocks, %s, belong to no backup: the next one that is stored uses them, or with --keep removes them\n", v.Unused, diagnosis.Bytes(v.UnusedBytes))
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// restored is what a restore has made.
type restored struct {
	Backup  string    `json:"backup"`
	Of      time.Time `json:"of"`
	Events  int64     `json:"events"`
	Place   string    `json:"place"`
	Seconds float64   `json:"seconds"`
	Missing []string  `json:"missing,omitempty"` // files that are not in a backup, and not there
}

func newRestore() *cobra.Command {
	var place storePlace
	var at string
	var asJSON bool
	c := &cobra.Command{
		Use:   "restore DIR",
		Short: "Make a data directory or a database of a backup",
		Long: `Makes the database of a data directory (SQLite), which must have none, or fills an empty
PostgreSQL database or schema, from a backup of the same kind of database. All that was restored
is read and compared with the backup before a server can open it.

Names of backups are those that verify prints; by default it is the newest one.

Examples:
  spangrove restore /mnt/backups/grove --data /var/lib/spangrove
  spangrove restore /mnt/backups/grove --at 20261127T040000.000Z --data ./yesterday
  spangrove restore /mnt/backups/grove --dsn postgres://db/grove`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			dsn, data, err := place.find()
			if err != nil {
				return usageError("%s", err)
			}
			began := time.Now()
			_, err = storeCommand(cmd, asJSON, func(ctx context.Context, progress diagnosis.Progress) (*restored, error) {
				r := &restored{Place: "the database"}
				var b *store.Backup
				if dsn != "" {
					b, err = store.RestorePostgres(ctx, args[0], at, dsn, progress)
				} else {
					r.Place = data
					b, err = store.RestoreSQLite(ctx, args[0], at, data, progress)
				}
				if err != nil {
					return nil, err
				}
				r.Backup, r.Of, r.Events, r.Seconds = b.Name, b.Began, b.Events(), time.Since(began).Seconds()
				if dsn == "" {
					for _, name := range []string{"provider-secret", "api-key"} {
						if _, err := os.Stat(filepath.Join(data, name)); err != nil {
							r.Missing = append(r.Missing, name)
						}
					}
				}
				return r, nil
			}, printRestored)
			return err
		},
	}
	f := c.Flags()
	place.flags(c)
	f.StringVar(&at, "at", "", "name of the backup (default the newest)")
	f.BoolVar(&asJSON, "json", false, "print the report as JSON")
	return c
}

func printRestored(w io.Writer, r *restored) error {
	text := fmt.Sprintf("restored backup %s, %d events as of %s, in %s, and compared all of it, in %.1f s\n", r.Backup, r.Events, r.Of.Format(time.RFC3339), r.Place, r.Seconds)
	if len(r.Missing) > 0 {
		text += fmt.Sprintf("not in a backup, and not there: %s; without provider-secret the keys of model providers must be entered anew\n", strings.Join(r.Missing, ", "))
	}
	_, err := io.WriteString(w, text)
	return err
}
