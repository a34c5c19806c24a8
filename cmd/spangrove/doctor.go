package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/spangrove/spangrove/cmd/spangrove/internal/cli"
	"github.com/spangrove/spangrove/pkg/diagnosis"
	"github.com/spangrove/spangrove/pkg/embedprovider"
	"github.com/spangrove/spangrove/pkg/store"
)

// doctorRun is what the command was asked for.
type doctorRun struct {
	storePlace
	secretFile string
	asJSON     bool
	sample     int
	o          store.DoctorOptions
}

func newDoctor() *cobra.Command {
	var d doctorRun
	c := &cobra.Command{
		Use:   "doctor",
		Short: "Examine a data directory or a database, and mend what can be rebuilt",
		Long: `Looks at a data directory (SQLite) or a database (PostgreSQL), says what is wrong and what to
do. It only reads, and may run beside a server. By default it looks at the newest sessions and
at some at random, and at whole tables while they are small; --full looks at everything.

--mend rebuilds what follows from the events: totals of sessions, counts, the field index,
segments and their index of words, missing indexes and triggers; it gives leases free that end
too late, and deletes rows of indexes that belong to nothing. It changes no event and no payload.
A data directory must not be in use by a server then.

The exit status is 0 if nothing is wrong, also with warnings, and 1 if there are errors or something
could not be mended.

Examples:
  spangrove doctor
  spangrove doctor --data /var/lib/spangrove --full
  spangrove doctor --dsn postgres://localhost/grove --json
  spangrove doctor --mend`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return d.run(cmd) },
	}
	f := c.Flags()
	d.storePlace.flags(c)
	f.StringVar(&d.secretFile, "secret-file", "", "file with the secret of sealed keys (default $SPANGROVE_SECRET, or what the file $SPANGROVE_SECRET_FILE has, else provider-secret in the data directory)")
	f.BoolVar(&d.o.Full, "full", false, "look at everything")
	f.IntVar(&d.sample, "sample", store.DefaultSample, "how many sessions to look at if not everything")
	f.BoolVar(&d.o.Mend, "mend", false, "rebuild what follows from the events, and look again")
	f.BoolVar(&d.asJSON, "json", false, "print the report as JSON")
	c.MarkFlagsMutuallyExclusive("full", "sample")
	return c
}

// run examines, prints the report, and fails if there are errors.
func (d *doctorRun) run(cmd *cobra.Command) error {
	if d.sample < 1 {
		return usageError("--sample: must be at least 1, not %d", d.sample)
	}
	d.o.Sample = d.sample
	dsn, data, err := d.find()
	if err != nil {
		return usageError("%s", err)
	}
	if d.o.Secret, err = d.secret(data); err != nil {
		return usageError("%s", err)
	}
	report, err := storeCommand(cmd, d.asJSON, func(ctx context.Context, progress diagnosis.Progress) (*diagnosis.Report, error) {
		d.o.Progress = progress
		if dsn != "" {
			return store.DoctorPostgres(ctx, dsn, d.o)
		}
		return store.DoctorSQLite(ctx, data, d.o)
	}, func(w io.Writer, r *diagnosis.Report) error { return printReport(w, r, d.o.Mend) })
	switch {
	case err != nil:
		return err
	case report.Worst() == diagnosis.Error:
		return &cli.Failure{Line: "doctor: there are errors", Exit: cli.ExitFailed}
	case slices.ContainsFunc(report.Mended, func(m diagnosis.Mended) bool { return m.Error != "" }):
		return &cli.Failure{Line: "doctor: not all could be mended", Exit: cli.ExitFailed}
	}
	return nil
}

// secret returns the server's secret; nil if there is none.
func (d *doctorRun) secret(data string) ([]byte, error) {
	read := func(file string) ([]byte, error) {
		text, err := os.ReadFile(file)
		return []byte(strings.TrimSpace(string(text))), err
	}
	if d.secretFile != "" {
		return read(d.secretFile)
	}
	text, err := embedprovider.Secret("SPANGROVE_SECRET")
	if err != nil || text != "" {
		return []byte(text), err
	}
	secret, err := read(filepath.Join(data, "provider-secret"))
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrPermission) {
		return nil, nil
	}
	return secret, err
}

// progressEvery is how often it is told how far a check is.
const progressEvery = 2 * time.Second

// progressTo tells on a terminal what is being looked at, in one line that goes when the next comes; elsewhere only what takes long.
func progressTo(w io.Writer, terminal bool) diagnosis.Progress {
	last := time.Now()
	return func(check string, done, total int64) {
		if terminal {
			if done == 0 || time.Since(last) > progressEvery/10 {
				last = time.Now()
				fmt.Fprintf(w, "\r\x1b[K%s\r", progressLine(check, done, total))
			}
			return
		}
		if time.Since(last) > progressEvery {
			last = time.Now()
			fmt.Fprintln(w, progressLine(check, done, total))
		}
	}
}

func progressLine(check string, done, total int64) string {
	switch {
	case total > 0:
		return fmt.Sprintf("%s: %d of about %d", check, done, total)
	case done > 0:
		return fmt.Sprintf("%s: %d", check, done)
	}
	return check + " …"
}

// printReport prints a line for each finding, with what to do about those that something is wrong with.
func printReport(w io.Writer, r *diagnosis.Report, mend bool) error {
	var b strings.Builder
	fmt.Fprintf(&b, "%s\n\n", r.Place)
	for _, m := range r.Mended {
		fmt.Fprintf(&b, "mended %-12s %s\n", m.Check, m.Text)
		if m.Error != "" {
			fmt.Fprintf(&b, "                    %s\n", oneLine(m.Error))
		}
	}
	if mend && len(r.Mended) == 0 {
		b.WriteString("nothing to mend\n")
	}
	if mend {
		b.WriteByte('\n')
	}
	errs, warnings := 0, 0
	for _, f := range r.Findings {
		fmt.Fprintf(&b, "%-6s %-12s %s\n", f.Severity, f.Check, oneLine(f.Text))
		switch f.Severity {
		case diagnosis.OK:
			continue
		case diagnosis.Warn:
			warnings++
		case diagnosis.Error:
			errs++
		}
		for _, x := range f.Examples {
			fmt.Fprintf(&b, "                    - %s\n", oneLine(x))
		}
		if more := f.Count - int64(len(f.Examples)); more > 0 && len(f.Examples) > 0 {
			fmt.Fprintf(&b, "                    and %d more\n", more)
		}
		fmt.Fprintf(&b, "                    %s\n", f.Advice)
	}
	fmt.Fprintf(&b, "\n%d errors, %d warnings in %.1f s\n", errs, warnings, r.Seconds)
	_, err := io.WriteString(w, b.String())
	return err
}
