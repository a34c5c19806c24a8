package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/spangrove/spangrove/cmd/spangrove/internal/cli"
	"github.com/spangrove/spangrove/pkg/diagnosis"
	"github.com/spangrove/spangrove/pkg/embedprovider"
)

// storePlace is where a command finds a store: a data directory, or a database.
type storePlace struct{ data, dsn string }

func (p *storePlace) flags(c *cobra.Command) {
	f := c.Flags()
	f.StringVar(&p.data, "data", "", "data directory (default $SPANGROVE_DATA_DIR, else ./spangrove-data)")
	f.StringVar(&p.dsn, "dsn", "", "connection string of a PostgreSQL database instead (default $SPANGROVE_POSTGRES_DIRECT_DSN, else $SPANGROVE_POSTGRES_DSN, each also as the text of a file that the variable with _FILE names)")
	c.MarkFlagsMutuallyExclusive("data", "dsn")
}

// find returns a connection string, or else a directory. Commands work in sessions, past a pooler.
func (p *storePlace) find() (dsn, data string, err error) {
	data = cmp.Or(p.data, os.Getenv("SPANGROVE_DATA_DIR"), "spangrove-data")
	if p.data != "" {
		return "", data, nil
	}
	if p.dsn != "" {
		return p.dsn, data, nil
	}
	for _, name := range []string{"SPANGROVE_POSTGRES_DIRECT_DSN", "SPANGROVE_POSTGRES_DSN"} {
		if dsn, err = embedprovider.Secret(name); dsn != "" || err != nil {
			break
		}
	}
	return dsn, data, err
}

// storeCommand runs what a command does on a store: until it is interrupted, with files that nobody else can read, and with what it makes
// printed as JSON or by print.
func storeCommand[T any](cmd *cobra.Command, asJSON bool, do func(ctx context.Context, progress diagnosis.Progress) (T, error), print func(io.Writer, T) error) (result T, err error) {
	ctx, stop := signal.NotifyContext(cmd.Context(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	restore := makePrivate()
	defer restore()
	told := cmd.ErrOrStderr()
	result, err = do(ctx, progressTo(told, onTerminal(told)))
	if onTerminal(told) {
		fmt.Fprint(told, "\r\x1b[K")
	}
	if err != nil {
		return result, failed(cmd.Name(), err)
	}
	if asJSON {
		return result, printJSON(cmd.OutOrStdout(), result)
	}
	return result, print(cmd.OutOrStdout(), result)
}

// usageError returns how a command ends that was asked for in a wrong way.
func usageError(format string, args ...any) error {
	return &cli.Failure{Line: fmt.Sprintf(format, args...), Exit: cli.ExitUsage}
}

// failed returns how a command on a store ends that could not be done.
func failed(command string, err error) error {
	if errors.Is(err, context.Canceled) {
		return &cli.Failure{Line: "interrupted", Exit: 130}
	}
	return &cli.Failure{Line: command + ": " + oneLine(err.Error()), Exit: cli.ExitFailed}
}

// printJSON prints a report for programs.
func printJSON(w io.Writer, report any) error {
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	return enc.Encode(report)
}
