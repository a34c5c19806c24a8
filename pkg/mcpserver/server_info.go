package mcpserver

import (
	"context"
	"fmt"
	"strings"
)

// serverInfo is who the key is, and what the server can.
type serverInfo struct {
	Project    string   `json:"project"`
	ProjectID  string   `json:"project_id"`
	Scope      string   `json:"scope"`
	Version    string   `json:"version"`
	Evaluators []string `json:"evaluators"`
	Providers  []string `json:"providers"`
}

type noArguments struct{ size }

func (t *tools) addServer() {
	add(t, definition{
		name: "server_info", title: "Server and project",
		description: "Which project the key is of, what it may do (scope), the server's version, and what metrics can be run with. Use it when a call is refused, or to say where the data comes from.",
	}, func(ctx context.Context, c *call, _ noArguments) (*answer[serverInfo], error) {
		me, err := c.Me(ctx)
		if err != nil {
			return nil, err
		}
		info := serverInfo{
			Project: line(me.Project.Name, 200), ProjectID: me.Project.ID, Scope: me.Scope, Version: me.Version,
			Evaluators: append([]string{}, me.Evaluators...), Providers: []string{},
		}
		for _, p := range me.Providers {
			info.Providers = append(info.Providers, line(p, 100))
		}
		can := "reads, creates and evaluates"
		switch me.Scope {
		case "ingest":
			can = "only sends events: all other tools need a key of scope read or full"
		case "read":
			can = "reads: creating, adding and evaluating need a key of scope full"
		}
		return &answer[serverInfo]{
			head: fmt.Sprintf("Spangrove %s. The key is of scope %s, which %s.", line(me.Version, 40), line(me.Scope, 20), can),
			text: fmt.Sprintf("project %q (id %s)\nmetrics can be: %s\nmodel providers: %s", info.Project, line(info.ProjectID, 80),
				none(strings.Join(info.Evaluators, ", ")), none(line(strings.Join(info.Providers, ", "), 800))),
			data: info,
		}, nil
	})
}

func none(s string) string {
	if s == "" {
		return "none"
	}
	return s
}
