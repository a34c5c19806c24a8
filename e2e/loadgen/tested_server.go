package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"time"
)

// ServerSpec describes one server under test. Words may hold ${DIR}, the run's own
// data directory, and variables of the environment.
type ServerSpec struct {
	Name    string            `json:"name"`
	Env     map[string]string `json:"env"`
	Prepare [][]string        `json:"prepare"` // run to their end before the first start
	Start   []ProcessSpec     `json:"start"`   // started in this order
	Data    []string          `json:"data"`    // what disk use is summed over
	WALDirs []string          `json:"wal_dirs"`
	Mode    string            `json:"mode"`
	Addr    string            `json:"endpoint"`
	Token   string            `json:"token"`
	Query   string            `json:"query"` // base URL of the API; empty: it has none
	// MaxLoad bounds one load; a run that does not end in time counts what was
	// acknowledged so far.
	MaxLoadSeconds float64 `json:"max_load_s"`
}

// ProcessSpec is one process of a server.
type ProcessSpec struct {
	Argv  []string `json:"argv"`
	Ready string   `json:"ready"` // URL answering 2xx, or tcp:host:port
	Keep  bool     `json:"keep"`  // left running over the restart (a database)
	Stop  string   `json:"stop"`  // INT or TERM (default)
}

// runningProcess is a process that was started and not yet stopped. done is closed when it has ended.
type runningProcess struct {
	cmd  *exec.Cmd
	p    ProcessSpec
	done chan struct{}
}

// testedServer is a server under test: the processes of its spec, in the order of their start.
type testedServer struct {
	spec  *ServerSpec
	dir   string
	log   string
	procs []*runningProcess
}

// readServerSpec reads a file and puts the environment's values in place.
func readServerSpec(file string) (*ServerSpec, error) {
	b, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	text := os.Expand(string(b), func(k string) string {
		if k == "DIR" {
			return "${DIR}"
		}
		return os.Getenv(k)
	})
	s := &ServerSpec{}
	d := json.NewDecoder(strings.NewReader(text))
	d.DisallowUnknownFields()
	return s, d.Decode(s)
}

func (sv *testedServer) expand(v string) string { return strings.ReplaceAll(v, "${DIR}", sv.dir) }

func (sv *testedServer) env() []string {
	e := os.Environ()
	for k, v := range sv.spec.Env {
		e = append(e, k+"="+sv.expand(v))
	}
	return e
}

func (sv *testedServer) prepare() error {
	for _, a := range sv.spec.Prepare {
		var argv []string
		for _, x := range a {
			argv = append(argv, sv.expand(x))
		}
		c := exec.Command(argv[0], argv[1:]...)
		c.Env = sv.env()
		if out, err := c.CombinedOutput(); err != nil {
			return fmt.Errorf("prepare %v: %w: %.300s", argv[0], err, out)
		}
	}
	return nil
}

// start runs the processes that are not up yet and returns the seconds until
// the last one answered.
func (sv *testedServer) start() (float64, error) {
	var took float64
	for i, p := range sv.spec.Start {
		if i < len(sv.procs) && sv.procs[i] != nil {
			continue
		}
		var argv []string
		for _, x := range p.Argv {
			argv = append(argv, sv.expand(x))
		}
		c := exec.Command(argv[0], argv[1:]...)
		c.Env = sv.env()
		c.Dir = sv.dir
		f, err := os.OpenFile(sv.log, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
		if err != nil {
			return 0, err
		}
		c.Stdout, c.Stderr = f, f
		began := time.Now()
		if err := c.Start(); err != nil {
			return 0, err
		}
		f.Close()
		r := &runningProcess{cmd: c, p: p, done: make(chan struct{})}
		go func() { c.Wait(); close(r.done) }()
		if i < len(sv.procs) {
			sv.procs[i] = r
		} else {
			sv.procs = append(sv.procs, r)
		}
		for !isReady(p.Ready) {
			select {
			case <-r.done:
				b, _ := os.ReadFile(sv.log)
				return 0, fmt.Errorf("%s ended at start: %s", argv[0], bytes.TrimSpace(b[max(0, len(b)-600):]))
			case <-time.After(10 * time.Millisecond):
			}
			if time.Since(began) > 120*time.Second {
				return 0, fmt.Errorf("%s not ready in 120 s", argv[0])
			}
		}
		took = time.Since(began).Seconds()
	}
	return took, nil
}

// isReady reports whether a process answers at u: a URL with 2xx, or tcp:host:port with a connection.
// A process without a place to ask is ready at once.
func isReady(u string) bool {
	if u == "" {
		return true
	}
	if len(u) > 4 && u[:4] == "tcp:" {
		c, err := net.DialTimeout("tcp", u[4:], time.Second)
		if err == nil {
			c.Close()
		}
		return err == nil
	}
	c := http.Client{Timeout: 2 * time.Second}
	r, err := c.Get(u)
	if err != nil {
		return false
	}
	r.Body.Close()
	return r.StatusCode/100 == 2
}

func (sv *testedServer) pids() (p []int) {
	for _, r := range sv.procs {
		if r != nil {
			p = append(p, r.cmd.Process.Pid)
		}
	}
	return
}

// stop ends all processes; stopOwn those that are not marked keep.
func (sv *testedServer) stop()    { sv.end(func(ProcessSpec) bool { return true }) }
func (sv *testedServer) stopOwn() { sv.end(func(p ProcessSpec) bool { return !p.Keep }) }

func (sv *testedServer) end(which func(ProcessSpec) bool) {
	for i := len(sv.procs) - 1; i >= 0; i-- {
		r := sv.procs[i]
		if r == nil || !which(r.p) {
			continue
		}
		sig := syscall.SIGTERM
		if r.p.Stop == "INT" {
			sig = syscall.SIGINT
		}
		kids := processTree([]int{r.cmd.Process.Pid})
		r.cmd.Process.Signal(sig)
		select {
		case <-r.done:
		case <-time.After(20 * time.Second):
			for pid := range kids {
				syscall.Kill(pid, syscall.SIGKILL)
			}
			<-r.done
		}
		sv.procs[i] = nil
	}
}
