package cli

import (
	"encoding/json"

	"github.com/spf13/cobra"

	"github.com/spangrove/spangrove/pkg/client"
)

func (a *app) dashboards() *cobra.Command {
	fields := []bodyField{
		text("name", "name", "name of the dashboard"),
		text("description", "description", "what it shows"),
		value("layout", "layout", `places of saved charts, such as [{"chart": "65a1b2c3d4e5f60718293a4b", "x": 0, "y": 0, "width": 6, "height": 4}], or @FILE`),
	}
	const id = "65a1b2c3d4e5f60718293a4b"
	return noun("dashboards", "Dashboards: saved charts on a page, kept under a name",
		a.lister(&listing{
			plural:  "dashboards",
			example: `spangrove dashboards list`,
			request: get("/v1/dashboards"), at: "data", limit: 100,
			columns: []column{
				{title: "id", path: "id", whole: true},
				{title: "name", path: "name"},
				{title: "description", path: "description"},
				{title: "layout", path: "layout"},
				{title: "created", path: "created_at", show: date, whole: true},
			},
		}),
		a.creator("a dashboard", `
			spangrove dashboards create --name checkout --layout '[{"chart": "`+id+`", "x": 0, "y": 0, "width": 12, "height": 4}]'
			spangrove dashboards create --file dashboard.yaml`,
			"/v1/dashboards", fields, "data", "id"),
		a.getter("a dashboard", `spangrove dashboards get `+id, func(id string) client.Request { return get(path("dashboards", id)) }, "data"),
		a.updater("a dashboard", `spangrove dashboards update `+id+` --name checkout`,
			func(id string, body json.RawMessage) client.Request { return put(path("dashboards", id), body) }, fields),
		a.deleter("delete ID...", "dashboards", `spangrove dashboards delete `+id+` --yes`,
			func(id string) client.Request { return del(path("dashboards", id)) }),
	)
}
