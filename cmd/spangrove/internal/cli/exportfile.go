package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/spangrove/spangrove/pkg/client"
	"github.com/spangrove/spangrove/pkg/rawjson"
)

// fileChoice is how a file with chosen columns is written.
type fileChoice struct {
	columns        []string
	csv, ascending bool
	sort           string
	overwrite      bool
}

func (f *fileChoice) flags(cmd *cobra.Command, sorts []string) {
	flags := cmd.Flags()
	flags.StringSliceVar(&f.columns, "columns", nil, "`FIELDS` with commas, also paths such as metadata.cost: a column or member for each")
	flags.BoolVar(&f.csv, "csv", false, "write CSV; a text that a spreadsheet would take for a formula gets an apostrophe before it")
	flags.StringVar(&f.sort, "sort", client.SortStart, "what comes first: the highest `TOTAL` of start, duration, cost, tokens and, of sessions, errors, events, tool_events or state")
	completes(cmd, "sort", sorts)
	flags.BoolVar(&f.ascending, "ascending", false, "the lowest first")
}

// chosen reports whether anything was asked for that only the server's files have.
func (f *fileChoice) chosen() bool {
	return f.csv || len(f.columns) > 0 || f.sort != client.SortStart || f.ascending
}

func (f *fileChoice) check(sorts []string) error {
	if !slices.Contains(sorts, f.sort) {
		return usage("--sort %s: must be one of %v", f.sort, sorts)
	}
	return nil
}

func (f *fileChoice) file() client.File {
	file := client.File{Format: client.FormatJSONL, Columns: f.columns}
	if f.csv {
		file.Format = client.FormatCSV
	}
	return file
}

// saveFile writes what the server sends to a file, - for standard output. What was written before a file is broken off stays.
func (a *app) saveFile(ctx context.Context, name string, overwrite bool, body io.ReadCloser) error {
	defer body.Close()
	if name == "-" {
		_, err := io.Copy(a.results, body)
		if err != nil && ctx.Err() != nil {
			return ctx.Err()
		}
		return err
	}
	flags := os.O_WRONLY | os.O_CREATE | os.O_EXCL
	if overwrite {
		flags = os.O_WRONLY | os.O_CREATE | os.O_TRUNC
	}
	out, err := os.OpenFile(name, flags, 0o600) // what is in it is nobody else's
	if errors.Is(err, os.ErrExist) {
		return usage("%s already exists; replace it with --overwrite", name)
	}
	if err != nil {
		return usage("write %s: %s", name, cause(err))
	}
	n, err := io.Copy(out, body)
	if closed := out.Close(); err == nil {
		err = closed
	}
	if err != nil && ctx.Err() != nil {
		return after(ctx.Err(), "wrote %d bytes to %s", n, name)
	}
	if err != nil {
		return &Failure{fmt.Sprintf("write %s: broken off after %d bytes: %s", name, n, cause(err)), ExitFailed}
	}
	var b rawjson.Builder
	b.Int("bytes", n)
	b.String("file", name)
	return a.changed(b.Bytes(), "wrote %d bytes to %s", n, name)
}

// exportColumns writes events with chosen columns, or in another order.
func (a *app) exportColumns(cmd *cobra.Command, name string, choice *eventChoice, f *fileChoice, format string, resume, overwrite bool) error {
	if resume || format != bulkJSONL {
		return usage("--columns, --csv, --sort and --ascending do not go with --resume and --format %s", bulkOTLP)
	}
	if err := f.check(eventSorts); err != nil {
		return err
	}
	q, err := choice.walkQuery(time.Now())
	if err != nil {
		return err
	}
	body, err := a.api.Events.ExportFile(cmd.Context(), client.EventSearch{EventQuery: q, Sort: f.sort, Ascending: f.ascending}, f.file())
	if err != nil {
		return err
	}
	return a.saveFile(cmd.Context(), name, overwrite, body)
}

var (
	eventSorts   = []string{client.SortStart, client.SortDuration, client.SortCost, client.SortTokens}
	sessionSorts = []string{client.SortStart, client.SortDuration, client.SortCost, client.SortTokens, client.SortErrors, client.SortEvents, client.SortTools, client.SortState}
)

func (a *app) sessionExport() *cobra.Command {
	var f fileChoice
	var since, until string
	var filters, events []string
	cmd := command("export FILE", "Write sessions to a file, each summed up in a line, - for standard output", `
		spangrove sessions export sessions.csv --csv --since 7d
		spangrove sessions export - --columns session_id,user_id,tokens.total,cost,metadata.tenant --csv
		spangrove sessions export dear.jsonl --filter 'totals.cost > 1' --sort cost`, nil)
	cmd.Long = "A session that was there at the beginning and is not deleted is written once. Without --columns there are all fields of a session but inputs, outputs and user_properties. " +
		"With JSON lines, a line has a member for each column by its whole name."
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if err := f.check(sessionSorts); err != nil {
			return err
		}
		q := client.SessionQuery{Sort: f.sort, Ascending: f.ascending}
		var err error
		if q.DateRange, err = fixedRange(since, until, time.Now()); err != nil {
			return err
		}
		if q.Filters, err = clientFilters(withoutJudges(filters)); err != nil {
			return err
		}
		if q.EventFilters, err = clientFilters(events); err != nil {
			return err
		}
		body, err := a.api.Sessions.Export(cmd.Context(), q, f.file())
		if err != nil {
			return err
		}
		return a.saveFile(cmd.Context(), args[0], f.overwrite, body)
	}
	timeFlags(cmd, &since, &until)
	cmd.Flags().StringArrayVar(&events, "event-filter", nil, "only those with an event for which this `FILTER` holds; repeated, one event must meet all")
	filterFlag(cmd, &filters)
	f.flags(cmd, sessionSorts)
	cmd.Flags().BoolVar(&f.overwrite, "overwrite", false, "replace the file if it exists")
	return cmd
}

// clientFilters reads filters as people write them.
func clientFilters(texts []string) ([]client.Filter, error) {
	q, err := (&eventChoice{filters: texts}).walkQuery(time.Now())
	return q.Filters, err
}
