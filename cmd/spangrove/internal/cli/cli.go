// Package cli is the command line over the HTTP API: spangrove <noun> <verb>.
//
// A command reads its flags and files, calls the API through pkg/client, and shows the answer.
// Answers are shown from their JSON text, so that what is printed is what the server sent, digit
// for digit. Results go to standard output, everything else to standard error. A noun has a file
// of its own; the verbs that most nouns have are made by the functions of verbs.go.
package cli

import (
	"context"
	"net/http"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/spangrove/spangrove/pkg/client"
)

// The groups under which the help lists the commands.
const (
	GroupServer = "server"
	groupData   = "data"
	groupOwn    = "own"
)

// app is what the commands share: the options of all of them, and what follows from these once
// a command runs.
type app struct {
	options  options
	settings settings
	*output
	api   *client.Client
	http  *http.Client // of api; nil: the default one
	start StartLocal
	// without says how the command does without a server, if it can, for the error of one that cannot be reached.
	without string
}

// retries are few: a person waits. A server that restarts is waited for.
var retries = client.Retries{Count: 3, Base: 200 * time.Millisecond, Max: 10 * time.Second}

// Add puts the nouns and the options that all of them have under root, and shapes its help. Commands that can do without a server
// start one by start.
func Add(root *cobra.Command, start StartLocal) {
	a := &app{start: start}
	root.AddGroup(
		&cobra.Group{ID: groupData, Title: "Nouns, each with its verbs, and eval, health, mcp, status and usage:"},
		&cobra.Group{ID: GroupServer, Title: "The server:"},
		&cobra.Group{ID: groupOwn, Title: "This program:"},
	)
	root.SetHelpCommandGroupID(groupOwn)
	root.SetCompletionCommandGroupID(groupOwn)
	for _, noun := range []*cobra.Command{
		a.projects(), a.keys(), a.sessions(), a.events(), a.datasets(), a.datapoints(),
		a.configurations(), a.metrics(), a.backfills(), a.evaluations(), a.providers(), a.playground(), a.tools(), a.runs(), a.cases(), a.charts(), a.views(), a.alerts(), a.comments(), a.dashboards(), a.deletions(), a.queues(), a.index(), a.audit(), a.refusals(), a.samples(),
	} {
		noun.GroupID = groupData
		root.AddCommand(noun)
	}
	for _, alone := range []*cobra.Command{a.eval(), a.health(), a.mcp(), a.space(), a.status()} { // nouns that are verbs themselves
		alone.GroupID = groupData
		a.wrap(alone)
		root.AddCommand(alone)
	}
	config := a.config()
	config.GroupID = groupOwn
	root.AddCommand(config, newMan())
	for _, noun := range root.Commands() {
		for _, verb := range noun.Commands() {
			a.wrap(verb)
		}
	}
	a.options.flags(root)
	shapeHelp(root)
}

// noun returns a command that only has verbs.
func noun(name, short string, verbs ...*cobra.Command) *cobra.Command {
	cmd := &cobra.Command{
		Use:     name,
		Short:   short,
		Example: verbs[0].Example,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return cmd.Help()
			}
			var names []string
			for _, verb := range cmd.Commands() {
				names = append(names, verb.Name())
			}
			return usage("no verb %q; %s has %s", args[0], cmd.CommandPath(), strings.Join(names, ", "))
		},
	}
	cmd.AddCommand(verbs...)
	return cmd
}

// noSettings marks commands that must work while the settings are wrong.
var noSettings = map[string]string{"settings": "none"}

// wrap puts around a verb what all have in common: the settings before it, an end by signals, and
// errors that say what to do next.
func (a *app) wrap(verb *cobra.Command) {
	run := verb.RunE
	verb.RunE = func(cmd *cobra.Command, args []string) error {
		ctx, stop := signal.NotifyContext(cmd.Context(), ending()...)
		defer stop()
		context.AfterFunc(ctx, stop) // a second Ctrl-C ends the program at once
		cmd.SetContext(ctx)
		if cmd.Annotations["settings"] != "none" {
			if err := a.prepare(cmd); err != nil {
				return err
			}
		}
		err := run(cmd, args)
		if a.api != nil {
			a.api.CloseIdleConnections()
		}
		return a.explain(err)
	}
}

// ending returns the signals that end a command in good order. A terminal that is closed is one, unless nohup had it ignored.
func ending() []os.Signal {
	signals := []os.Signal{os.Interrupt, syscall.SIGTERM}
	if !signal.Ignored(syscall.SIGHUP) {
		signals = append(signals, syscall.SIGHUP)
	}
	return signals
}

// prepare reads the settings and makes the client, which sends nothing yet.
func (a *app) prepare(cmd *cobra.Command) (err error) {
	if a.settings, err = a.options.settings(cmd.Flags()); err != nil {
		return err
	}
	a.output = newOutput(cmd.OutOrStdout(), cmd.ErrOrStderr(), a.settings[settingOutput].text, a.options.noColor)
	return a.connect()
}

// connect makes the client of the server that the settings name.
func (a *app) connect() (err error) {
	if a.options.verbose {
		a.remark("server %s, key %s from %s", a.settings[settingServer].text, mask(a.settings[settingKey].text), a.settings[settingKey].from)
	}
	if a.http, err = a.httpClient(); err != nil {
		return err
	}
	a.api, err = a.client(a.settings[settingKey].text, retries)
	return err
}

// client returns a client of the server that the settings name.
func (a *app) client(key string, r client.Retries) (*client.Client, error) {
	opts := []client.Option{
		client.WithTimeout(a.settings.timeout()),
		client.WithRetries(r),
		client.WithUserAgent("spangrove-cli"),
	}
	if a.http != nil {
		opts = append(opts, client.WithHTTPClient(a.http))
	}
	api, err := client.New(a.settings[settingServer].text, key, opts...)
	if err != nil {
		return nil, usage("%s: %s", settingServer, strings.TrimPrefix(err.Error(), "client: "))
	}
	return api, nil
}

// httpClient returns what sends requests, or nil if that is nothing special.
func (a *app) httpClient() (*http.Client, error) {
	transport := http.DefaultTransport
	if certificate := a.settings[settingCertificate]; certificate.text != "" {
		pinned, err := pinnedTransport(certificate.text)
		if err != nil {
			return nil, usage("SPANGROVE_TLS_CERT_FILE: %s; or name the server with --server", err)
		}
		transport = pinned
	}
	if a.options.verbose {
		transport = &verboseTransport{logf: a.remark, next: transport}
	}
	if transport == http.DefaultTransport {
		return nil, nil
	}
	return &http.Client{
		Transport:     transport,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}, nil
}

// verboseTransport logs each request and its answer, without the key.
type verboseTransport struct {
	logf func(format string, args ...any)
	next http.RoundTripper
}

func (l *verboseTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	begun := time.Now()
	res, err := l.next.RoundTrip(r)
	took := time.Since(begun).Round(time.Millisecond)
	if err != nil {
		l.logf("%s %s: %v, after %s", r.Method, r.URL.Redacted(), err, took)
		return nil, err
	}
	l.logf("%s %s: %s, after %s", r.Method, r.URL.Redacted(), res.Status, took)
	return res, nil
}

// mask shows enough of a key to know it again.
func mask(key string) string {
	const head, tail = 3, 4
	switch {
	case key == "":
		return "(none)"
	case len(key) < 4*(head+tail):
		return "****"
	}
	return key[:head] + "…" + key[len(key)-tail:]
}
