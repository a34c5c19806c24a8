package cli

import (
	"context"
	"encoding/json"
	"net/url"
	"slices"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/spangrove/spangrove/pkg/client"
	"github.com/spangrove/spangrove/pkg/rawjson"
)

func (a *app) datasets() *cobra.Command {
	fields := []bodyField{
		text("name", "name", "name of the dataset"),
		text("description", "description", "what it is for"),
		text("type", "type", "evaluation or fine-tuning"),
		texts("datapoints", "datapoints", "ids of its datapoints in order, with commas"),
		value("metadata", "metadata", "JSON object, or @FILE"),
	}
	const id = "65a1b2c3d4e5f60718293a4b"
	var version int
	var contents bool
	getter := versioned(a.getter("a dataset", `
		spangrove datasets get `+id+`
		spangrove datasets get `+id+` --version 2 --datapoints --output json`,
		func(id string) client.Request {
			r := atVersion(get(path("datasets", id)), version)
			if contents {
				r.Query.Set("include_datapoints", "true")
			}
			return r
		}, "dataset"), &version)
	getter.Flags().BoolVar(&contents, "datapoints", false, "with the contents of its datapoints, under included_datapoints")
	return noun("datasets", "Datasets: ordered sets of datapoints, with versions",
		a.lister(&listing{
			plural: "datasets",
			example: `
				spangrove datasets list
				spangrove datasets list --name 'support questions' --output json`,
			request: get("/v1/datasets"), at: "datasets", limit: 100,
			filters: []queryFlag{
				{"name", "name", "only those of exactly this name"},
				{"type", "type", "only those of this type: evaluation or fine-tuning"},
			},
			columns: []column{
				{title: "id", path: "id", whole: true},
				{title: "name", path: "name"},
				{title: "type", path: "type"},
				{title: "datapoints", path: "num_points", right: true},
				{title: "version", path: "version", right: true},
				{title: "created", path: "created_at", show: date, whole: true},
			},
		}),
		a.creator("a dataset", `
			spangrove datasets create --name 'support questions'
			spangrove datasets create --file dataset.yaml`,
			"/v1/datasets", fields, "result", "insertedId"),
		getter,
		a.updater("a dataset", `spangrove datasets update `+id+` --name 'support questions, reviewed'`,
			func(id string, body json.RawMessage) client.Request { return put(path("datasets", id), body) }, fields),
		a.deleter("delete ID...", "datasets with their versions; their datapoints stay", `spangrove datasets delete `+id+` --yes`,
			func(id string) client.Request { return del(path("datasets", id)) }),
		a.datasetAdd(id),
		command("remove DATASET DATAPOINT...", "Take datapoints out of a dataset; they stay datapoints",
			`spangrove datasets remove `+id+` 65a1b2c3d4e5f60718293a4c`, a.datasetRemove),
		a.versions("datasets", id),
		a.datasetImport(id),
		a.datasetExport(id),
		a.datasetRows(id),
		a.datasetSplits(id),
		a.datasetDiff(id),
		a.datasetFromSearch(id),
	)
}

// atVersion asks for an old version of a thing; 0 is the current one.
func atVersion(r client.Request, version int) client.Request {
	r.Query = url.Values{}
	if version != 0 {
		r.Query.Set("version", strconv.Itoa(version))
	}
	return r
}

// versions returns the verb that lists the versions of a thing.
func (a *app) versions(things, exampleID string) *cobra.Command {
	return a.idLister("versions ID", "List the versions, newest first", listing{
		plural:  "versions",
		example: "spangrove " + things + " versions " + exampleID,
		at:      "versions", limit: 100,
		columns: []column{{title: "version", path: "version", right: true}, {title: "created", path: "created_at", show: date}},
	}, func(id string) client.Request { return get(path(things, id, "versions")) })
}

func (a *app) datasetRemove(ctx context.Context, args []string) error {
	dataset, datapoints := args[0], args[1:]
	for i, id := range datapoints {
		answer, err := a.call(ctx, del(path("datasets", dataset, "datapoints", id)))
		if err != nil {
			if len(datapoints) == 1 {
				return err
			}
			return after(err, "removed %d of %d", i, len(datapoints))
		}
		if err := a.changed(answer, "removed %s", clean(id)); err != nil {
			return err
		}
	}
	return nil
}

// A request has at most so many rows, and about so many bytes: half of what the server takes.
const (
	requestRows  = 1000
	requestBytes = 8 << 20
)

// datasetAdd makes datapoints of the rows of a file. A request is stored whole or not at all, so
// that what is told after an error is what there is.
func (a *app) datasetAdd(exampleID string) *cobra.Command {
	var file, format string
	var inputs, truth, history []string
	cmd := command("add ID", "Make datapoints of the rows of a file and add them to a dataset", `
		spangrove datasets add `+exampleID+` --file questions.csv --input question --ground-truth answer
		spangrove datasets add `+exampleID+` --file chats.jsonl --input question,context --history messages
		jq -c '.[]' rows.json | spangrove datasets add `+exampleID+` --file - --input question`, nil)
	cmd.Long = "A row of CSV, with commas, semicolons or tabs, has the names of the first line as its keys and texts as values; of JSON and JSON lines it is an object. " +
		"Keys that are not named become metadata. Rows are stored in requests of up to 1000, each whole or not at all, and each makes a version of the dataset."
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if file == "" {
			return usage("--file is missing: the rows, - for standard input")
		}
		if len(inputs)+len(truth)+len(history) == 0 {
			return usage(
				"say which keys of a row are the inputs: --input question,context; the right answer: --ground-truth answer; the chat so far: --history messages",
			)
		}
		var mapping rawjson.Builder
		mapping.Raw("inputs", rawjson.AppendStrings(nil, inputs))
		mapping.Raw("ground_truth", rawjson.AppendStrings(nil, truth))
		mapping.Raw("history", rawjson.AppendStrings(nil, history))

		out := a.ids("datapoint_id")
		send := func(rows []json.RawMessage) error {
			var b rawjson.Builder
			b.Raw("data", array(rows))
			b.Raw("mapping", mapping.Bytes())
			answer, err := a.call(cmd.Context(), post(path("datasets", args[0], "datapoints"), b.Bytes()))
			if err != nil {
				return err
			}
			for _, id := range rawjson.Array(rawjson.Get(answer, "datapoint_ids")) {
				var made rawjson.Builder
				made.Raw("datapoint_id", id)
				if err := out.add(made.Bytes()); err != nil {
					return err
				}
			}
			return nil
		}
		in, err := open(cmd, file)
		if err != nil {
			return err
		}
		defer in.Close()
		err = inChunks(withKeys(rowsOf(in, file, format), file, formatOf(file, format) == "csv", slices.Concat(inputs, truth, history)), send)
		if ended := out.end(); err == nil {
			err = ended
		}
		if err != nil {
			return after(err, "added %d datapoints", out.n)
		}
		a.remark("added %d datapoints", out.n)
		return nil
	}
	flags := cmd.Flags()
	flags.StringVarP(&file, "file", "f", "", "`FILE` of rows, - for standard input")
	flags.StringVar(&format, "format", "", "csv or json, which JSON lines are too; by the file's name if left out")
	flags.StringSliceVar(&inputs, "input", nil, "`KEYS` that become inputs, with commas")
	flags.StringSliceVar(&truth, "ground-truth", nil, "`KEYS` that become the ground truth, with commas")
	flags.StringSliceVar(&history, "history", nil, "`KEYS` whose values are appended to the history, with commas")
	return cmd
}

func array(values []json.RawMessage) json.RawMessage {
	b := []byte{'['}
	for i, v := range values {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(b, v...)
	}
	return append(b, ']')
}
