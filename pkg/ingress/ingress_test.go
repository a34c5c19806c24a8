package ingress

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/klauspost/compress/zstd"
	"go.uber.org/goleak"
	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"

	"github.com/spangrove/spangrove/pkg/fault"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func wantKind(t *testing.T, err error, want fault.Kind) {
	t.Helper()
	var f *fault.Error
	if !errors.As(err, &f) || f.Kind != want {
		t.Errorf("error %v, want kind %s", err, want.Code())
	}
}

// One project has no more than its share, all together no more than the budget.
func TestBudgetShares(t *testing.T) {
	t.Parallel()
	b := NewBudget(100, 60, nil)
	one, again, two := b.Hold("one"), b.Hold("one"), b.Hold("two")
	if err := one.Take(50); err != nil {
		t.Fatal(err)
	}
	wantKind(t, again.Take(11), fault.Limited)
	if err := again.Take(10); err != nil {
		t.Error(err)
	}
	wantKind(t, two.Take(41), fault.Unavailable)
	if err := two.Take(40); err != nil {
		t.Error(err)
	}
	one.Release()
	one.Release()
	if err := one.TakeUpToShare(1000); err == nil {
		t.Error("the share was given twice")
	}
	again.Release()
	if err := one.TakeUpToShare(1000); err != nil || b.Used() != 100 {
		t.Errorf("%v, %d bytes are held", err, b.Used())
	}
	one.Release()
	two.Release()
	if b.Used() != 0 || len(b.by) != 0 {
		t.Errorf("%d bytes are held, of %v", b.Used(), b.by)
	}
}

// slow gives one byte and then nothing.
type slow struct{ given bool }

func (s *slow) Read(p []byte) (int, error) {
	if s.given {
		return 0, io.ErrNoProgress
	}
	s.given = true
	return copy(p, "x"), nil
}

// What is announced is not taken before it comes.
func TestBudgetIsTakenAsBytesArrive(t *testing.T) {
	t.Parallel()
	b := NewBudget(1<<30, 1<<30, nil)
	h := b.Hold("p")
	if _, err := h.ReadAll(&slow{}, 20<<20); err == nil {
		t.Error("no error")
	}
	if b.Used() > firstRead {
		t.Errorf("%d bytes are held for one", b.Used())
	}
	h.Release()
	for _, size := range []int{0, 1, firstRead - 1, firstRead, firstRead + 1, 4*firstRead - 1, 4 * firstRead, 3 << 20} {
		for _, announced := range []int{size, -1} {
			for name, read := range map[string]func(io.Reader, int64) ([]byte, error){"own": h.ReadAll, "reused": h.ReadReused} {
				body := bytes.Repeat([]byte("a"), size)
				got, err := read(bytes.NewReader(body), int64(announced))
				if err != nil || !bytes.Equal(got, body) {
					t.Fatalf("%s, %d bytes: got %d, %v", name, size, len(got), err)
				}
				if most := int64(max(2*size, firstRead) + 1); b.Used() > most || b.Used() < int64(size) {
					t.Errorf("%s, %d bytes, announced %d: %d are held", name, size, announced, b.Used())
				}
				h.Release()
			}
		}
	}
}

// A buffer that is used again is no new memory, and no two requests have the same.
func TestBuffersAreReused(t *testing.T) {
	b := NewBudget(1<<30, 1<<30, nil)
	body := bytes.Repeat([]byte("a"), 700_000)
	one, two := b.Hold("p"), b.Hold("p")
	read := func(h *Hold) []byte {
		got, err := h.ReadReused(bytes.NewReader(body), int64(len(body)))
		if err != nil {
			t.Fatal(err)
		}
		return got
	}
	first, second := read(one), read(two)
	if &first[0] == &second[0] {
		t.Error("two requests under way have one buffer")
	}
	one.Release()
	two.Release()
	const times = 50
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	for range times {
		read(one)
		one.Release()
	}
	runtime.ReadMemStats(&after)
	// The race detector drops a quarter of what sync.Pool is given.
	if each := (after.TotalAlloc - before.TotalAlloc) / times; each > uint64(len(body)) {
		t.Errorf("%d bytes are allocated for a body of %d", each, len(body))
	}
}

func zstded(t *testing.T, body []byte, options ...zstd.EOption) []byte {
	t.Helper()
	var out bytes.Buffer
	w, err := zstd.NewWriter(&out, append(options, zstd.WithEncoderConcurrency(1))...)
	if err != nil {
		t.Fatal(err)
	}
	// In two parts, so that the frame cannot tell its size.
	for _, part := range [][]byte{body[:len(body)/2], body[len(body)/2:]} {
		if _, err := w.Write(part); err != nil {
			t.Fatal(err)
		}
		if err := w.Flush(); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

func gzipped(t *testing.T, body []byte) []byte {
	t.Helper()
	var out bytes.Buffer
	w := gzip.NewWriter(&out)
	if _, err := w.Write(body); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// window returns an empty frame of zstd that declares a window of 2^log bytes.
func window(log byte) []byte {
	return []byte{0x28, 0xb5, 0x2f, 0xfd, 0, (log - 10) << 3, 1, 0, 0}
}

func TestBodies(t *testing.T) {
	t.Parallel()
	const most = 1 << 20
	text := []byte(strings.Repeat("a body ", 1000))
	zeros := make([]byte, most+1)
	for _, tt := range []struct {
		name, encoding string
		body           []byte
		want           []byte
		kind           fault.Kind // of the error, if want is nil
	}{
		{"plain", "", text, text, 0},
		{"identity", "Identity", text, text, 0},
		{"gzip", "gzip", gzipped(t, text), text, 0},
		{"two members", "x-gzip", append(gzipped(t, text), gzipped(t, text)...), append(bytes.Clone(text), text...), 0},
		{"zstd", "zstd", zstded(t, text), text, 0},
		{"zstd, window of 8 MiB", "zstd", zstded(t, text, zstd.WithWindowSize(8<<20)), text, 0},
		{"an empty frame", "zstd", window(20), []byte{}, 0},
		{"at the bound", "gzip", gzipped(t, zeros[:most]), zeros[:most], 0},
		{"plain, over the bound", "", zeros, nil, fault.TooLarge},
		{"gzip, over the bound", "gzip", gzipped(t, zeros), nil, fault.TooLarge},
		{"zstd, over the bound", "zstd", zstded(t, zeros), nil, fault.TooLarge},
		{"a window of 512 MiB", "zstd", window(29), nil, fault.Invalid},
		{"a larger window in a later frame", "zstd", append(window(16), window(23)...), nil, fault.Invalid},
		{"cut off", "gzip", gzipped(t, text)[:20], nil, fault.Invalid},
		{"cut off", "zstd", zstded(t, text)[:30], nil, fault.Invalid},
		{"not zstd", "zstd", text, nil, fault.Invalid},
		{"empty", "gzip", nil, nil, fault.Invalid},
	} {
		t.Run(tt.name+" "+tt.encoding, func(t *testing.T) {
			t.Parallel()
			rules := Bodies{Max: most, Timeout: time.Minute, MinRate: 1, Grace: time.Minute}
			b := NewBudget(64<<20, 64<<20, nil)
			r := httptest.NewRequest(http.MethodPost, "/", bytes.NewReader(tt.body))
			if tt.encoding != "" {
				r.Header.Set("Content-Encoding", tt.encoding)
			}
			if err := rules.Open(httptest.NewRecorder(), r); err != nil {
				t.Fatal(err)
			}
			h := b.Hold("p")
			defer h.Release()
			got, err := h.ReadAll(r.Body, r.ContentLength)
			if err := r.Body.Close(); err != nil {
				t.Error(err)
			}
			if tt.want != nil {
				if err != nil || !bytes.Equal(got, tt.want) {
					t.Errorf("got %d bytes, %v; want %d", len(got), err, len(tt.want))
				}
				return
			}
			if err == io.EOF {
				t.Fatal("a body that is no good was read to its end")
			}
			wantKind(t, err, tt.kind)
		})
	}
	for _, encoding := range []string{"snappy", "zlib", "deflate", "lz4", "br", "gzip, gzip", "x-snappy-framed"} {
		r := httptest.NewRequest(http.MethodPost, "/", nil)
		r.Header.Set("Content-Encoding", encoding)
		wantKind(t, (&Bodies{Max: most}).Open(httptest.NewRecorder(), r), fault.Invalid)
	}
}

// A body costs memory in proportion to what comes out of it, whatever it declares.
func TestMemoryOfSmallBodies(t *testing.T) {
	rules := Bodies{Max: 20 << 20}
	for name, tt := range map[string]struct {
		encoding string
		body     []byte
		most     uint64
	}{
		"a window of 512 MiB": {"zstd", window(29), 1 << 20},
		"a window of 8 MiB":   {"zstd", window(23), MaxWindow + 2<<20},
		"gzip":                {"gzip", gzipped(t, []byte("{}")), 1 << 20},
	} {
		b := NewBudget(64<<20, 64<<20, nil)
		r := httptest.NewRequest(http.MethodPost, "/", bytes.NewReader(tt.body))
		r.Header.Set("Content-Encoding", tt.encoding)
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		if err := rules.Open(httptest.NewRecorder(), r); err != nil {
			t.Fatal(err)
		}
		h := b.Hold("p")
		_, _ = h.ReadAll(r.Body, r.ContentLength)
		runtime.ReadMemStats(&after)
		took := after.TotalAlloc - before.TotalAlloc
		if took > tt.most {
			t.Errorf("%s: %d bytes of %d took %d KiB", name, len(tt.body), tt.most, took>>10)
		}
		if held := uint64(b.Used()); held+1<<20 < took {
			t.Errorf("%s: %d KiB were allocated and %d KiB taken from the budget", name, took>>10, held>>10)
		}
		h.Release()
	}
}

// A window is paid for before it is made.
func TestDecoderNeedsBudget(t *testing.T) {
	t.Parallel()
	rules := Bodies{Max: 20 << 20}
	b := NewBudget(64<<20, 4<<20, nil)
	r := httptest.NewRequest(http.MethodPost, "/", bytes.NewReader(window(23)))
	r.Header.Set("Content-Encoding", "zstd")
	if err := rules.Open(httptest.NewRecorder(), r); err != nil {
		t.Fatal(err)
	}
	h := b.Hold("p")
	defer h.Release()
	_, err := h.ReadAll(r.Body, -1)
	wantKind(t, err, fault.Limited)
}

// serve runs a server with these rules until the test ends. It answers with the length of the body
// or with the kind of its error.
func serve(t *testing.T, limits Limits, rules Bodies) net.Addr {
	t.Helper()
	budget := NewBudget(64<<20, 64<<20, nil)
	s := &http.Server{ReadTimeout: rules.Timeout, Handler: Secure(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") == "" {
			Refused(w)
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		defer Working(r.Context())()
		err := rules.Open(w, r)
		h := budget.Hold("p")
		defer h.Release()
		if err == nil {
			_, err = h.ReadAll(r.Body, r.ContentLength)
		}
		if err != nil {
			w.WriteHeader(fault.Of(err).Status())
		}
	}))}
	ln, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	bound := limits.Bound(ln, nil, s)
	done := make(chan struct{})
	go func() { defer close(done); _ = s.Serve(bound) }()
	t.Cleanup(func() {
		_ = s.Close()
		<-done
		if budget.Used() != 0 {
			t.Errorf("%d bytes are still held", budget.Used())
		}
	})
	return ln.Addr()
}

func dial(t *testing.T, addr net.Addr) net.Conn {
	t.Helper()
	conn, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", addr.String())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	return conn
}

func send(t *testing.T, conn net.Conn, text string) {
	t.Helper()
	if _, err := io.WriteString(conn, text); err != nil {
		t.Fatal(err)
	}
}

// answer returns the first line of the answer, empty if the connection was closed without one. A server
// that neither answers nor closes makes the test time out.
func answer(t *testing.T, conn net.Conn) string {
	t.Helper()
	b := make([]byte, 12)
	n, err := io.ReadFull(conn, b)
	if err != nil && n > 0 {
		t.Error(err)
	}
	return string(b[:n])
}

// A body that does not come is cut, though its connection stays open.
func TestSlowBodyIsCut(t *testing.T) {
	t.Parallel()
	addr := serve(t, DefaultLimits(), Bodies{Max: 1 << 20, MinRate: 1000, Grace: time.Second, Timeout: time.Minute})
	conn := dial(t, addr)
	send(t, conn, "POST / HTTP/1.1\r\nHost: h\r\nAuthorization: a\r\nContent-Length: 1000000\r\n\r\nx")
	if got := answer(t, conn); got != "HTTP/1.1 504" {
		t.Errorf("a withheld body: %q", got)
	}
	whole := serve(t, DefaultLimits(), Bodies{Max: 1 << 20, Timeout: 500 * time.Millisecond})
	conn = dial(t, whole)
	send(t, conn, "POST / HTTP/1.1\r\nHost: h\r\nAuthorization: a\r\nContent-Length: 1000000\r\n\r\nx")
	if got := answer(t, conn); got != "HTTP/1.1 504" {
		t.Errorf("a body over its time: %q", got)
	}
	// Without a key nothing is waited for but a moment for the client to read the answer.
	conn = dial(t, addr)
	send(t, conn, "POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 1000000\r\n\r\nx")
	if got := answer(t, conn); got != "HTTP/1.1 401" {
		t.Errorf("without a key: %q", got)
	}
}

// The time of the body is not that of the handler, and the next request has its own.
func TestTimeOfBodyEndsWithIt(t *testing.T) {
	t.Parallel()
	rules := Bodies{Max: 1 << 20, MinRate: 1000, Grace: time.Second, Timeout: 1500 * time.Millisecond}
	s := &http.Server{ReadTimeout: rules.Timeout, Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if err := rules.Open(w, r); err != nil {
			t.Error(err)
		}
		if _, err := io.ReadAll(r.Body); err != nil {
			t.Error(err)
		}
		select {
		case <-r.Context().Done():
			t.Error("the request was cancelled when the time of its body was over")
		case <-time.After(2 * time.Second):
		}
	})}
	ln, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	go func() { _ = s.Serve(ln) }()
	defer s.Close()
	conn := dial(t, ln.Addr())
	for range 2 {
		send(t, conn, "POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 1\r\n\r\nx")
		reply := make([]byte, 512)
		n, err := conn.Read(reply)
		if err != nil || !strings.HasPrefix(string(reply[:n]), "HTTP/1.1 200") {
			t.Fatalf("%q, %v", reply[:n], err)
		}
	}
}

// At the bound an idle connection gives way to a new one; one that is at work does not.
func TestConnectionsAreBounded(t *testing.T) {
	t.Parallel()
	limits := DefaultLimits()
	limits.MaxConnections = 3
	addr := serve(t, limits, Bodies{Max: 1 << 20, Timeout: time.Minute, MinRate: 1, Grace: time.Minute})
	working := dial(t, addr)
	send(t, working, "POST / HTTP/1.1\r\nHost: h\r\nAuthorization: a\r\nExpect: 100-continue\r\nContent-Length: 1\r\n\r\n")
	if got := answer(t, working); got != "HTTP/1.1 100" { // it reads the body now
		t.Fatalf("the connection at work: %q", got)
	}
	idle := []net.Conn{dial(t, addr), dial(t, addr)}
	for i := range 5 {
		conn := dial(t, addr)
		send(t, conn, "POST / HTTP/1.1\r\nHost: h\r\nAuthorization: a\r\nContent-Length: 0\r\n\r\n")
		if got := answer(t, conn); got != "HTTP/1.1 200" {
			t.Errorf("connection %d: %q", i, got)
		}
	}
	for _, conn := range idle {
		if got := answer(t, conn); got != "" {
			t.Errorf("an idle connection was answered %q", got)
		}
	}
	send(t, working, "y")
	if rest, err := io.ReadAll(io.LimitReader(working, 40)); err != nil || !strings.Contains(string(rest), "HTTP/1.1 200") {
		t.Errorf("the connection at work: %q, %v", rest, err)
	}
}

func TestConnectionsAtWorkStay(t *testing.T) {
	t.Parallel()
	all := NewConnections(1)
	one, far := net.Pipe()
	defer far.Close()
	conn := all.admit(one)
	done := Working(context.WithValue(t.Context(), connectionKey{}, conn))
	if all.admit(far) != nil {
		t.Error("a connection was admitted beside one at work")
	}
	done()
	next := all.admit(far)
	if next == nil {
		t.Fatal("an idle connection did not give way")
	}
	if _, err := conn.Write([]byte("x")); err == nil {
		t.Error("it is open still")
	}
	_ = conn.Close()
	_ = next.Close()
	if all.open != 0 || all.idle.Len() != 0 {
		t.Errorf("%d are counted, %d idle", all.open, all.idle.Len())
	}
}

func TestSecure(t *testing.T) {
	t.Parallel()
	w := httptest.NewRecorder()
	Secure(http.NotFoundHandler()).ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/", nil))
	for name, want := range map[string]string{
		"X-Content-Type-Options": "nosniff", "Cache-Control": "no-store", "Referrer-Policy": "no-referrer",
		"Content-Security-Policy": "default-src 'none'; frame-ancestors 'none'",
	} {
		// http.Error removes Cache-Control, no-store is for answers that carry data.
		if got := w.Header().Get(name); got != want && name != "Cache-Control" {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
}

func TestOnLoopback(t *testing.T) {
	t.Parallel()
	for endpoint, want := range map[string]bool{
		"127.0.0.1:1": true, "127.9.9.9:1": true, "localhost:1": true, "[::1]:1": true,
		"0.0.0.0:1": false, ":1": false, "[::]:1": false, "10.0.0.1:1": false, "example.com:1": false, "localhost.example.com:1": false, "127.0.0.1": false,
	} {
		if got := OnLoopback(endpoint, "tcp"); got != want {
			t.Errorf("OnLoopback(%q) = %v, want %v", endpoint, got, want)
		}
	}
	if !OnLoopback("/run/spangrove.sock", "unix") {
		t.Error("a socket of this machine is not on loopback")
	}
}

// TestWarnUnencrypted warns of what other machines reach without TLS, and of nothing else.
func TestWarnUnencrypted(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		endpoint, transport string
		encrypted           bool
		want                int
	}{
		{"0.0.0.0:4317", "tcp", false, 1}, {"0.0.0.0:4317", "tcp", true, 0}, {"127.0.0.1:4317", "tcp", false, 0}, {"/run/s.sock", "unix", false, 0},
	} {
		core, logged := observer.New(zap.WarnLevel)
		WarnUnencrypted(zap.New(core), tt.endpoint, tt.transport, tt.encrypted)
		if logged.Len() != tt.want {
			t.Errorf("%+v: %d warnings", tt, logged.Len())
		}
	}
}
