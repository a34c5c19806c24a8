package main

import (
	"bytes"
	"compress/gzip"
	"context"
	"fmt"
	"io"
	"net/http"
	"sort"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"go.opentelemetry.io/collector/pdata/ptrace/ptraceotlp"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	gzipenc "google.golang.org/grpc/encoding/gzip"
	"google.golang.org/grpc/metadata"
)

// LoadOpts say what to send and how.
type LoadOpts struct {
	Mode       string // otlp-grpc, otlp-http
	Endpoint   string // host:port for gRPC, base URL or full URL for HTTP
	Conc       int
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
	Conc, Batch int
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

type sender interface {
	// send returns how many spans the server said it did not take.
	send(ctx context.Context, b batch) (rejected int64, bytes int, err error)
}

type retryable struct{ error }

type grpcSender struct {
	c    ptraceotlp.GRPCClient
	g    *Gen
	md   metadata.MD
	gzip bool
}

func (s *grpcSender) send(ctx context.Context, b batch) (int64, int, error) {
	req := ptraceotlp.NewExportRequestFromTraces(s.g.OTLP(b.spans))
	if len(s.md) > 0 {
		ctx = metadata.NewOutgoingContext(ctx, s.md)
	}
	var co []grpc.CallOption
	if s.gzip {
		co = append(co, grpc.UseCompressor(gzipenc.Name))
	}
	resp, err := s.c.Export(ctx, req, co...)
	if err != nil {
		m := err.Error()
		for _, k := range []string{"Unavailable", "ResourceExhausted", "Aborted", "DeadlineExceeded"} {
			if strings.Contains(m, k) {
				return 0, 0, retryable{err}
			}
		}
		return 0, 0, err
	}
	return resp.PartialSuccess().RejectedSpans(), 0, nil
}

type httpSender struct {
	c   *http.Client
	g   *Gen
	o   *LoadOpts
	url string
	buf bytes.Buffer
}

func (s *httpSender) post(ctx context.Context, url, ct string, body []byte) ([]byte, error) {
	enc := ""
	if s.o.Gzip {
		s.buf.Reset()
		w, _ := gzip.NewWriterLevel(&s.buf, gzip.BestSpeed)
		w.Write(body)
		w.Close()
		body, enc = s.buf.Bytes(), "gzip"
	}
	req, err := http.NewRequestWithContext(ctx, "POST", url, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	req.Header.Set("Content-Type", ct)
	if enc != "" {
		req.Header.Set("Content-Encoding", enc)
	}
	if s.o.Token != "" {
		req.Header.Set("Authorization", "Bearer "+s.o.Token)
	}
	resp, err := s.c.Do(req)
	if err != nil {
		return nil, retryable{err}
	}
	defer resp.Body.Close()
	rb, err := io.ReadAll(resp.Body)
	if err != nil {
		return nil, retryable{err}
	}
	if resp.StatusCode/100 != 2 {
		err = fmt.Errorf("HTTP %d: %.160s", resp.StatusCode, rb)
		switch resp.StatusCode {
		case 429, 502, 503, 504:
			err = retryable{err}
		}
		return nil, err
	}
	return rb, nil
}

func (s *httpSender) send(ctx context.Context, b batch) (int64, int, error) {
	body, err := ptraceotlp.NewExportRequestFromTraces(s.g.OTLP(b.spans)).MarshalProto()
	if err != nil {
		return 0, 0, err
	}
	rb, err := s.post(ctx, s.url, "application/x-protobuf", body)
	if err != nil {
		return 0, len(body), err
	}
	resp := ptraceotlp.NewExportResponse()
	if len(rb) > 0 && resp.UnmarshalProto(rb) == nil {
		return resp.PartialSuccess().RejectedSpans(), len(body), nil
	}
	return 0, len(body), nil
}

func newSender(g *Gen, o *LoadOpts) (sender, func(), error) {
	switch o.Mode {
	case "otlp-grpc":
		cc, err := grpc.NewClient(o.Endpoint, grpc.WithTransportCredentials(insecure.NewCredentials()),
			grpc.WithDefaultCallOptions(grpc.MaxCallSendMsgSize(256<<20)))
		if err != nil {
			return nil, nil, err
		}
		md := metadata.MD{}
		if o.Token != "" {
			md.Set("authorization", "Bearer "+o.Token)
		}
		return &grpcSender{c: ptraceotlp.NewGRPCClient(cc), g: g, md: md, gzip: o.Gzip}, func() { cc.Close() }, nil
	case "otlp-http":
		tr := &http.Transport{MaxIdleConnsPerHost: 2, DisableCompression: true, WriteBufferSize: 128 << 10}
		s := &httpSender{c: &http.Client{Transport: tr, Timeout: o.Timeout}, g: g, o: o}
		s.url = strings.TrimRight(o.Endpoint, "/")
		if !strings.Contains(s.url, "/v1/traces") {
			s.url += "/v1/traces"
		}
		return s, tr.CloseIdleConnections, nil
	}
	return nil, nil, fmt.Errorf("unknown mode %q", o.Mode)
}

func selfCPU() float64 {
	var ru syscall.Rusage
	syscall.Getrusage(syscall.RUSAGE_SELF, &ru)
	return float64(ru.Utime.Sec+ru.Stime.Sec) + float64(ru.Utime.Usec+ru.Stime.Usec)/1e6
}

// Load sends the whole run (big trace first, outside the clock) and reports.
func Load(ctx context.Context, g *Gen, o LoadOpts) (*LoadResult, error) {
	if o.Conc < 1 {
		o.Conc = 1
	}
	if o.Timeout == 0 {
		o.Timeout = 120 * time.Second
	}
	tpb := max(1, (o.Batch+6)/12)
	res := &LoadResult{Mode: o.Mode, Shape: "whole", Conc: o.Conc, Batch: o.Batch, Errors: map[string]int{}, ackedBy: make([]int32, g.Traces+1)}
	if o.Interleave {
		res.Shape = "interleaved"
	}
	if g.Big > 0 {
		s, done, err := newSender(g, &o)
		if err != nil {
			return nil, err
		}
		spans := g.Spans(g.Traces, nil)
		for len(spans) > 0 {
			n := min(200, len(spans))
			c, cancel := context.WithTimeout(ctx, o.Timeout)
			_, _, err = s.send(c, batch{spans: spans[:n], big: true})
			cancel()
			if err != nil {
				done()
				return nil, fmt.Errorf("big trace: %w", err)
			}
			res.ackedBy[g.Traces] += int32(n)
			spans = spans[n:]
		}
		done()
	}
	var (
		next  atomic.Int64
		mu    sync.Mutex
		lats  []float64
		wg    sync.WaitGroup
		units = int64(g.Units(tpb, o.Interleave))
	)
	cpu0 := selfCPU()
	res.FirstSend = time.Now()
	deadline := time.Time{}
	if o.MaxTime > 0 {
		deadline = res.FirstSend.Add(o.MaxTime)
	}
	var firstErr error
	for w := 0; w < o.Conc; w++ {
		s, done, err := newSender(g, &o)
		if err != nil {
			return nil, err
		}
		wg.Add(1)
		go func() {
			defer wg.Done()
			defer done()
			var mine []float64
			defer func() { mu.Lock(); lats = append(lats, mine...); mu.Unlock() }()
			for {
				u := next.Add(1) - 1
				if u >= units {
					return
				}
				for _, b := range g.Unit(int(u), tpb, o.Interleave) {
					select {
					case <-ctx.Done():
						return
					default:
					}
					if !deadline.IsZero() && time.Now().After(deadline) {
						return
					}
					if len(b.spans) == 0 {
						continue
					}
					for try := 0; ; try++ {
						c, cancel := context.WithTimeout(ctx, o.Timeout)
						t := time.Now()
						rej, n, err := s.send(c, b)
						el := time.Since(t)
						cancel()
						mu.Lock()
						res.Requests++
						if try == 0 {
							res.Sent += int64(len(b.spans))
							res.Bytes += int64(n)
						}
						if err == nil {
							mine = append(mine, float64(el.Microseconds())/1000)
							res.Acked += int64(len(b.spans)) - rej
							res.Rejected += rej
							if rej == 0 {
								for i := range b.spans {
									res.ackedBy[b.spans[i].trace]++
								}
							}
							res.LastAck = time.Now()
							mu.Unlock()
							break
						}
						k := fmt.Sprintf("%.200s", err.Error())
						if len(res.Errors) < 20 || res.Errors[k] > 0 {
							res.Errors[k]++
						}
						if firstErr == nil {
							firstErr = err
						}
						_, again := err.(retryable)
						if !again || try >= o.Retries {
							res.Failed += int64(len(b.spans))
							mu.Unlock()
							break
						}
						res.Retries++
						mu.Unlock()
						time.Sleep(time.Duration(20*(try+1)) * time.Millisecond)
					}
				}
			}
		}()
	}
	wg.Wait()
	res.ClientCPU = selfCPU() - cpu0
	if res.Acked == 0 && firstErr != nil {
		return res, firstErr
	}
	res.Seconds = res.LastAck.Sub(res.FirstSend).Seconds()
	res.Rate = float64(res.Acked) / res.Seconds
	res.P50, res.P95, res.P99, res.Max = pcts(lats)
	return res, nil
}

func pcts(v []float64) (p50, p95, p99, mx float64) {
	if len(v) == 0 {
		return
	}
	sort.Float64s(v)
	at := func(p float64) float64 { return v[min(len(v)-1, int(p*float64(len(v))))] }
	return at(.5), at(.95), at(.99), v[len(v)-1]
}
