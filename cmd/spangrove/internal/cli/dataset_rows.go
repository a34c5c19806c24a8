package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"github.com/spangrove/spangrove/pkg/client"
	"github.com/spangrove/spangrove/pkg/rawjson"
)

// maxImport is about how many bytes a file may have that is sent as one request.
const maxImport = 20 << 20

// datasetTarget says where datapoints go: into a dataset or into a new one.
type datasetTarget struct {
	id, name string
	dry      bool
}

func (t *datasetTarget) flags(cmd *cobra.Command) {
	cmd.Flags().StringVar(&t.id, "dataset", "", "`ID` of the dataset to which they are added")
	cmd.Flags().StringVar(&t.name, "new", "", "`NAME` of a new dataset")
	cmd.Flags().BoolVar(&t.dry, "dry-run", false, "store nothing, and say what would be")
}

func (t *datasetTarget) write(b *rawjson.Builder) error {
	if t.id != "" && t.name != "" || t.id == "" && t.name == "" && !t.dry {
		return usage("say where they go: --dataset ID, or --new NAME for a new one")
	}
	if t.id != "" {
		b.String("dataset_id", t.id)
	}
	if t.name != "" {
		b.String("name", t.name)
	}
	if t.dry {
		b.Bool("dry", true)
	}
	return nil
}

// added shows the answer to what has extended a dataset.
func (a *app) added(answer json.RawMessage) error {
	return a.changed(answer, "added %s datapoints to %s", cell(rawjson.Get(answer, "added")), cell(rawjson.Get(answer, "dataset_id")))
}

func (a *app) datasetImport(exampleID string) *cobra.Command {
	var format string
	var columns []string
	var to datasetTarget
	cmd := command("import FILE", "Make datapoints of all rows of a file, or of none if one is wrong; - is standard input", `
		spangrove datasets import questions.csv --new questions --column question=inputs.question --column answer=ground_truth.answer
		spangrove datasets import questions.csv --dry-run
		spangrove datasets export `+exampleID+` | spangrove datasets import - --new copy`, nil)
	cmd.Long = "CSV has a line of names, and commas, semicolons or tabs between its cells, whose values are texts; JSON lines have an object a line, JSON an array of them. " +
		"A column that --column does not name becomes what its own name says, such as inputs.question or history, else metadata. At most 10,000 rows."
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if format == "" {
			format = "jsonl"
			if strings.EqualFold(filepath.Ext(args[0]), ".csv") {
				format = "csv"
			}
		}
		var list []json.RawMessage
		for _, c := range columns {
			name, part, ok := strings.Cut(c, "=")
			if !ok {
				return usage("--column %s: must be COLUMN=PART, such as question=inputs.question; nothing behind = leaves it out", c)
			}
			var b rawjson.Builder
			b.String("name", name)
			b.String("to", part)
			list = append(list, b.Bytes())
		}
		in, err := open(cmd, args[0])
		if err != nil {
			return err
		}
		defer in.Close()
		text, err := io.ReadAll(io.LimitReader(in, maxImport+1))
		if err != nil {
			return usage("read %s: %s", args[0], cause(err))
		}
		if len(text) > maxImport {
			return usage("%s has more than %d bytes, the most that are stored at once: split it", args[0], maxImport)
		}
		if line := notUTF8(text); line > 0 {
			return usage("%s: line %d is not UTF-8: save the file as UTF-8", args[0], line)
		}
		var b rawjson.Builder
		b.String("format", format)
		b.String("text", string(text))
		if len(list) > 0 {
			b.Raw("columns", array(list))
		}
		if err := to.write(&b); err != nil {
			return err
		}
		answer, err := a.call(cmd.Context(), post("/v1/datasets/import", b.Bytes()))
		if err != nil {
			return err
		}
		if to.dry {
			return a.importPreview(answer)
		}
		return a.added(answer)
	}
	flags := cmd.Flags()
	flags.StringVar(&format, "format", "", "csv or jsonl; by the file's name if left out")
	completes(cmd, "format", []string{"csv", "jsonl"})
	flags.StringArrayVar(&columns, "column", nil, "`COLUMN=PART`: what a column becomes, inputs.KEY, ground_truth.KEY, metadata.KEY, history or nothing; repeated")
	to.flags(cmd)
	return cmd
}

// notUTF8 returns the line, from 1, of the first byte of a text that is not UTF-8; 0 if there is none.
func notUTF8(text []byte) int {
	line := 0
	for part := range bytes.Lines(text) {
		line++
		if !utf8.Valid(part) {
			return line
		}
	}
	return 0
}

// errWrongRows is why a dry run fails.
var errWrongRows = errors.New("rows are wrong")

func (a *app) importPreview(answer json.RawMessage) error {
	if a.format != formatTable {
		if err := a.one(answer); err != nil {
			return err
		}
	} else {
		out := a.items([]column{{title: "row", path: "row", right: true}, {title: "line", path: "line", right: true},
			{title: "column", path: "column"}, {title: "what is wrong", path: "message", whole: true}})
		for _, e := range rawjson.Array(rawjson.Get(answer, "errors")) {
			if err := out.add(e); err != nil {
				return err
			}
		}
		if err := out.end(); err != nil {
			return err
		}
		inputs := false
		for _, c := range rawjson.Array(rawjson.Get(answer, "columns")) {
			to := cell(rawjson.Get(c, "to"))
			inputs = inputs || to == "inputs" || strings.HasPrefix(to, "inputs.")
			if to == "" {
				to = "nothing"
			}
			a.remark("%s becomes %s", cell(rawjson.Get(c, "name")), to)
		}
		if !inputs {
			a.remark("no column becomes inputs: say which with --column COLUMN=inputs.KEY")
		}
	}
	rows, bad := cell(rawjson.Get(answer, "rows")), cell(rawjson.Get(answer, "bad"))
	if bad != "0" {
		return &Failure{bad + " of " + rows + " " + errWrongRows.Error(), ExitFailed}
	}
	a.remark("%s rows can be stored", rows)
	return nil
}

// rowChoice chooses datapoints of a dataset.
type rowChoice struct {
	version            int
	text, field, value string
}

func (c *rowChoice) flags(cmd *cobra.Command) {
	cmd.Flags().IntVar(&c.version, "version", 0, "an old version; 0: the current one")
	cmd.Flags().StringVar(&c.text, "text", "", "only those with this `TEXT` somewhere")
	cmd.Flags().StringVar(&c.field, "field", "", "`PATH` such as metadata.split, for --value")
	cmd.Flags().StringVar(&c.value, "value", "", "only those with this `VALUE` at --field")
}

func (c *rowChoice) query(r client.Request) client.Request {
	r = atVersion(r, c.version)
	for name, text := range map[string]string{"text": c.text, "field": c.field, "value": c.value} {
		if text != "" {
			r.Query.Set(name, text)
		}
	}
	return r
}

func (a *app) datasetRows(exampleID string) *cobra.Command {
	var choice rowChoice
	limit := 100
	cmd := command("rows ID", "List the datapoints of a dataset, in its order", `
		spangrove datasets rows `+exampleID+` --field metadata.split --value test
		spangrove datasets rows `+exampleID+` --text refund --version 2 --output jsonl`,
		func(ctx context.Context, args []string) error {
			if limit < 0 {
				return usage("--limit must not be negative")
			}
			return a.followed(ctx, choice.query(get(path("datasets", args[0], "rows"))), "rows", 500, limit, []column{
				{title: "id", path: "datapoint.id", whole: true},
				{title: "inputs", path: "datapoint.inputs"},
				{title: "ground truth", path: "datapoint.ground_truth"},
				{title: "metadata", path: "datapoint.metadata"},
			})
		})
	choice.flags(cmd)
	cmd.Flags().IntVar(&limit, "limit", limit, "how many to show; 0: all")
	return cmd
}

// followed shows the items of a list that goes on by a cursor, at most limit if that is not 0, of which a request gives at most size.
func (a *app) followed(ctx context.Context, r client.Request, at string, size, limit int, columns []column) error {
	out := a.items(columns)
	more := false
	for {
		page := size
		if limit > 0 {
			page = min(size, limit-out.n)
		}
		r.Query.Set("limit", strconv.Itoa(page))
		answer, err := a.call(ctx, r)
		if err != nil {
			return err
		}
		for _, item := range rawjson.Array(rawjson.Get(answer, at)) {
			if err := out.add(item); err != nil {
				return err
			}
		}
		cursor, ok := rawjson.Text(rawjson.Get(answer, "next_cursor"))
		if more = ok; !more || limit > 0 && out.n >= limit {
			break
		}
		r.Query.Set("cursor", cursor)
	}
	if err := out.end(); err != nil {
		return err
	}
	switch {
	case more:
		a.remark("the first %d; --limit 0 shows all", out.n)
	case out.n == 0 && a.format == formatTable:
		a.remark("none")
	}
	return nil
}

func (a *app) datasetSplits(exampleID string) *cobra.Command {
	var choice rowChoice
	var fields []string
	cmd := command("splits ID", "Count the datapoints of a dataset by values", `
		spangrove datasets splits `+exampleID+`
		spangrove datasets splits `+exampleID+` --fields metadata.split,inputs.language`,
		func(ctx context.Context, args []string) error {
			r := choice.query(get(path("datasets", args[0], "splits")))
			for _, f := range fields {
				r.Query.Add("fields[]", f)
			}
			answer, err := a.call(ctx, r)
			if err != nil {
				return err
			}
			if a.format != formatTable {
				return a.one(answer)
			}
			out := a.items([]column{{title: "field", path: "field"}, {title: "value", path: "value"}, {title: "datapoints", path: "count", right: true}})
			for _, f := range rawjson.Array(rawjson.Get(answer, "fields")) {
				for _, v := range rawjson.Array(rawjson.Get(f, "values")) {
					var b rawjson.Builder
					b.Raw("field", rawjson.Get(f, "field"))
					if err := out.add(rawjson.Concat(b.Bytes(), v)); err != nil {
						return err
					}
				}
				if more := cell(rawjson.Get(f, "more_values")); more != "0" {
					a.remark("%s has %s other values", cell(rawjson.Get(f, "field")), more)
				}
			}
			return out.end()
		})
	choice.flags(cmd)
	cmd.Flags().StringSliceVar(&fields, "fields", nil, "`PATHS` to count by, with commas; without them those of metadata")
	return cmd
}

func (a *app) datasetDiff(exampleID string) *cobra.Command {
	var from, to int
	var change string
	limit := 100
	cmd := command("diff ID", "List the datapoints that differ between two versions of a dataset", `
		spangrove datasets diff `+exampleID+` --from 2
		spangrove datasets diff `+exampleID+` --from 2 --to 5 --change removed --output jsonl`,
		func(ctx context.Context, args []string) error {
			if from < 1 || limit < 0 {
				return usage("--from must be a version, and --limit must not be negative")
			}
			r := get(path("datasets", args[0], "diff"))
			r.Query = url.Values{"from": {strconv.Itoa(from)}}
			if to != 0 {
				r.Query.Set("to", strconv.Itoa(to))
			}
			if change != "" {
				r.Query.Set("change", change)
			}
			return a.followed(ctx, r, "rows", 200, limit, []column{
				{title: "change", path: "change"},
				{title: "datapoint", path: "datapoint_id", whole: true},
				{title: "fields", path: "fields"},
				{title: "inputs before", path: "before.inputs"},
				{title: "inputs after", path: "after.inputs"},
			})
		})
	flags := cmd.Flags()
	flags.IntVar(&from, "from", 0, "the earlier version")
	flags.IntVar(&to, "to", 0, "the later version; 0: the current one")
	flags.StringVar(&change, "change", "", "only those added, removed or changed")
	completes(cmd, "change", []string{"added", "removed", "changed"})
	flags.IntVar(&limit, "limit", limit, "how many to show; 0: all")
	return cmd
}

func (a *app) datasetExport(exampleID string) *cobra.Command {
	var choice rowChoice
	var format, file string
	cmd := command("export ID", "Write the datapoints of a dataset as JSON lines or CSV", `
		spangrove datasets export `+exampleID+` --file questions.jsonl
		spangrove datasets export `+exampleID+` --format csv --file test.csv --field metadata.split --value test`, nil)
	cmd.Long = "CSV has a column for each key of inputs, ground_truth and metadata, and an apostrophe before what a spreadsheet would take for a formula."
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if path("datasets", args[0]) == "" {
			return errNoID
		}
		body, err := a.api.Datasets.Export(cmd.Context(), args[0], format, client.RowQuery{
			Version: int64(choice.version), Text: choice.text, Field: choice.field, Value: choice.value,
		})
		if err != nil {
			return err
		}
		defer body.Close()
		if file == "" || file == "-" {
			_, err = io.Copy(a.results, body)
			return err
		}
		out, err := os.OpenFile(file, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600) // what is in it is nobody else's
		if errors.Is(err, os.ErrExist) {
			return usage("%s already exists", file)
		}
		if err != nil {
			return usage("write %s: %s", file, cause(err))
		}
		n, err := io.Copy(out, body)
		if closed := out.Close(); err == nil {
			err = closed
		}
		if interrupted := cmd.Context().Err(); err != nil && interrupted != nil {
			return after(interrupted, "wrote %d bytes to %s", n, file)
		}
		if err != nil {
			return &Failure{fmt.Sprintf("write %s: %s", file, cause(err)), ExitFailed}
		}
		a.remark("wrote %d bytes to %s", n, file)
		return nil
	}
	choice.flags(cmd)
	cmd.Flags().StringVar(&format, "format", "jsonl", "jsonl or csv")
	completes(cmd, "format", []string{"jsonl", "csv"})
	cmd.Flags().StringVarP(&file, "file", "f", "", "`FILE` to write, which must not exist; standard output if left out")
	return cmd
}

func (a *app) datasetFromSearch(exampleID string) *cobra.Command {
	var choice eventChoice
	var to datasetTarget
	var sessions bool
	var inputs, truth, history, eventFilters []string
	cmd := command("from-search", "Make datapoints of all events or sessions that a search finds", `
		spangrove datasets from-search --name answer --new slow --filter 'duration > 5000' --since 7d --dry-run
		spangrove datasets from-search --type model --dataset `+exampleID+` --input inputs.chat_history --ground-truth outputs.content
		spangrove datasets from-search --sessions --filter 'totals.errors > 0' --new failures`, nil)
	cmd.Long = "Newest first, at most 10,000, all or none. Without a mapping, the inputs are those of the event, and the ground truth its outputs; of a session its session event counts."
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		var b rawjson.Builder
		if sessions {
			if choice.session+choice.kind+choice.name+choice.run != "" {
				return usage("--sessions goes with --filter, --event-filter, --since and --until")
			}
			q, err := sessionQuery(choice.since, choice.until, client.SortStart, false, withoutJudges(choice.filters), eventFilters)
			if err != nil {
				return err
			}
			b.Raw("sessions", q)
		} else {
			if len(eventFilters) > 0 {
				return usage("--event-filter goes with --sessions")
			}
			q, err := choice.query()
			if err != nil {
				return err
			}
			if q == nil {
				q = json.RawMessage("{}")
			}
			b.Raw("events", q)
		}
		addMapping(&b, inputs, truth, history)
		if err := to.write(&b); err != nil {
			return err
		}
		answer, err := a.call(cmd.Context(), post("/v1/datasets/from_search", b.Bytes()))
		if err != nil {
			return err
		}
		if to.dry {
			return a.changed(answer, "%s would be added; at most %s at once", cell(rawjson.Get(answer, "total")), cell(rawjson.Get(answer, "most")))
		}
		return a.added(answer)
	}
	flags := cmd.Flags()
	choice.flags(cmd)
	flags.BoolVar(&sessions, "sessions", false, "of sessions: --filter is about the session and its totals")
	flags.StringArrayVar(&eventFilters, "event-filter", nil, "with --sessions, only those with an event for which this `FILTER` holds; repeated, one event must meet all")
	to.flags(cmd)
	flags.StringSliceVar(&inputs, "input", nil, "`PATHS` in the event that become inputs, with commas")
	flags.StringSliceVar(&truth, "ground-truth", nil, "`PATHS` in the event that become the ground truth, with commas")
	flags.StringSliceVar(&history, "history", nil, "`PATHS` in the event that become the history, with commas")
	return cmd
}
