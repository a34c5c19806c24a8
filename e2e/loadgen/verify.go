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

// Verify waits until the acknowledged spans can be read: by count and by
// fetching a spread of traces; then fetches up to
// maxCheck traces by id and compares with what was acknowledged.
// onVisible, if any, runs between the two.
func Verify(ctx context.Context, a *api, g *Gen, acked []int32, last time.Time, timeout time.Duration, maxCheck, conc int, onVisible func()) *VerifyResult {
	v := &VerifyResult{Visible: -1, Count: -1}
	var want []int
	for t, n := range acked {
		v.Expected += int64(n)
		if n > 0 {
			want = append(want, t)
		}
	}
	if len(want) == 0 {
		return v
	}
	if a.none() {
		if onVisible != nil {
			onVisible()
		}
		return v
	}
	deadline := time.Now().Add(timeout)
	probe := func() bool {
		for k := 0; k < 24; k++ { // the newest eight and a spread of the rest
			i := len(want) - 1 - k
			if k >= 8 {
				i = (k - 8) * len(want) / 16
			}
			if i < 0 || i >= len(want) {
				continue
			}
			n, err := a.trace(ctx, g, want[i])
			if err != nil {
				if v.FirstError == "" {
					v.FirstError = err.Error()
				}
				return false
			}
			if n < int(acked[want[i]]) {
				return false
			}
		}
		return true
	}
	prev, same := int64(-1), 0
	for time.Now().Before(deadline) {
		n, err := a.count(ctx)
		if err == nil {
			v.Count = n
			if n >= v.Expected && probe() {
				v.Visible = time.Since(last).Seconds()
				break
			}
			if n == prev {
				if same++; same > 60 { // no progress for 15 s: it is lost
					break
				}
			} else {
				same = 0
			}
			prev = n
		} else if v.FirstError == "" {
			v.FirstError = err.Error()
		}
		time.Sleep(250 * time.Millisecond)
	}
	if onVisible != nil {
		onVisible()
	}
	// Fetch traces one by one.
	check := want
	v.CheckedAll = true
	if maxCheck > 0 && len(want) > maxCheck {
		v.CheckedAll = false
		check = nil
		for i := 0; i < maxCheck; i++ {
			check = append(check, want[i*len(want)/maxCheck])
		}
	}
	var next atomic.Int64
	var wg sync.WaitGroup
	var lost, short, extra, errs, ackedSum atomic.Int64
	var mu sync.Mutex
	for w := 0; w < conc; w++ {
		wg.Add(1)
		go func() {
			defer wg.Done()
			for {
				i := int(next.Add(1)) - 1
				if i >= len(check) || ctx.Err() != nil {
					return
				}
				t := check[i]
				n, err := a.trace(ctx, g, t)
				if err != nil {
					errs.Add(1)
					mu.Lock()
					if v.FirstError == "" {
						v.FirstError = err.Error()
					}
					mu.Unlock()
					continue
				}
				ackedSum.Add(int64(acked[t]))
				if d := int64(acked[t]) - int64(n); d > 0 {
					lost.Add(d)
					short.Add(1)
				} else {
					extra.Add(-d)
				}
			}
		}()
	}
	wg.Wait()
	v.Checked, v.Lost, v.LostTraces, v.Extra, v.CheckErrors = int64(len(check)), lost.Load(), short.Load(), extra.Load(), errs.Load()
	if s := ackedSum.Load(); s > 0 {
		v.LostPct = 100 * float64(v.Lost) / float64(s)
	}
	return v
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

// Queries measures each kind of read, one at a time, on an idle server.
func Queries(ctx context.Context, a *api, g *Gen, reps int, perKind time.Duration) (out []QueryResult) {
	type q struct {
		name string
		f    func(i int) (int, error)
	}
	qs := []q{
		{"trace_12", func(i int) (int, error) { return a.trace(ctx, g, (i*37*5+4)%max(5, g.Traces/5*5)) }},
		{"latest_50", func(int) (int, error) { return a.latest(ctx, 50) }},
		{"attr_50", func(i int) (int, error) { return a.attr(ctx, fmt.Sprintf("user-%03d", i*7%numUsers), 50) }},
		{"heads_1000", func(int) (int, error) { return a.heads(ctx, 1000) }},
	}
	if g.Big > 0 {
		qs = append(qs, q{fmt.Sprintf("trace_%d", g.Big), func(int) (int, error) { return a.trace(ctx, g, g.Traces) }})
	}
	for _, q := range qs {
		r := QueryResult{Name: q.name}
		var lat []float64
		t0 := time.Now()
		for i := 0; i <= reps; i++ {
			t := time.Now()
			n, err := q.f(i)
			d := float64(time.Since(t).Microseconds()) / 1000
			r.Items = n
			if err != nil {
				r.Err = fmt.Sprintf("%.200s", err)
				break
			}
			if i == 0 {
				r.ColdMilli = d
				if time.Since(t0) < perKind {
					continue
				}
			}
			lat = append(lat, d)
			if time.Since(t0) > perKind {
				break
			}
		}
		r.N = len(lat)
		r.P50, _, r.P99, _ = pcts(lat)
		out = append(out, r)
	}
	return
}
