package cli

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/spangrove/spangrove/pkg/client"
	"github.com/spangrove/spangrove/pkg/rawjson"
)

func (a *app) configurations() *cobra.Command {
	fields := []bodyField{
		text("name", "name", "name of the configuration"),
		text("provider", "provider", "provider of the model, such as openai"),
		text("type", "type", "LLM or pipeline"),
		value("parameters", "parameters", "call_type, model, hyperparameters, template and others as JSON, or @FILE"),
		texts("env", "env", "environments it is deployed to: dev, staging, prod; separated by commas"),
		texts("tags", "tags", "labels, with commas"),
		value("user-properties", "user_properties", "JSON object of your own, or @FILE"),
	}
	const id = "65a1b2c3d4e5f60718293a4b"
	var version int
	return noun("configurations", "Configurations: models, parameters and prompts, with versions",
		a.lister(listing{
			plural: "configurations",
			example: `
				spangrove configurations list
				spangrove configurations list --env prod --output json`,
			request: get("/v1/configurations"), at: "configurations", limit: 100,
			filters: []queryFlag{
				{"name", "name", "only those of exactly this name"},
				{"env", "env", "only those deployed to this environment"},
				{"tags", "tags", "only those with all of these labels, with commas"},
			},
			columns: []column{
				{title: "id", path: "id", whole: true},
				{title: "name", path: "name"},
				{title: "provider", path: "provider"},
				{title: "model", path: "parameters.model"},
				{title: "env", path: "env", show: joined},
				{title: "created", path: "created_at", show: date, whole: true},
			},
		}),
		a.creator("a configuration", `
			spangrove configurations create --name support --provider openai --env dev,staging \
			  --parameters '{"call_type": "chat", "model": "gpt-4o-mini"}'
			spangrove configurations create --file configuration.yaml`,
			"/v1/configurations", fields, "insertedId"),
		versioned(a.getter("a configuration", `
			spangrove configurations get `+id+`
			spangrove configurations get `+id+` --version 1 --output yaml`,
			func(id string) client.Request { return atVersion(get(path("configurations", id)), version) }, "configuration"), &version),
		a.configurationUpdate(id, fields),
		a.deleter("delete ID...", "configurations with their versions", `spangrove configurations delete `+id+` --yes`,
			func(id string) client.Request { return del(path("configurations", id)) }),
		a.versions("configurations", id),
	)
}

// configurationUpdate sends the name in any case, which the API asks for.
func (a *app) configurationUpdate(exampleID string, fields []bodyField) *cobra.Command {
	var b *requestBody
	cmd := command("update ID", "Change a configuration, which makes a version", `spangrove configurations update `+exampleID+` --env prod`,
		func(ctx context.Context, args []string) error {
			text, err := b.build()
			if err != nil {
				return err
			}
			if rawjson.Get(text, "name") == nil {
				answer, err := a.call(ctx, get(path("configurations", args[0])))
				if err != nil {
					return err
				}
				text = with(text, "name", textOf(rawjson.Get(answer, "configuration"), "name"))
			}
			answer, err := a.call(ctx, put(path("configurations", args[0]), text))
			if err != nil {
				return err
			}
			return a.changed(answer, "updated %s", clean(args[0]))
		})
	b = bodyOf(cmd, fields...)
	return cmd
}
