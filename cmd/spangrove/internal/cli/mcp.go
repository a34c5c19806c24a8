package cli

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/spangrove/spangrove/pkg/client"
	"github.com/spangrove/spangrove/pkg/mcpserver"
)

// mcp is the command that serves the Model Context Protocol on standard input and output.
func (a *app) mcp() *cobra.Command {
	var readOnly bool
	var cmd *cobra.Command
	cmd = command("mcp", "Serve coding agents by the Model Context Protocol, on standard input and output", `
		spangrove mcp
		spangrove mcp --read-only --server https://spangrove.example.com`,
		func(ctx context.Context, _ []string) error {
			err := mcpserver.Serve(ctx, mcpserver.Options{
				Version: cmd.Root().Version, ReadOnly: readOnly, Client: func(context.Context) (*client.Client, error) { return a.api, nil },
			}, cmd.InOrStdin(), cmd.OutOrStdout())
			if ctx.Err() != nil {
				return ctx.Err()
			}
			return err
		})
	cmd.Long = "An agent starts it, asks it, and ends it by closing its input: see docs/mcp.md for how to set that up. Server and key are those of all nouns. " +
		"No tool deletes anything; with --read-only there are none that store or start something either."
	cmd.Flags().BoolVar(&readOnly, "read-only", false, "only tools that read")
	return cmd
}
