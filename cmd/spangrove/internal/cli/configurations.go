package cli

import (
	"context"
	"encoding/json"
	"strings"

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
	var env string
	return noun("configurations", "Configurations: models, parameters and prompts, with versions",
		a.lister(&listing{
			plural: "configurations",
			example: `
				spangrove configurations list
				spangrove configurations list --env prod --output json`,
			request: get("/v1/configurations"), at: "configurations", limit: 100,
			filters: []queryFlag{
				{"name", "name", "only those of exactly this name"},
				{"env", "env", "only those deployed to this environment, each at the version that it gets"},
				{"tags", "tags", "only those with all of these labels, with commas"},
			},
			columns: []column{
				{title: "id", path: "id", whole: true},
				{title: "name", path: "name"},
				{title: "provider", path: "provider"},
				{title: "model", path: "parameters.model"},
				{title: "version", path: "version", right: true},
				{title: "deployed to", show: deployedTo},
				{title: "created", path: "created_at", show: date, whole: true},
			},
		}),
		a.creator("a configuration", `
			spangrove configurations create --name support --provider openai --env dev,staging \
			  --parameters '{"call_type": "chat", "model": "gpt-4o-mini"}'
			spangrove configurations create --file configuration.yaml`,
			"/v1/configurations", fields, "insertedId"),
		forEnvironment(versioned(a.getter("a configuration", `
			spangrove configurations get `+id+`
			spangrove configurations get `+id+` --version 1 --output yaml
			spangrove configurations get `+id+` --env prod`,
			func(id string) client.Request {
				r := atVersion(get(path("configurations", id)), version)
				if env != "" {
					r.Query.Set("env", env)
				}
				return r
			}, "configuration"), &version), &env),
		a.configurationUpdate(id, fields),
		a.configurationDeploy(id),
		a.deleter("delete ID...", "configurations with their versions", `spangrove configurations delete `+id+` --yes`,
			func(id string) client.Request { return del(path("configurations", id)) }),
		a.versions("configurations", id),
	)
}

// deployedTo shows the environments of a configuration, each with the version at which it stays.
func deployedTo(c json.RawMessage) string {
	var list []string
	for _, env := range rawjson.Array(rawjson.Get(c, "env")) {
		text := cell(env)
		if version := rawjson.Path(c, "env_versions", text); version != nil {
			text += " at " + cell(version)
		}
		list = append(list, text)
	}
	if len(list) == 0 {
		return "-"
	}
	return strings.Join(list, ", ")
}

// forEnvironment adds the flag --env to a getter.
func forEnvironment(cmd *cobra.Command, env *string) *cobra.Command {
	cmd.Flags().StringVar(env, "env", "", "the version that programs of this environment get")
	cmd.MarkFlagsMutuallyExclusive("env", "version")
	return cmd
}

// configurationUpdate changes what a configuration says.
func (a *app) configurationUpdate(exampleID string, fields []bodyField) *cobra.Command {
	var b *requestBody
	cmd := command("update ID", "Change a configuration, which makes a version", `spangrove configurations update `+exampleID+` --tags support,checked`,
		func(ctx context.Context, args []string) error {
			text, err := b.build()
			if err != nil {
				return err
			}
			answer, err := a.putConfiguration(ctx, args[0], text)
			if err != nil {
				return err
			}
			return a.changed(answer, "updated %s", clean(args[0]))
		})
	b = bodyOf(cmd, fields...)
	return cmd
}

// configurationDeploy deploys a configuration to environments beside those that it is deployed to.
func (a *app) configurationDeploy(exampleID string) *cobra.Command {
	var version int64
	cmd := command("deploy ID ENVIRONMENT...", "Deploy a version of a configuration to environments, or always the current one", `
		spangrove configurations deploy `+exampleID+` prod --version 3
		spangrove configurations deploy `+exampleID+` dev staging`,
		func(ctx context.Context, args []string) error {
			versions := make(map[string]int64)
			for _, env := range args[1:] {
				versions[env] = version
			}
			var b rawjson.Builder
			b.Raw("env_versions", rawjson.AppendIntegers(nil, versions))
			answer, err := a.putConfiguration(ctx, args[0], b.Bytes())
			if err != nil {
				return err
			}
			return a.changed(answer, "deployed %s", clean(args[0]))
		})
	cmd.Flags().Int64Var(&version, "version", 0, "the version that they stay at; 0: the current one, also after later changes")
	return cmd
}

// putConfiguration sends a change with the name in any case, which the API asks for.
func (a *app) putConfiguration(ctx context.Context, id string, change json.RawMessage) (json.RawMessage, error) {
	if rawjson.Get(change, "name") == nil {
		answer, err := a.call(ctx, get(path("configurations", id)))
		if err != nil {
			return nil, err
		}
		change = with(change, "name", textOf(rawjson.Get(answer, "configuration"), "name"))
	}
	return a.call(ctx, put(path("configurations", id), change))
}
