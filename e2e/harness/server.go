package harness

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/creack/pty"
)

// Key is the API key that servers are given unless a test says otherwise.
const Key = "sg_e2e_0123456789abcdef0123456789abcdef"

const (
	readyTimeout = 2 * time.Minute // generous: the machine may be compiling beside us
	stopTimeout  = 45 * time.Second
	logTail      = 4 << 10 // bytes of the server's log shown when a test fails
)

// Options say how a server differs from the plain one.
type Options struct {
	Store Store             // zero: SQLite
	Env   map[string]string // over the defaults; an empty value unsets
	Args  []string
	Run   string // another program than the one that is tested

	Terminal bool // it prints to a terminal, and so what it shows a person only
}

// Server is a spangrove process on loopback ports of its own. It can be stopped
// and started again with the same store and the same ports.
type Server struct {
	*Client
	GRPC string // host:port of OTLP over gRPC
	HTTP string // base URL of OTLP over HTTP on its own port
	Dir  string // data directory
	Log  string // file with what the process printed, over all its lives
	Run  string // the program, which may be changed between two starts

	t        *testing.T
	env      []string
	args     []string
	terminal bool
	cmd      *exec.Cmd
	done     chan struct{} // closed when cmd has ended
	err      error         // how cmd ended, readable once done is closed
}

// New prepares a server without starting it.
func New(t *testing.T, o Options) *Server {
	t.Helper()
	dir := t.TempDir()
	api, grpc, otlp := FreeAddr(t), FreeAddr(t), FreeAddr(t)
	s := &Server{
		Client: NewClient("http://"+api, Key),
		GRPC:   grpc, HTTP: "http://" + otlp,
		Dir: filepath.Join(dir, "data"), Log: filepath.Join(dir, "log"),
		t: t, args: o.Args, terminal: o.Terminal, Run: o.Run,
	}
	if s.Run == "" {
		s.Run = Binary(t)
	}
	env := map[string]string{
		"SPANGROVE_ADDR":           api,
		"SPANGROVE_OTLP_GRPC_ADDR": grpc,
		"SPANGROVE_OTLP_HTTP_ADDR": otlp,
		"SPANGROVE_DATA_DIR":       s.Dir,
		"SPANGROVE_API_KEY":        Key,
	}
	if o.Store.Env != nil {
		maps.Copy(env, o.Store.Env(t))
	}
	maps.Copy(env, o.Env)
	for _, kv := range os.Environ() {
		if !strings.HasPrefix(kv, "SPANGROVE_") && !strings.HasPrefix(kv, "OTEL_") {
			s.env = append(s.env, kv)
		}
	}
	for k, v := range env {
		if v != "" {
			s.env = append(s.env, k+"="+v)
		}
	}
	t.Cleanup(func() {
		s.Kill()
		if t.Failed() {
			t.Logf("end of the server's log:\n%s", s.Tail())
		}
	})
	return s
}

// Start prepares a server, starts it and waits until it is ready.
func Start(t *testing.T, o Options) *Server {
	t.Helper()
	s := New(t, o)
	s.Start()
	return s
}

// Start runs the process and waits until it is ready.
func (s *Server) Start() {
	s.t.Helper()
	s.Launch()
	if err := s.Ready(); err != nil {
		s.t.Fatal(err)
	}
}

// Launch runs the process and returns at once.
func (s *Server) Launch() {
	s.t.Helper()
	log, err := os.OpenFile(s.Log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		s.t.Fatal(err)
	}
	defer log.Close()
	s.cmd = exec.Command(s.Run, s.args...)
	s.cmd.Env, s.cmd.Dir = s.env, filepath.Dir(s.Dir)
	s.cmd.Stdout, s.cmd.Stderr = log, log
	if s.terminal {
		s.cmd.Stdout, s.cmd.Stderr = s.openTerminal()
	}
	if err := s.cmd.Start(); err != nil {
		s.t.Fatal(err)
	}
	cmd, done := s.cmd, make(chan struct{})
	s.done = done
	go func() { s.err = cmd.Wait(); close(done) }()
}

// openTerminal returns a terminal, twice, whose screen goes to the log.
func (s *Server) openTerminal() (stdout, stderr io.Writer) {
	screen, terminal, err := pty.Open()
	if err != nil {
		s.t.Fatal(err)
	}
	log, err := os.OpenFile(s.Log, os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		s.t.Fatal(err)
	}
	var copied sync.WaitGroup
	copied.Go(func() { _, _ = io.Copy(log, screen) }) // it ends with an error when the terminal is closed
	s.t.Cleanup(func() {
		s.Kill() // as long as it runs, the terminal has no end
		_ = terminal.Close()
		copied.Wait()
		_ = screen.Close()
		_ = log.Close()
	})
	return terminal, terminal
}

// Ready waits until /healthcheck answers 200 without a key. It is an error if
// the process ends first.
func (s *Server) Ready() error {
	ctx, cancel := context.WithTimeout(s.t.Context(), readyTimeout)
	defer cancel()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for {
		if req, err := http.NewRequestWithContext(ctx, http.MethodGet, s.URL+"/healthcheck", nil); err == nil {
			if resp, err := s.http.Do(req); err == nil {
				resp.Body.Close()
				if resp.StatusCode == http.StatusOK {
					return nil
				}
			}
		}
		select {
		case <-s.done:
			return fmt.Errorf("the server ended at start: %v\n%s", s.err, s.Tail())
		case <-ctx.Done():
			return fmt.Errorf("the server is not ready after %s\n%s", readyTimeout, s.Tail())
		case <-tick.C:
		}
	}
}

// Kill ends the process with SIGKILL, if it runs, and waits for its end.
func (s *Server) Kill() {
	if s.cmd == nil {
		return
	}
	_ = s.cmd.Process.Kill() // it may have ended by itself
	<-s.done
	s.cmd = nil
}

// Terminate sends SIGTERM and waits for the end. The error tells of an exit
// code other than 0 or of a process that had to be killed.
func (s *Server) Terminate() error {
	if err := s.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		return err
	}
	return s.Wait()
}

// Wait waits for the process to end by itself; its error is as of Terminate.
func (s *Server) Wait() error {
	defer func() { s.cmd = nil }()
	select {
	case <-s.done:
		return s.err
	case <-time.After(stopTimeout):
		_ = s.cmd.Process.Kill()
		<-s.done
		return errors.New("still running after " + stopTimeout.String() + ", killed")
	}
}

// PID returns the process's id; 0 if it does not run.
func (s *Server) PID() int {
	if s.cmd == nil {
		return 0
	}
	return s.cmd.Process.Pid
}

// Printed waits until the process has printed all of the words, and gives all
// that it printed so far. The lines for people come when the server is ready, so
// they may be a moment behind Ready.
func (s *Server) Printed(words ...string) string {
	s.t.Helper()
	deadline := time.Now().Add(readyTimeout)
	for {
		out := string(s.Output())
		missing := slices.DeleteFunc(slices.Clone(words), func(w string) bool { return strings.Contains(out, w) })
		if len(missing) == 0 {
			return out
		}
		if time.Now().After(deadline) {
			s.t.Fatalf("the server does not print %q:\n%s", missing, out)
		}
		time.Sleep(5 * time.Millisecond)
	}
}

// Output is all that the process printed.
func (s *Server) Output() []byte {
	b, err := os.ReadFile(s.Log)
	if err != nil {
		s.t.Error(err)
	}
	return b
}

// Tail returns the end of Output.
func (s *Server) Tail() []byte {
	b := s.Output()
	return bytes.TrimSpace(b[max(0, len(b)-logTail):])
}

// FreeAddr returns a loopback address that is the test's own until its end, though nobody
// listens on it yet, or for a while: the UDP port of the same number is kept
// bound, and whoever gets an address here, in this process or in another, takes
// that first. The port lies below the range from which the system takes the ports
// of outgoing connections, so that none of those can sit on it either.
func FreeAddr(t testing.TB) string {
	t.Helper()
	for range 200 {
		addr := fmt.Sprintf("127.0.0.1:%d", 15000+rand.IntN(15000))
		reservation, err := net.ListenPacket("udp", addr)
		if err != nil {
			continue
		}
		l, err := net.Listen("tcp", addr)
		if err != nil {
			reservation.Close()
			continue
		}
		l.Close()
		t.Cleanup(func() { reservation.Close() })
		return addr
	}
	t.Fatal("no free port")
	return ""
}
