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
		a.sessionSearch(),
		a.sessionTree(),
		a.sessionWatch(),
		a.sessionStart(),
		a.getter("a session with all events in it", `
			spangrove sessions get `+exampleEvent+`
			spangrove sessions get `+exampleEvent+` --output json`,
			func(id string) client.Request { return get(path("sessions", id)) }),
		a.purger("delete ID...", "sessions with all their events", `spangrove sessions delete `+exampleEvent+` --yes`,
			func(id string) client.Request { return del(path("sessions", id)) }),
		a.sessionsDeleteMatching(),
		a.sessionExport(),
	)
}

func (a *app) sessionList() *cobra.Command {
	choice := eventChoice{}
	var p paging
	l := listing{
		plural: "sessions", at: "events", total: "totalEvents", id: "event_id", limit: 50,
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

// maxSessionPage is how many sessions a search gives at once.
const maxSessionPage = 200

// sessionSearch finds sessions by what their events add up to, or by an event in them.
func (a *app) sessionSearch() *cobra.Command {
	var since, until, sort string
	var filters, events []string
	var ascending bool
	limit := 50
	sorts := []string{client.SortStart, client.SortDuration, client.SortCost, client.SortTokens, client.SortErrors, client.SortEvents, client.SortTools, client.SortState}
	cmd := command(
		"search",
		"Search sessions by their totals and by the events in them",
		`
		spangrove sessions search --sort cost --since 7d
		spangrove sessions search --filter 'state is running || totals.cost > 1'
		spangrove sessions search --filter 'totals.errors > 0' --event-filter 'config.model is gpt-4o'
		spangrove sessions search --event-filter 'event_name is search' --event-filter 'duration > 2000' --output jsonl`,
		func(ctx context.Context, _ []string) error {
			q, err := sessionQuery(since, until, sort, ascending, withoutJudges(filters), events)
			if err != nil {
				return err
			}
			if limit < 0 {
				return usage("--limit must not be negative")
			}
			return a.showSessions(ctx, q, limit)
		},
	)
	flags := cmd.Flags()
	timeFlags(cmd, &since, &until)
	flags.StringVar(&sort, "sort", client.SortStart, "what comes first: the highest `TOTAL` of start, duration, cost, tokens, errors, events, tool_events or state")
	completes(cmd, "sort", sorts)
	flags.BoolVar(&ascending, "ascending", false, "the lowest first")
	flags.StringArrayVar(&events, "event-filter", nil, "only those with an event for which this `FILTER` holds; repeated, one event must meet all")
	flags.IntVar(&limit, "limit", limit, "show at most this `NUMBER`; 0 is all")
	filterFlag(cmd, &filters)
	return cmd
}

// sessionQuery returns a search of sessions as the API has it, without limit and cursor.
func sessionQuery(since, until, sort string, ascending bool, filters, events []string) (json.RawMessage, error) {
	var b rawjson.Builder
	for _, f := range []struct {
		name  string
		texts []string
	}{{"filters", filters}, {"event_filters", events}} {
		list, err := parseFilters(f.texts)
		if err != nil {
			return nil, err
		}
		if len(list) > 0 {
			b.Raw(f.name, array(list))
		}
	}
	between, err := dateRange(since, until)
	if err != nil {
		return nil, err
	}
	if between != nil {
		b.Raw("dateRange", between)
	}
	if sort != "" {
		b.String("sort", sort)
	}
	if ascending {
		b.String("order", "asc")
	}
	return b.Bytes(), nil
}

// showSessions shows the sessions of a search, page by page, at most limit if that is not 0.
func (a *app) showSessions(ctx context.Context, q json.RawMessage, limit int) error {
	out := a.items([]column{
		{title: "session", path: "session_id", whole: true},
		{title: "name", path: "session_name"},
		{title: "start", path: "start_time", show: millis, whole: true},
		{title: "took", path: "duration", show: span, right: true},
		{title: "state", path: "state"},
		{title: "events", path: "num_events", right: true},
		{title: "errors", path: "num_errors", right: true},
		{title: "tokens", path: "tokens.total", right: true},
		{title: "cost", path: "cost", right: true},
	})
	for cursor := json.RawMessage(nil); ; {
		var page rawjson.Builder
		size := maxSessionPage
		if limit > 0 {
			size = min(size, limit-out.n)
		}
		page.Int("limit", int64(size))
		if cursor != nil {
			page.Raw("cursor", cursor)
		}
		r := post("/v1/sessions/search", rawjson.Concat(q, page.Bytes()))
		r.Repeatable = true
		answer, err := a.call(ctx, r)
		if err != nil {
			return err
		}
		for _, item := range rawjson.Array(rawjson.Get(answer, "sessions")) {
			if err := out.add(item); err != nil {
				return err
			}
		}
		cursor = rawjson.Get(answer, "next_cursor")
		if rawjson.Null(cursor) || limit > 0 && out.n >= limit {
			break
		}
	}
	if err := out.end(); err != nil {
		return err
	}
	if out.n == 0 && a.format == formatTable {
		a.remark("no sessions")
	}
	return nil
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
