package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/spangrove/spangrove/cmd/spangrove/internal/cli"
	"github.com/spangrove/spangrove/cmd/spangrove/internal/rehearse"
	"github.com/spangrove/spangrove/pkg/diagnosis"
	"github.com/spangrove/spangrove/pkg/store"
)

// upgradeRun is what the command was asked for.
type upgradeRun struct {
	place                    storePlace
	rehearse, asJSON, keep   bool
	before, scratch, work    string
	projects, sessions, runs int
	told                     io.Writer
}

func newUpgrade() *cobra.Command {
	var u upgradeRun
	c := &cobra.Command{
		Use:   "upgrade --rehearse --before PROGRAM",
		Short: "Try an upgrade on a copy, and compare the answers before and after it",
		Long: `Copies the data directory (SQLite) or the database (PostgreSQL) as of one moment, beside a
server that goes on. The program that runs today, --before, answers questions about the copy on
a port of this machine: lists and searches of sessions and events, charts, values, runs with their
comparisons, datasets, whole sessions. Then this program migrates the copy, answers the same
questions, and the answers are compared; sums in charts and results of runs may differ in their
last digits, since they depend on the order of adding. Nothing is evaluated, and no notice is sent.

A copy of SQLite is made below --work, which needs as much space as the database. PostgreSQL is
copied into another database or schema, --scratch, which must be empty.

The upgrade itself is done by replacing the program and starting it.

The exit status is 0 if all answers are the same, and 1 if some differ.

Examples:
  spangrove upgrade --rehearse --before /usr/bin/spangrove
  spangrove upgrade --rehearse --before ./spangrove-1.2 --data /var/lib/spangrove --work /mnt/space
  spangrove upgrade --rehearse --before ./spangrove-1.2 --dsn postgres://db/grove --scratch postgres://db/rehearsal`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			u.told = cmd.ErrOrStderr()
			return u.run(cmd)
		},
	}
	f := c.Flags()
	f.BoolVar(&u.rehearse, "rehearse", false, "try the upgrade on a copy")
	f.StringVar(&u.before, "before", "", "the program that runs today: `FILE`")
	u.place.flags(c)
	f.StringVar(&u.scratch, "scratch", "", "connection string of an empty PostgreSQL database or schema for the copy")
	f.StringVar(&u.work, "work", "", "directory for the copy of SQLite and for logs (default that of temporary files)")
	f.IntVar(&u.projects, "projects", 20, "how many projects are asked about, the newest")
	f.IntVar(&u.sessions, "sessions", 40, "how many sessions of each project are read whole")
	f.IntVar(&u.runs, "runs", 10, "how many runs and datasets of each project are read, the newest runs compared with one another")
	f.BoolVar(&u.keep, "keep", false, "leave the copy of SQLite and the logs where they are")
	f.BoolVar(&u.asJSON, "json", false, "print the report as JSON")
	return c
}

// run copies, rehearses and prints.
func (u *upgradeRun) run(cmd *cobra.Command) error {
	dsn, data, err := u.place.find()
	switch {
	case !u.rehearse:
		return usageError("upgrade: say --rehearse to try it on a copy; an upgrade itself is done by replacing the program and starting it")
	case u.before == "":
		return usageError("--before: name the program that runs today, such as /usr/bin/spangrove")
	case err != nil:
		return usageError("%s", err)
	case dsn != "" && u.scratch == "":
		return usageError("--scratch: name an empty PostgreSQL database or schema, which the copy goes to")
	case dsn == "" && u.scratch != "":
		return usageError("--scratch: is for PostgreSQL; the copy of a data directory goes below --work")
	case u.projects < 1 || u.sessions < 1 || u.runs < 1:
		return usageError("--projects, --sessions and --runs must be at least 1")
	}
	report, err := storeCommand(cmd, u.asJSON, func(ctx context.Context, progress diagnosis.Progress) (*rehearse.Report, error) {
		return u.rehearsal(ctx, dsn, data, progress)
	}, printRehearsal)
	if err == nil && report.Different() > 0 {
		return &cli.Failure{Line: fmt.Sprintf("upgrade: %d answers differ", report.Different()), Exit: cli.ExitFailed}
	}
	return err
}

// rehearsal copies the store and compares the answers of both programs.
func (u *upgradeRun) rehearsal(ctx context.Context, dsn, data string, progress diagnosis.Progress) (report *rehearse.Report, err error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp(u.work, "spangrove-rehearsal-")
	if err != nil {
		return nil, err
	}
	defer func() {
		if u.keep {
			fmt.Fprintln(u.told, "kept:", dir)
			return
		}
		err = errors.Join(err, os.RemoveAll(dir))
	}()
	place := rehearse.Place{Directory: filepath.Join(dir, "data"), DSN: u.scratch}
	began := time.Now()
	if dsn != "" {
		err = store.CopyPostgres(ctx, dsn, u.scratch, func(done, total int64) { progress("copying, bytes", done, total) })
	} else {
		err = store.CopySQLite(ctx, data, place.Directory, func(done, total int64) { progress("copying, bytes", done, total) })
	}
	if err != nil {
		return nil, fmt.Errorf("copy: %w", err)
	}
	u.tell(fmt.Sprintf("copied in %.1f s", time.Since(began).Seconds()))
	return rehearse.Run(ctx, rehearse.Options{Before: u.before, After: self, Place: place, Dir: dir,
		Projects: u.projects, Sessions: u.sessions, Runs: u.runs, Progress: u.tell})
}

func (u *upgradeRun) tell(text string) {
	if onTerminal(u.told) {
		fmt.Fprint(u.told, "\r\x1b[K")
	}
	fmt.Fprintln(u.told, text)
}

// slower is from which factor on a question is told of as slower, if it takes noticeMillis at least.
const (
	slower       = 2
	noticeMillis = 50
)

// printRehearsal prints what differs, and how long both took.
func printRehearsal(w io.Writer, r *rehearse.Report) error {
	var b strings.Builder
	fmt.Fprintf(&b, "before  %s, ready in %.1f s\nafter   %s, migrated and ready in %.1f s\n\n", r.Before.Version, r.Before.Ready, r.After.Version, r.After.Ready)
	var before, after float64
	var slow, unstable []string
	for i := range r.Answers {
		a := &r.Answers[i]
		before, after = before+a.BeforeMillis, after+a.AfterMillis
		switch {
		case a.Unstable:
			unstable = append(unstable, fmt.Sprintf("  project %s: %s\n", a.Project, a.Question))
		case a.Differing > 0:
			fmt.Fprintf(&b, "differs  project %s: %s\n", a.Project, a.Question)
			for _, d := range a.Differences {
				fmt.Fprintf(&b, "         %s: %s before, %s after\n", cmp.Or(d.Path, "answer"), oneLine(d.Before), oneLine(d.After))
			}
			if more := a.Differing - len(a.Differences); more > 0 {
				fmt.Fprintf(&b, "         and %d more\n", more)
			}
		case a.AfterMillis >= noticeMillis && a.AfterMillis > slower*a.BeforeMillis:
			slow = append(slow, fmt.Sprintf("  project %s: %s: %.0f ms before, %.0f ms after\n", a.Project, a.Question, a.BeforeMillis, a.AfterMillis))
		}
	}
	if len(unstable) > 0 {
		fmt.Fprintf(&b, "\nnot compared, since they changed while they were asked:\n%s", strings.Join(unstable, ""))
	}
	if len(slow) > 0 {
		fmt.Fprintf(&b, "\nmore than twice as slow:\n%s", strings.Join(slow, ""))
	}
	if len(r.Added) > 0 {
		fmt.Fprintf(&b, "\nfields that are new: %s\n", strings.Join(r.Added, ", "))
	}
	if r.ProjectsLeft > 0 {
		fmt.Fprintf(&b, "\n%d older projects were not asked about (--projects)\n", r.ProjectsLeft)
	}
	fmt.Fprintf(&b, "%d of %d answers about %d projects differ; together %.0f ms before, %.0f ms after\n", r.Different(), r.Questions, r.Projects, before, after)
	_, err := io.WriteString(w, b.String())
	return err
}
