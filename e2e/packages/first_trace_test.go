package packages

import (
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"testing"
	"text/tabwriter"
	"time"

	"github.com/spangrove/spangrove/e2e/harness"
)

func TestMain(m *testing.M) {
	code := m.Run()
	printTable()
	if debian != "" {
		_ = os.RemoveAll(filepath.Dir(debian)) // a temporary folder: no test depends on its end
	}
	os.Exit(code)
}

// row is what was measured of a package.
type row struct {
	name        string
	size        int64
	took        time.Duration // from the first command to the trace read back
	description string        // of the commands
}

var (
	rowsMu sync.Mutex
	rows   []row
)

func printTable() {
	if len(rows) == 0 {
		return
	}
	w := tabwriter.NewWriter(os.Stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "package\tMB\tfirst trace after\thow")
	for _, r := range rows {
		fmt.Fprintf(w, "%s\t%.1f\t%.1f s\t%s\n", r.name, float64(r.size)/1e6, r.took.Seconds(), r.description)
	}
	_ = w.Flush() // what cannot be printed is not missed by a test
}

// artefact returns the one file of the release whose name matches.
func artefact(t *testing.T, pattern string) string {
	t.Helper()
	dir := harness.Env(t, "SPANGROVE_E2E_RELEASE", "the folder that make release fills")
	found, err := filepath.Glob(filepath.Join(dir, pattern))
	if err != nil || len(found) != 1 {
		t.Fatalf("%s: want one file %s, found %v (%v)", dir, pattern, found, err)
	}
	return found[0]
}

// run runs a command to its end; the test fails if it does.
func run(t *testing.T, dir string, env []string, name string, args ...string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), name, args...)
	cmd.Dir, cmd.Env = dir, append(os.Environ(), env...)
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%s %s: %v\n%s", name, strings.Join(args, " "), err, out)
	}
	return string(out)
}

// server is a process that was started from a package.
type server struct {
	t    *testing.T
	cmd  *exec.Cmd
	api  *harness.Client
	data string
	log  string // file with what it printed
	done chan error
}

// start runs a command line that ends in the program of a package, with a data directory as the program
// sees it.
func start(t *testing.T, dir, data string, env []string, name string, args ...string) *server {
	t.Helper()
	address := harness.FreeAddr(t)
	s := &server{t: t, api: harness.NewClient("http://"+address, harness.Key), data: data, log: filepath.Join(t.TempDir(), "log"), done: make(chan error, 1)}
	s.cmd = exec.Command(name, args...)
	s.cmd.Dir = dir
	for _, kv := range os.Environ() {
		if !strings.HasPrefix(kv, "SPANGROVE_") {
			s.cmd.Env = append(s.cmd.Env, kv)
		}
	}
	s.cmd.Env = append(s.cmd.Env, env...)
	s.cmd.Env = append(s.cmd.Env, s.settings(address)...)
	log, err := os.Create(s.log)
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	s.cmd.Stdout, s.cmd.Stderr = log, log
	s.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // so that its children end with it
	if err := s.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() { s.done <- s.cmd.Wait() }()
	t.Cleanup(func() {
		_ = syscall.Kill(-s.cmd.Process.Pid, syscall.SIGKILL) // if it is gone already, all the better
	})
	return s
}

// settings are those of a server that only this test reaches.
func (s *server) settings(address string) []string {
	return []string{
		"SPANGROVE_ADDR=" + address, "SPANGROVE_OTLP_GRPC_ADDR=", "SPANGROVE_OTLP_HTTP_ADDR=",
		"SPANGROVE_API_KEY=" + harness.Key, "SPANGROVE_DATA_DIR=" + s.data,
	}
}

// firstTrace waits for the server, sends a trace as OpenTelemetry's SDKs do, reads it back, and notes
// how long all that took since begun.
func (s *server) firstTrace(name, file string, begun time.Time, how string) {
	s.t.Helper()
	s.ready()
	const trace, span = "5b8efff798038103d269b633813fc60c", "eee19b7ec3c1b174"
	now := time.Now()
	body := fmt.Sprintf(`{"resourceSpans": [{"scopeSpans": [{"spans": [{"traceId": %q, "spanId": %q, "name": "first trace",
		"startTimeUnixNano": "%d", "endTimeUnixNano": "%d", "attributes": [
			{"key": "gen_ai.operation.name", "value": {"stringValue": "chat"}},
			{"key": "gen_ai.request.model", "value": {"stringValue": "m-small"}}]}]}]}]}`,
		trace, span, now.Add(-time.Second).UnixNano(), now.UnixNano())
	status, answer, err := s.api.Send(s.t.Context(), http.MethodPost, "/v1/traces", "application/json", []byte(body))
	if err != nil || status != http.StatusOK {
		s.t.Fatalf("send a trace: %d %s (%v)", status, answer, err)
	}
	events, err := s.api.Export(s.t.Context(), harness.Is("event_type", "model"))
	if err != nil || len(events) != 1 || events[0]["event_name"] != "first trace" {
		s.t.Fatalf("read the trace back: %v (%v)", events, err)
	}
	took := time.Since(begun)
	info, err := os.Stat(file)
	if err != nil {
		s.t.Fatal(err)
	}
	rowsMu.Lock()
	defer rowsMu.Unlock()
	rows = append(rows, row{name, info.Size(), took, how})
	s.t.Logf("%s: first trace read back after %s", name, took.Round(time.Millisecond))
}

// ready waits until the server answers.
func (s *server) ready() {
	s.t.Helper()
	for deadline := time.Now().Add(2 * time.Minute); ; {
		if status, _, err := s.api.Send(s.t.Context(), http.MethodGet, "/healthcheck", "", nil); err == nil && status == http.StatusOK {
			return
		}
		select {
		case err := <-s.done:
			s.t.Fatalf("the server ended at start: %v\n%s", err, s.printed())
		case <-time.After(5 * time.Millisecond):
		}
		if time.Now().After(deadline) {
			s.t.Fatalf("the server is not ready\n%s", s.printed())
		}
	}
}

func (s *server) printed() string {
	text, err := os.ReadFile(s.log)
	if err != nil {
		s.t.Error(err)
	}
	return string(text)
}

// stop sends SIGTERM to the process that was started, as a service manager does, and wants it to end well,
// with nothing left that answers. A server answers a moment before it minds signals; its banner comes after that.
func (s *server) stop() {
	s.t.Helper()
	for deadline := time.Now().Add(time.Minute); !strings.Contains(s.printed(), " is ready.\n"); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			s.t.Fatalf("the server does not say that it is ready\n%s", s.printed())
		}
	}
	if err := s.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		s.t.Fatal(err)
	}
	select {
	case err := <-s.done:
		if err != nil {
			s.t.Errorf("the server ended with %v\n%s", err, s.printed())
		}
	case <-time.After(time.Minute):
		s.t.Fatalf("the server does not end\n%s", s.printed())
	}
	if _, _, err := s.api.Send(s.t.Context(), http.MethodGet, "/healthcheck", "", nil); err == nil {
		s.t.Error("after its end something still answers")
	}
}

// requireLinux skips what only this system can run, unless end-to-end tests are asked for.
func requireLinux(t *testing.T) {
	t.Helper()
	harness.Require(t)
	if runtime.GOOS != "linux" {
		t.Fatal("packages are tested on Linux")
	}
}

func requireRoot(t *testing.T, commands ...string) {
	t.Helper()
	requireLinux(t)
	if os.Geteuid() != 0 {
		t.Fatal("it needs root, for chroot")
	}
	for _, name := range commands {
		if _, err := exec.LookPath(name); err != nil {
			t.Fatalf("%v; on Debian: apt-get install debootstrap rpm", err)
		}
	}
}
