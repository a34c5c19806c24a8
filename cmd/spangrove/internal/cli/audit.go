package cli

import "github.com/spf13/cobra"

func (a *app) audit() *cobra.Command {
	return noun("audit", "Audit log: who deleted, managed or was refused what",
		a.lister(&listing{
			plural: "entries of the audit log", at: "entries", limit: 100,
			example: `
				spangrove audit list
				spangrove audit list --action key.create --since 30d
				spangrove audit list --action sign_in --output json`,
			request: get("/v1/audit"),
			filters: []queryFlag{
				{"action", "action", "only those of this action, such as key.create, session.delete or sign_in"},
				{"project", "project_id", "only those about the project of this id"},
				{"since", "dateRange", "only those of this time up to now, such as 7d"},
			},
			columns: []column{
				{title: "time", path: "time", show: date, whole: true},
				{title: "action", path: "action", whole: true},
				{title: "outcome", path: "outcome"},
				{title: "target", path: "target"},
				{title: "key", path: "key_id"},
				{title: "key name", path: "key_name"},
				{title: "prefix", path: "key_prefix"},
				{title: "from", path: "remote_address"},
				{title: "project", path: "project_id"},
				{title: "times", path: "count", right: true},
			},
		}))
}
