package main

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"
)

// VerifyResult: what of the acknowledged spans can be read back.
type VerifyResult struct {
	Visible     float64 `json:"time_to_visible_s"` // from the last ack; -1 if never
	Count       int64   `json:"count"`             // by the server's own count
	Expected    int64   `json:"expected"`
	Checked     int64   `json:"traces_checked"`
	CheckedAll  bool    `json:"checked_all"`
	Lost        int64   `json:"acked_spans_lost"`
	LostPct     float64 `json:"acked_spans_lost_pct"`
	LostTraces  int64   `json:"traces_short"`
	Extra       int64   `json:"unacked_spans_present"`
	CheckErrors int64   `json:"check_errors"`
	FirstError  string  `json:"first_error,omitempty"`
}

// verifyOpts say what was acknowledged, and how thoroughly it is looked for.
type verifyOpts struct {
	acked     []int32   // spans acknowledged, by trace
	lastAck   time.Time // when the last of them was
	timeout   time.Duration
	maxCheck  int // traces to fetch and compare; 0: all
	readers   int
	onVisible func() // runs before traces are compared; may be nil
}

const (
	probeNewest = 8  // newest traces that must be complete before the load counts as visible
	probeSpread = 16 // and others, spread over the rest
	countPause  = 250 * time.Millisecond
	maxSame     = 60 // counts without progress, 15 s, after which the rest is lost
)

// Verify waits until the acknowledged spans can be read: by count and by
// fetching a spread of traces; then fetches up to
// maxCheck traces by id and compares with what was acknowledged.
func Verify(ctx context.Context, a *queryAPI, g *SpanGenerator, o verifyOpts) *VerifyResult {
	v := &verification{api: a, gen: g, opts: o, res: &VerifyResult{Visible: -1, Count: -1}}
	for t, n := range o.acked {
		v.res.Expected += int64(n)
		if n > 0 {
			v.traces = append(v.traces, t)
		}
	}
	if len(v.traces) == 0 {
		return v.res
	}
	if !a.none() {
		v.awaitVisible(ctx)
	}
	if o.onVisible != nil {
		o.onVisible()
	}
	if !a.none() {
		v.compare(ctx)
	}
	return v.res
}

// verification is one Verify under way.
type verification struct {
	api    *queryAPI
	gen    *SpanGenerator
	opts   verifyOpts
	traces []int // with acknowledged spans

	mu  sync.Mutex
	res *VerifyResult
}

// fail keeps the first error.
func (v *verification) fail(err error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.res.FirstError == "" {
		v.res.FirstError = err.Error()
	}
}

// awaitVisible waits until all acknowledged spans can be read, or no more come.
func (v *verification) awaitVisible(ctx context.Context) {
	previous, same := int64(-1), 0
	for deadline := time.Now().Add(v.opts.timeout); time.Now().Before(deadline); time.Sleep(countPause) {
		n, err := v.api.count(ctx)
		if err != nil {
			v.fail(err)
			continue
		}
		v.res.Count = n
		if n >= v.res.Expected && v.probe(ctx) {
			v.res.Visible = time.Since(v.opts.lastAck).Seconds()
			return
		}
		if n != previous {
			same = 0
		} else if same++; same > maxSame {
			return
		}
		previous = n
	}
}

// probe reports whether the newest traces and a spread of the rest are complete.
func (v *verification) probe(ctx context.Context) bool {
	for k := range probeNewest + probeSpread {
		i := len(v.traces) - 1 - k
		if k >= probeNewest {
			i = (k - probeNewest) * len(v.traces) / probeSpread
		}
		if i < 0 || i >= len(v.traces) {
			continue
		}
		t := v.traces[i]
		n, err := v.api.trace(ctx, v.gen, t)
		if err != nil {
			v.fail(err)
			return false
		}
		if n < int(v.opts.acked[t]) {
			return false
		}
	}
	return true
}

// compare fetches traces one by one and counts what they lack.
func (v *verification) compare(ctx context.Context) {
	check := v.selected()
	var next, lost, short, extra, failed, acked atomic.Int64
	var workers sync.WaitGroup
	for range v.opts.readers {
		workers.Go(func() {
			for {
				i := int(next.Add(1)) - 1
				if i >= len(check) || ctx.Err() != nil {
					return
				}
				n, err := v.api.trace(ctx, v.gen, check[i])
				if err != nil {
					failed.Add(1)
					v.fail(err)
					continue
				}
				want := int64(v.opts.acked[check[i]])
				acked.Add(want)
				if missing := want - int64(n); missing > 0 {
					lost.Add(missing)
					short.Add(1)
				} else {
					extra.Add(-missing)
				}
			}
		})
	}
	workers.Wait()
	v.res.Checked, v.res.CheckErrors = int64(len(check)), failed.Load()
	v.res.Lost, v.res.LostTraces, v.res.Extra = lost.Load(), short.Load(), extra.Load()
	if sum := acked.Load(); sum > 0 {
		v.res.LostPct = 100 * float64(v.res.Lost) / float64(sum)
	}
}

// selected returns the traces to compare: all, or maxCheck of them at even distances.
func (v *verification) selected() []int {
	n := v.opts.maxCheck
	v.res.CheckedAll = n <= 0 || len(v.traces) <= n
	if v.res.CheckedAll {
		return v.traces
	}
	check := make([]int, n)
	for i := range check {
		check[i] = v.traces[i*len(v.traces)/n]
	}
	return check
}

// QueryResult is the latency of one kind of query.
type QueryResult struct {
	Name      string  `json:"name"`
	N         int     `json:"n"`
	P50, P99  float64 // ms
	Items     int     `json:"items"` // what the last call returned
	Err       string  `json:"error,omitempty"`
	ColdMilli float64 `json:"first_ms"`
}

// namedQuery is a kind of read; its n-th call returns how many things came back.
type namedQuery struct {
	name string
	call func(n int) (int, error)
}

// Queries measures each kind of read, one at a time, on an idle server.
func Queries(ctx context.Context, a *queryAPI, g *SpanGenerator, reps int, perKind time.Duration) (out []QueryResult) {
	kinds := []namedQuery{
		{"trace_12", func(i int) (int, error) { return a.trace(ctx, g, (i*37*5+4)%max(5, g.Traces/5*5)) }},
		{"latest_50", func(int) (int, error) { return a.latest(ctx, 50) }},
		{"attr_50", func(i int) (int, error) { return a.attr(ctx, fmt.Sprintf("user-%03d", i*7%numUsers), 50) }},
		{"heads_1000", func(int) (int, error) { return a.heads(ctx, 1000) }},
	}
	if g.Big > 0 {
		kinds = append(kinds, namedQuery{fmt.Sprintf("trace_%d", g.Big), func(int) (int, error) { return a.trace(ctx, g, g.Traces) }})
	}
	for _, kind := range kinds {
		out = append(out, kind.measure(reps, perKind))
	}
	return out
}

// measure calls the query once, cold, and then reps times, but not for longer than limit.
func (q namedQuery) measure(reps int, limit time.Duration) QueryResult {
	res := QueryResult{Name: q.name}
	var latencies []float64
	for i, began := 0, time.Now(); i <= reps; i++ {
		called := time.Now()
		n, err := q.call(i)
		took := milliseconds(time.Since(called))
		res.Items = n
		if err != nil {
			res.Err = fmt.Sprintf("%.200s", err)
			break
		}
		if i == 0 {
			res.ColdMilli = took
			if time.Since(began) < limit {
				continue // a cold call counts only if there is no time for another
			}
		}
		latencies = append(latencies, took)
		if time.Since(began) > limit {
			break
		}
	}
	res.N = len(latencies)
	p := percentilesOf(latencies)
	res.P50, res.P99 = p.p50, p.p99
	return res
}
