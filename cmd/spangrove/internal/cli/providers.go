package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"github.com/spangrove/spangrove/pkg/client"
	"github.com/spangrove/spangrove/pkg/rawjson"
)

func (a *app) providers() *cobra.Command {
	return noun("providers", "Providers: whose models the project's judges ask",
		a.lister(&listing{
			plural: "providers", example: `spangrove providers list`, request: get("/v1/providers"), at: "providers", whole: true, limit: 100,
			columns: []column{
				{title: "name", path: "name", whole: true},
				{title: "type", path: "type"},
				{title: "address", path: "base_url"},
				{title: "model", path: "model"},
				{title: "key", path: "has_key"},
				{title: "budget", path: "daily_budget_usd", right: true},
				{title: "calls", path: "daily_calls", right: true},
				{title: "spent today", path: "today.usd", right: true},
				{title: "called today", path: "today.calls", right: true},
			},
		}),
		a.providerSet(),
		a.deleter("delete NAME...", "providers with their keys", `spangrove providers delete own --yes`,
			func(name string) client.Request { return del(path("providers", name)) }),
	)
}

func (a *app) providerSet() *cobra.Command {
	var b *requestBody
	cmd := command("set NAME", "Set up a provider, or change one", `
		spangrove providers set openai --key-from OPENAI_API_KEY --budget 5
		spangrove providers set local --base-url http://127.0.0.1:11434/v1 --model llama3.2`,
		func(ctx context.Context, args []string) error {
			text, err := b.build()
			if err != nil {
				return err
			}
			answer, err := a.call(ctx, put(path("providers", args[0]), text))
			if err != nil {
				return err
			}
			return a.changed(answer, "set up %s", clean(args[0]))
		})
	cmd.Long = "What is left out stays as it is. Another address clears the key."
	b = bodyOf(cmd,
		text("type", "type", "the API that it speaks: openai, anthropic or gemini"),
		text("base-url", "base_url", "where it is; the type's own service if left out"),
		text("model", "model", "asked where a metric names none"),
		number("budget", "daily_budget_usd", "US dollars a day that its calls may cost; 0: no bound"),
		number("calls", "daily_calls", "answers a day; 0: no bound"),
		secret("key-from", "api_key", "take its key from this environment variable"),
	)
	return cmd
}

// secret returns a field whose text comes from an environment variable, since others can see arguments.
func secret(flag, member, usage string) bodyField {
	return bodyField{flag, member, usage, "VARIABLE", false, func(variable string) (json.RawMessage, error) {
		text := os.Getenv(variable)
		if text == "" {
			return nil, fmt.Errorf("the environment variable %s is not set", variable)
		}
		return rawjson.AppendString(nil, text), nil
	}}
}
