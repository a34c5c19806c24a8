package main

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

const (
	smallBatch   = 8  // sessions in a request
	rateParts    = 20 // parts of a load whose rates are kept
	smallSenders = 4
	sendAttempts = 50
)

// SmallLoad is what sending small events showed.
type SmallLoad struct {
	Events     int       `json:"events"`
	Seconds    float64   `json:"seconds"`
	Rate       float64   `json:"events_per_s"`
	PartRates  []float64 `json:"events_per_s_by_part"` // of equal parts, in their order
	Slope      float64   `json:"last_tenth_of_first"`  // rate of the last tenth over that of the first
	P50, P99   float64   // ms, of requests
	Retries    int64     `json:"retries"`
	CPUPer100k float64   `json:"server_cpu_s_per_100k"`
	PeakPSS    int64     `json:"peak_pss_bytes"`
	Disk       float64   `json:"disk_bytes_per_event"`
	WALBytes   int64     `json:"wal_bytes"`
}

// smallSender sends sessions of a generator, each request again until it is acknowledged.
type smallSender struct {
	gen     *SmallGenerator
	opts    LoadOpts
	retries atomic.Int64

	mu        sync.Mutex
	latencies []float64
	firstErr  error
}

// send sends the sessions from first to before end once they are due; when may be nil.
func (l *smallSender) send(ctx context.Context, s *grpcSender, first, end int) error {
	spans := l.gen.Request(first, end)
	for attempt := 0; ; attempt++ {
		began := time.Now()
		limited, cancel := context.WithTimeout(ctx, defaultSendLimit)
		rejected, err := s.export(limited, spans)
		cancel()
		if err == nil && rejected > 0 {
			err = errors.New("the server rejected spans")
		}
		if err == nil {
			l.mu.Lock()
			l.latencies = append(l.latencies, milliseconds(time.Since(began)))
			l.mu.Unlock()
			return nil
		}
		if ctx.Err() != nil || !errors.As(err, new(retryable)) || attempt >= sendAttempts {
			return err
		}
		l.retries.Add(1)
		time.Sleep(time.Duration(attempt+1) * retryPause)
	}
}

// run sends requests from several senders at the same time, in the order of the sessions, until all are sent, an error ends it
// or ctx does. Before each request it calls due, if that is not nil, with the request's first session, and stops if that says
// false; after each it calls done with the number of events acknowledged.
func (l *smallSender) run(ctx context.Context, due func(ctx context.Context, session int) bool, done func(events int)) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var next atomic.Int64
	var workers sync.WaitGroup
	for range smallSenders {
		s, closeSender, err := newGRPCSender(nil, &l.opts)
		if err != nil {
			return err
		}
		workers.Go(func() {
			defer closeSender()
			for {
				first := int(next.Add(smallBatch)) - smallBatch
				if first >= l.gen.Sessions || ctx.Err() != nil || due != nil && !due(ctx, first) {
					return
				}
				end := min(first+smallBatch, l.gen.Sessions)
				if err := l.send(ctx, s, first, end); err != nil {
					l.mu.Lock()
					if l.firstErr == nil {
						l.firstErr = err
					}
					l.mu.Unlock()
					cancel()
					return
				}
				done((end - first) * smallSpans)
			}
		})
	}
	workers.Wait()
	return l.firstErr
}

// sendAll sends all events of a generator as fast as they are acknowledged.
func sendAll(ctx context.Context, g *SmallGenerator, o LoadOpts) (*SmallLoad, error) {
	l := &smallSender{gen: g, opts: o}
	total := g.Sessions * smallSpans
	ends := make([]time.Time, rateParts)
	var mu sync.Mutex
	sent, began := 0, time.Now()
	err := l.run(ctx, nil, func(events int) {
		mu.Lock()
		defer mu.Unlock()
		for k := sent * rateParts / total; k < (sent+events)*rateParts/total; k++ {
			ends[k] = time.Now()
		}
		sent += events
	})
	if err != nil {
		return nil, err
	}
	res := &SmallLoad{Events: total, Seconds: time.Since(began).Seconds(), Retries: l.retries.Load()}
	res.Rate = float64(total) / res.Seconds
	part := float64(total) / rateParts
	for k, at := range ends {
		from := began
		if k > 0 {
			from = ends[k-1]
		}
		res.PartRates = append(res.PartRates, part/max(at.Sub(from).Seconds(), 1e-6))
	}
	const tenth = rateParts / 10
	firstTenth, lastTenth := ends[tenth-1].Sub(began), ends[rateParts-1].Sub(ends[rateParts-1-tenth])
	res.Slope = firstTenth.Seconds() / max(lastTenth.Seconds(), 1e-6)
	p := percentilesOf(l.latencies)
	res.P50, res.P99 = p.p50, p.p99
	return res, nil
}

// Incoming is what was sent at a fixed rate while questions were asked.
type Incoming struct {
	Wanted   float64 `json:"wanted_events_per_s"`
	Rate     float64 `json:"events_per_s"`
	P50, P99 float64 // ms, of requests
	Retries  int64   `json:"retries"`
	Err      string  `json:"error,omitempty"`
}

// startIncoming sends events that start now at a rate, until stop is called. They start after all that the questions ask for,
// so the answers stay what they are.
func startIncoming(ctx context.Context, seed uint64, rate float64, o LoadOpts) (stop func() *Incoming) {
	const longest = 12 * time.Hour
	began := time.Now()
	g := NewSmallGenerator(seed, int(rate*longest.Seconds()), began, longest)
	l := &smallSender{gen: g, opts: o}
	ctx, cancel := context.WithCancel(ctx)
	var sent atomic.Int64
	ended := make(chan error, 1)
	go func() {
		ended <- l.run(ctx, func(ctx context.Context, session int) bool {
			at := began.Add(time.Duration(float64(session*smallSpans) / rate * float64(time.Second)))
			select {
			case <-time.After(time.Until(at)):
				return true
			case <-ctx.Done():
				return false
			}
		}, func(events int) { sent.Add(int64(events)) })
	}()
	return func() *Incoming {
		in := &Incoming{Wanted: rate, Rate: float64(sent.Load()) / time.Since(began).Seconds(), Retries: l.retries.Load()}
		stopped := ctx.Err() != nil
		cancel()
		// A request that is cut off by the end is no failure.
		if err := <-ended; err != nil && !stopped && !errors.Is(err, context.Canceled) && status.Code(err) != codes.Canceled {
			in.Err = err.Error()
		}
		p := percentilesOf(l.latencies)
		in.P50, in.P99 = p.p50, p.p99
		return in
	}
}
