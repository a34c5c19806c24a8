package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/spangrove/spangrove/pkg/client"
	"github.com/spangrove/spangrove/pkg/rawjson"
)

const exampleDeletion = "65a1b2c3d4e5f60718293a4d"

func (a *app) deletions() *cobra.Command {
	return noun("deletions", "Deletions of all events or sessions that matched",
		a.lister(&listing{
			plural: "deletions", at: "data", limit: 100, request: get("/v1/deletions"), example: `spangrove deletions list`,
			columns: []column{
				{title: "id", path: "id", whole: true},
				{title: "of", path: "of"},
				{title: "state", path: "state"},
				{title: "sessions", path: "sessions", right: true},
				{title: "events", path: "events", right: true},
				{title: "deleted sessions", path: "deleted_sessions", right: true},
				{title: "deleted events", path: "deleted_events", right: true},
				{title: "kept sessions", path: "kept_sessions", right: true},
				{title: "created", path: "created_at", show: date, whole: true},
			},
		}),
		a.getter("a deletion with its progress", `spangrove deletions get `+exampleDeletion,
			func(id string) client.Request { return get(path("deletions", id)) }),
		command("cancel ID", "End a deletion; what is gone stays gone", `spangrove deletions cancel `+exampleDeletion,
			func(ctx context.Context, args []string) error {
				r := post(path("deletions", args[0], "cancel"), nil)
				r.Body, r.Repeatable = nil, true
				answer, err := a.call(ctx, r)
				if err != nil {
					return err
				}
				return a.changed(answer, "%s: cancelled; %s", clean(args[0]), deletedSoFar(answer))
			}),
	)
}

// matchingDeletion deletes all that matches.
type matchingDeletion struct {
	*app
	path     string
	sessions bool
	dry, yes bool
	noWait   bool
}

func (d *matchingDeletion) flags(cmd *cobra.Command) {
	cmd.Flags().BoolVar(&d.dry, "dry-run", false, "only say how many match")
	cmd.Flags().BoolVar(&d.noWait, "no-wait", false, "do not wait for the end; spangrove deletions get shows the progress")
	yesFlag(cmd, &d.yes)
}

func (a *app) eventsDeleteMatching() *cobra.Command {
	d := &matchingDeletion{app: a, path: "/v1/events/delete"}
	var choice eventChoice
	cmd := command("delete-matching", "Delete all events that match, in the background", `
		spangrove events delete-matching --filter 'metadata.tenant is acme' --dry-run
		spangrove events delete-matching --type tool --until 2026-01-31
		spangrove events delete-matching --name embed --since 7d --yes`, nil)
	cmd.Long = "How many match is said first, and asked about; if more match by the time of the deletion, nothing is deleted. What comes later stays, and so do session events: " +
		"spangrove sessions delete-matching deletes those. Ctrl-C ends only the waiting."
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		if !choice.any() {
			return usage("what to delete must be said: by --filter, --type, --name, --session, --run, --since or --until")
		}
		if err := noneEmpty(cmd); err != nil {
			return err
		}
		q, err := choice.query()
		if err != nil {
			return err
		}
		return d.run(cmd, q)
	}
	choice.flags(cmd)
	d.flags(cmd)
	return cmd
}

func (a *app) sessionsDeleteMatching() *cobra.Command {
	d := &matchingDeletion{app: a, path: "/v1/sessions/delete", sessions: true}
	var since, until string
	var filters, events []string
	cmd := command("delete-matching", "Delete all sessions that match, with all their events, in the background", `
		spangrove sessions delete-matching --filter 'user_properties.user_id is 4711' --dry-run
		spangrove sessions delete-matching --filter 'source is load-test' --yes
		spangrove sessions delete-matching --event-filter 'metadata.tenant is acme' --until 2026-01-31`, nil)
	cmd.Long = "How many match is said first, and asked about; if more match by the time of the deletion, nothing is deleted. A session to which an event comes before its turn stays whole. " +
		"Ctrl-C ends only the waiting."
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		if len(filters)+len(events) == 0 && since+until == "" {
			return usage("what to delete must be said: by --filter, --event-filter, --since or --until")
		}
		if err := noneEmpty(cmd); err != nil {
			return err
		}
		q, err := sessionQuery(since, until, "", false, withoutJudges(filters), events)
		if err != nil {
			return err
		}
		return d.run(cmd, q)
	}
	timeFlags(cmd, &since, &until)
	cmd.Flags().StringArrayVar(&events, "event-filter", nil, "only those with an event for which this `FILTER` holds; repeated, one event must meet all")
	filterFlag(cmd, &filters)
	d.flags(cmd)
	return cmd
}

// noneEmpty refuses a flag that is given and empty, as in --session "$SESSION" where nobody has set the variable: without it, more would be
// deleted.
func noneEmpty(cmd *cobra.Command) (err error) {
	cmd.Flags().Visit(func(f *pflag.Flag) {
		if f.Value.Type() == "string" && f.Value.String() == "" && err == nil {
			err = usage("--%s is empty; nothing was deleted", f.Name)
		}
	})
	return err
}

// run counts what a search finds, asks, deletes it, and waits for the end.
func (d *matchingDeletion) run(cmd *cobra.Command, q json.RawMessage) error {
	ctx := cmd.Context()
	var only rawjson.Builder
	only.Bool("dry_run", true)
	count := post(d.path, rawjson.Concat(q, only.Bytes()))
	count.Repeatable = true
	answer, err := d.call(ctx, count)
	if err != nil {
		return err
	}
	what := d.counted(answer)
	if stay := cell(rawjson.Get(answer, "session_events")); !d.sessions && stay != "0" {
		d.remark("%s more: session events, which stay", stay)
	}
	if d.dry {
		return d.changed(answer, "%s would be deleted", what)
	}
	if !d.yes {
		if err := confirm(cmd, fmt.Sprintf("delete %s for good?", what)); err != nil {
			return err
		}
	}
	var expected rawjson.Builder
	if d.sessions {
		expected.Raw("expected_sessions", rawjson.Get(answer, "sessions"))
	}
	expected.Raw("expected_events", rawjson.Get(answer, "events"))
	if answer, err = d.call(ctx, post(d.path, rawjson.Concat(q, expected.Bytes()))); err != nil {
		return err
	}
	id := cell(rawjson.Get(answer, "id"))
	if d.noWait {
		return d.changed(answer, "%s: %s, %s", id, cell(rawjson.Get(answer, "state")), deletedSoFar(answer))
	}
	return d.await(ctx, id, answer)
}

// counted writes how many sessions and events an answer counts.
func (d *matchingDeletion) counted(answer json.RawMessage) string {
	events := howMany(rawjson.Get(answer, "events"), "event")
	if d.sessions {
		return howMany(rawjson.Get(answer, "sessions"), "session") + " with " + events
	}
	return events
}

func howMany(n json.RawMessage, noun string) string {
	text := cell(n)
	if text != "1" {
		noun += "s"
	}
	return text + " " + noun
}

func deletedSoFar(answer json.RawMessage) string {
	text := cell(rawjson.Get(answer, "deleted_events")) + " of " + howMany(rawjson.Get(answer, "events"), "event") + " deleted"
	if kept, _ := rawjson.Number(rawjson.Get(answer, "kept_sessions")); kept > 0 {
		text += "; kept " + howMany(rawjson.Get(answer, "kept_sessions"), "session") + ", since events came meanwhile, or since somebody else had deleted it"
	}
	return text
}

// await waits until a deletion has ended, and tells of its progress on a terminal.
func (d *matchingDeletion) await(ctx context.Context, id string, answer json.RawMessage) error {
	total, _ := rawjson.Number(rawjson.Get(answer, "events"))
	bar := d.progress("deleting", "events", int64(total))
	for {
		done, _ := rawjson.Number(rawjson.Get(answer, "deleted_events"))
		bar.at(int64(done), int64(done))
		if state := cell(rawjson.Get(answer, "state")); state == client.DeletionDone || state == client.DeletionCancelled {
			bar.clear()
			return d.changed(answer, "%s: %s, %s", id, state, deletedSoFar(answer))
		}
		select {
		case <-ctx.Done():
			bar.clear()
			return &Failure{fmt.Sprintf("interrupted; the deletion goes on: spangrove deletions get %s", id), exitInterrupted}
		case <-time.After(time.Second):
		}
		var err error
		if answer, err = d.call(ctx, get(path("deletions", id))); err != nil {
			bar.clear()
			return err
		}
	}
}
