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
	"regexp"

	"github.com/spf13/cobra"

	"github.com/spangrove/spangrove/cmd/spangrove/internal/cli"
)

func main() {
	err := newRoot().ExecuteContext(context.Background())
	if err == nil {
		return
	}
	var f *cli.Failure
	if !errors.As(err, &f) {
		f = &cli.Failure{Line: inWords(err) + "; see spangrove --help", Exit: cli.ExitUsage} // cobra's own: unknown command
	}
	fmt.Fprintln(os.Stderr, "spangrove: "+f.Line)
	os.Exit(f.Exit)
}

// terse are cobra's errors that speak of its own terms, and what is said instead.
var terse = []struct {
	text *regexp.Regexp
	say  string
}{
	{regexp.MustCompile(`^if any flags in the group .* none of the others can be; \[(\S+) (\S+).*\] were all set$`), "--$1 and --$2 cannot be given together"},
	{regexp.MustCompile(`^accepts 1 arg\(s\), received 0$`), "the directory is missing"}, // no other argument is asked for outside package cli
	{regexp.MustCompile(`^accepts 1 arg\(s\), received (\d+)$`), "there is one argument, not $1"},
}

func inWords(err error) string {
	for _, t := range terse {
		if t.text.MatchString(err.Error()) {
			return t.text.ReplaceAllString(err.Error(), t.say)
		}
	}
	return err.Error()
}

const examples = `  spangrove                            run the server with the embedded configuration
  spangrove --set extensions.spangrove_api.endpoint=127.0.0.1:8080
  spangrove --config embedded:default --config mine.yaml
  SPANGROVE_POSTGRES_DSN=postgres://localhost/grove spangrove

  spangrove sessions list              ask the server, here or at --server
  spangrove events list --type model --since 24h --output json`

const long = `Spangrove takes traces and events of AI applications, stores them durably, and gives
them back. Without a command it runs the server; with a noun and a verb it asks one.

The server's embedded configuration reads these variables:

    SPANGROVE_ADDR            API and OTLP/HTTP            127.0.0.1:7420
    SPANGROVE_OTLP_GRPC_ADDR  OTLP/gRPC, empty: off        127.0.0.1:4317
    SPANGROVE_OTLP_HTTP_ADDR  OTLP/HTTP, empty: off        127.0.0.1:4318
    SPANGROVE_DATA_DIR        SQLite, generated key        ./spangrove-data
    SPANGROVE_POSTGRES_DSN    PostgreSQL instead of SQLite
    SPANGROVE_POSTGRES_DIRECT_DSN  the same past a pooler
    SPANGROVE_POSTGRES_READ_DSN  a replica of it, to read
    SPANGROVE_API_KEY         a key instead of a generated one
    SPANGROVE_PROJECT         the first project's name     default
    SPANGROVE_SCRUB           replace secrets: secrets     off
    SPANGROVE_TLS_CERT_FILE   certificate of all listeners
    SPANGROVE_TLS_KEY_FILE    its key
    SPANGROVE_METRICS_ADDR    metrics for Prometheus       off
    SPANGROVE_MEMORY_LIMIT_MIB  refuse data from there on  1024
    SPANGROVE_CORE_DUMPS      keep: leave them on
    SPANGROVE_LOG_LEVEL       debug, info, warn, error     info
    SPANGROVE_LOG_FORMAT      console, json                console

Secrets may stand in files: SPANGROVE_API_KEY_FILE and so on. The README has all variables.

The nouns read these, before the file that spangrove config set writes:

    SPANGROVE_SERVER          the server to ask            http://127.0.0.1:7420
    SPANGROVE_API_KEY         the key to ask with          that of a server here
    SPANGROVE_API_KEY_FILE    a file with it
    SPANGROVE_TIMEOUT         how long a call may take     30s
    SPANGROVE_OUTPUT          table, json, jsonl, yaml     table`

func newRoot() *cobra.Command {
	var s server
	root := &cobra.Command{
		Use:           "spangrove",
		Short:         "Observability and evaluation for AI applications",
		Long:          long,
		Example:       examples,
		Args:          cobra.NoArgs,
		Version:       version(),
		SilenceUsage:  true,
		SilenceErrors: true,
		RunE: func(cmd *cobra.Command, _ []string) error {
			s.told = cmd.ErrOrStderr()
			return s.run(cmd.Context())
		},
	}
	root.SetVersionTemplate(versionLine())
	s.flags(root.Flags())
	cli.Add(root, startLocal)
	for _, cmd := range []*cobra.Command{newServe(), newValidate(), newComponents(), newDoctor(), newBackup(), newVerify(), newRestore(), newMove(), newCluster(), newEvaluators(), newUpgrade(), newVersion()} {
		cmd.GroupID = cli.GroupServer
		root.AddCommand(cmd)
	}
	return root
}
