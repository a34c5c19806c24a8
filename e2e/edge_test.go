package e2e

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"hash/fnv"
	"io"
	"io/fs"
	"math"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/ptrace"
	"go.opentelemetry.io/collector/pdata/ptrace/ptraceotlp"

	"github.com/spangrove/spangrove/e2e/harness"
)

// plantedSecrets returns a secret for each rule of the scrubber, with the words around it, from the corpus that its own
// tests use. E-mail addresses, which are no secrets, are left out.
func plantedSecrets(t *testing.T) (texts, secrets []string) {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(harness.Root(t), "pkg", "scrub", "testdata", "secrets.txt"))
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(b)) {
		rule, text, found := strings.Cut(strings.TrimSuffix(line, "\n"), "\t")
		if !found || rule == "email" {
			continue
		}
		head, tail, _ := strings.Cut(text, "¦")
		texts = append(texts, head+tail)
		// Enough of it to be told from anything else, and without what escapes change.
		secret := head[len(head)-2:] + tail
		if rule == "private_key" {
			_, secret, _ = strings.Cut(secret, `\n`) // a line of it
		}
		if i := strings.IndexAny(secret, " \"\\',;<>@&%"); i >= 0 {
			secret = secret[:i]
		}
		if len(secret) >= 12 {
			secrets = append(secrets, secret)
		}
	}
	return texts, secrets
}

// recorder is a back end that keeps the bytes and the spans it is sent.
type recorder struct {
	*httptest.Server
	mu    sync.Mutex
	spans map[[24]byte]int // how often each came
	bytes bytes.Buffer
}

func newRecorder(t *testing.T) *recorder {
	t.Helper()
	r := &recorder{spans: map[[24]byte]int{}}
	r.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		in := io.Reader(req.Body)
		if req.Header.Get("Content-Encoding") == "gzip" {
			zipped, err := gzip.NewReader(req.Body)
			if err != nil {
				http.Error(w, err.Error(), http.StatusBadRequest)
				return
			}
			in = zipped
		}
		body, err := io.ReadAll(in)
		export := ptraceotlp.NewExportRequest()
		if err == nil && strings.HasSuffix(req.URL.Path, "/v1/traces") {
			err = export.UnmarshalProto(body)
		}
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		r.mu.Lock()
		defer r.mu.Unlock()
		r.bytes.Write(body)
		for _, rs := range export.Traces().ResourceSpans().All() {
			for _, ss := range rs.ScopeSpans().All() {
				for _, s := range ss.Spans().All() {
					var key [24]byte
					trace, span := s.TraceID(), s.SpanID()
					copy(key[:], trace[:])
					copy(key[16:], span[:])
					r.spans[key]++
				}
			}
		}
		w.Header().Set("Content-Type", "application/x-protobuf")
	}))
	t.Cleanup(r.Close)
	return r
}

// tap passes connections on to an address that may not answer, and keeps what goes there.
type tap struct {
	addr string
	mu   sync.Mutex
	sent bytes.Buffer
}

func newTap(t *testing.T, to string) *tap {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p := &tap{addr: l.Addr().String()}
	t.Cleanup(func() { l.Close() })
	go func() {
		for {
			in, err := l.Accept()
			if err != nil {
				return // closed by the test's end
			}
			go func() {
				defer in.Close()
				out, err := net.Dial("tcp", to)
				if err != nil {
					return // the other side is down
				}
				defer out.Close()
				go func() { _, _ = io.Copy(in, out); in.Close() }()
				_, _ = io.Copy(io.MultiWriter(out, p), in)
			}()
		}
	}()
	return p
}

func (p *tap) Write(b []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.sent.Write(b)
}

// chosenByEdge says which traces the sampler keeps without a reason, written down a second time.
func chosenByEdge(id [16]byte, percentage float64) bool {
	h := fnv.New64a()
	h.Write(id[:])
	x := h.Sum64()
	x ^= x >> 33
	x *= 0xff51afd7ed558ccd
	x ^= x >> 33
	return float64(x) < percentage/100*math.MaxUint64
}

// TestEdge runs docs/examples/edge.yaml beside an application, with a centre that is down while most spans come, and kills it
// in the middle. Once the centre is up, it has all that the sampler keeps, once, with scores and whole trees; the
// other back end has the same; and no planted secret is on the wire or in a file of the edge. SPANGROVE_E2E_EDGE_SPANS is how many
// spans are sent.
func TestEdge(t *testing.T) {
	harness.Require(t)
	const (
		perTrace   = 10
		perRequest = 20 // traces
		percentage = 10 // as in the file
	)
	traces := harness.Count(t, "SPANGROVE_E2E_EDGE_SPANS", 6_000) / perTrace
	texts, secrets := plantedSecrets(t)
	other := newRecorder(t)
	centre := harness.New(t, harness.Options{})
	wire := newTap(t, centre.GRPC)

	config := filepath.Join(t.TempDir(), "test.yaml")
	// So that the bytes on the wire can be read, and the sampler takes less of the test's time.
	if err := os.WriteFile(config, []byte(`
exporters:
  otlp_grpc/centre: {compression: none, retry_on_failure: {initial_interval: 200ms, max_interval: 2s}}
processors:
  spangrove_sample: {decision_wait: 2s}
`), 0o600); err != nil {
		t.Fatal(err)
	}
	edge := harness.New(t, harness.Options{
		Args: []string{"--config", "embedded:default", "--config", filepath.Join(harness.Root(t), "docs", "examples", "edge.yaml"), "--config", config},
		Env: map[string]string{
			"SPANGROVE_CENTRE": wire.addr, "SPANGROVE_CENTRE_URL": centre.URL, "SPANGROVE_CENTRE_KEY": harness.Key, "SPANGROVE_CENTRE_INSECURE": "true",
			"OTHER_OTLP_ENDPOINT": other.URL, "SPANGROVE_EDGE_ADDR": harness.FreeAddr(t),
		},
	})
	edge.Start()

	began := time.Now().Add(-time.Hour).Truncate(time.Millisecond)
	want := map[uuid.UUID]bool{} // traces, and sessions of native events
	reason := map[uuid.UUID]string{}
	answered := 0
	send := func(path, contentType string, body []byte) {
		for deadline := time.Now().Add(3 * time.Minute); ; time.Sleep(100 * time.Millisecond) {
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			status, answer, err := edge.Send(ctx, http.MethodPost, path, contentType, body)
			cancel()
			if err == nil && status == http.StatusOK {
				return
			}
			if time.Now().After(deadline) {
				t.Fatalf("%s: %d %s %v", path, status, answer, err)
			}
		}
	}
	for first := 0; first < traces; first += perRequest {
		if first >= traces/2 && first < traces/2+perRequest {
			edge.Kill() // between two answers; what it has in work is cut off anywhere
			edge.Start()
		}
		native := first/perRequest%5 == 4
		td := ptrace.NewTraces()
		rs := td.ResourceSpans().AppendEmpty()
		rs.Resource().Attributes().PutStr("deployment.note", texts[first%len(texts)])
		spans := rs.ScopeSpans().AppendEmpty().Spans()
		var events []map[string]any
		for n := first; n < min(first+perRequest, traces); n++ {
			var id uuid.UUID
			binary.BigEndian.PutUint64(id[:], uint64(n+1)*0x9e3779b97f4a7c15)
			binary.BigEndian.PutUint64(id[8:], uint64(n+1))
			id[6], id[8] = id[6]&0x0f|0x40, id[8]&0x3f|0x80
			why := ""
			switch {
			case n%20 == 3:
				why = "error"
			case n%20 == 7:
				why = "slow"
			case n%20 == 11 && !native:
				why = "short answer"
			}
			reason[id] = why
			if want[id] = why != "" || chosenByEdge(id, percentage); !want[id] {
				delete(want, id)
			}
			for i := range perTrace {
				text := texts[(n*perTrace+i)%len(texts)]
				took := time.Second
				if why == "slow" && i == 5 {
					took = 20 * time.Second
				}
				if native {
					e := map[string]any{
						"session_id": id, "event_type": "tool", "event_name": fmt.Sprintf("step %d", i), "start_time": began.UnixMilli() + int64(i), "duration": took.Milliseconds(),
						"inputs": map[string]any{"text": text}, "outputs": map[string]any{"deep": []any{text}}, "metadata": map[string]any{"note": text},
						"feedback": map[string]any{"comment": text},
					}
					if why == "error" && i == 5 {
						e["error"] = "failed: " + text
					}
					events = append(events, e)
					continue
				}
				s := spans.AppendEmpty()
				s.SetTraceID(pcommon.TraceID(id))
				s.SetSpanID([8]byte{7: byte(i + 1)})
				s.SetName(fmt.Sprintf("step %d", i))
				s.SetStartTimestamp(pcommon.NewTimestampFromTime(began.Add(time.Duration(i) * time.Millisecond)))
				s.SetEndTimestamp(pcommon.NewTimestampFromTime(began.Add(took)))
				if i > 0 {
					s.SetParentSpanID([8]byte{7: 1})
				}
				if why == "error" && i == 5 {
					s.Status().SetCode(ptrace.StatusCodeError)
					s.Status().SetMessage("failed: " + text)
				}
				if i == 9 {
					says := strings.Repeat("a long answer ", 20)
					if why == "short answer" {
						says = "no"
					}
					s.Attributes().PutStr("gen_ai.operation.name", "chat")
					s.Attributes().PutStr("gen_ai.output.messages", `[{"role":"assistant","parts":[{"type":"text","content":"`+says+`"}]}]`)
				}
				arguments, _ := json.Marshal(map[string]any{"text": "first line\n" + text})
				s.Attributes().PutStr("tool.arguments", string(arguments))
				s.Attributes().PutStr("note", text)
				s.Events().AppendEmpty().Attributes().PutStr("seen", text)
			}
		}
		if native {
			body, err := json.Marshal(map[string]any{"events": events})
			if err != nil {
				t.Fatal(err)
			}
			send("/v1/events/batch", "application/json", body)
		} else {
			body, err := ptraceotlp.NewExportRequestFromTraces(td).MarshalProto()
			if err != nil {
				t.Fatal(err)
			}
			send("/v1/traces", "application/x-protobuf", body)
		}
		answered += min(first+perRequest, traces)*perTrace - first*perTrace
	}
	kept := len(want) * perTrace
	t.Logf("sent and answered %d spans while the centre was down, the edge killed once; of them %d are to be kept, in %d traces", answered, kept, len(want))

	held := int64(0)
	for _, queue := range filesOf(t, filepath.Join(edge.Dir, "queues")) {
		held += int64(len(queue))
	}
	t.Logf("held in queues on disk: %d bytes", held)

	// An update is answered once the centre has it, and comes without its secret.
	var updated uuid.UUID // one of the sessions
	for updated = range want {
		break
	}
	update, err := json.Marshal(map[string]any{"event_id": updated, "feedback": map[string]any{"comment": "says " + texts[0]}})
	if err != nil {
		t.Fatal(err)
	}
	if status, answer, err := edge.Send(t.Context(), http.MethodPut, "/events", "application/json", update); err != nil || status != http.StatusServiceUnavailable {
		t.Errorf("an update while the centre is down: %d %s %v", status, answer, err)
	}
	centre.Start()
	if status, answer, err := edge.Send(t.Context(), http.MethodPut, "/events", "application/json", update); err != nil || status != http.StatusOK {
		t.Errorf("an update: %d %s %v", status, answer, err)
	}
	// Each of them is there once, and nothing else: by the counts of sessions, then span by span.
	sessions := map[string]int{}
	// They are counted until all are there, and only then read: pages shift while events come in.
	spansOnly := harness.Filter{Field: "event_type", Operator: "is not", Value: "session", Type: "string"}
	for deadline := time.Now().Add(8 * time.Minute); ; time.Sleep(time.Second) {
		var got struct {
			Total int `json:"totalEvents"`
		}
		centre.Must(t, http.MethodPost, "/v1/events/export", map[string]any{"filters": []harness.Filter{spansOnly}, "limit": 1}, &got)
		if got.Total >= kept || time.Now().After(deadline) {
			break
		}
	}
	time.Sleep(3 * time.Second) // long enough for any that should not come
	events, err := centre.Export(t.Context(), spansOnly)
	if err != nil {
		t.Fatal(err)
	}
	ids, names, scored := map[string]bool{}, map[string]bool{}, 0
	for _, e := range events {
		session := e["session_id"].(string)
		sessions[session]++
		if id := e["event_id"].(string); ids[id] {
			t.Errorf("event %s is there twice", id)
		} else {
			ids[id] = true
		}
		name := session + " " + e["event_name"].(string)
		if names[name] {
			t.Errorf("%s is there twice", name)
		}
		names[name] = true
		if metrics, _ := e["metrics"].(map[string]any); metrics["failed"] != nil {
			scored++
		}
	}
	lost, unwanted := 0, 0
	for id := range want {
		if sessions[id.String()] != perTrace {
			lost += perTrace - sessions[id.String()]
		}
	}
	for session := range sessions {
		if !want[uuid.MustParse(session)] {
			unwanted++
		}
	}
	if lost != 0 || unwanted != 0 || len(events) != kept || scored != kept {
		t.Errorf("the centre has %d of %d spans, %d lost, %d sessions that should not be there, %d spans with a score", len(events), kept, lost, unwanted, scored)
	}
	feedback := map[string]any{}
	for _, e := range centre.Session(t, updated.String()) {
		if e["event_id"] == updated.String() {
			feedback, _ = e["feedback"].(map[string]any)
		}
	}
	if comment, _ := feedback["comment"].(string); !strings.HasPrefix(comment, "says ") || !strings.Contains(comment, "[scrubbed:") {
		t.Errorf("the update left %q", comment)
	}
	// A tree, read back.
	for id := range want {
		if n := len(centre.Session(t, id.String())); n != perTrace+1 { // and the session event
			t.Errorf("session %s has %d events, want %d", id, n, perTrace+1)
		}
		break
	}

	deadline := time.Now().Add(2 * time.Minute)
	for {
		other.mu.Lock()
		n := len(other.spans)
		other.mu.Unlock()
		if n >= kept || time.Now().After(deadline) {
			break
		}
		time.Sleep(200 * time.Millisecond)
	}
	other.mu.Lock()
	defer other.mu.Unlock()
	wire.mu.Lock()
	defer wire.mu.Unlock()
	again := 0
	for _, n := range other.spans {
		again += n - 1
	}
	if len(other.spans) != kept {
		t.Errorf("the other back end has %d of %d spans", len(other.spans), kept)
	}
	placeholders := bytes.Count(other.bytes.Bytes(), []byte("[scrubbed:"))
	if placeholders == 0 {
		t.Error("nothing was scrubbed")
	}
	if wire.sent.Len() < kept*100 {
		t.Errorf("only %d bytes went to the centre", wire.sent.Len())
	}
	for _, secret := range secrets {
		if bytes.Contains(other.bytes.Bytes(), []byte(secret)) {
			t.Errorf("sent to the other back end: %s", secret)
		}
		if bytes.Contains(wire.sent.Bytes(), []byte(secret)) {
			t.Errorf("sent to the centre: %s", secret)
		}
	}
	noSecrets(t, edge.Dir, secrets)
	if err := edge.Terminate(); err != nil {
		t.Errorf("the edge ends with %v", err)
	}
	for _, secret := range secrets {
		if bytes.Contains(edge.Output(), []byte(secret)) {
			t.Errorf("in the log: %s", secret)
		}
	}
	t.Logf("delivered %d spans to the centre and %d to the other back end, %d of these again after the kill; %d placeholders, %d secrets looked for in %d bytes",
		len(events), len(other.spans), again, placeholders, len(secrets), other.bytes.Len()+wire.sent.Len())
}

// noSecrets looks for secrets in the files below a directory.
func noSecrets(t *testing.T, dir string, secrets []string) {
	t.Helper()
	for path, text := range filesOf(t, dir) {
		for _, secret := range secrets {
			if bytes.Contains(text, []byte(secret)) {
				t.Errorf("%s has %s", path, secret)
			}
		}
	}
}

// filesOf returns the files below a directory, by path.
func filesOf(t *testing.T, dir string) map[string][]byte {
	t.Helper()
	files := map[string][]byte{}
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		files[path], err = os.ReadFile(path)
		return err
	})
	if err != nil {
		t.Error(err)
	}
	return files
}

// TestEdgeLarge: a request that is nearly as large as the centre takes, and larger once it has its scores, arrives whole.
func TestEdgeLarge(t *testing.T) {
	harness.Require(t)
	const n = 20_000
	other := newRecorder(t)
	centre := harness.Start(t, harness.Options{})
	config := filepath.Join(t.TempDir(), "test.yaml")
	if err := os.WriteFile(config, []byte("processors: {spangrove_sample: {decision_wait: 100ms}}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	edge := harness.Start(t, harness.Options{
		Args: []string{"--config", "embedded:default", "--config", filepath.Join(harness.Root(t), "docs", "examples", "edge.yaml"), "--config", config},
		Env: map[string]string{
			"SPANGROVE_CENTRE": centre.GRPC, "SPANGROVE_CENTRE_URL": centre.URL, "SPANGROVE_CENTRE_KEY": harness.Key, "SPANGROVE_CENTRE_INSECURE": "true",
			"OTHER_OTLP_ENDPOINT": other.URL, "SPANGROVE_EDGE_ADDR": harness.FreeAddr(t),
		},
	})
	td := ptrace.NewTraces()
	spans := td.ResourceSpans().AppendEmpty().ScopeSpans().AppendEmpty().Spans()
	now := time.Now()
	for i := range n {
		s := spans.AppendEmpty()
		s.SetTraceID([16]byte{1})
		s.SetSpanID([8]byte{0: 1, 6: byte(i >> 8), 7: byte(i)})
		s.SetName("step")
		s.SetStartTimestamp(pcommon.NewTimestampFromTime(now))
		s.SetEndTimestamp(pcommon.NewTimestampFromTime(now))
		s.Status().SetCode(ptrace.StatusCodeError) // which keeps the trace
		s.Attributes().PutStr("text", strings.Repeat("w", 900))
	}
	body, err := ptraceotlp.NewExportRequestFromTraces(td).MarshalProto()
	if err != nil {
		t.Fatal(err)
	}
	if len(body) < 18<<20 || len(body) > 20<<20 {
		t.Fatalf("the request has %d bytes", len(body))
	}
	if status, answer, err := edge.Send(t.Context(), http.MethodPost, "/v1/traces", "application/x-protobuf", body); err != nil || status != http.StatusOK {
		t.Fatalf("%d %s %v", status, answer, err)
	}
	there := func() (at, beside int) {
		var got struct {
			Total int `json:"totalEvents"`
		}
		filter := harness.Filter{Field: "event_name", Operator: "is", Value: "step", Type: "string"}
		filters := []harness.Filter{filter, {Field: "event_type", Operator: "is not", Value: "session", Type: "string"}}
		centre.Must(t, http.MethodPost, "/v1/events/export", map[string]any{"filters": filters, "limit": 1}, &got)
		other.mu.Lock()
		defer other.mu.Unlock()
		return got.Total, len(other.spans)
	}
	at, beside := there()
	for deadline := time.Now().Add(time.Minute); (at < n || beside < n) && time.Now().Before(deadline); at, beside = there() {
		time.Sleep(200 * time.Millisecond)
	}
	if at != n || beside != n {
		t.Errorf("the centre has %d and the other back end %d of %d spans that were answered with success", at, beside, n)
	}
}

// TestEdgeFull: where the queue on disk is full, senders are told to come back later, in words of theirs.
func TestEdgeFull(t *testing.T) {
	harness.Require(t)
	config := filepath.Join(t.TempDir(), "test.yaml")
	if err := os.WriteFile(config, []byte(`
exporters:
  otlp_grpc/decide: {endpoint: "127.0.0.1:1", sending_queue: {queue_size: 20_000}}
`), 0o600); err != nil {
		t.Fatal(err)
	}
	edge := harness.Start(t, harness.Options{
		Args: []string{"--config", "embedded:default", "--config", filepath.Join(harness.Root(t), "docs", "examples", "edge.yaml"), "--config", config},
		Env: map[string]string{
			"SPANGROVE_CENTRE": "127.0.0.1:1", "SPANGROVE_CENTRE_URL": "http://127.0.0.1:1", "SPANGROVE_CENTRE_KEY": harness.Key,
			"OTHER_OTLP_ENDPOINT": "http://127.0.0.1:1", "SPANGROVE_EDGE_ADDR": harness.FreeAddr(t),
		},
	})
	body := `{"event":{"event_type":"tool","inputs":{"text":"` + strings.Repeat("words ", 500) + `"}}}`
	taken := 0
	for range 200 {
		status, answer, err := edge.Send(t.Context(), http.MethodPost, "/events", "application/json", []byte(body))
		if err != nil {
			t.Fatal(err)
		}
		if status != http.StatusOK {
			if status != http.StatusServiceUnavailable {
				t.Errorf("full after %d events: %d %s, want 503", taken, status, answer)
			}
			t.Logf("full after %d events: %d %s", taken, status, answer)
			return
		}
		taken++
	}
	t.Error("the queue is never full")
}

// TestScrubVariable: with SPANGROVE_SCRUB alone, nothing that comes in by any way keeps its secret, in what is read back and in any
// file of the server; without it, all is stored as it came.
func TestScrubVariable(t *testing.T) {
	harness.EachStore(t, func(t *testing.T, st harness.Store) {
		secret := "ghp_" + strings.Repeat("0123456789", 3) + "abcdef"
		stored := 0 // secrets, where they are not asked to be replaced
		for _, asked := range []string{"", "secrets,email"} {
			metrics := harness.FreeAddr(t)
			srv := harness.Start(t, harness.Options{Store: st, Env: map[string]string{"SPANGROVE_SCRUB": asked, "SPANGROVE_METRICS_ADDR": metrics}})
			var session struct {
				ID string `json:"session_id"`
			}
			srv.Must(t, http.MethodPost, "/session/start", map[string]any{"session": map[string]any{"session_name": "with " + secret}}, &session)
			var created struct {
				ID string `json:"event_id"`
			}
			srv.Must(t, http.MethodPost, "/events", map[string]any{"event": map[string]any{
				"session_id": session.ID, "event_type": "tool", "event_name": "native", "inputs": map[string]any{"text": "to jane@example.com:\n" + secret},
			}}, &created)
			srv.Must(t, http.MethodPut, "/events", map[string]any{"event_id": created.ID, "feedback": map[string]any{"comment": secret}, "outputs": map[string]any{secret: 1}}, nil)
			td := ptrace.NewTraces()
			s := td.ResourceSpans().AppendEmpty().ScopeSpans().AppendEmpty().Spans().AppendEmpty()
			s.SetTraceID(pcommon.TraceID(uuid.MustParse(session.ID)))
			s.SetSpanID([8]byte{1})
			s.SetName("otlp " + secret)
			s.SetStartTimestamp(pcommon.NewTimestampFromTime(time.Now()))
			s.SetEndTimestamp(pcommon.NewTimestampFromTime(time.Now()))
			s.Attributes().PutStr("text", secret)
			body, err := ptraceotlp.NewExportRequestFromTraces(td).MarshalProto()
			if err != nil {
				t.Fatal(err)
			}
			if status, answer, err := srv.Send(t.Context(), http.MethodPost, "/v1/traces", "application/x-protobuf", body); err != nil || status != http.StatusOK {
				t.Fatalf("%d %s %v", status, answer, err)
			}
			events, err := srv.Export(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			all, err := json.Marshal(events)
			if err != nil {
				t.Fatal(err)
			}
			secrets, placeholders := strings.Count(string(all), secret), strings.Count(string(all), "[scrubbed:github]")
			if asked == "" {
				stored = secrets
			}
			// The session shows what its event has, too, so that there are more of them than were sent.
			if len(events) != 3 || stored < 6 || asked == "" && placeholders != 0 || asked != "" && (secrets != 0 || placeholders != stored) ||
				strings.Contains(string(all), "jane@example.com") != (asked == "") {
				t.Errorf("SPANGROVE_SCRUB=%s: %d events with %d secrets and %d placeholders; stored without it were %d:\n%s", asked, len(events), secrets, placeholders, stored, all)
			}
			if asked != "" {
				// On PostgreSQL a server may have no files of its own.
				if _, err := os.Stat(srv.Dir); err == nil {
					noSecrets(t, srv.Dir, []string{secret})
				}
				srv.Printed("secrets were replaced", `"github": `)
				// By the updates and by all other ways, under one name.
				if served, want := scrape(t, metrics), `spangrove_scrub_replaced{rule="github"} 6`; !strings.Contains(served, want) {
					t.Errorf("metrics lack %s:\n%s", want, served)
				}
				if bytes.Contains(srv.Output(), []byte(secret)) {
					t.Error("the secret is in the log")
				}
			}
		}
	})
}

// scrape returns what a server tells Prometheus.
func scrape(t *testing.T, addr string) string {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+addr+"/metrics", nil)
	if err != nil {
		t.Fatal(err)
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	if err != nil || res.StatusCode != http.StatusOK {
		t.Fatalf("metrics: %s %v\n%s", res.Status, err, text)
	}
	return string(text)
}
