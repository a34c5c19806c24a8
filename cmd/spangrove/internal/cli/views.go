package cli

import (
	"encoding/json"

	"github.com/spf13/cobra"

	"github.com/spangrove/spangrove/pkg/client"
)

func (a *app) views() *cobra.Command {
	fields := []bodyField{
		text("name", "name", "name of the view"),
		text("page", "page", "the page that it is of: sessions, completions or events"),
		value("state", "state", `the parameters of the page's address, such as {"q": "has:error"}`),
	}
	const id = "65a1b2c3d4e5f60718293a4b"
	return noun("views", "Views: pages of the web interface with their filters, kept under a name",
		a.lister(&listing{
			plural:  "views",
			example: `spangrove views list`,
			request: get("/v1/views"), at: "data", limit: 100,
			columns: []column{
				{title: "id", path: "id", whole: true},
				{title: "name", path: "name"},
				{title: "page", path: "page"},
				{title: "state", path: "state"},
				{title: "created", path: "created_at", show: date, whole: true},
			},
		}),
		a.creator("a view", `
			spangrove views create --name 'slow calls' --page completions --state '{"q": "duration>10s"}'
			spangrove views create --file view.yaml`,
			"/v1/views", fields, "data", "id"),
		a.getter("a view", `spangrove views get `+id, func(id string) client.Request { return get(path("views", id)) }, "data"),
		a.updater("a view", `spangrove views update `+id+` --name 'slow calls'`,
			func(id string, body json.RawMessage) client.Request { return put(path("views", id), body) }, fields),
		a.deleter("delete ID...", "views", `spangrove views delete `+id+` --yes`,
			func(id string) client.Request { return del(path("views", id)) }),
	)
}
