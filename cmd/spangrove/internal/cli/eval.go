package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/google/uuid"
	"github.com/spf13/cobra"
	"go.opentelemetry.io/otel/trace"

	"github.com/spangrove/spangrove/pkg/client"
	"github.com/spangrove/spangrove/pkg/experiment"
	"github.com/spangrove/spangrove/pkg/rawjson"
	"github.com/spangrove/spangrove/pkg/run"
	"github.com/spangrove/spangrove/pkg/tracer"
)

// evalStep names the step that is the program's. It is the same in all runs, so that they can be compared.
const evalStep = "command"

// evalOptions are the flags of eval.
type evalOptions struct {
	dataset, command, name, against, aggregate string
	metrics, evaluators, least, most           []string
	parallel                                   int
	each                                       time.Duration
	junit, markdown, save                      string
	localChoice
}

func (a *app) eval() *cobra.Command {
	var o evalOptions
	cmd := &cobra.Command{
		Use:   "eval",
		Short: "Evaluate a program: run it over a dataset and score what it prints",
		Example: indent(`
			spangrove eval --dataset cases.jsonl --command './answer' --metric exact_match
			spangrove eval --dataset 65a1b2c3d4e5f60718293a4b --command 'python answer.py' --metric faithfulness --min faithfulness=0.9
			spangrove eval --dataset cases.csv --command './answer' --evaluator 'exact=python exact.py' --against ` + exampleEvent + `
			spangrove eval --dataset cases.jsonl --command './answer' --metric strict.yaml --junit eval.xml --markdown eval.md
			spangrove eval --local --dataset cases.jsonl --command './answer' --metric exact_match --save eval.case`),
		Long: `The program is a command line of sh. It runs once for each datapoint, gets the datapoint's inputs as a JSON object on standard input,
and prints its outputs as one JSON value. A datapoint whose program exits with another status than 0, prints no JSON or takes longer than
--timeout-each has failed; the end of its standard error is shown. A program that ends takes what it started with it.

In its environment are SPANGROVE_RUN_ID, SPANGROVE_SESSION_ID, SPANGROVE_DATAPOINT_ID, SPANGROVE_SERVER and SPANGROVE_API_KEY, and
TRACEPARENT: spans that it sends with this trace context stand below its step in the datapoint's session.

The run records the command line and, in a git repository, the commit. A dataset is the id of a stored one, or a file of JSON, JSON lines or CSV. A row has inputs, ground_truth and id; if it has no inputs, all
other members are its inputs, as columns of CSV are.

--metric is a metric of the project, else a ready-made one, else a .json or .yaml file with a definition, which may be
{from: NAME, parameters: {…}} of a ready-made one. --evaluator is a program, NAME= before it names its metric, that gets {inputs, outputs, ground_truth} and prints a score:
a number, a boolean, a text, or an object with score, explanation and further scores.

The exit status is 1 if a program or an evaluator failed, or if a metric's aggregate over all datapoints does not meet its rule: --min and
--max, else the metric's own threshold. Booleans count as 1 and 0, so that a metric whose threshold is true must be true everywhere
unless --min says otherwise; texts must all be passing categories.

With --local nothing needs to run: the command starts a server of its own on a port of 127.0.0.1 that the system chooses, and stops it
at the end. All metrics work; judges find the keys of their providers in the environment, as a server does. SPANGROVE_SERVER and
SPANGROVE_API_KEY do not count then. --data keeps what it stores, and a later evaluation finds earlier runs there; spangrove --data DIR
shows it in a browser. One command at a time can have a folder; --local DIR is --local --data DIR. --save writes the run to a file, which spangrove case import puts into
another server, and which --against takes.`,
		Args: func(cmd *cobra.Command, args []string) error { return o.arguments(cmd, args) },
		RunE: func(cmd *cobra.Command, _ []string) error { return a.evaluate(cmd, o) },
	}
	flags := cmd.Flags()
	flags.StringVar(&o.dataset, "dataset", "", "`FILE|ID` of the dataset; - is standard input")
	flags.StringVar(&o.command, "command", "", "`PROGRAM` that is evaluated")
	flags.StringVar(&o.name, "name", "", "`NAME` of the run")
	flags.StringArrayVar(&o.metrics, "metric", nil, "`NAME|FILE` of a metric that the server runs; any number of them")
	flags.StringArrayVar(&o.evaluators, "evaluator", nil, "`[NAME=]PROGRAM` that prints a score; any number of them")
	flags.StringArrayVar(&o.least, "min", nil, "`NAME=NUMBER`: what the metric must come to at least")
	flags.StringArrayVar(&o.most, "max", nil, "`NAME=NUMBER`: what the metric must come to at most")
	flags.IntVar(&o.parallel, "parallel", experiment.DefaultParallel, "how many datapoints at a time")
	flags.DurationVar(&o.each, "timeout-each", 5*time.Minute, "how long the program, or an evaluator, may take for a datapoint; 0: any time")
	flags.StringVar(&o.against, "against", "", "`ID|FILE` of an earlier run to compare with: with --local also a file that --save has written")
	flags.StringVar(&o.junit, "junit", "", "`FILE` that gets the result as JUnit XML: datapoints and metrics are test cases")
	flags.StringVar(&o.markdown, "markdown", "", "`FILE` that gets a summary in Markdown")
	flags.StringVar(&o.save, "save", "", "`FILE` that gets the run with all its sessions, for spangrove case import")
	aggregateFlag(cmd, &o.aggregate)
	o.localChoice.flags(cmd)
	return cmd
}

func (a *app) evaluate(cmd *cobra.Command, o evalOptions) error {
	if err := o.check(); err != nil {
		return err
	}
	e := evalRun{app: a, options: o, run: uuid.NewString()}
	var err error
	if e.ranges, err = bounds(o.least, o.most); err != nil {
		return err
	}
	if err := o.checkFiles(); err != nil {
		return err
	}
	rows, stored, err := readDataset(cmd, o.dataset)
	if err != nil {
		return err
	}
	// SIGPIPE, when the reader of standard output is gone, would end this program at once and leave the programs that it runs and the server of
	// --local behind. While the signal is caught, writing fails instead.
	gone := make(chan os.Signal, 1)
	signal.Notify(gone, syscall.SIGPIPE)
	defer signal.Stop(gone)
	ctx := cmd.Context()
	isLocal, err := o.wanted(cmd)
	if err != nil {
		return err
	}
	a.without = "evaluate without one with --local, "
	if isLocal {
		stop, err := a.startLocal(ctx, o.localChoice)
		if err != nil {
			return err
		}
		defer stop()
	}
	if e.options.against, err = a.earlier(cmd, o.against, isLocal); err != nil {
		return err
	}
	p := program{line: o.command, timeout: o.each, env: []string{
		"SPANGROVE_SERVER=" + a.api.Server(), "SPANGROVE_API_KEY=" + a.settings[settingKey].text, "SPANGROVE_RUN_ID=" + e.run,
	}}
	if e.scorers, err = a.scorers(cmd, o.metrics); err != nil {
		return err
	}
	e.scorers = append(e.scorers, evaluators(o.evaluators, p)...)
	if err := e.checkNames(); err != nil {
		return err
	}
	t, err := a.newTracer()
	if err != nil {
		return err
	}
	defer func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
		defer cancel()
		_ = t.Shutdown(ctx) // what was to be sent, Evaluate has sent
	}()
	if err := e.work(ctx, t, p, rows, stored); err != nil {
		return err
	}
	return e.report(ctx)
}

// check returns the first error of an option that needs no server and no file to be seen.
func (o *evalOptions) check() error {
	switch {
	case o.dataset == "":
		return usage("--dataset is missing: a file, or the id of a stored dataset")
	case o.command == "":
		return usage("--command is missing: the program that is evaluated")
	case o.parallel < 1:
		return usage("--parallel must be 1 or more")
	case o.each < 0:
		return usage("--timeout-each must not be negative")
	}
	if _, err := run.ParseAggregate(o.aggregate); err != nil {
		return usage("--aggregate %s: %s", o.aggregate, strings.TrimPrefix(err.Error(), "aggregate_function: "))
	}
	return nil
}

// checkNames returns an error if two scorers have one name, or if a bound is for a name that none has.
func (e *evalRun) checkNames() error {
	names := map[string]bool{}
	for _, j := range e.scorers {
		if names[j.name] {
			return usage("two metrics or evaluators are named %s; name a program by --evaluator NAME=PROGRAM", clean(j.name))
		}
		names[j.name] = true
	}
	for _, name := range slices.Sorted(maps.Keys(e.ranges)) {
		if !names[name] && len(e.options.evaluators) == 0 { // a program's scores may have any name
			return usage("--min or --max %s: no --metric has this name", clean(name))
		}
	}
	return nil
}

// newTracer returns a tracer that sends to the server of the settings.
func (a *app) newTracer() (*tracer.Tracer, error) {
	opts := []tracer.Option{tracer.WithErrorHandler(func(err error) { a.remark("%s", clean(err.Error())) })}
	if a.settings[settingCertificate].text != "" {
		pinned := *a.http
		pinned.Timeout = 30 * time.Second // of an attempt, as the tracer's own
		opts = append(opts, tracer.WithHTTPClient(&pinned))
	}
	return tracer.New(a.api.Server(), a.settings[settingKey].text, opts...)
}

// checkFiles returns an error if a file that is written at the end cannot be.
func (o *evalOptions) checkFiles() error {
	for flag, file := range map[string]string{"--junit": o.junit, "--markdown": o.markdown, "--save": o.save} {
		if file == "" {
			continue
		}
		if info, err := os.Stat(filepath.Dir(file)); err != nil || !info.IsDir() {
			return usage("%s %s: there is no directory %s", flag, file, filepath.Dir(file))
		}
		if info, err := os.Stat(file); err == nil && info.IsDir() {
			return usage("%s %s: is a directory", flag, file)
		}
	}
	return nil
}

// earlier returns the id of the run to compare with, which is there. One of a file is stored first.
func (a *app) earlier(cmd *cobra.Command, name string, isLocal bool) (id string, err error) {
	if name == "" {
		return "", nil
	}
	if _, err := os.Stat(name); err != nil { // it is no file, so it is an id
		_, err := a.call(cmd.Context(), get(path("runs", name)))
		if notFound(err) {
			return "", &Failure{Line: fmt.Sprintf("--against %s: there is no such file, and no run of this id", name), Exit: exitNotFound}
		}
		return name, err
	}
	if !isLocal {
		return "", usage("--against %s: a file is compared with by --local; for a server, spangrove case import it first and name its run", name)
	}
	var c caseCounts
	err = a.loadCase(cmd, name, &c)
	if err == nil && len(c.runs) != 1 {
		err = usage("--against %s: must hold one run, not %d", name, len(c.runs))
	}
	if err != nil {
		return "", err
	}
	return c.runs[0], nil
}

// around returns environment variables that tell a program where in the run it is.
func around(ctx context.Context, d experiment.Datapoint) []string {
	sc := trace.SpanContextFromContext(ctx)
	return []string{
		"SPANGROVE_SESSION_ID=" + tracer.SessionID(ctx), "SPANGROVE_DATAPOINT_ID=" + d.ID,
		fmt.Sprintf("TRACEPARENT=00-%s-%s-%s", sc.TraceID(), sc.SpanID(), sc.TraceFlags()),
	}
}

// evalRun is one evaluation of a program.
type evalRun struct {
	*app
	options evalOptions
	run     string
	scorers []scorer
	ranges  map[string]client.Range // of --min and --max
	result  *experiment.Result
	took    time.Duration
}

// work runs the program and the evaluators over the dataset.
func (e *evalRun) work(ctx context.Context, t *tracer.Tracer, p program, rows []experiment.Datapoint, stored string) error {
	bar := e.progress("evaluating", "datapoints", int64(len(rows)))
	failed := 0
	spec := experiment.Spec{
		Name: e.options.name, RunID: e.run, FunctionName: evalStep, Dataset: rows, DatasetID: stored,
		Parallel: e.options.parallel, Aggregate: e.options.aggregate,
		Configuration: map[string]any{"command": e.options.command}, Metadata: map[string]any{"git": revision(ctx)},
		PassingRanges: maps.Clone(e.ranges),
		Function: func(ctx context.Context, d experiment.Datapoint) (any, error) {
			inputs := d.Inputs
			if inputs == nil {
				inputs = map[string]any{}
			}
			in, err := json.Marshal(inputs)
			if err != nil {
				return nil, err
			}
			return p.run(ctx, in, around(ctx, d)...)
		},
		Progress: func(done, total int, d experiment.DatapointResult) {
			if ctx.Err() != nil {
				return
			}
			if d.Err != nil || len(d.EvaluatorErrs) > 0 {
				failed++
				e.complain(d)
				bar.note = fmt.Sprintf("%d failed", failed)
			}
			bar.total = int64(total)
			bar.at(int64(done), int64(done))
		},
	}
	for _, j := range e.scorers {
		spec.Evaluators = append(spec.Evaluators, j.evaluator)
		if r, ok := rangeOf(j.rule); ok && !j.stored && spec.PassingRanges[j.name] == (client.Range{}) {
			spec.PassingRanges[j.name] = r // the server does not know it otherwise
		}
	}
	began := time.Now()
	var err error
	e.result, err = experiment.Evaluate(ctx, e.api, t, spec)
	e.took = time.Since(began)
	bar.clear()
	if err == nil || e.result == nil {
		return err
	}
	done := 0
	for _, d := range e.result.Datapoints {
		if d.SessionID != "" && !errors.Is(d.Err, context.Canceled) {
			done++
		}
	}
	return after(err, "run %s is %s, %d of %d datapoints were done", e.run, e.result.Status, done, len(e.result.Datapoints))
}

// revision returns the commit of the directory's git repository, or nil if it is not in one.
func revision(ctx context.Context) any {
	commit, err := exec.CommandContext(ctx, "git", "rev-parse", "HEAD").Output()
	if err != nil {
		return nil
	}
	changed, err := exec.CommandContext(ctx, "git", "status", "--porcelain", "--untracked-files=no").Output()
	if err != nil {
		return nil
	}
	return map[string]any{"commit_hash": strings.TrimSpace(string(commit)), "is_dirty": len(changed) > 0}
}

// complain prints on standard error what went wrong with a datapoint.
func (e *evalRun) complain(d experiment.DatapointResult) {
	show := func(what string, err error) {
		e.remark("%s: %s%s", clean(d.ID), what, clean(err.Error()))
		var p *programError
		if errors.As(err, &p) {
			for line := range strings.Lines(strings.TrimSpace(p.complaint)) {
				e.remark("    %s", clean(line))
			}
		}
	}
	if d.Err != nil {
		show("", d.Err)
	}
	for _, name := range slices.Sorted(maps.Keys(d.EvaluatorErrs)) {
		show(clean(name)+": ", d.EvaluatorErrs[name])
	}
}

// report shows what came of it, writes the files, and fails if something is not as it should be. What cannot be done keeps nothing
// else from being shown and written: an evaluation takes time and money.
func (e *evalRun) report(ctx context.Context) error {
	s := e.summary()
	var problem error // the first
	try := func(err error) {
		if problem == nil {
			problem = after(err, "run %s is %s", e.run, e.result.Status)
		}
	}
	var comparison json.RawMessage
	if e.options.against != "" {
		var err error
		comparison, s.comparison, err = e.compare(ctx, e.run, e.options.against, e.options.aggregate)
		try(err)
	}
	if e.options.junit != "" {
		try(writeFile(e.options.junit, s.junit()))
	}
	if e.options.save != "" {
		_, err := e.saveCase(ctx, e.options.save, caseChoice{runs: []string{e.run}})
		try(err)
	}
	if e.options.markdown != "" {
		try(writeFile(e.options.markdown, s.markdown()))
	}
	if e.format != formatTable {
		try(e.document(ctx, s, comparison))
	} else {
		try(s.show(e.output))
	}
	if problem != nil {
		return problem
	}
	e.remark("run %s (%s): %s", clean(e.result.Name), e.run, s.counts())
	if len(s.reasons) > 0 {
		return &Failure{strings.Join(s.reasons, "; "), ExitFailed}
	}
	return nil
}

// document shows all of it for programs.
func (e *evalRun) document(ctx context.Context, s *summary, comparison json.RawMessage) error {
	r := get(path("runs", e.run, "result"))
	if e.options.aggregate != "" {
		r.Query = map[string][]string{"aggregate_function": {e.options.aggregate}}
	}
	result, err := e.call(ctx, r)
	if err != nil {
		return err
	}
	var datapoints []json.RawMessage
	for _, d := range e.result.Datapoints {
		var b rawjson.Builder
		b.String("datapoint_id", d.ID)
		b.String("session_id", d.SessionID)
		b.Number("duration_ms", float64(d.Duration)/float64(time.Millisecond))
		if d.Err != nil {
			b.String("error", d.Err.Error())
		}
		var scores, missing rawjson.Builder
		for _, j := range e.scorers {
			if score, ok := d.Scores[j.name]; ok {
				scores.Raw(j.name, scoreJSON(score))
			}
			if err := d.EvaluatorErrs[j.name]; err != nil {
				missing.String(j.name, err.Error())
			}
		}
		b.Raw("scores", object(&scores))
		b.Raw("evaluator_errors", object(&missing))
		datapoints = append(datapoints, b.Bytes())
	}
	var b rawjson.Builder
	b.String("run_id", e.run)
	b.String("name", e.result.Name)
	b.String("status", e.result.Status)
	b.String("dataset_id", e.result.DatasetID)
	b.Bool("passed", len(s.reasons) == 0)
	b.Raw("reasons", rawjson.AppendStrings(nil, s.reasons))
	b.Raw("datapoints", rawjson.AppendArray(nil, datapoints))
	b.Raw("result", result)
	if comparison != nil {
		b.Raw("comparison", comparison)
	}
	return e.one(b.Bytes())
}
