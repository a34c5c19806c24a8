package e2e

import (
	"bytes"
	"context"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"
	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/ptrace"
	"go.opentelemetry.io/collector/pdata/ptrace/ptraceotlp"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"github.com/spangrove/spangrove/e2e/harness"
)

// fact is what an acknowledgement promised of one event.
type fact struct {
	id, session string
	marker      string // inputs.marker
	update      string // metadata.update, "" if no update was acknowledged
}

// ledger holds the facts that were acknowledged.
type ledger struct {
	mu    sync.Mutex
	facts map[string]fact
	count atomic.Int64
	// wrong are answers that neither acknowledge nor ask for a retry.
	wrong []string
}

func newLedger() *ledger { return &ledger{facts: map[string]fact{}} }

func (l *ledger) ack(fs ...fact) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, f := range fs {
		l.facts[f.id] = f
	}
	l.count.Add(int64(len(fs)))
}

func (l *ledger) refused(what string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.wrong = append(l.wrong, what)
}

func (l *ledger) take() []fact {
	l.mu.Lock()
	defer l.mu.Unlock()
	fs := make([]fact, 0, len(l.facts))
	for _, f := range l.facts {
		fs = append(fs, f)
	}
	return fs
}

// load is a set of senders that talk to a server by every way in.
type load struct {
	srv    *harness.Server
	ledger *ledger
	rest   atomic.Int64 // nanoseconds that a sender rests after an answer
	ended  chan struct{}
	cancel context.CancelFunc
	wg     sync.WaitGroup
}

// startLoad runs the senders until stop. Each waits for its answer before it
// sends again; what is acknowledged goes to the ledger.
func startLoad(t *testing.T, srv *harness.Server, l *ledger, seed uint64) *load {
	t.Helper()
	conn, err := grpc.NewClient(srv.GRPC, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	ld := &load{srv: srv, ledger: l, ended: make(chan struct{}), cancel: func() { cancel(); conn.Close() }}
	client := ptraceotlp.NewGRPCClient(conn)
	senders := []func(context.Context, *rand.Rand) error{
		func(ctx context.Context, r *rand.Rand) error { return ld.grpc(ctx, r, client) },
		func(ctx context.Context, r *rand.Rand) error { return ld.grpc(ctx, r, client) },
		ld.otlpProto, ld.otlpJSON, ld.batch, ld.batch, ld.single, ld.session,
	}
	for i, send := range senders {
		r := rand.New(rand.NewPCG(seed, uint64(i)))
		ld.wg.Go(func() {
			for {
				rest := time.Duration(ld.rest.Load())
				if send(ctx, r) != nil {
					rest = 5 * time.Millisecond // the server is gone or busy: give way, then try again
				}
				select {
				case <-ctx.Done():
					return
				case <-ld.ended:
					return
				case <-time.After(rest):
				}
			}
		})
	}
	return ld
}

// stop ends the senders and waits for them, and for the answers that they wait for, a minute at most: a request that is cancelled may be stored
// afterwards, among the pages of an export.
func (ld *load) stop() {
	close(ld.ended)
	timer := time.AfterFunc(time.Minute, ld.cancel)
	ld.wg.Wait()
	timer.Stop()
	ld.cancel()
}

// await returns once n more events were acknowledged.
func (ld *load) await(t *testing.T, n int64) {
	t.Helper()
	want := ld.ledger.count.Load() + n
	deadline := time.Now().Add(60 * time.Second)
	for ld.ledger.count.Load() < want {
		if time.Now().After(deadline) {
			t.Fatalf("%d of %d events acknowledged after 60 s; refused: %.500q", ld.ledger.count.Load(), want, ld.ledger.wrong)
		}
		time.Sleep(time.Millisecond)
	}
}

// text is filler of some hundred to some thousand bytes, different each time.
func text(r *rand.Rand) string {
	var b strings.Builder
	for range 20 + r.IntN(300) {
		fmt.Fprintf(&b, "%x ", r.Uint32N(1<<20))
	}
	return b.String()
}

// spans makes one request of a few traces, and what its acknowledgement promises.
func spans(r *rand.Rand) (ptrace.Traces, []fact) {
	td := ptrace.NewTraces()
	ss := td.ResourceSpans().AppendEmpty().ScopeSpans().AppendEmpty().Spans()
	var fs []fact
	for range 1 + r.IntN(3) {
		trace, session := pcommon.TraceID(uuid.New()), uuid.NewString()
		var parent pcommon.SpanID
		for i := range 1 + r.IntN(12) {
			sp := ss.AppendEmpty()
			var id pcommon.SpanID
			for k := range id {
				id[k] = byte(r.Uint32() | 1)
			}
			f := fact{id: spanEvent(trace, id), session: session, marker: uuid.NewString()}
			sp.SetTraceID(trace)
			sp.SetSpanID(id)
			sp.SetParentSpanID(parent)
			if i == 0 {
				parent = id
			}
			sp.SetName("step")
			end := time.Now()
			sp.SetStartTimestamp(pcommon.NewTimestampFromTime(end.Add(-time.Second)))
			sp.SetEndTimestamp(pcommon.NewTimestampFromTime(end))
			sp.Attributes().PutStr("honeyhive.session_id", session)
			sp.Attributes().PutStr("honeyhive_event_type", "tool")
			sp.Attributes().PutStr("honeyhive_inputs.marker", f.marker)
			sp.Attributes().PutStr("honeyhive_inputs.text", text(r))
			fs = append(fs, f)
		}
	}
	return td, fs
}

// spanEvent returns the id of the event that a span becomes.
func spanEvent(trace pcommon.TraceID, span pcommon.SpanID) string {
	return uuid.NewSHA1(uuid.UUID(trace), []byte(hex.EncodeToString(span[:]))).String()
}

func (ld *load) grpc(ctx context.Context, r *rand.Rand, c ptraceotlp.GRPCClient) error {
	td, fs := spans(r)
	ctx = metadata.AppendToOutgoingContext(ctx, "authorization", "Bearer "+ld.srv.Key)
	resp, err := c.Export(ctx, ptraceotlp.NewExportRequestFromTraces(td))
	if err != nil {
		switch status.Code(err) {
		case codes.Unavailable, codes.Canceled, codes.ResourceExhausted, codes.DeadlineExceeded:
		default:
			ld.ledger.refused("OTLP gRPC: " + err.Error())
		}
		return err
	}
	if n := resp.PartialSuccess().RejectedSpans(); n != 0 {
		ld.ledger.refused(fmt.Sprintf("OTLP gRPC: %d rejected: %s", n, resp.PartialSuccess().ErrorMessage()))
		return nil
	}
	ld.ledger.ack(fs...)
	return nil
}

func (ld *load) otlpProto(ctx context.Context, r *rand.Rand) error {
	td, fs := spans(r)
	body, err := ptraceotlp.NewExportRequestFromTraces(td).MarshalProto()
	if err != nil {
		return err
	}
	return ld.send(ctx, http.MethodPost, ld.srv.HTTP+"/v1/traces", "application/x-protobuf", body, fs...)
}

func (ld *load) otlpJSON(ctx context.Context, r *rand.Rand) error {
	td, fs := spans(r)
	body, err := ptraceotlp.NewExportRequestFromTraces(td).MarshalJSON()
	if err != nil {
		return err
	}
	return ld.send(ctx, http.MethodPost, "/opentelemetry/v1/traces", "application/json", body, fs...)
}

// event returns a native event as a client sends it.
func event(r *rand.Rand, session string) (map[string]any, fact) {
	f := fact{id: uuid.NewString(), session: session, marker: uuid.NewString()}
	return map[string]any{
		"event_type": "tool", "event_name": "step", "event_id": f.id, "session_id": session,
		"start_time": time.Now().UnixMilli(), "duration": 12.5,
		"inputs": map[string]any{"marker": f.marker, "text": text(r)},
	}, f
}

func (ld *load) batch(ctx context.Context, r *rand.Rand) error {
	var evs []map[string]any
	var fs []fact
	session := uuid.NewString()
	for range 1 + r.IntN(40) {
		ev, f := event(r, session)
		evs, fs = append(evs, ev), append(fs, f)
	}
	return ld.post(ctx, http.MethodPost, "/v1/events/batch", map[string]any{"events": evs}, fs...)
}

// single creates an event and then updates it, each with its own acknowledgement.
func (ld *load) single(ctx context.Context, r *rand.Rand) error {
	ev, f := event(r, uuid.NewString())
	if err := ld.post(ctx, http.MethodPost, "/events", map[string]any{"event": ev}, f); err != nil {
		return err
	}
	f.update = uuid.NewString()
	up := map[string]any{"event_id": f.id, "metadata": map[string]any{"update": f.update}}
	return ld.post(ctx, http.MethodPut, "/events", up, f)
}

func (ld *load) session(ctx context.Context, r *rand.Rand) error {
	id := uuid.NewString()
	f := fact{id: id, session: id, marker: uuid.NewString()}
	return ld.post(ctx, http.MethodPost, "/session/start", map[string]any{"session": map[string]any{
		"session_id": id, "session_name": "load", "source": "e2e", "inputs": map[string]any{"marker": f.marker, "text": text(r)},
	}}, f)
}

func (ld *load) post(ctx context.Context, method, path string, in any, fs ...fact) error {
	var body bytes.Buffer
	if err := json.NewEncoder(&body).Encode(in); err != nil {
		return err
	}
	return ld.send(ctx, method, path, "application/json", body.Bytes(), fs...)
}

// send makes one request and acknowledges its facts on 200.
func (ld *load) send(ctx context.Context, method, path, contentType string, body []byte, fs ...fact) error {
	code, answer, err := ld.srv.Send(ctx, method, path, contentType, body)
	if code == http.StatusOK {
		// The status is the promise; the body may have been cut off by a kill.
		ld.ledger.ack(fs...)
		return err
	}
	if err != nil {
		return err
	}
	if code != http.StatusServiceUnavailable && code != http.StatusTooManyRequests {
		ld.ledger.refused(fmt.Sprintf("%s %s: status %d: %.300s", method, path, code, answer))
	}
	return fmt.Errorf("status %d", code)
}
