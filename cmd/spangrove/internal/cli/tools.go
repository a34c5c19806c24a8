package cli

import (
	"context"
	"encoding/json"
	"net/url"

	"github.com/spf13/cobra"

	"github.com/spangrove/spangrove/pkg/client"
	"github.com/spangrove/spangrove/pkg/rawjson"
)

func (a *app) tools() *cobra.Command {
	fields := []bodyField{
		text("name", "name", "what models call it"),
		text("description", "description", "what it does, for the model"),
		value("parameters", "parameters", "JSON schema of its arguments, or @FILE"),
		text("type", "tool_type", "function or tool"),
	}
	list := listing{
		plural:  "tools",
		example: `spangrove tools list`,
		request: get("/v1/tools"), at: "tools", limit: 100,
		columns: []column{
			{title: "id", path: "id", whole: true},
			{title: "name", path: "name"},
			{title: "type", path: "tool_type"},
			{title: "description", path: "description"},
		},
	}
	return noun("tools", "Tools: functions that models may call",
		a.lister(&list),
		a.creator("a tool", `
			spangrove tools create --name search --description 'Search the web' --parameters @schema.json
			spangrove tools create --file tool.yaml`,
			"/v1/tools", fields, "result", "insertedId"),
		// The API reads tools only as a list.
		command("get ID", "Show a tool", `spangrove tools get 65a1b2c3d4e5f60718293a4b`, func(ctx context.Context, args []string) error {
			for page := 1; ; page++ {
				items, _, err := a.page(ctx, list, most, page)
				if err != nil {
					return err
				}
				for _, item := range items {
					if id, _ := rawjson.Text(rawjson.Get(item, "id")); id == args[0] {
						return a.one(item)
					}
				}
				if len(items) < most {
					return &Failure{"no tool has the id " + clean(args[0]), exitNotFound}
				}
			}
		}),
		a.updater("a tool", `spangrove tools update 65a1b2c3d4e5f60718293a4b --description 'Search the web and the wiki'`,
			func(id string, body json.RawMessage) client.Request {
				return put("/v1/tools", with(body, "id", id))
			}, fields),
		a.deleter("delete ID...", "tools", `spangrove tools delete 65a1b2c3d4e5f60718293a4b --yes`, func(id string) client.Request {
			r := del("/v1/tools")
			r.Query = url.Values{"function_id": {id}}
			return r
		}),
	)
}

// with returns an object with one more member, which is a text.
func with(object json.RawMessage, name, text string) json.RawMessage {
	var b rawjson.Builder
	b.String(name, text)
	return rawjson.Merge(object, b.Bytes())
}
