package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/spangrove/spangrove/pkg/client"
	"github.com/spangrove/spangrove/pkg/rawjson"
)

func (a *app) cases() *cobra.Command {
	return noun("case", "Case files: sessions and runs in one file, to be handed on or kept", a.caseExport(), a.caseImport())
}

// caseChoice is what goes into a case file.
type caseChoice struct {
	sessions, runs []string
	bare           bool // without payloads
}

func (a *app) caseExport() *cobra.Command {
	var choice caseChoice
	var out string
	var overwrite bool
	cmd := command("export [ID...]", "Write sessions and runs to a file", `
		spangrove case export `+exampleEvent+` --file checkout.html
		spangrove case export --run `+exampleEvent+` --file eval.case`, nil)
	cmd.Args = func(cmd *cobra.Command, args []string) error {
		if err := a.options.fileOfOutput(cmd, &out); err != nil {
			return err
		}
		return arguments("[ID...]")(cmd, args)
	}
	cmd.Long = `An ID is that of a session or of a run, which --run names as well. -o with a name that ends in .html or .case is --file.

A file whose name ends in .html is a page that opens in a browser without a server and loads nothing: the page of a session in all
readings, and for runs their datapoints with their scores. It holds at most 1000 sessions of up to 20,000 events, and 200 MB. Any other
file is JSON lines, compressed with zstd, and has no bound. spangrove case import puts both into another server.

The file has the sessions and the runs with all events of theirs, and the definitions of the metrics by which the results of the
runs are read. The dataset of a run is not in it: its sessions have what results and comparisons need, the inputs, the ground truth and the id of each datapoint.`
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		switch {
		case out == "":
			return usage("--file is missing: the file that is written")
		case len(args)+len(choice.runs) == 0:
			return usage("there is nothing to write: name sessions or runs by their ids")
		}
		if _, err := os.Stat(out); err == nil && !overwrite {
			return usage("%s already exists; replace it with --overwrite", out)
		}
		if err := a.sortOut(cmd.Context(), args, &choice); err != nil {
			return err
		}
		n, err := a.saveCase(cmd.Context(), out, choice)
		if err != nil {
			return err
		}
		var b rawjson.Builder
		b.Int("events", int64(n))
		b.String("file", out)
		return a.changed(b.Bytes(), "wrote %d events to %s", n, out)
	}
	cmd.Flags().StringArrayVar(&choice.runs, "run", nil, "`ID` of a run; any number of them")
	cmd.Flags().StringVarP(&out, "file", "f", "", "`FILE` that is written")
	cmd.Flags().BoolVar(
		&choice.bare, "without-payload", false, "leave out inputs, outputs, configuration, feedback and user properties; names, errors, metadata and scores stay",
	)
	cmd.Flags().BoolVar(&overwrite, "overwrite", false, "replace the file if it exists")
	return cmd
}

// fileOfOutput takes a file that -o names for the one that is written: other programs mean that by it, and no format has such a name.
func (o *options) fileOfOutput(cmd *cobra.Command, out *string) error {
	f := cmd.Flags().Lookup(settingOutput)
	text := *o.values[settingOutput]
	if f == nil || !f.Changed || slices.Contains(formats, text) {
		return nil
	}
	switch strings.ToLower(filepath.Ext(text)) {
	case ".html", ".case":
	default:
		return usage("--output %s: must be one of %s; the file that is written is that of --file", text, strings.Join(formats, ", "))
	}
	if *out != "" {
		return usage("--output %s and --file %s: name one file", text, *out)
	}
	*out, *o.values[settingOutput], f.Changed = text, "", false
	return nil
}

// sortOut finds which of the ids are those of runs; the others are sessions.
func (a *app) sortOut(ctx context.Context, ids []string, choice *caseChoice) error {
	for _, id := range ids {
		_, err := a.call(ctx, get(path("runs", id)))
		var e *client.Error
		switch {
		case err == nil && !slices.Contains(choice.runs, id):
			choice.runs = append(choice.runs, id)
		case err == nil:
		case notFound(err), errors.As(err, &e) && e.Status == 400:
			session, err := a.sessionOf(ctx, id)
			if err != nil {
				return err
			}
			if !slices.Contains(choice.sessions, session) {
				choice.sessions = append(choice.sessions, session)
			}
		default:
			return err
		}
	}
	return nil
}

// sessionOf returns the id that a session has now: another one than id if its trace has turned out to be of that session.
func (a *app) sessionOf(ctx context.Context, id string) (string, error) {
	r := get(path("sessions", id, "tree"))
	r.Query = url.Values{"limit": {"1"}}
	tree, err := a.call(ctx, r)
	var e *client.Error
	switch {
	case notFound(err), errors.As(err, &e) && e.Status == 400: // it is not even a UUID
		return "", noSession(id)
	case err != nil:
		return "", err
	}
	return textOf(tree, "session_id"), nil
}

func noSession(id string) error {
	return &Failure{fmt.Sprintf("there is no session and no run %s", clean(id)), exitNotFound}
}

// saveCase writes a case file, and returns how many events it has.
func (a *app) saveCase(ctx context.Context, name string, choice caseChoice) (events int, err error) {
	x := caseExport{app: a, choice: choice, seen: map[string]bool{}}
	write := writeCase
	if x.page = strings.EqualFold(filepath.Ext(name), ".html"); x.page {
		write = writeCasePage
	}
	err = write(name, func(w *caseWriter) error { x.to = w; return x.run(ctx) })
	return x.n, err
}

// caseExport is one on its way.
type caseExport struct {
	*app
	choice caseChoice
	to     *caseWriter
	seen   map[string]bool // ids of events, where sessions and runs may overlap
	n      int
	page   bool
}

// Bounds of a page, and how many previews a request reads.
const (
	maxPageSessions = 1000
	previewsPerCall = 200
)

func (x *caseExport) run(ctx context.Context) error {
	if err := x.metrics(ctx); err != nil {
		return err
	}
	for _, id := range x.choice.runs {
		answer, err := x.call(ctx, get(path("runs", id)))
		if err != nil {
			return err
		}
		if err := x.to.add("run", rawjson.Get(answer, "evaluation")); err != nil {
			return err
		}
	}
	for _, id := range x.choice.runs {
		if _, err := x.events(ctx, client.EventQuery{RunID: id}); err != nil {
			return err
		}
	}
	for _, id := range x.choice.sessions {
		n, err := x.events(ctx, client.EventQuery{Filters: []client.Filter{{Field: "session_id", Operator: "is", Value: id}}})
		if err == nil && n == 0 {
			err = noSession(id) // deleted meanwhile
		}
		if err != nil {
			return err
		}
	}
	if x.page {
		return x.pages(ctx)
	}
	return nil
}

// pages writes what the page of a case file shows in addition.
func (x *caseExport) pages(ctx context.Context) error {
	sessions := slices.Clone(x.choice.sessions)
	for _, id := range x.choice.runs {
		result, err := x.call(ctx, get(path("runs", id, "result")))
		if err != nil {
			return err
		}
		if err := x.to.add("result", result, "run_id", id); err != nil {
			return err
		}
		for _, d := range rawjson.Array(rawjson.Get(result, "datapoints")) {
			if id, ok := rawjson.Text(rawjson.Get(d, "session_id")); ok && !slices.Contains(sessions, id) {
				sessions = append(sessions, id)
			}
		}
	}
	if len(sessions) > maxPageSessions {
		return &Failure{
			fmt.Sprintf("a page holds at most %d sessions, not %d; write a file that does not end in .html", maxPageSessions, len(sessions)), ExitFailed,
		}
	}
	for _, id := range sessions {
		tree, err := x.call(ctx, get(path("sessions", id, "tree")))
		if err != nil {
			return err
		}
		if string(rawjson.Get(tree, "truncated")) == "true" {
			return &Failure{
				fmt.Sprintf("session %s has too many events for a page; write a file that does not end in .html", clean(id)), ExitFailed,
			}
		}
		// The answer calls a session by its id, also where an earlier one was asked for.
		own, _ := rawjson.Text(rawjson.Get(tree, "session_id"))
		if err := x.to.add("tree", tree, "session", own); err != nil {
			return err
		}
	}
	if x.choice.bare {
		return nil
	}
	for ids := range slices.Chunk(slices.Sorted(maps.Keys(x.seen)), previewsPerCall) {
		var b rawjson.Builder
		b.Raw("event_ids", rawjson.AppendStrings(nil, ids))
		r := post("/v1/events/previews", b.Bytes())
		r.Repeatable = true
		answer, err := x.call(ctx, r)
		if err != nil {
			return err
		}
		if err := x.to.add("previews", rawjson.Get(answer, "previews")); err != nil {
			return err
		}
	}
	return nil
}

// metrics writes the definitions of the project's metrics that the runs have scores of.
func (x *caseExport) metrics(ctx context.Context) error {
	if len(x.choice.runs) == 0 {
		return nil
	}
	var names []string
	for _, id := range x.choice.runs {
		result, err := x.api.Runs.Result(ctx, id, client.RunRead{})
		if err != nil {
			return err
		}
		for i := range result.Metrics.Details {
			names = append(names, result.Metrics.Details[i].MetricName)
		}
	}
	for m, err := range x.api.Metrics.All(ctx, client.MetricQuery{}) {
		if err != nil {
			return err
		}
		if !slices.Contains(names, m.Name) {
			continue
		}
		text, err := json.Marshal(m.MetricDefinition)
		if err == nil {
			err = x.to.add("metric", text)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// events writes the events that a query chooses, each once.
func (x *caseExport) events(ctx context.Context, q client.EventQuery) (n int, err error) {
	q.Limit = exportPage
	for text, err := range x.api.Events.AllRaw(ctx, q) {
		if err != nil {
			return n, err
		}
		n++
		event, id := withoutPlace(text)
		if x.seen[id] {
			continue
		}
		x.seen[id] = true
		if x.choice.bare {
			event = withoutPayload(event)
		}
		if err := x.to.add("event", event); err != nil {
			return n, err
		}
		x.n++
	}
	return n, nil
}

// payload has the members of an event that hold what people and models said, or how they were asked.
var payload = map[string]bool{"inputs": true, "outputs": true, "config": true, "feedback": true, "user_properties": true}

func withoutPayload(event json.RawMessage) json.RawMessage {
	var b rawjson.Builder
	for name, value := range rawjson.Object(event) {
		if !payload[name] {
			b.Raw(name, value)
		}
	}
	return b.Bytes()
}
