package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"github.com/spangrove/spangrove/pkg/client"
	"github.com/spangrove/spangrove/pkg/rawjson"
)

const (
	exampleMetric   = "65a1b2c3d4e5f60718293a4b"
	exampleBackfill = "65a1b2c3d4e5f60718293a4c"
)

var backfillColumns = []column{
	{title: "id", path: "id", whole: true},
	{title: "version", path: "metric_version"},
	{title: "state", path: "state"},
	{title: "events", path: "total", right: true},
	{title: "looked at", path: "looked", right: true},
	{title: "skipped", path: "skipped", right: true},
	{title: "waiting", path: "waiting", right: true},
	{title: "done", path: "done", right: true},
	{title: "failed", path: "failed", right: true},
	{title: "dead", path: "dead", right: true},
	{title: "created", path: "created_at", show: date, whole: true},
}

func (a *app) backfills() *cobra.Command {
	return noun("backfills", "Backfills: a metric scores past events",
		a.idLister("list METRIC", "List the backfills of a metric, oldest first", listing{
			plural: "backfills", at: "backfills", limit: 100, columns: backfillColumns, example: `spangrove backfills list ` + exampleMetric,
		}, func(metric string) client.Request { return get(path("metrics", metric, "backfills")) }),
		a.backfillStart(),
		command("get METRIC ID", "Show a backfill with its progress", `spangrove backfills get `+exampleMetric+` `+exampleBackfill,
			func(ctx context.Context, args []string) error {
				answer, err := a.call(ctx, get(path("metrics", args[0], "backfills", args[1])))
				if err != nil {
					return err
				}
				return a.one(answer)
			}),
		a.backfillStep("pause", "Let a backfill rest", "paused"),
		a.backfillStep("resume", "Let a backfill go on", "goes on"),
		a.backfillStep("cancel", "End a backfill; scores that it has given stay", "cancelled"),
	)
}

// backfillStep returns a verb that changes the state of a backfill.
func (a *app) backfillStep(verb, short, past string) *cobra.Command {
	return command(
		verb+" METRIC ID",
		short,
		`spangrove backfills `+verb+` `+exampleMetric+` `+exampleBackfill,
		func(ctx context.Context, args []string) error {
			r := post(path("metrics", args[0], "backfills", args[1], verb), nil)
			r.Body, r.Repeatable = nil, true
			answer, err := a.call(ctx, r)
			if err != nil {
				return err
			}
			return a.changed(answer, "%s: %s", clean(args[1]), past)
		},
	)
}

// backfillStart makes a backfill, and waits for its end if it is told to.
func (a *app) backfillStart() *cobra.Command {
	var filters []string
	var since, until, run string
	var newest int
	var wait bool
	cmd := command("start METRIC", "Score past events by a metric's deployed version", `
		spangrove backfills start `+exampleMetric+` --since 7d
		spangrove backfills start `+exampleMetric+` --filter 'event_type is model' --limit 1000 --wait
		spangrove backfills start `+exampleMetric+` --run `+exampleEvent,
		func(ctx context.Context, args []string) error {
			var b rawjson.Builder
			list, err := parseFilters(filters)
			if err != nil {
				return err
			}
			if len(list) > 0 {
				b.Raw("filters", array(list))
			}
			between, err := dateRange(since, until)
			if err != nil {
				return err
			}
			if between != nil {
				b.Raw("dateRange", between)
			}
			if run != "" {
				b.String("evaluation_id", run)
			}
			switch {
			case newest < 0:
				return usage("--limit must not be negative")
			case newest > 0:
				b.Int("limit", int64(newest))
			}
			answer, err := a.call(ctx, post(path("metrics", args[0], "backfills"), b.Bytes()))
			if err != nil {
				return err
			}
			id := textOf(answer, "id")
			if wait {
				if answer, err = a.backfillEnd(ctx, args[0], id); err != nil {
					return after(err, "the backfill %s goes on", clean(id))
				}
				a.remark("%s", clean(progressOf(answer)))
			}
			return a.made(answer, id)
		})
	cmd.Long = "Without --filter it scores the events that the metric is for. Events that the version has scored before are skipped."
	filterFlag(cmd, &filters)
	timeFlags(cmd, &since, &until)
	cmd.Flags().StringVar(&run, "run", "", "only the events of the experiment run of this `ID`")
	cmd.Flags().IntVar(&newest, "limit", 0, "only the newest `N` events; 0: all")
	cmd.Flags().BoolVar(&wait, "wait", false, "wait for its end; Ctrl-C ends only the waiting")
	return cmd
}

// backfillEnd waits until a backfill has ended, and tells of its progress on a terminal.
func (a *app) backfillEnd(ctx context.Context, metric, id string) (json.RawMessage, error) {
	bar := a.progress("waiting", "events", 0)
	defer bar.clear()
	for {
		answer, err := a.call(ctx, get(path("metrics", metric, "backfills", id)))
		if err != nil {
			return nil, err
		}
		bar.line(clean(progressOf(answer)))
		if state := textOf(answer, "state"); state != "running" && state != "paused" {
			return answer, nil
		}
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-time.After(time.Second):
		}
	}
}

// progressOf returns the progress of a backfill in a line.
func progressOf(backfill json.RawMessage) string {
	n := func(name string) int {
		f, _ := rawjson.Number(rawjson.Get(backfill, name))
		return int(f)
	}
	text := fmt.Sprintf("%s: %d of %d events looked at, %d scored", textOf(backfill, "state"), n("looked"), n("total"), n("done"))
	for _, name := range []string{"skipped", "waiting", "failed", "dead"} {
		if n(name) > 0 {
			text += ", " + strconv.Itoa(n(name)) + " " + name
		}
	}
	return text
}
