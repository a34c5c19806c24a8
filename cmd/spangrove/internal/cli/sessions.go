package cli

import (
	"context"
	"encoding/json"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/spangrove/spangrove/pkg/client"
	"github.com/spangrove/spangrove/pkg/rawjson"
)

func (a *app) sessions() *cobra.Command {
	return noun("sessions", "Sessions: what an application did, as a tree of events",
		a.sessionList(),
		a.sessionTree(),
		a.sessionStart(),
		a.getter("a session with all events in it", `
			spangrove sessions get `+exampleEvent+`
			spangrove sessions get `+exampleEvent+` --output json`,
			func(id string) client.Request { return get(path("sessions", id)) }),
		a.purger("delete ID...", "sessions with all their events", `spangrove sessions delete `+exampleEvent+` --yes`,
			func(id string) client.Request { return del(path("sessions", id)) }),
	)
}

func (a *app) sessionList() *cobra.Command {
	choice := eventChoice{}
	var p paging
	l := listing{
		plural: "sessions", at: "events", total: "totalEvents", limit: 50,
		example: `
			spangrove sessions list
			spangrove sessions list --since 24h --name checkout
			spangrove sessions list --limit 0 --output jsonl
			spangrove sessions list --filter 'source is evaluator'`,
		columns: []column{
			{title: "session", path: "session_id", whole: true},
			{title: "name", path: "event_name"},
			{title: "start", path: "start_time", show: millis, whole: true},
			{title: "took", path: "duration", show: span, right: true},
			{title: "events", path: "metadata.num_events", right: true},
			{title: "tokens", path: "metadata.total_tokens", right: true},
			{title: "cost", path: "metadata.cost", right: true},
			{title: "error", path: "error"},
		},
	}
	cmd := command(
		"list",
		"List sessions, newest first; those in which a metric asked a model only with a filter on source",
		l.example,
		func(ctx context.Context, _ []string) error {
			choice.kind = "session"
			choice.filters = withoutJudges(choice.filters)
			q, err := choice.query()
			if err != nil {
				return err
			}
			l.request = search(q)
			return a.list(ctx, l, p)
		},
	)
	cmd.Flags().StringVar(&choice.name, "name", "", "only those of exactly this `NAME`")
	cmd.Flags().StringVar(&choice.run, "run", "", "only those of the experiment run of this `ID`")
	timeFlags(cmd, &choice.since, &choice.until)
	filterFlag(cmd, &choice.filters)
	p.flags(cmd, l)
	return cmd
}

// withoutJudges leaves out the sessions in which metrics asked a model, unless a filter is about
// sources.
func withoutJudges(filters []string) []string {
	about := func(filter string) bool { return strings.HasPrefix(strings.TrimSpace(filter), "source ") }
	if slices.ContainsFunc(filters, about) {
		return filters
	}
	return append(slices.Clone(filters), "source is not evaluator")
}

func (a *app) sessionStart() *cobra.Command {
	var b *requestBody
	cmd := command("start", "Start a session", `
		SESSION=$(spangrove sessions start --name checkout)
		spangrove sessions start --file session.yaml`,
		func(ctx context.Context, _ []string) error {
			session, err := b.build()
			if err != nil {
				return err
			}
			if rawjson.Get(session, "session_id") == nil {
				session = with(session, "session_id", newSessionID())
			}
			r := post("/v1/session/start", session)
			r.Repeatable = true
			answer, err := a.call(ctx, r)
			if err != nil {
				return err
			}
			id, _ := rawjson.Text(rawjson.Get(answer, "session_id"))
			return a.made(answer, id)
		})
	b = bodyOf(cmd,
		text("name", "session_name", "what the session is called"),
		text("id", "session_id", "a UUID; made if left out"),
		text("source", "source", "what sends it"),
		value("inputs", "inputs", "JSON object, or @FILE"),
		value("metadata", "metadata", "JSON object, or @FILE"),
		value("user-properties", "user_properties", "JSON object, or @FILE"),
	)
	return cmd
}

// textOf returns a member that is a text, or the empty string.
func textOf(thing json.RawMessage, member string) string {
	text, _ := rawjson.Text(rawjson.Get(thing, member))
	return text
}
