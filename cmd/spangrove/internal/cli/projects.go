package cli

import (
	"context"
	"encoding/json"
	"net/url"

	"github.com/spf13/cobra"

	"github.com/spangrove/spangrove/pkg/client"
	"github.com/spangrove/spangrove/pkg/rawjson"
)

func (a *app) projects() *cobra.Command {
	fields := []bodyField{
		text("name", "name", "name of the project"),
		text("description", "description", "what it is for"),
		text("type", "type", "evaluation or completion"),
	}
	return noun("projects", "Projects: what keys and all data belong to",
		a.lister(&listing{
			plural: "projects",
			example: `
				spangrove projects list
				spangrove projects list --name default --output json`,
			request: get("/v1/projects"), limit: 50,
			filters: []queryFlag{{"name", "name", "only the one of this name"}},
			columns: []column{
				{title: "id", path: "id", whole: true},
				{title: "name", path: "name"},
				{title: "description", path: "description"},
				{title: "created", path: "created_at", show: date, whole: true},
			},
		}),
		a.creator("a project", `spangrove projects create --name support --description 'The support assistant'`, "/v1/projects", fields, "id"),
		a.projectUpdate(fields),
		a.projectDelete(),
		a.projectLimits(),
		a.projectSetLimits(),
		a.projectRetention(),
		a.projectSetRetention(),
		a.projectPreviewRetention(),
	)
}

// project returns the id of a project that is named, or whose id is given already.
func (a *app) project(ctx context.Context, nameOrID string) (string, error) {
	r := get("/v1/projects")
	r.Query = url.Values{"name": {nameOrID}}
	answer, err := a.call(ctx, r)
	if err != nil {
		return "", err
	}
	if id := textOf(rawjson.Path(answer, "0"), "id"); id != "" {
		return id, nil
	}
	return nameOrID, nil
}

// projectShow returns a verb that shows what the path below a project has.
func (a *app) projectShow(use, short, example, below string) *cobra.Command {
	return command(use, short, example, func(ctx context.Context, args []string) error {
		id, err := a.project(ctx, args[0])
		if err != nil {
			return err
		}
		answer, err := a.call(ctx, get(path("projects", id, below)))
		if err != nil {
			return err
		}
		return a.one(answer)
	})
}

// projectSend returns a verb that sends fields to a project. done is what to say of the project then; if it is empty, the answer is shown.
func (a *app) projectSend(use, short, example string, request func(id string, body json.RawMessage) client.Request, done string,
	fields []bodyField) *cobra.Command {
	var b *requestBody
	cmd := command(use, short, example, func(ctx context.Context, args []string) error {
		text, err := b.build()
		if err != nil {
			return err
		}
		id, err := a.project(ctx, args[0])
		if err != nil {
			return err
		}
		answer, err := a.call(ctx, request(id, text))
		if err != nil {
			return err
		}
		if done == "" {
			return a.one(answer)
		}
		return a.changed(answer, done, clean(args[0]))
	})
	b = bodyOf(cmd, fields...)
	return cmd
}

func (a *app) projectUpdate(fields []bodyField) *cobra.Command {
	return a.projectSend("update PROJECT", "Change a project, which is named or given by its id", `
		spangrove projects update support --name helpdesk
		spangrove projects update support --description 'The assistant of the helpdesk'`,
		func(id string, body json.RawMessage) client.Request {
			return put("/v1/projects", with(body, "project_id", id))
		},
		"updated %s", fields)
}

func (a *app) projectLimits() *cobra.Command {
	return a.projectShow("limits PROJECT", "Show what a project may use, by its own limits and by the server's defaults", `
		spangrove projects limits support
		spangrove projects limits support --output json`, "limits")
}

func (a *app) projectSetLimits() *cobra.Command {
	cmd := a.projectSend("set-limits PROJECT", "Set limits of a project", `
		spangrove projects set-limits support --requests 50 --stored-bytes 5000000000
		spangrove projects set-limits support --requests default`,
		func(id string, body json.RawMessage) client.Request { return put(path("projects", id, "limits"), body) },
		"set limits of %s", []bodyField{
			bound("requests", "requests_per_second", "requests a second, of all its keys together"),
			bound("request-burst", "request_burst", "how many may come at once; 0: as many as a second brings"),
			bound("key-requests", "key_requests_per_second", "requests a second, of each key"),
			bound("key-request-burst", "key_request_burst", "how many of a key may come at once; 0: as many as a second brings"),
			bound("bytes", "bytes_per_second", "bytes of request bodies a second, after decompression"),
			bound("byte-burst", "byte_burst", "how many may come at once; 0: as many as a second brings"),
			bound("stored-bytes", "stored_bytes", "bytes that may be stored"),
			bound("evaluation-slots", "evaluation_slots", "evaluations that may run at once"),
			bound("judge-usd", "judge_usd_per_day", "US dollars that its judges may cost a UTC day"),
		})
	cmd.Long = "What is left out stays as it is. 0 lifts a bound, \"default\" gives it back to the server."
	return cmd
}

func (a *app) projectRetention() *cobra.Command {
	return a.projectShow("retention PROJECT", "Show for how long a project's events are kept, by its own rule and by the server's default", `
		spangrove projects retention support
		spangrove projects retention support --output json`, "retention")
}

func (a *app) projectSetRetention() *cobra.Command {
	cmd := a.projectSend("set-retention PROJECT", "Set for how long a project's events are kept", `
		spangrove projects set-retention support --event-days 90 --payload-days 30
		spangrove projects set-retention support --payload-days default`,
		func(id string, body json.RawMessage) client.Request {
			return put(path("projects", id, "retention"), body)
		},
		"set the retention of %s", retentionFields())
	cmd.Long = "What is left out stays as it is. 0 keeps for good, \"default\" gives it back to the server. What the rule does not keep is " +
		"removed in the background, and cannot be brought back."
	return cmd
}

func retentionFields() []bodyField {
	return []bodyField{
		bound("event-days", "event_days", "days for which sessions are kept, from their last event on"),
		bound("payload-days", "payload_days", "days for which inputs, outputs, config and attributes of events are kept"),
		bound("bytes", "bytes", "bytes that events may take; past it the oldest sessions go"),
		yesNo("payload-first", "payload_first", "for --bytes, the oldest payloads go before any session"),
	}
}

func (a *app) projectPreviewRetention() *cobra.Command {
	cmd := a.projectSend("preview-retention PROJECT", "Count what a rule of retention would remove", `
		spangrove projects preview-retention support --event-days 90
		spangrove projects preview-retention support --bytes 5000000000 --payload-first true --output json`,
		func(id string, body json.RawMessage) client.Request {
			return post(path("projects", id, "retention", "preview"), body)
		},
		"", retentionFields())
	cmd.Long = "The rule is the one that set-retention would make of the same flags. Nothing is set, and nothing removed."
	return cmd
}

// bound returns a field for a number, or the server's default.
func bound(flag, member, usage string) bodyField {
	f := number(flag, member, usage)
	f.takes = "NUMBER|default"
	parse := f.parse
	f.parse = func(s string) (json.RawMessage, error) {
		if s == "default" {
			return json.RawMessage("null"), nil
		}
		return parse(s)
	}
	return f
}

func (a *app) projectDelete() *cobra.Command {
	var yes bool
	cmd := command("delete PROJECT", "Delete a project with its keys and all its data", `spangrove projects delete support --yes`, nil)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		id, err := a.project(cmd.Context(), args[0])
		if err != nil {
			return err
		}
		if !yes {
			if err := confirm(cmd, "delete the project "+args[0]+" with its keys and all its data?"); err != nil {
				return err
			}
		}
		r := del("/v1/projects")
		r.Query = url.Values{"project_id": {id}}
		answer, err := a.call(cmd.Context(), r)
		if err != nil {
			return err
		}
		return a.changed(answer, "deleted %s", clean(args[0]))
	}
	yesFlag(cmd, &yes)
	return cmd
}
