package cli

import (
	"context"
	"encoding/json"
	"strings"

	"github.com/spf13/cobra"

	"github.com/spangrove/spangrove/pkg/client"
	"github.com/spangrove/spangrove/pkg/rawjson"
)

// metricLibrary lists the ready-made metrics.
func (a *app) metricLibrary() *cobra.Command {
	parameters := func(list json.RawMessage) string {
		var names []string
		for _, p := range rawjson.Array(list) {
			name := textOf(p, "name")
			if string(rawjson.Get(p, "required")) == "true" {
				name += " (required)"
			}
			names = append(names, name)
		}
		return cellText(strings.Join(names, ", "))
	}
	return command("library", "List the ready-made metrics", `
		spangrove metrics library
		spangrove metrics library --output json`,
		func(ctx context.Context, _ []string) error {
			answer, err := a.call(ctx, get("/v1/metrics/library"))
			if err != nil {
				return err
			}
			out := a.items([]column{
				{title: "name", path: "name", whole: true},
				{title: "type", path: "type"},
				{title: "returns", path: "return_type"},
				{title: "parameters", path: "parameters", show: parameters},
				{title: "examples", path: "examples", show: count, right: true},
				{title: "description", path: "description"},
			})
			for _, m := range rawjson.Array(rawjson.Get(answer, "metrics")) {
				if err := out.add(m); err != nil {
					return err
				}
			}
			return out.end()
		})
}

// metricEnable makes a metric of the project from a ready-made one.
func (a *app) metricEnable() *cobra.Command {
	var in client.MetricEnabling
	var params []string
	var rule string
	var online bool
	var sampling float64
	cmd := command("enable NAME", "Make a metric of a ready-made one", `
		spangrove metrics enable exact_match
		spangrove metrics enable contains --param phrase=refund --name 'mentions refund'
		spangrove metrics enable faithfulness --model-provider openai --model-name gpt-4o-mini --enabled --sampling 10`, nil)
	flags := cmd.Flags()
	paramFlag(cmd, &params)
	flags.StringVar(&in.Name, "name", "", "its `NAME`; that of the library if left out")
	flags.BoolVar(&online, "enabled", false, "runs over events as they come")
	flags.Float64Var(&sampling, "sampling", 0, "over so many `PERCENT` of them")
	modelFlags(cmd, &in.MetricUpdate, &rule)
	cmd.RunE = func(cmd *cobra.Command, args []string) (err error) {
		in.From = args[0]
		if in.Parameters, err = parameters(params); err != nil {
			return err
		}
		if in.Threshold, err = thresholdFlag(rule); err != nil {
			return err
		}
		if online {
			in.EnabledInProd = &online
		}
		if flags.Changed("sampling") {
			in.SamplingPercentage = &sampling
		}
		text, err := json.Marshal(in)
		if err != nil {
			return err
		}
		answer, err := a.call(cmd.Context(), post("/v1/metrics/library", text))
		if err != nil {
			return err
		}
		if string(rawjson.Get(answer, "inserted")) == "false" {
			a.remark("the project has this metric already")
		}
		return a.made(answer, textOf(answer, "metric_id"))
	}
	return cmd
}

func paramFlag(cmd *cobra.Command, params *[]string) {
	cmd.Flags().StringArrayVar(params, "param", nil, "`NAME=VALUE` of a parameter; the value is JSON, or else a text; any number of them")
}

func modelFlags(cmd *cobra.Command, in *client.MetricUpdate, rule *string) {
	cmd.Flags().StringVar(&in.ModelProvider, "model-provider", "", "whose model judges (`NAME` of the provider)")
	cmd.Flags().StringVar(&in.ModelName, "model-name", "", "which model judges (its `NAME`)")
	cmd.Flags().StringVar(rule, "threshold", "", "which scores pass, as `JSON` such as {\"min\": 0.8}")
}

func parameters(list []string) (client.Object, error) {
	values := client.Object{}
	for _, text := range list {
		name, value, ok := strings.Cut(text, "=")
		if !ok || name == "" {
			return nil, usage("--param %s: must be NAME=VALUE", text)
		}
		if json.Valid([]byte(value)) {
			values[name] = json.RawMessage(value)
		} else {
			values[name] = value
		}
	}
	return values, nil
}

// thresholdFlag reads --threshold, nil if it is not given.
func thresholdFlag(text string) (*client.Threshold, error) {
	if text == "" {
		return nil, nil
	}
	var t client.Threshold
	if err := json.Unmarshal([]byte(text), &t); err != nil {
		return nil, usage(`--threshold: must be JSON such as {"min": 0.8}: %s`, err)
	}
	return &t, nil
}
