package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"io"
	"os"

	"github.com/spf13/pflag"

	"github.com/spangrove/spangrove/cmd/spangrove/internal/cli"
	"github.com/spangrove/spangrove/pkg/embedprovider"
)

// storePlace is where a command finds a store: a data directory, or a database.
type storePlace struct{ data, dsn string }

func (p *storePlace) flags(f *pflag.FlagSet) {
	f.StringVar(&p.data, "data", "", "data directory (default $SPANGROVE_DATA_DIR, else ./spangrove-data)")
	f.StringVar(&p.dsn, "dsn", "", "connection string of a PostgreSQL database instead (default $SPANGROVE_POSTGRES_DSN, or what the file $SPANGROVE_POSTGRES_DSN_FILE has)")
}

// find returns a connection string, or else a directory.
func (p *storePlace) find() (dsn, data string, err error) {
	data = cmp.Or(p.data, os.Getenv("SPANGROVE_DATA_DIR"), "spangrove-data")
	if p.data != "" {
		return "", data, nil
	}
	if p.dsn != "" {
		return p.dsn, data, nil
	}
	dsn, err = embedprovider.Secret("SPANGROVE_POSTGRES_DSN")
	return dsn, data, err
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
