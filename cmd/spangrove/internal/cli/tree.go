package cli

import (
	"context"
	"encoding/json"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/spangrove/spangrove/pkg/rawjson"
)

// sessionTree draws a session, or what is below any event, as a tree.
func (a *app) sessionTree() *cobra.Command {
	var depth int
	cmd := command("tree ID", "Draw a session as a tree", `
		spangrove sessions tree `+exampleEvent+`
		spangrove sessions tree `+exampleEvent+` --depth 2`,
		func(ctx context.Context, args []string) error {
			levels := depth
			switch {
			case depth < 0:
				return usage("--depth must not be less than 0, which is all of it")
			case depth == 0:
				levels = -1
			}
			answer, err := a.call(ctx, get(path("events", args[0])))
			if err != nil {
				return err
			}
			var b rawjson.Builder // the answer has the event alone, too
			for name, value := range rawjson.Object(answer) {
				if name != "event" {
					b.Raw(name, value)
				}
			}
			event := b.Bytes()
			if a.format != formatTable {
				return a.one(event)
			}
			t := table{columns: []column{{title: "step"}, {title: "took", right: true, whole: true}, {title: "tokens", right: true, whole: true},
				{title: "cost", right: true, whole: true},
				{title: "error"}}}
			drawTree(&t, event, "", "", levels)
			return t.write(a.output)
		})
	cmd.Long = "Each event has a line: its type and name, how long it took, its tokens, what it cost in US dollars, and its error. " +
		"An event that repeats another one's model call is marked as a duplicate, and its tokens and cost are left out. " +
		"The id may be that of any event; then the tree is what is below it."
	cmd.Flags().IntVar(&depth, "depth", 0, "draw at most this many `LEVELS` below the first; 0 is all")
	return cmd
}

// drawTree adds an event and what is below it. head stands before the event's own line, rest before
// the lines below it; levels is how many of these are drawn, less than 0 for all.
func drawTree(t *table, event json.RawMessage, head, rest string, levels int) {
	kind, name := textOf(event, "event_type"), textOf(event, "event_name")
	step := clean(kind + " " + name)
	if model := rawjson.Path(event, "config", "model"); kind == "model" && !rawjson.Null(model) {
		if text := cell(model); text != name {
			step += " (" + text + ")"
		}
	}
	used, paid := tokens(event), cost(event)
	if !rawjson.Null(rawjson.Path(event, "metadata", "duplicate_of")) { // another event stands for the call
		step += " (duplicate)"
		used, paid = cell(nil), cell(nil)
	}
	var children []json.RawMessage
	for _, child := range rawjson.Array(rawjson.Get(event, "children")) {
		children = append(children, child)
	}
	if levels == 0 && len(children) > 0 {
		step += " … " + strconv.Itoa(below(event)) + " below"
		children = nil
	}
	t.rows = append(t.rows, []string{head + step, clean(span(rawjson.Get(event, "duration"))), used, paid, cell(rawjson.Get(event, "error"))})
	for i, child := range children {
		if i == len(children)-1 {
			drawTree(t, child, rest+"└─ ", rest+"   ", levels-1)
		} else {
			drawTree(t, child, rest+"├─ ", rest+"│  ", levels-1)
		}
	}
}

// below counts the events below one.
func below(event json.RawMessage) (n int) {
	for _, child := range rawjson.Array(rawjson.Get(event, "children")) {
		n += 1 + below(child)
	}
	return n
}

// tokens returns the total tokens of an event, which some senders tell only apart.
func tokens(event json.RawMessage) string {
	count := func(name string) (float64, bool) { return rawjson.Number(rawjson.Path(event, "metadata", name)) }
	total, ok := count("total_tokens")
	if !ok {
		prompt, asked := count("prompt_tokens")
		completion, answered := count("completion_tokens")
		total, ok = prompt+completion, asked || answered
	}
	if !ok {
		return "-"
	}
	return strconv.FormatFloat(total, 'f', -1, 64)
}

// cost shows US dollars with as many digits as say something.
func cost(event json.RawMessage) string {
	f, ok := rawjson.Number(rawjson.Path(event, "metadata", "cost"))
	if !ok {
		return "-"
	}
	if f == 0 || f >= 1 {
		return "$" + strconv.FormatFloat(f, 'f', 2, 64)
	}
	return "$" + strings.TrimRight(strconv.FormatFloat(f, 'f', 6, 64), "0")
}
