package rehearse

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"
)

// readyTimeout bounds the start of a server, which migrates its store then; stopTimeout how long it may take to end.
const (
	readyTimeout = 6 * time.Hour
	stopTimeout  = time.Minute
	lookEvery    = 50 * time.Millisecond
)

// server is a program of some version that runs on the copy.
type server struct {
	client
	program string
	cmd     *exec.Cmd
	ended   chan error // gets what came of it, once
	log     string     // path of its output
	ready   time.Duration
}

// start runs a program as a server of the store alone: nothing of it evaluates, sends notices, or takes telemetry. It listens on a port of
// loopback, and returns when it is ready.
func start(ctx context.Context, program, dir, key string, place Place) (s *server, err error) {
	for range portTries {
		if s, err = startOnce(ctx, program, dir, key, place); err == nil || !strings.Contains(err.Error(), "listen tcp ") {
			break
		}
	}
	return s, err
}

// portTries is how often a server is started whose port another program has taken since it was found free.
const portTries = 5

func startOnce(ctx context.Context, program, dir, key string, place Place) (*server, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0") // for the number of a port that is free
	if err != nil {
		return nil, err
	}
	address := listener.Addr().String()
	if err := listener.Close(); err != nil {
		return nil, err
	}
	config := filepath.Join(dir, "config.yaml")
	text, err := yaml.Marshal(configuration(dir, address, key, place))
	if err != nil {
		return nil, err
	}
	if err := os.WriteFile(config, text, 0o600); err != nil {
		return nil, err
	}
	s := &server{client: client{url: "http://" + address, key: key, http: &http.Client{}}, program: program, ended: make(chan error, 1),
		log: filepath.Join(dir, "server.log")}
	out, err := os.OpenFile(s.log, os.O_CREATE|os.O_WRONLY|os.O_TRUNC, 0o600)
	if err != nil {
		return nil, err
	}
	defer func() { _ = out.Close() }() // the server has its own
	s.cmd = exec.Command(program, "serve", "--config", config)
	s.cmd.Env = environment()
	s.cmd.Stdout, s.cmd.Stderr = out, out
	began := time.Now()
	if err := s.cmd.Start(); err != nil {
		return nil, fmt.Errorf("start %s: %w", program, err)
	}
	go func() { s.ended <- s.cmd.Wait() }()
	if err := s.awaitReady(ctx); err != nil {
		return nil, err
	}
	s.ready = time.Since(began)
	return s, nil
}

// configuration is of the store, keys and the API alone, which all versions have had.
func configuration(dir, address, key string, place Place) map[string]any {
	type m = map[string]any
	literal := func(text string) string { return strings.ReplaceAll(text, "$", "$$") }
	return m{
		"extensions": m{
			"spangrove_store": m{"sqlite": m{"directory": literal(place.Directory)}, "postgres": m{"dsn": literal(place.DSN)}, "pack_after": "0s"},
			"spangrove_auth":  m{"api_key": key, "key_file": literal(filepath.Join(dir, "api-key"))},
			"spangrove_api":   m{"endpoint": address},
		},
		"receivers": m{"spangrove": m{"protocols": m{"grpc": m{"endpoint": ""}, "http": m{"endpoint": ""}}}},
		"exporters": m{"spangrove": m{}},
		"service": m{
			"extensions": []string{"spangrove_store", "spangrove_auth", "spangrove_api"},
			"pipelines":  m{"traces": m{"receivers": []string{"spangrove"}, "exporters": []string{"spangrove"}}},
			"telemetry":  m{"metrics": m{"level": "none"}, "logs": m{"encoding": "console", "disable_caller": true, "disable_stacktrace": true}},
		},
	}
}

// environment leaves out what would reconfigure a server.
func environment() (list []string) {
	for _, v := range os.Environ() {
		if !strings.HasPrefix(v, "SPANGROVE_") {
			list = append(list, v)
		}
	}
	return list
}

// awaitReady waits until the server answers. If it does not come to that, it is ended.
func (s *server) awaitReady(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, readyTimeout)
	defer cancel()
	tick := time.NewTicker(lookEvery)
	defer tick.Stop()
	for {
		select {
		case err := <-s.ended:
			return fmt.Errorf("%s ended while it started: %w: %s", s.program, errOrEnd(err), s.lastLine())
		case <-ctx.Done():
			return errors.Join(ctx.Err(), s.stop())
		case <-tick.C:
			if status, _, _, err := s.send(ctx, http.MethodGet, "/readyz", nil); err == nil && status == http.StatusOK {
				return nil
			}
		}
	}
}

func errOrEnd(err error) error {
	if err == nil {
		return errors.New("without an error")
	}
	return err
}

// lastLine returns the last line that the server has printed.
func (s *server) lastLine() string {
	const most = 4 << 10
	f, err := os.Open(s.log)
	if err != nil {
		return err.Error()
	}
	defer func() { _ = f.Close() }()
	if info, err := f.Stat(); err == nil && info.Size() > most {
		_, _ = f.Seek(-most, io.SeekEnd)
	}
	data, err := io.ReadAll(f)
	if err != nil {
		return err.Error()
	}
	lines := bytes.Split(bytes.TrimSpace(data), []byte("\n"))
	return string(lines[len(lines)-1])
}

// stop ends the server as an operator would, and kills it if it does not end.
func (s *server) stop() error {
	s.http.CloseIdleConnections()
	if err := interrupt(s.cmd.Process); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return err
	}
	select {
	case err := <-s.ended:
		if interruptKills {
			return nil
		}
		return err
	case <-time.After(stopTimeout):
		_ = s.cmd.Process.Kill()
		<-s.ended
		return fmt.Errorf("%s did not end in %s and was killed", s.program, stopTimeout)
	}
}

// versionOf asks a program for its version.
func versionOf(ctx context.Context, program string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	out, err := exec.CommandContext(ctx, program, "version").Output()
	if err != nil {
		return "", fmt.Errorf("%s version: %w", program, err)
	}
	line, _, _ := strings.Cut(strings.TrimSpace(string(out)), "\n")
	return line, nil
}
