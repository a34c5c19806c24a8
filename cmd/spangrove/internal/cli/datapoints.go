package cli

import (
	"context"
	"encoding/json"

	"github.com/spf13/cobra"

	"github.com/spangrove/spangrove/pkg/client"
	"github.com/spangrove/spangrove/pkg/rawjson"
)

func (a *app) datapoints() *cobra.Command {
	fields := []bodyField{
		value("inputs", "inputs", "JSON object, or @FILE"),
		value("ground-truth", "ground_truth", "JSON object with the right answer, or @FILE"),
		value("history", "history", "JSON array of messages, or @FILE"),
		value("metadata", "metadata", "JSON object, or @FILE"),
		texts("datasets", "linked_datasets", "ids of all datasets that have it, with commas"),
		text("event", "linked_event", "id of the event that it was made of"),
	}
	const id = "65a1b2c3d4e5f60718293a4b"
	return noun(
		"datapoints",
		"Datapoints: examples with inputs and the right answer",
		a.lister(&listing{
			plural: "datapoints",
			example: `
				spangrove datapoints list --limit 20
				spangrove datapoints list --dataset-name 'support questions' --output jsonl`,
			request: get("/v1/datapoints"), at: "datapoints", most: 10_000, limit: 100,
			filters: []queryFlag{
				{"dataset-name", "dataset_name", "only those of the dataset of this name"},
				{"ids", "datapoint_ids", "only these, with commas"},
			},
			columns: []column{
				{title: "id", path: "id", whole: true},
				{title: "inputs", path: "inputs"},
				{title: "ground truth", path: "ground_truth"},
				{title: "created", path: "created_at", show: date, whole: true},
			},
		}),
		a.creator("a datapoint", `
			spangrove datapoints create --inputs '{"question": "Why?"}' --ground-truth '{"answer": "Because."}'
			spangrove datapoints create --file datapoint.yaml --datasets `+id,
			"/v1/datapoints", fields, "result", "insertedId"),
		a.getter(
			"a datapoint",
			`spangrove datapoints get `+id,
			func(id string) client.Request { return get(path("datapoints", id)) },
			"datapoint",
			"0",
		),
		a.updater("a datapoint", `spangrove datapoints update `+id+` --ground-truth '{"answer": "Because it rained."}'`,
			func(id string, body json.RawMessage) client.Request { return put(path("datapoints", id), body) }, fields),
		a.deleter("delete ID...", "datapoints", `spangrove datapoints delete `+id+` --yes`,
			func(id string) client.Request { return del(path("datapoints", id)) }),
		a.datapointsFromEvents(id),
	)
}

// datapointsFromEvents makes datapoints of events that are named, or chosen.
func (a *app) datapointsFromEvents(exampleID string) *cobra.Command {
	var inputs, truth, history []string
	var dataset string
	var choice eventChoice
	cmd := command("from-events", "Make datapoints of events", `
		spangrove datapoints from-events --event 0192f0a4-7c1e-7aaa-8bbb-1234567890ab
		spangrove datapoints from-events --name answer --since 7d --dataset `+exampleID+`
		spangrove datapoints from-events --type model --input inputs.chat_history --ground-truth outputs.content`, nil)
	cmd.Long = "Without --event, all events that the other flags choose are taken, at most 10,000. Without a mapping, the inputs are those of the event, and the ground truth its outputs."
	events := cmd.Flags().StringSlice("event", nil, "`IDS` of events, with commas")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		var b rawjson.Builder
		chosen, err := choice.query()
		if err != nil {
			return err
		}
		switch {
		case len(*events) > 0 && choice.any():
			return usage("--event names events, the other flags choose them: not both")
		case len(*events) > 0:
			b.Raw("events", rawjson.AppendStrings(nil, *events))
		case !choice.any():
			return usage("say which events: --event IDS, or choose them by --session, --type, --name, --run, --since")
		default:
			b.Raw("selectAll", []byte("true"))
			for name, v := range rawjson.Object(chosen) {
				b.Raw(name, v)
			}
		}
		addMapping(&b, inputs, truth, history)
		if dataset != "" {
			b.String("dataset_id", dataset)
		}
		return a.madeDatapoints(cmd.Context(), b.Bytes())
	}
	flags := cmd.Flags()
	choice.flags(cmd)
	flags.StringVar(&dataset, "dataset", "", "`ID` of the dataset to which they are added")
	flags.StringSliceVar(&inputs, "input", nil, "`PATHS` in the event that become inputs, with commas")
	flags.StringSliceVar(&truth, "ground-truth", nil, "`PATHS` in the event that become the ground truth, with commas")
	flags.StringSliceVar(&history, "history", nil, "`PATHS` in the event that become the history, with commas")
	return cmd
}

func (a *app) madeDatapoints(ctx context.Context, body json.RawMessage) error {
	answer, err := a.call(ctx, post("/v1/datapoints/batch", body))
	if err != nil {
		return err
	}
	out := a.ids("datapoint_id")
	for _, id := range rawjson.Array(rawjson.Get(answer, "insertedIds")) {
		var made rawjson.Builder
		made.Raw("datapoint_id", id)
		if err := out.add(made.Bytes()); err != nil {
			return err
		}
	}
	if err := out.end(); err != nil {
		return err
	}
	a.remark("made %d datapoints", out.n)
	return nil
}

// addMapping adds which fields of an event become which part of a datapoint; without any the server decides.
func addMapping(b *rawjson.Builder, inputs, truth, history []string) {
	if len(inputs)+len(truth)+len(history) == 0 {
		return
	}
	var mapping rawjson.Builder
	mapping.Raw("inputs", rawjson.AppendStrings(nil, inputs))
	mapping.Raw("ground_truth", rawjson.AppendStrings(nil, truth))
	mapping.Raw("history", rawjson.AppendStrings(nil, history))
	b.Raw("mapping", mapping.Bytes())
}
