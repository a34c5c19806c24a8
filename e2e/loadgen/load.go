package main

import (
	"context"
	"errors"
	"fmt"
	"sort"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
)

const (
	spansPerTrace    = 12  // on average
	bigRequestSpans  = 200 // spans per request of the big trace
	maxErrorTexts    = 20  // different error texts that a result keeps
	retryPause       = 20 * time.Millisecond
	defaultSendLimit = 120 * time.Second
)

// LoadOpts say what to send and how.
type LoadOpts struct {
	Mode       string // otlp-grpc, otlp-http
	Endpoint   string // host:port for gRPC, base URL or full URL for HTTP
	Senders    int
	Batch      int // spans per request, rounded to whole traces
	Interleave bool
	Gzip       bool
	Token      string
	MaxTime    time.Duration
	Retries    int
	Timeout    time.Duration
}

// LoadResult is what the load reports.
type LoadResult struct {
	Mode, Shape string
	Senders     int `json:"Conc"` // the name that earlier results have
	Batch       int
	Sent        int64          `json:"spans_offered"`
	Acked       int64          `json:"spans_acked"`
	Rejected    int64          `json:"spans_rejected"`
	Failed      int64          `json:"spans_failed"`
	Requests    int64          `json:"requests"`
	Retries     int64          `json:"retries"`
	Bytes       int64          `json:"payload_bytes"`
	Seconds     float64        `json:"seconds"`
	Rate        float64        `json:"acked_spans_per_s"`
	P50, P95    float64        // ms
	P99, Max    float64        // ms
	ClientCPU   float64        `json:"client_cpu_s"`
	Errors      map[string]int `json:"errors,omitempty"`
	FirstSend   time.Time
	LastAck     time.Time
	ackedBy     []int32 // spans acknowledged, by trace (the big trace last)
}

// loadRun is one load while it is being sent.
type loadRun struct {
	gen            *SpanGenerator
	opts           LoadOpts
	tracesPerBatch int
	units          int64
	deadline       time.Time    // zero: none
	next           atomic.Int64 // unit that is sent next

	mu         sync.Mutex
	res        *LoadResult
	latencies  []float64 // ms, of acknowledged requests
	firstError error
}

// Load sends the whole run (big trace first, outside the clock) and reports.
func Load(ctx context.Context, g *SpanGenerator, o LoadOpts) (*LoadResult, error) {
	o.Senders = max(1, o.Senders)
	if o.Timeout == 0 {
		o.Timeout = defaultSendLimit
	}
	run := &loadRun{gen: g, opts: o, tracesPerBatch: max(1, (o.Batch+spansPerTrace/2)/spansPerTrace)}
	run.units = int64(g.Units(run.tracesPerBatch, o.Interleave))
	run.res = &LoadResult{
		Mode: o.Mode, Shape: "whole", Senders: o.Senders, Batch: o.Batch,
		Errors: map[string]int{}, ackedBy: make([]int32, g.Traces+1),
	}
	if o.Interleave {
		run.res.Shape = "interleaved"
	}
	if err := run.sendBigTrace(ctx); err != nil {
		return nil, err
	}
	cpuBefore := selfCPU()
	run.res.FirstSend = time.Now()
	if o.MaxTime > 0 {
		run.deadline = run.res.FirstSend.Add(o.MaxTime)
	}
	var workers sync.WaitGroup
	for range o.Senders {
		s, closeSender, err := newSender(g, &run.opts)
		if err != nil {
			return nil, err
		}
		workers.Go(func() {
			defer closeSender()
			run.sendUnits(ctx, s)
		})
	}
	workers.Wait()
	run.res.ClientCPU = selfCPU() - cpuBefore
	return run.result()
}

// sendBigTrace sends the one big trace, if there is one.
func (run *loadRun) sendBigTrace(ctx context.Context) error {
	g := run.gen
	if g.Big <= 0 {
		return nil
	}
	s, closeSender, err := newSender(g, &run.opts)
	if err != nil {
		return err
	}
	defer closeSender()
	for spans := g.Spans(g.Traces, nil); len(spans) > 0; {
		n := min(bigRequestSpans, len(spans))
		if _, _, err := run.sendWithin(ctx, s, batch{spans: spans[:n], big: true}); err != nil {
			return fmt.Errorf("big trace: %w", err)
		}
		run.res.ackedBy[g.Traces] += int32(n)
		spans = spans[n:]
	}
	return nil
}

// sendUnits sends one unit after another until none is left, the time is over, or ctx ends.
func (run *loadRun) sendUnits(ctx context.Context, s sender) {
	for {
		unit := run.next.Add(1) - 1
		if unit >= run.units {
			return
		}
		for _, b := range run.gen.Unit(int(unit), run.tracesPerBatch, run.opts.Interleave) {
			if ctx.Err() != nil || !run.deadline.IsZero() && time.Now().After(run.deadline) {
				return
			}
			if len(b.spans) > 0 {
				run.sendBatch(ctx, s, b)
			}
		}
	}
}

// sendBatch sends a batch, again after each error that may go away.
func (run *loadRun) sendBatch(ctx context.Context, s sender, b batch) {
	for attempt := 0; ; attempt++ {
		began := time.Now()
		rejected, size, err := run.sendWithin(ctx, s, b)
		took := time.Since(began)
		if !run.record(b, attempt, rejected, size, took, err) {
			return
		}
		time.Sleep(time.Duration(attempt+1) * retryPause)
	}
}

// sendWithin sends a batch once, within the time limit of a request.
func (run *loadRun) sendWithin(ctx context.Context, s sender, b batch) (rejected int64, size int, err error) {
	ctx, cancel := context.WithTimeout(ctx, run.opts.Timeout)
	defer cancel()
	return s.send(ctx, b)
}

// record counts one attempt, and reports whether the batch is to be sent again.
func (run *loadRun) record(b batch, attempt int, rejected int64, size int, took time.Duration, err error) (again bool) {
	run.mu.Lock()
	defer run.mu.Unlock()
	res := run.res
	res.Requests++
	if attempt == 0 {
		res.Sent += int64(len(b.spans))
		res.Bytes += int64(size)
	}
	if err == nil {
		run.latencies = append(run.latencies, milliseconds(took))
		res.Acked += int64(len(b.spans)) - rejected
		res.Rejected += rejected
		if rejected == 0 {
			for i := range b.spans {
				res.ackedBy[b.spans[i].trace]++
			}
		}
		res.LastAck = time.Now()
		return false
	}
	text := fmt.Sprintf("%.200s", err.Error())
	if len(res.Errors) < maxErrorTexts || res.Errors[text] > 0 {
		res.Errors[text]++
	}
	if run.firstError == nil {
		run.firstError = err
	}
	if !errors.As(err, new(retryable)) || attempt >= run.opts.Retries {
		res.Failed += int64(len(b.spans))
		return false
	}
	res.Retries++
	return true
}

// result returns what was sent, with its rate and latencies; the first error, if nothing was
// acknowledged.
func (run *loadRun) result() (*LoadResult, error) {
	res := run.res
	if res.Acked == 0 && run.firstError != nil {
		return res, run.firstError
	}
	res.Seconds = res.LastAck.Sub(res.FirstSend).Seconds()
	res.Rate = float64(res.Acked) / res.Seconds
	latencies := percentilesOf(run.latencies)
	res.P50, res.P95, res.P99, res.Max = latencies.p50, latencies.p95, latencies.p99, latencies.max
	return res, nil
}

func selfCPU() float64 {
	var used syscall.Rusage
	syscall.Getrusage(syscall.RUSAGE_SELF, &used)
	return float64(used.Utime.Sec+used.Stime.Sec) + float64(used.Utime.Usec+used.Stime.Usec)/1e6
}

func milliseconds(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }

type percentiles struct{ p50, p95, p99, max float64 }

// percentilesOf sorts values and returns their percentiles; zeros if there are none.
func percentilesOf(values []float64) percentiles {
	if len(values) == 0 {
		return percentiles{}
	}
	sort.Float64s(values)
	return percentiles{p50: rankOf(values, .5), p95: rankOf(values, .95), p99: rankOf(values, .99), max: values[len(values)-1]}
}

// rankOf returns a percentile of values that are sorted, the one of that rank.
func rankOf(values []float64, p float64) float64 {
	return values[min(len(values)-1, int(p*float64(len(values))))]
}
