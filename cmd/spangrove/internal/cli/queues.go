package cli

import (
	"context"
	"encoding/json"
	"net/url"

	"github.com/spf13/cobra"

	"github.com/spangrove/spangrove/pkg/client"
	"github.com/spangrove/spangrove/pkg/rawjson"
)

func (a *app) queues() *cobra.Command {
	fields := []bodyField{
		text("name", "name", "name of the queue"),
		text("description", "description", "what people are asked for"),
		value(
			"filters",
			"filters",
			`which events enter, such as {"filterArray": [{"field": "event_type", "operator": "is", "value": "model"}]}, or @FILE`,
		),
		yesNo("enabled", "enabled", "false: no new events enter"),
		texts("metrics", "metrics", "names of the HUMAN metrics that each annotation must have, with commas"),
		number("annotators", "annotators_per_item", "how many people each event needs"),
		number("lease", "lease_seconds", "seconds for which a claim lasts"),
	}
	const id = "65a1b2c3d4e5f60718293a4b"
	return noun(
		"queues",
		"Queues: events that wait for people's scores",
		a.lister(&listing{
			plural:  "queues",
			example: `spangrove queues list`,
			request: get("/v1/queues"), at: "queues", limit: 100,
			filters: []queryFlag{{"enabled", "enabled", "true or false: only those that are switched on, or off"}},
			columns: []column{
				{title: "id", path: "id", whole: true},
				{title: "name", path: "name"},
				{title: "enabled", path: "enabled"},
				{title: "metrics", path: "metrics", show: joined},
				{title: "created", path: "created_at", show: date, whole: true},
			},
		}),
		a.creator("a queue", `
			spangrove queues create --name 'bad answers' --metrics helpful --annotators 2 --filters @filters.json
			spangrove queues create --file queue.yaml`,
			"/v1/queues", append(fields, texts("events", "event_ids", "ids of events that enter, with commas")), "queue", "id"),
		a.getter("a queue", `spangrove queues get `+id, func(id string) client.Request { return get(path("queues", id)) }),
		a.updater("a queue", `
			spangrove queues update `+id+` --enabled false
			spangrove queues update `+id+` --add-events `+exampleEvent,
			func(id string, body json.RawMessage) client.Request { return put(path("queues", id), body) },
			append(fields, texts("add-events", "add_event_ids", "ids of events that enter, with commas"),
				texts("remove-events", "remove_event_ids", "ids of events that leave with their annotations, with commas"))),
		a.deleter("delete ID...", "queues with their items; scores on events stay", `spangrove queues delete `+id+` --yes`,
			func(id string) client.Request { return del(path("queues", id)) }),
		a.idLister("items ID", "List the events of a queue with their annotations", listing{
			plural: "items", at: "items", limit: 100, example: `spangrove queues items ` + id,
			columns: []column{
				{title: "event", path: "event_id", whole: true},
				{title: "state", path: "state"},
				{title: "done", path: "annotators_done", right: true},
				{title: "needed", path: "annotators_needed", right: true},
				{title: "added", path: "added_at", show: date, whole: true},
			},
		}, func(id string) client.Request { return get(path("queues", id, "items")) }),
		a.idLister("differences ID", "List the events over which annotators differ and that nobody has settled", listing{
			plural: "items", at: "items", limit: 100, example: `spangrove queues differences ` + id + ` --output jsonl`,
			columns: []column{
				{title: "event", path: "event_id", whole: true},
				{title: "state", path: "state"},
				{title: "annotations", path: "annotations"},
			},
		}, func(id string) client.Request {
			r := get(path("queues", id, "items"))
			r.Query = url.Values{"differ": {client.Unsettled}}
			return r
		}),
		a.idLister("annotators ID", "Show what each person of a queue has done", listing{
			plural: "annotators", at: "annotators", limit: 100, example: `spangrove queues annotators ` + id,
			columns: []column{
				{title: "annotator", path: "annotator"},
				{title: "annotated", path: "annotated", right: true},
				{title: "skipped", path: "skipped", right: true},
				{title: "held", path: "held", right: true},
				{title: "last", path: "last_at", show: date, whole: true},
			},
		}, func(id string) client.Request { return get(path("queues", id, "annotators")) }),
		a.queueNext(id),
		a.queueStep("claim ID EVENT", "Claim one event for a person, or renew the claim", `spangrove queues claim `+id+` `+exampleEvent+` --annotator ada`,
			"claim", "claimed %s"),
		a.queueStep("annotate ID EVENT", "Give an event the scores of one person",
			`spangrove queues annotate `+id+` `+exampleEvent+` --annotator ada --scores '{"helpful": true}' --comment 'short and right'`,
			"annotations", "annotated %s",
			value("scores", "scores", "JSON object of scores by name of the metric, or @FILE"), longText("comment", "comment", "why")),
		a.queueStep("release ID EVENT", "Give a claim back",
			`spangrove queues release `+id+` `+exampleEvent+` --annotator ada --skip true`,
			"release", "released %s", yesNo("skip", "skip", "true: the event is not offered to this person again")),
		a.queueStep("settle ID EVENT", "Decide what an event's scores are, whatever its annotators say",
			`spangrove queues settle `+id+` `+exampleEvent+` --annotator lead --scores '{"helpful": false}' --comment 'the source is wrong'`,
			"settlement", "settled %s",
			value("scores", "scores", "JSON object of scores by name of the metric, or @FILE"), longText("comment", "comment", "why")),
		command("unsettle ID EVENT", "Take a settlement back", `spangrove queues unsettle `+id+` `+exampleEvent,
			func(ctx context.Context, args []string) error {
				answer, err := a.call(ctx, del(path("queues", args[0], "items", args[1], "settlement")))
				if err != nil {
					return err
				}
				return a.changed(answer, "unsettled %s", clean(args[1]))
			}),
		a.queueWithdraw(id),
		command(
			"agreement ID",
			"Show how far the people of a queue agree",
			`spangrove queues agreement `+id,
			func(ctx context.Context, args []string) error {
				answer, err := a.call(ctx, get(path("queues", args[0], "agreement")))
				if err != nil {
					return err
				}
				if a.format != formatTable {
					return a.one(answer)
				}
				out := a.items([]column{
					{title: "metric", path: "name"},
					{title: "pairs", path: "pairs", right: true},
					{title: "observed", path: "observed_agreement", right: true},
					{title: "kappa", path: "kappa", right: true},
					{title: "reason", path: "reason"},
				})
				for _, metric := range rawjson.Array(rawjson.Get(answer, "metrics")) {
					if err := out.add(metric); err != nil {
						return err
					}
				}
				return out.end()
			},
		),
	)
}

// queueNext claims the item that has waited longest. In a table it is shown by its event.
func (a *app) queueNext(exampleID string) *cobra.Command {
	var annotator string
	cmd := command(
		"next ID",
		"Claim the next event for a person",
		`spangrove queues next `+exampleID+` --annotator ada`,
		func(ctx context.Context, args []string) error {
			var b rawjson.Builder
			b.String("annotator", annotator)
			r := post(path("queues", args[0], "next"), b.Bytes())
			r.Repeatable = true // asked again, it is the same item
			answer, err := a.call(ctx, r)
			if err != nil {
				return err
			}
			if a.format != formatTable {
				return a.one(answer)
			}
			if rawjson.Null(rawjson.Get(answer, "item")) {
				a.remark("nothing waits for %s", clean(annotator))
				return nil
			}
			return a.one(rawjson.Get(answer, "event"))
		},
	)
	cmd.Flags().StringVar(&annotator, "annotator", "", "`NAME` of the person")
	return cmd
}

// queueWithdraw takes back what a person said of an event.
func (a *app) queueWithdraw(exampleID string) *cobra.Command {
	var annotator string
	cmd := command("withdraw ID EVENT", "Take back what a person said; the person has a claim again",
		`spangrove queues withdraw `+exampleID+` `+exampleEvent+` --annotator ada`,
		func(ctx context.Context, args []string) error {
			r := del(path("queues", args[0], "items", args[1], "annotations"))
			r.Query = url.Values{"annotator": {annotator}}
			answer, err := a.call(ctx, r)
			if err != nil {
				return err
			}
			return a.changed(answer, "withdrawn from %s", clean(args[1]))
		})
	cmd.Flags().StringVar(&annotator, "annotator", "", "`NAME` of the person")
	return cmd
}

// queueStep returns a verb about one event of a queue by one person.
func (a *app) queueStep(use, short, example, step, done string, fields ...bodyField) *cobra.Command {
	var b *requestBody
	cmd := command(use, short, example, func(ctx context.Context, args []string) error {
		text, err := b.build()
		if err != nil {
			return err
		}
		r := post(path("queues", args[0], "items", args[1], step), text)
		if step == "settlement" {
			r = put(path("queues", args[0], "items", args[1], step), text)
		}
		r.Repeatable = step != "release" // one replaces the former one
		answer, err := a.call(ctx, r)
		if err != nil {
			return err
		}
		return a.changed(answer, done, clean(args[1]))
	})
	b = bodyOf(cmd, append([]bodyField{text("annotator", "annotator", "name of the person")}, fields...)...)
	return cmd
}
