package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/spf13/cobra"

	"github.com/spangrove/spangrove/pkg/client"
	"github.com/spangrove/spangrove/pkg/rawjson"
)

func (a *app) caseImport() *cobra.Command {
	cmd := command("import FILE...", "Store what case files have", `
		spangrove case import checkout.case
		spangrove case import eval.case main.case`, nil)
	cmd.Long = `Sessions, events and runs keep their ids. What is stored already stays as it is, so a file can be imported again without harm: an
event or a run of the same id, a metric of the same name; it is counted apart. Metrics are not switched on for live traffic. The time of a run is that of its import.`
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		total := caseCounts{countsNew: true}
		for _, name := range args {
			if err := a.loadCase(cmd, name, &total); err != nil {
				return err
			}
		}
		var b rawjson.Builder
		b.Int("events", int64(total.events))
		b.Int("new_events", int64(total.newEvents))
		b.Raw("runs", rawjson.AppendStrings(nil, total.runs))
		b.Int("new_runs", int64(total.newRuns))
		b.Int("metrics", int64(total.newMetrics))
		return a.changed(b.Bytes(), "%s", total)
	}
	return cmd
}

// caseCounts are what case files had, and how much of it was new to the server.
type caseCounts struct {
	events, metrics                int
	runs                           []string // ids
	newEvents, newRuns, newMetrics int
	countsNew                      bool // new events are to be counted, which takes time
}

// String tells a person what an import did.
func (c caseCounts) String() string {
	of := func(made, all int, one, many string) string {
		if all == 1 {
			many = one
		}
		if made == all {
			return fmt.Sprintf("%d %s", all, many)
		}
		return fmt.Sprintf("%d of %d %s", made, all, many)
	}
	text := fmt.Sprintf("imported %s, %s and %s", of(c.newEvents, c.events, "event", "events"), of(c.newRuns, len(c.runs), "run", "runs"),
		of(c.newMetrics, c.metrics, "metric", "metrics"))
	if c.newEvents+c.newRuns+c.newMetrics < c.events+len(c.runs)+c.metrics {
		text += "; the others were there already"
	}
	return text
}

// loadCase stores what a case file has, and adds it to c.
func (a *app) loadCase(cmd *cobra.Command, name string, c *caseCounts) error {
	in, err := open(cmd, name)
	if err != nil {
		return err
	}
	defer in.Close()
	ctx := cmd.Context()
	i := &importing{app: a, name: name, format: bulkJSONL, bar: &progress{}, countsNew: c.countsNew}
	err = readCase(name, in, func(l caseLine) error {
		refused := func(err error) error { // names the line
			var wrong *wrongLine
			var e *client.Error
			switch {
			case errors.As(err, &wrong):
				return usage("%s: line %d: %s: %s", name, l.n, l.kind, oneLine(wrong.text))
			case errors.As(err, &e) && e.Status == 400:
				return usage("%s: line %d: %s: %s", name, l.n, l.kind, oneLine(e.Message))
			}
			return err
		}
		switch l.kind {
		case "event":
			c.events++
			return refused(i.add(ctx, l.value, l.n))
		case "run":
			id, made, err := a.loadRun(ctx, l.value)
			if err == nil {
				c.runs = append(c.runs, id)
			}
			if made {
				c.newRuns++
			}
			return refused(err)
		case "metric":
			made, err := a.loadMetric(ctx, l.value)
			c.metrics++
			if made {
				c.newMetrics++
			}
			return refused(err)
		case "tree", "previews", "result": // for the page alone
			return nil
		}
		return usage("%s: line %d: has %.40q, which this program does not know", name, l.n, l.kind)
	})
	if err == nil {
		err = i.flush(ctx)
	}
	c.newEvents += int(i.sent) - i.known
	if i.sent == 0 {
		return err
	}
	return after(err, "imported %d events of %s", i.sent, name)
}

// loadRun creates a run under its id, unless there is one.
func (a *app) loadRun(ctx context.Context, text json.RawMessage) (id string, made bool, err error) {
	id, _ = rawjson.Text(rawjson.Get(text, "run_id"))
	if id == "" {
		return "", false, &wrongLine{"run_id is missing"}
	}
	switch _, err := a.call(ctx, get(path("runs", id))); {
	case err == nil:
		return id, false, nil
	case !notFound(err):
		return "", false, err
	}
	var b rawjson.Builder
	for member, value := range rawjson.Object(text) {
		if slices.Contains(runMembers, member) && string(value) != "null" {
			b.Raw(member, value)
		}
	}
	r := post("/v1/runs", b.Bytes())
	r.Repeatable = true // its id is given
	_, err = a.call(ctx, r)
	return id, err == nil, err
}

// runMembers are those of a run that a new one can be given.
var runMembers = []string{"run_id", "name", "description", "status", "dataset_id", "event_ids", "session_ids", "datapoint_ids", "metadata", "results",
	"configuration", "passing_ranges", "evaluators"}

// loadMetric creates a metric, unless there is one of its name.
func (a *app) loadMetric(ctx context.Context, text json.RawMessage) (made bool, err error) {
	name, _ := rawjson.Text(rawjson.Get(text, "name"))
	for m, err := range a.api.Metrics.All(ctx, client.MetricQuery{}) {
		if err != nil {
			return false, err
		}
		if m.Name == name {
			return false, nil
		}
	}
	var b rawjson.Builder
	for member, value := range rawjson.Object(text) {
		if member != "enabled_in_prod" {
			b.Raw(member, value)
		}
	}
	b.Bool("enabled_in_prod", false)
	_, err = a.call(ctx, post("/v1/metrics", b.Bytes()))
	return err == nil, err
}

func notFound(err error) bool {
	var e *client.Error
	return errors.As(err, &e) && e.Status == 404
}
