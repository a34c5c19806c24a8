// Command loadgen measures Spangrove side by side with the least that durable
// storage can cost: it sends the same deterministic AI traces to each server,
// reads back what was acknowledged, times reads, samples CPU, memory and disk of
// the server's processes, and prints one table.
//
//	loadgen bench -spec FILE,FILE...   starts each server, loads it, asks it
//	loadgen sink -endpoint HOST:PORT -out FILE [-fsync]
//
// The sink appends each OTLP request to a file before it acknowledges it. The
// load is closed-loop: each sender waits for its answer before it sends again.
package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"strings"
	"time"
)

func main() {
	if len(os.Args) < 2 {
		help()
	}
	ctx, cancel := signal.NotifyContext(context.Background(), os.Interrupt)
	defer cancel()
	var err error
	switch os.Args[1] {
	case "bench":
		err = bench(ctx, os.Args[2:])
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
	fmt.Fprintln(os.Stderr, "usage: loadgen bench|sink [flags]   (-h after the command lists them)")
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
