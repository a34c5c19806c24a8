package cli

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/spangrove/spangrove/pkg/client"
	"github.com/spangrove/spangrove/pkg/rawjson"
)

func (a *app) samples() *cobra.Command {
	load := command("load", "Load the sample sessions; they are there once, however often they are loaded", `spangrove samples load`,
		func(ctx context.Context, _ []string) error {
			r := post("/v1/samples", nil)
			r.Repeatable = true
			answer, err := a.call(ctx, r)
			if err != nil {
				return err
			}
			n := 0
			for range rawjson.Array(rawjson.Path(answer, "sessions")) {
				n++
			}
			return a.changed(answer, "loaded %d sample sessions", n)
		})
	var yes bool
	remove := command("delete", "Delete the sample sessions, and no others", `spangrove samples delete --yes`, nil)
	remove.RunE = func(cmd *cobra.Command, _ []string) error {
		if !yes {
			if err := confirm(cmd, "delete the sample sessions?"); err != nil {
				return err
			}
		}
		answer, err := a.call(cmd.Context(), client.Request{Method: "DELETE", Path: "/v1/samples", Repeatable: true})
		if err != nil {
			return err
		}
		return a.changed(answer, "deleted %s sample sessions", rawjson.Path(answer, "deleted"))
	}
	yesFlag(remove, &yes)
	return noun("samples", "Samples: sessions of no real application, to look around with", load, remove)
}
