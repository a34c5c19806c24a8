package cli

import "github.com/spf13/cobra"

func (a *app) refusals() *cobra.Command {
	return noun("refusals", "Refusals: the latest requests that the server refused, and why",
		a.lister(&listing{
			plural: "refused requests", at: "refusals", whole: true, limit: 100,
			example: `
				spangrove refusals list
				spangrove refusals list --limit 0 --output json`,
			request: get("/v1/server/refusals"),
			columns: []column{
				{title: "time", path: "time", show: date, whole: true},
				{title: "method", path: "method"},
				{title: "path", path: "path"},
				{title: "status", path: "status"},
				{title: "message", path: "message"},
				{title: "key", path: "key_prefix"},
				{title: "times", path: "count", right: true},
			},
		}))
}
