package cli

import (
	"context"
	"encoding/json"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/spf13/cobra"

	"github.com/spangrove/spangrove/pkg/client"
	"github.com/spangrove/spangrove/pkg/rawjson"
)

const exampleEvent = "0192f0a4-7c1e-7aaa-8bbb-1234567890ab"

var eventColumns = []column{
	{title: "event", path: "event_id", whole: true},
	{title: "type", path: "event_type"},
	{title: "name", path: "event_name"},
	{title: "start", path: "start_time", show: millis, whole: true},
	{title: "took", path: "duration", show: span, right: true},
	{title: "error", path: "error"},
}

func (a *app) events() *cobra.Command {
	fields := []bodyField{
		text("type", "event_type", "model, tool, chain, session or generic"),
		text("name", "event_name", "what the step is called"),
		text("session", "session_id", "id of its session; a new one if left out"),
		text("parent", "parent_id", "id of the event above it; the session if left out"),
		text("source", "source", "what sends it"),
		text("error", "error", "what went wrong"),
		number("start-time", "start_time", "Unix milliseconds; now if left out"),
		number("duration", "duration", "milliseconds"),
		value("inputs", "inputs", "JSON object, or @FILE"),
		value("outputs", "outputs", "any JSON, or @FILE"),
		value("config", "config", "JSON object, or @FILE"),
	}
	changes := []bodyField{
		value("metadata", "metadata", "JSON object, or @FILE; its keys go over those that are there"),
		value("metrics", "metrics", "scores as JSON object, or @FILE; as metadata"),
		value("feedback", "feedback", "JSON object, or @FILE; as metadata"),
		value("user-properties", "user_properties", "JSON object, or @FILE; as metadata"),
	}
	return noun(
		"events",
		"Events: the steps of sessions",
		a.eventList("list", "List events, newest first", `
			spangrove events list
			spangrove events list --type model --since 24h
			spangrove events list --session `+exampleEvent+` --limit 0 --output jsonl
			spangrove events list --type model --sort cost --limit 10
			spangrove events list --name chat --fields metadata.cost,metadata.total_tokens`),
		a.eventList("search", "Search events by what is in them, newest first", `
			spangrove events search --filter 'metadata.cost > 0.5'
			spangrove events search --filter 'inputs.question contains refund' --filter 'error exists' --since 7d
			spangrove events search --type model --filter 'metadata.total_tokens > 1000' --fields config.model,metadata.total_tokens`),
		a.eventChart(),
		a.eventCharts(),
		a.eventValues(),
		a.schema("schema", "List the fields that events have, by which they can be searched, charted and shown", `
			spangrove events schema
			spangrove events schema --by-name --since 7d`,
			func([]string) client.Request { return get("/v1/events/schema") }),
		a.eventCreate(append(fields, changes...)),
		a.eventBatch(),
		a.eventTail(),
		a.eventExport(),
		a.eventImport(),
		a.getter("an event", `
			spangrove events get `+exampleEvent+`
			spangrove events get `+exampleEvent+` --output json`,
			func(id string) client.Request { return get(path("events", id)) }, "event"),
		a.eventField(),
		a.updater(
			"an event, or a session by its id",
			`
			spangrove events update `+exampleEvent+` --metrics '{"accuracy": 0.75}'
			spangrove events update `+exampleEvent+` --feedback '{"rating": 5}' --metadata @metadata.json`,
			func(id string, body json.RawMessage) client.Request { return put(path("events", id), body) },
			append(
				changes,
				value("inputs", "inputs", "JSON object, or @FILE; as metadata"),
				value("config", "config", "JSON object, or @FILE; as metadata"),
				value("outputs", "outputs", "any JSON, or @FILE; replaces what is there"),
				number("duration", "duration", "milliseconds"),
			),
		),
		a.purger(
			"delete ID...",
			"events; what is below them stays, but with a session all of it goes",
			`spangrove events delete `+exampleEvent+` --yes`,
			func(id string) client.Request { return del(path("events", id)) },
		),
		a.eventsDeleteMatching(),
	)
}

// eventField shows one field as it is stored, digit for digit, whatever the format of results.
func (a *app) eventField() *cobra.Command {
	return command("field ID FIELD", "Show one field of an event as it is stored", `
		spangrove events field `+exampleEvent+` inputs
		spangrove events field `+exampleEvent+` outputs | jq .content`,
		func(ctx context.Context, args []string) error {
			answer, err := a.call(ctx, get(path("events", args[0], "fields", args[1])))
			if err != nil {
				return err
			}
			_, err = a.results.Write(append(answer, '\n'))
			return err
		})
}

// eventChoice are the flags that choose events.
type eventChoice struct {
	session, kind, name, run, since, until string
	filters                                []string // as people write them
}

func (c *eventChoice) flags(cmd *cobra.Command) {
	timeFlags(cmd, &c.since, &c.until)
	c.flagsWithoutTime(cmd)
}

// eventTypes are what --type takes: one, or none.
var eventTypes = []string{"", client.EventModel, client.EventTool, client.EventChain, client.EventSession, client.EventGeneric}

// flagsWithoutTime adds the flags that do not select by start time.
func (c *eventChoice) flagsWithoutTime(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringVar(&c.session, "session", "", "only those of the session of this `ID`")
	flags.StringVar(&c.kind, "type", "", "only those of this `TYPE`: model, tool, chain, session or generic")
	completes(cmd, "type", eventTypes[1:])
	flags.StringVar(&c.name, "name", "", "only those of exactly this `NAME`")
	flags.StringVar(&c.run, "run", "", "only those of the experiment run of this `ID`")
	filterFlag(cmd, &c.filters)
}

func timeFlags(cmd *cobra.Command, since, until *string) {
	cmd.Flags().StringVar(since, "since", "", "only those that began in this `TIME` up to now, such as 30m, 24h or 7d, or from this date on")
	cmd.Flags().StringVar(until, "until", "", "only those that began up to this `DATE`, such as 2026-01-31 or 2026-01-31T12:00:00Z")
}

func (c *eventChoice) any() bool {
	return c.session+c.kind+c.name+c.run+c.since+c.until != "" || len(c.filters) > 0
}

// query returns the choice as the API has it.
func (c *eventChoice) query() (json.RawMessage, error) {
	var b rawjson.Builder
	var filters []json.RawMessage
	is := func(field, value string) {
		if value != "" {
			var f rawjson.Builder
			f.String("field", field)
			f.String("operator", "is")
			f.String("value", value)
			filters = append(filters, f.Bytes())
		}
	}
	if !slices.Contains(eventTypes, c.kind) {
		return nil, usage("--type %s: must be model, tool, chain, session or generic", c.kind)
	}
	is("session_id", c.session)
	is("event_type", c.kind)
	is("event_name", c.name)
	written, err := parseFilters(c.filters)
	if err != nil {
		return nil, err
	}
	if filters = append(filters, written...); len(filters) > 0 {
		b.Raw("filters", array(filters))
	}
	if c.run != "" {
		b.String("evaluation_id", c.run)
	}
	between, err := dateRange(c.since, c.until)
	if err != nil {
		return nil, err
	}
	if between != nil {
		b.Raw("dateRange", between)
	}
	return b.Bytes(), nil
}

var timeUpToNow = regexp.MustCompile(`^[0-9]+[mhdwM]$`)

// dateRange returns the range of --since and --until, or nil.
func dateRange(since, until string) (json.RawMessage, error) {
	if since == "" && until == "" {
		return nil, nil
	}
	var b rawjson.Builder
	if timeUpToNow.MatchString(since) && until == "" {
		b.String("relative", since)
		return b.Bytes(), nil
	}
	if _, err := fixedRange(since, until, time.Time{}); err != nil {
		return nil, err
	}
	for operator, date := range map[string]string{"$gte": since, "$lte": until} {
		if date != "" {
			b.String(operator, strings.Replace(date, " ", "T", 1))
		}
	}
	return b.Bytes(), nil
}

// eventList returns a verb that lists the events that its flags choose.
func (a *app) eventList(verb, short, example string) *cobra.Command {
	var choice eventChoice
	var p paging
	var only []string
	var sort string
	var ascending bool
	l := listing{plural: "events", at: "events", total: "totalEvents", id: "event_id", limit: 50, columns: eventColumns}
	cmd := command(verb, short, example, func(ctx context.Context, _ []string) error {
		q, err := choice.query()
		if err != nil {
			return err
		}
		if len(only) > 0 {
			var b rawjson.Builder
			b.Raw("projections", rawjson.AppendStrings(nil, only))
			q = rawjson.Merge(q, b.Bytes())
			l.columns = append([]column{eventColumns[0]}, titled(only...)...)
		}
		var order rawjson.Builder
		order.String("sort", sort)
		if ascending {
			order.String("order", "asc")
		}
		l.request = search(rawjson.Merge(q, order.Bytes()))
		return a.list(ctx, l, p)
	})
	choice.flags(cmd)
	cmd.Flags().StringVar(&sort, "sort", client.SortStart, "what comes first: the highest `VALUE` of start, duration, cost or tokens")
	completes(cmd, "sort", []string{client.SortStart, client.SortDuration, client.SortCost, client.SortTokens})
	cmd.Flags().BoolVar(&ascending, "ascending", false, "the lowest first")
	cmd.Flags().StringSliceVar(&only, "fields", nil, "show these `PATHS` instead, with commas")
	p.flags(cmd, l)
	return cmd
}

// search asks for events; it changes nothing, though it is a POST.
func search(q json.RawMessage) client.Request {
	r := post("/v1/events/search", q)
	r.Repeatable = true
	return r
}

func (a *app) eventCreate(fields []bodyField) *cobra.Command {
	var b *requestBody
	cmd := command("create", "Create an event", `
		spangrove events create --type tool --name search --inputs '{"query": "weather"}' --duration 120
		spangrove events create --file event.json
		echo '{"event_type": "generic", "event_name": "deploy", "inputs": {}}' | spangrove events create --file -`,
		func(ctx context.Context, _ []string) error {
			event, err := b.build()
			if err != nil {
				return err
			}
			r := post("/v1/events", named(event))
			r.Repeatable = true
			answer, err := a.call(ctx, r)
			if err != nil {
				return err
			}
			id, _ := rawjson.Text(rawjson.Get(answer, "event_id"))
			return a.made(answer, id)
		})
	b = bodyOf(cmd, fields...)
	return cmd
}

// wrapped returns an object with one member.
func wrapped(name string, v json.RawMessage) json.RawMessage {
	var b rawjson.Builder
	b.Raw(name, v)
	return b.Bytes()
}

// named adds to an event the ids and inputs that it must have. With ids of ours, a request may be
// repeated: the server knows the event again.
func named(event json.RawMessage) json.RawMessage {
	kind, _ := rawjson.Text(rawjson.Get(event, "event_type"))
	id, hasID := rawjson.Text(rawjson.Get(event, "event_id"))
	session, hasSession := rawjson.Text(rawjson.Get(event, "session_id"))
	if kind == "session" { // both ids are the same
		switch {
		case !hasID && hasSession:
			id, hasID = session, true
			event = with(event, "event_id", id)
		case hasID && !hasSession:
			return withInputs(with(event, "session_id", id))
		}
	}
	if !hasID {
		if id = newID(); kind == "session" {
			id = newSessionID()
		}
		event = with(event, "event_id", id)
	}
	if !hasSession {
		own := newSessionID()
		if kind == "session" {
			own = id
		}
		event = with(event, "session_id", own)
	}
	return withInputs(event)
}

func withInputs(event json.RawMessage) json.RawMessage {
	if rawjson.Get(event, "inputs") != nil {
		return event
	}
	return rawjson.Merge(event, wrapped("inputs", json.RawMessage("{}")))
}

func newID() string { return uuid.Must(uuid.NewV7()).String() }

func newSessionID() string { return uuid.NewString() }

// eventBatch creates the events of a file. A request is stored whole or not at all.
func (a *app) eventBatch() *cobra.Command {
	var file, session string
	cmd := command("batch", "Create the events of a file", `
		spangrove events batch --file events.jsonl
		spangrove events batch --file events.json --session `+exampleEvent, nil)
	cmd.Long = "The file has an event a line, or one array of events. Events are stored in requests of up to 1000, each whole or not at all. " +
		"Give them an event_id, and a second call with the same file changes nothing."
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		if file == "" {
			return usage("--file is missing: the events, - for standard input")
		}
		in, err := open(cmd, file)
		if err != nil {
			return err
		}
		defer in.Close()
		out := a.ids("event_id")
		err = inChunks(jsonRows(in, file), func(events []json.RawMessage) error {
			for i, event := range events {
				if session != "" {
					event = with(event, "session_id", session)
				}
				events[i] = named(event)
			}
			r := post("/v1/events/batch", wrapped("events", array(events)))
			r.Repeatable = true
			answer, err := a.call(cmd.Context(), r)
			if err != nil {
				return err
			}
			for _, id := range rawjson.Array(rawjson.Get(answer, "event_ids")) {
				if err := out.add(wrapped("event_id", id)); err != nil {
					return err
				}
			}
			return nil
		})
		if ended := out.end(); err == nil {
			err = ended
		}
		if err != nil {
			return after(err, "created %d events", out.n)
		}
		a.remark("created %d events", out.n)
		return nil
	}
	cmd.Flags().StringVarP(&file, "file", "f", "", "`FILE` of events, - for standard input")
	cmd.Flags().StringVar(&session, "session", "", "put all of them into the session of this `ID`")
	return cmd
}
