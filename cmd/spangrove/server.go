package main

import (
	"context"
	"errors"
	"flag"
	"io"
	"os"
	"os/signal"
	"runtime"
	"runtime/debug"
	"strings"
	"syscall"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/confmap"
	"go.opentelemetry.io/collector/confmap/provider/envprovider"
	"go.opentelemetry.io/collector/confmap/provider/fileprovider"
	"go.opentelemetry.io/collector/confmap/provider/yamlprovider"
	"go.opentelemetry.io/collector/featuregate"
	"go.opentelemetry.io/collector/otelcol"
	"go.uber.org/zap"
	"golang.org/x/term"

	"github.com/spangrove/spangrove/cmd/spangrove/internal/cli"
	"github.com/spangrove/spangrove/pkg/embedprovider"
	"github.com/spangrove/spangrove/pkg/mount"
)

// softMemoryLimit is where the garbage collector starts to work harder, unless GOMEMLIMIT
// says otherwise. SQLite's memory comes on top, some 100 MB: a server that is loaded stays below 400 MB, and below 500 MB
// when it is asked about ten million events as well.
const softMemoryLimit = 280 << 20

// server is the collector with the configuration it was told to use.
type server struct {
	configs []string  // URIs, as --config
	sets    []string  // path=value, as --set
	data    string    // the folder of --data
	told    io.Writer // who is told that it is ready
}

// flags adds the collector's flags under its own names.
func (s *server) flags(flags *pflag.FlagSet) {
	flags.StringArrayVar(&s.configs, "config", nil,
		"configuration `URI`: a file, or embedded:default; repeated, later ones are layered over earlier ones")
	flags.StringArrayVar(&s.sets, "set", nil, "one setting over the configuration, as `path=value`: exporters.spangrove.timeout=5s")
	flags.StringVar(&s.data, "data", "", "folder of the data, as SPANGROVE_DATA_DIR: `DIR`, such as one of spangrove eval --local --data")
	gates := flag.NewFlagSet("", flag.ContinueOnError)
	featuregate.GlobalRegistry().RegisterFlags(gates)
	gates.VisitAll(func(f *flag.Flag) { f.DefValue = "" }) // a screenful of names
	flags.AddGoFlagSet(gates)
}

// newServe runs the server by name, for those who like to say it.
func newServe() *cobra.Command {
	var s server
	cmd := &cobra.Command{
		Use:    "serve",
		Short:  "Run the server, as without a command",
		Args:   cobra.NoArgs,
		Hidden: true,
		RunE: func(cmd *cobra.Command, _ []string) error {
			s.told = cmd.ErrOrStderr()
			return s.run(cmd.Context())
		},
	}
	s.flags(cmd.Flags())
	return cmd
}

func newValidate() *cobra.Command {
	var s server
	cmd := &cobra.Command{
		Use:   "validate",
		Short: "Check a configuration without running it",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			settings, err := s.settings()
			if err != nil {
				return err
			}
			col, err := otelcol.NewCollector(settings)
			if err != nil {
				return explain(err, s.configs)
			}
			if err := col.DryRun(cmd.Context()); err != nil {
				return explain(mistake{err}, s.configs)
			}
			return nil
		},
	}
	s.flags(cmd.Flags())
	return cmd
}

func newComponents() *cobra.Command {
	return &cobra.Command{
		Use:   "components",
		Short: "List the components of this build, as YAML",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			settings, err := (&server{}).settings()
			if err != nil {
				return err
			}
			list := otelcol.NewCommand(settings)
			list.SetArgs([]string{"components"})
			list.SetOut(cmd.OutOrStdout())
			return list.ExecuteContext(cmd.Context())
		},
	}
}

// run runs the collector until a signal or a fatal error, and tells on standard error when it
// is ready. A signal while it starts ends it without an error, as one later does.
func (s *server) run(ctx context.Context) error {
	// The collector itself listens for signals only once everything has started, and until then
	// they would kill the process.
	ctx, ignore := signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM)
	defer ignore()
	settings, err := s.settings()
	if err != nil {
		return err
	}
	keepPrivate()
	if os.Getenv("GOMEMLIMIT") == "" {
		debug.SetMemoryLimit(embedprovider.SoftMemoryLimit(softMemoryLimit))
	}
	col, err := otelcol.NewCollector(settings)
	if err != nil {
		return explain(err, s.configs)
	}
	told := s.told
	if os.Getenv("SPANGROVE_LOG_FORMAT") == "json" { // what reads it takes each line for an object
		told = io.Discard
	}
	b := &banner{to: told, version: version(), secrets: onTerminal(s.told)}
	watching, cancel := context.WithCancel(ctx)
	defer cancel()
	shown := make(chan struct{})
	go func() {
		defer close(shown)
		b.showWhen(watching, func() bool { return col.GetState() == otelcol.StateRunning })
		// What starting needed, such as the text of migrations, is of no use any more. Pools let
		// go of what they keep at the second collection.
		runtime.GC()
		debug.FreeOSMemory()
	}()
	err = col.Run(mount.WithBoard(ctx, b.post))
	cancel()
	<-shown
	if err != nil && !(ctx.Err() != nil && errors.Is(err, context.Canceled)) {
		return explain(err, s.configs)
	}
	return nil
}

// onTerminal reports whether w is a terminal, where somebody reads what is written.
func onTerminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

// settings returns the collector's settings for this server's configuration.
func (s *server) settings() (otelcol.CollectorSettings, error) {
	if s.data != "" { // as the variable, which is what all configurations read
		if err := os.Setenv("SPANGROVE_DATA_DIR", s.data); err != nil {
			return otelcol.CollectorSettings{}, err
		}
	}
	uris := s.configs
	if len(uris) == 0 {
		uris = []string{embedprovider.Default}
	}
	for _, set := range s.sets {
		key, value, ok := strings.Cut(set, "=")
		if !ok || strings.TrimSpace(key) == "" {
			return otelcol.CollectorSettings{}, &cli.Failure{Line: "--set " + set + ": must be path=value", Exit: cli.ExitUsage}
		}
		uris = append(uris, "yaml:"+strings.ReplaceAll(strings.TrimSpace(key), ".", "::")+": "+strings.TrimSpace(value))
	}
	return otelcol.CollectorSettings{
		BuildInfo: component.BuildInfo{
			Command:     "spangrove",
			Description: "Observability and evaluation for AI applications, as an OpenTelemetry Collector",
			Version:     version(),
		},
		Factories: components,
		ConfigProviderSettings: otelcol.ConfigProviderSettings{ResolverSettings: confmap.ResolverSettings{
			URIs:              uris,
			DefaultScheme:     "env",
			ProviderFactories: providers(),
			ConverterFactories: []confmap.ConverterFactory{
				confmap.NewConverterFactory(newExposure),
				confmap.NewConverterFactory(newScrubbed),
				confmap.NewConverterFactory(newEarly),
			},
		}},
		LoggingOptions:          []zap.Option{zap.WrapCore(quiet)},
		DisableGracefulShutdown: true, // run ends it
	}, nil
}

// providers returns where configurations and their values may come from: no network. A test
// compares them with builder-config.yaml.
func providers() []confmap.ProviderFactory {
	return []confmap.ProviderFactory{
		embedprovider.NewFactory(),
		envprovider.NewFactory(),
		fileprovider.NewFactory(),
		yamlprovider.NewFactory(),
	}
}
