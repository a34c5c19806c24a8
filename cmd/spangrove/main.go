// Command spangrove is the Spangrove server, a build of the OpenTelemetry Collector, and its
// command line.
//
// Without a command it runs the server. The help and every other command are answered without
// building the collector.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/spf13/cobra"
)

func main() {
	err := newRoot().ExecuteContext(context.Background())
	if err == nil {
		return
	}
	var f *failure
	if !errors.As(err, &f) {
		f = &failure{line: err.Error() + "; see spangrove --help", exit: exitUsage} // cobra's own: unknown command or flag
	}
	fmt.Fprintln(os.Stderr, "spangrove: "+f.line)
	os.Exit(f.exit)
}

// The exit statuses of what is not a fault of its own kind.
const (
	exitFailed = 1
	exitUsage  = 2
)

// failure is an error in one readable line, with the status to exit with.
type failure struct {
	line string
	exit int
}

func (f *failure) Error() string { return f.line }

const examples = `  spangrove                                        run with the embedded configuration
  spangrove --set extensions.spangrove_api.endpoint=127.0.0.1:8080
  spangrove --config embedded:default --config mine.yaml
  SPANGROVE_POSTGRES_DSN=postgres://localhost/grove spangrove`

const long = `Spangrove takes traces and events of AI applications, stores them durably, and gives
them back. Without a command it runs the server.

Examples:
` + examples + `

The embedded configuration reads these variables:
  SPANGROVE_ADDR            API and OTLP/HTTP            127.0.0.1:7420
  SPANGROVE_OTLP_GRPC_ADDR  OTLP/gRPC, empty: off        127.0.0.1:4317
  SPANGROVE_OTLP_HTTP_ADDR  OTLP/HTTP, empty: off        127.0.0.1:4318
  SPANGROVE_DATA_DIR        SQLite, generated key        ./spangrove-data
  SPANGROVE_POSTGRES_DSN    PostgreSQL instead of SQLite
  SPANGROVE_API_KEY         a key instead of a generated one
  SPANGROVE_PROJECT         the first project's name     default
  SPANGROVE_LOG_LEVEL       debug, info, warn, error     info`

func newRoot() *cobra.Command {
	var s server
	root := &cobra.Command{
		Use:           "spangrove",
		Short:         "Observability and evaluation for AI applications",
		Long:          long,
		Args:          cobra.NoArgs,
		SilenceUsage:  true,
		SilenceErrors: true,
		RunE: func(cmd *cobra.Command, _ []string) error {
			s.told = cmd.ErrOrStderr()
			return s.run(cmd.Context())
		},
	}
	root.CompletionOptions.HiddenDefaultCmd = true
	s.flags(root.Flags())
	root.AddCommand(newServe(), newValidate(), newComponents(), newVersion())
	return root
}
