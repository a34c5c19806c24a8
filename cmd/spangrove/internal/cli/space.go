package cli

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/spangrove/spangrove/pkg/rawjson"
)

// space is the command "usage".
func (a *app) space() *cobra.Command {
	return command("usage [PROJECT]", "Show what the projects have stored and what the database takes on disk, or what takes the space of one project", `
		spangrove usage
		spangrove usage support
		spangrove usage support --output json`,
		func(ctx context.Context, args []string) error {
			if len(args) == 0 {
				return a.usageOf(ctx, "/v1/usage", "projects", []column{
					{title: "id", path: "project_id", whole: true},
					{title: "name", path: "name"},
					{title: "events", path: "events", right: true},
					{title: "stored bytes", path: "stored_bytes", right: true},
				})
			}
			id, err := a.project(ctx, args[0])
			if err != nil {
				return err
			}
			return a.usageOf(ctx, path("projects", id, "usage"), "days", []column{
				{title: "day", path: "day", whole: true},
				{title: "events", path: "events", right: true},
				{title: "head bytes", path: "head_bytes", right: true},
				{title: "payload bytes", path: "payload_bytes", right: true},
			})
		})
}

// usageOf shows an answer about what takes space. Its list of this name is a table of its own.
func (a *app) usageOf(ctx context.Context, at, list string, columns []column) error {
	answer, err := a.call(ctx, get(at))
	if err != nil || a.format != formatTable {
		if err == nil {
			err = a.one(answer)
		}
		return err
	}
	var sums rawjson.Builder
	var items json.RawMessage
	for name, value := range rawjson.Object(answer) {
		if name == list {
			items = value
			continue
		}
		sums.Raw(name, value)
	}
	if err := a.one(sums.Bytes()); err != nil {
		return err
	}
	fmt.Fprintln(a.results)
	t := table{columns: columns}
	for _, item := range rawjson.Array(items) {
		t.add(item)
	}
	return t.write(a.output)
}
