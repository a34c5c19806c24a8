// Command loadgen measures Spangrove side by side with the least that durable
// storage can cost: it sends the same deterministic AI traces to each server,
// reads back what was acknowledged, times reads, samples CPU, memory and disk of
// the server's processes, and prints one table.
//
//	loadgen bench -spec FILE,FILE...   starts each server, loads it, asks it
//	loadgen scale -spec FILE,FILE...   loads many small events, asks questions whose answers are known
//	loadgen simulate [-scenario FILE]  a store of many shards in simulated time, by measured costs
//	loadgen sink -endpoint HOST:PORT -out FILE [-fsync]
//
// The sink appends each OTLP request to a file before it acknowledges it. The
// load is closed-loop: each sender waits for its answer before it sends again.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"time"
)

func main() {
	if len(os.Args) < 2 {
		help()
	}
	ctx, cancel := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer cancel()
	var err error
	switch os.Args[1] {
	case "bench":
		err = bench(ctx, os.Args[2:])
	case "scale":
		err = scaleCommand(ctx, os.Args[2:])
	case "simulate":
		err = simulateCommand(os.Args[2:])
	case "sink":
		err = sink(os.Args[2:])
	default:
		help()
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "loadgen:", err)
		os.Exit(1)
	}
}

func help() {
	fmt.Fprintln(os.Stderr, "usage: loadgen bench|scale|simulate|sink [flags]   (-h after the command lists them)")
	os.Exit(2)
}

func bench(ctx context.Context, args []string) error {
	fs := flag.NewFlagSet("bench", flag.ExitOnError)
	a := benchArgs{seed: 1}
	fs.IntVar(&a.n, "n", 199980, "spans to send (multiples of 60 end on a whole trace)")
	fs.IntVar(&a.senders, "c", 4, "concurrent senders")
	fs.IntVar(&a.batch, "b", 100, "spans per request, rounded to whole traces of 12 on average")
	fs.IntVar(&a.big, "big", 5000, "also send one trace of so many spans first, outside the clock")
	fs.BoolVar(&a.interleave, "interleave", false, "mix the spans of many traces in end order, as a batching exporter does")
	fs.BoolVar(&a.gzip, "gzip", false, "compress requests")
	fs.IntVar(&a.maxCheck, "check", 1500, "traces to fetch and compare (0 = all)")
	fs.IntVar(&a.reps, "reps", 100, "repeats of each query")
	fs.DurationVar(&a.visible, "visible", 2*time.Minute, "longest wait until the load can be read")
	fs.DurationVar(&a.settle, "settle", 6*time.Second, "wait before disk and CPU are read")
	fs.StringVar(&a.root, "dir", "", "folder for data and logs (default: a temporary one)")
	specs := fs.String("spec", "", "server description files (JSON), comma separated; ratios are to the first")
	out := fs.String("out", "", "write all results to this file, one JSON line a server")
	fs.Parse(args)
	if a.root == "" {
		dir, err := os.MkdirTemp("", "loadgen")
		if err != nil {
			return err
		}
		defer os.RemoveAll(dir)
		a.root = dir
	}
	var results []*Result
	for _, file := range strings.Split(*specs, ",") {
		s, err := readServerSpec(file)
		if err != nil {
			return err
		}
		fmt.Fprintln(os.Stderr, "measuring", s.Name)
		results = append(results, run(ctx, s, &a))
	}
	if *out != "" {
		f, err := os.Create(*out)
		if err != nil {
			return err
		}
		enc := json.NewEncoder(f)
		for _, r := range results {
			if err := enc.Encode(r); err != nil {
				return err
			}
		}
		if err := f.Close(); err != nil {
			return err
		}
	}
	return printTable(os.Stdout, results)
}

func sink(args []string) error {
	fs := flag.NewFlagSet("sink", flag.ExitOnError)
	endpoint := fs.String("endpoint", "127.0.0.1:4317", "address of OTLP over gRPC")
	file := fs.String("out", "sink.wal", "file that requests are appended to")
	fsync := fs.Bool("fsync", false, "sync the file before each acknowledgement")
	fs.Parse(args)
	return runSink(*endpoint, *file, *fsync)
}

func scaleCommand(ctx context.Context, args []string) error {
	fs := flag.NewFlagSet("scale", flag.ExitOnError)
	a := scaleArgs{seed: 1}
	sizes := fs.String("n", "1000000,10000000", "events to send, comma separated; an empty store for each number")
	specs := fs.String("spec", "", "server description files (JSON), comma separated")
	limits := fs.String("limits", "", "description files of servers that only take data, and whose rates are shown as limits")
	fs.IntVar(&a.limitSize, "limit-events", 200_000, "events to send to each of these")
	fs.IntVar(&a.days, "days", 30, "whole days, up to yesterday, that the events are spread over")
	fs.IntVar(&a.reps, "reps", 5, "repeats of each question")
	fs.DurationVar(&a.limit, "limit", 30*time.Second, "longest time for an answer")
	fs.Float64Var(&a.incoming, "incoming", 0, "ask all questions again while so many events a second come in")
	only := fs.String("only", "", "ask only questions whose name matches this regular expression")
	fs.StringVar(&a.root, "dir", "", "folder for data and logs (default: a temporary one)")
	fs.BoolVar(&a.keep, "keep", false, "keep the data in -dir, and ask what an earlier run kept without loading it again")
	fs.DurationVar(&a.settle, "settle", 6*time.Second, "wait after the load before CPU and disk are read")
	out := fs.String("out", "", "write all results to this file as JSON")
	fs.Parse(args)
	for _, text := range strings.FieldsFunc(*sizes, func(r rune) bool { return r == ',' || r == ' ' }) {
		n, err := strconv.Atoi(text)
		if err != nil || n < smallSpans*rateParts {
			return fmt.Errorf("-n: %q must be a number from %d on", text, smallSpans*rateParts)
		}
		a.sizes = append(a.sizes, n)
	}
	if a.days < 1 || a.days > 365 {
		return fmt.Errorf("-days: %d must be a number from 1 to 365", a.days)
	}
	if a.reps < 1 {
		return fmt.Errorf("-reps: %d must be at least 1", a.reps)
	}
	var err error
	if *only != "" {
		if a.only, err = regexp.Compile(*only); err != nil {
			return fmt.Errorf("-only: %w", err)
		}
	}
	if a.specs, err = readServerSpecs(*specs); err != nil {
		return fmt.Errorf("-spec: %w", err)
	}
	if a.limits, err = readServerSpecs(*limits); err != nil {
		return fmt.Errorf("-limits: %w", err)
	}
	if a.root == "" {
		if a.keep {
			return errors.New("-keep needs -dir")
		}
		if a.root, err = os.MkdirTemp("", "loadgen"); err != nil {
			return err
		}
		defer os.RemoveAll(a.root)
	}
	res, wrong := scale(ctx, &a)
	if *out != "" {
		b, err := json.MarshalIndent(res, "", "  ")
		if err != nil {
			return err
		}
		if err := os.WriteFile(*out, append(b, '\n'), 0o644); err != nil {
			return err
		}
	}
	return errors.Join(printScale(os.Stdout, res), wrong)
}

// readServerSpecs reads files of a list separated by commas.
func readServerSpecs(files string) (list []*ServerSpec, err error) {
	for _, file := range strings.FieldsFunc(files, func(r rune) bool { return r == ',' }) {
		s, err := readServerSpec(file)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", file, err)
		}
		list = append(list, s)
	}
	return list, nil
}
