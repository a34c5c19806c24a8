package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"time"
)

// scaleArgs are the flags of scale.
type scaleArgs struct {
	sizes     []int // events, one load each
	specs     []*ServerSpec
	limits    []*ServerSpec // servers that only take data; what they take is a limit
	limitSize int           // events that limits are sent
	seed      uint64
	days      int
	reps      int
	limit     time.Duration // of a question
	incoming  float64       // events a second while questions are asked again; 0: they are not
	only      *regexp.Regexp
	root      string
	keep      bool
	settle    time.Duration
}

// Machine is what the figures were measured on.
type Machine struct {
	CPU         string `json:"cpu"`
	Cores       int    `json:"cores"`
	MemoryBytes int64  `json:"memory_bytes"`
	Kernel      string `json:"kernel"`
	LoadAverage string `json:"load_average_at_start"` // more than a little says that others worked on the machine, too
}

// ScaleResult is all that a run of scale showed.
type ScaleResult struct {
	When    time.Time      `json:"when"`
	Machine Machine        `json:"machine"`
	Seed    uint64         `json:"seed"`
	Days    int            `json:"days"`
	LimitMS float64        `json:"limit_ms"` // of a question
	Limits  []*ScaleServer `json:"limits"`
	Servers []*ScaleServer `json:"servers"`
}

// ScaleServer is what one server showed with one number of events.
type ScaleServer struct {
	Name         string         `json:"name"`
	Events       int            `json:"events"`
	Load         *SmallLoad     `json:"load,omitempty"` // nil if the data was there
	Questions    []*ScaleAnswer `json:"questions,omitempty"`
	QuestionPeak int64          `json:"questions_peak_pss_bytes,omitempty"`
	Incoming     *Incoming      `json:"incoming,omitempty"`
	Meanwhile    []*ScaleAnswer `json:"questions_while_events_come,omitempty"`
	Err          string         `json:"error,omitempty"`
}

// ScaleAnswer is how one question was answered.
type ScaleAnswer struct {
	Name   string  `json:"name"`
	About  string  `json:"about"`
	N      int     `json:"n"`        // answers
	First  float64 `json:"first_ms"` // the first time, when nothing of the answer is in memory
	P50    float64 `json:"p50_ms"`   // of the times after it
	Max    float64 `json:"max_ms"`
	Over   float64 `json:"over_ms,omitempty"` // it was not answered in this time
	CPU    float64 `json:"server_cpu_s"`      // for each time it was asked
	Memory float64 `json:"memory_scan_ms"`    // a scan of columns in memory for the same answer, on one core
	Err    string  `json:"error,omitempty"`   // a wrong answer, too
}

// scale measures limits and servers, and returns an error that names all that went wrong.
func scale(ctx context.Context, a *scaleArgs) (*ScaleResult, error) {
	// Servers run in folders of their own, where a relative one would be another.
	root, err := filepath.Abs(a.root)
	if err != nil {
		return nil, err
	}
	a.root = root
	res := &ScaleResult{When: time.Now(), Machine: thisMachine(), Seed: a.seed, Days: a.days, LimitMS: milliseconds(a.limit)}
	for _, spec := range a.limits {
		run := scaleRun{args: a, spec: spec, out: &ScaleServer{Name: spec.Name, Events: a.limitSize}}
		res.Limits = append(res.Limits, run.measure(ctx))
	}
	for _, n := range a.sizes {
		for _, spec := range a.specs {
			run := scaleRun{args: a, spec: spec, out: &ScaleServer{Name: spec.Name, Events: n}}
			res.Servers = append(res.Servers, run.measure(ctx))
		}
	}
	var errs []error
	for _, s := range append(res.Limits, res.Servers...) {
		if s.Err != "" {
			errs = append(errs, fmt.Errorf("%s with %d events: %s", s.Name, s.Events, s.Err))
		}
		for _, q := range append(s.Questions, s.Meanwhile...) {
			if q.Err != "" {
				errs = append(errs, fmt.Errorf("%s with %d events, %s: %s", s.Name, s.Events, q.Name, q.Err))
			}
		}
		if s.Incoming != nil && s.Incoming.Err != "" {
			errs = append(errs, fmt.Errorf("%s with %d events, sending meanwhile: %s", s.Name, s.Events, s.Incoming.Err))
		}
	}
	return res, errors.Join(errs...)
}

// scaleRun measures one server with one number of events.
type scaleRun struct {
	args *scaleArgs
	spec *ServerSpec
	out  *ScaleServer
	sv   *testedServer
	gen  *SmallGenerator
}

func (run *scaleRun) measure(ctx context.Context) *ScaleServer {
	fmt.Fprintf(os.Stderr, "measuring %s with %d events\n", run.out.Name, run.out.Events)
	if err := run.run(ctx); err != nil {
		run.out.Err = err.Error()
	}
	return run.out
}

// loadMark is what the folder of a kept load says of it.
type loadMark struct {
	Seed   uint64
	Events int
	Days   int
	Base   time.Time
}

func (run *scaleRun) run(ctx context.Context) error {
	a := run.args
	dir := filepath.Join(a.root, fmt.Sprintf("%s-%d", run.spec.Name, run.out.Events))
	markFile := dir + ".load.json"
	// The load ends with yesterday, so that its days are whole and all of it is past.
	today := time.Now().UTC().Truncate(24 * time.Hour)
	mark, stored := loadMark{a.seed, run.out.Events, a.days, today.AddDate(0, 0, -a.days)}, false
	if b, err := os.ReadFile(markFile); err == nil && a.keep {
		var kept loadMark
		if err := json.Unmarshal(b, &kept); err != nil {
			return fmt.Errorf("%s: %w", markFile, err)
		}
		base := kept.Base
		kept.Base = mark.Base
		if kept != mark {
			return fmt.Errorf("%s was loaded with another seed or number of days", dir)
		}
		mark.Base, stored = base, true
	}
	if !stored {
		if err := os.RemoveAll(dir); err != nil {
			return err
		}
	}
	if err := openDir(a.root, dir); err != nil {
		return err
	}
	if !a.keep {
		defer os.RemoveAll(dir)
	}
	run.sv = &testedServer{spec: run.spec, dir: dir, log: dir + ".log"}
	if !stored {
		if err := run.sv.prepare(); err != nil {
			return err
		}
	}
	defer run.sv.stop()
	if _, err := run.sv.start(); err != nil {
		return err
	}
	run.gen = NewSmallGenerator(a.seed, run.out.Events, mark.Base, time.Duration(a.days)*24*time.Hour)
	if !stored {
		if err := run.load(ctx); err != nil {
			return err
		}
		if a.keep {
			b, err := json.Marshal(mark)
			if err != nil {
				return err
			}
			if err := os.WriteFile(markFile, b, 0o644); err != nil {
				return err
			}
		}
	}
	if run.spec.Query == "" {
		return nil
	}
	return run.ask(ctx)
}

// load sends all events and measures what that costs the server.
func (run *scaleRun) load(ctx context.Context) error {
	var data []string
	for _, d := range run.spec.Data {
		data = append(data, run.sv.expand(d))
	}
	disk, cpu := diskUsage(data, run.spec.WALDirs...), measureProcesses(run.sv.pids(), false).CPU
	memory := sampleMemory(run.sv.pids())
	loaded, err := sendAll(ctx, run.gen, LoadOpts{Endpoint: run.spec.Addr, Token: run.spec.Token})
	if err != nil {
		memory.stop()
		return err
	}
	select {
	case <-time.After(run.args.settle):
	case <-ctx.Done():
	}
	loaded.PeakPSS = memory.stop()
	loaded.CPUPer100k = (measureProcesses(run.sv.pids(), false).CPU - cpu) / float64(loaded.Events) * 1e5
	loaded.Disk = float64(diskUsage(data, run.spec.WALDirs...)-disk) / float64(loaded.Events)
	for _, p := range data {
		for _, d := range run.spec.WALDirs {
			loaded.WALBytes += diskUsage([]string{filepath.Join(p, d)})
		}
	}
	run.out.Load = loaded
	return nil
}

// ask asks all questions, and again while events come in if that is wanted.
func (run *scaleRun) ask(ctx context.Context) error {
	a, api := run.args, newQueryAPI(run.spec.Query, run.spec.Token)
	columns := run.gen.columns()
	var asked []askedQuestion
	for _, q := range scaleQuestions(run.gen) {
		if a.only != nil && !a.only.MatchString(q.name) {
			continue
		}
		began := time.Now()
		check := q.expect(columns)
		asked = append(asked, askedQuestion{question: q, check: check, memory: time.Since(began)})
	}
	columns = nil
	runtime.GC() // the columns would take memory from the server
	memory := sampleMemory(run.sv.pids())
	for _, q := range asked {
		run.out.Questions = append(run.out.Questions, run.answer(ctx, api, q))
	}
	run.out.QuestionPeak = memory.stop()
	if a.incoming > 0 {
		stop := startIncoming(ctx, a.seed+1, a.incoming, LoadOpts{Endpoint: run.spec.Addr, Token: run.spec.Token})
		for _, q := range asked {
			run.out.Meanwhile = append(run.out.Meanwhile, run.answer(ctx, api, q))
		}
		run.out.Incoming = stop()
	}
	return ctx.Err()
}

// askedQuestion is a question whose answer is known by now.
type askedQuestion struct {
	question
	check  func(answer []byte) error
	memory time.Duration
}

// answer asks a question a first time and then some times more, not for longer than two limits in all. The first time is one of the others,
// too, if it takes so long that there may be no other.
func (run *scaleRun) answer(ctx context.Context, api *queryAPI, q askedQuestion) *ScaleAnswer {
	res := &ScaleAnswer{Name: q.name, About: q.about, Memory: milliseconds(q.memory)}
	limit := run.args.limit
	cpu, asked, began := measureProcesses(run.sv.pids(), false).CPU, 0, time.Now()
	var latencies []float64
	for asked <= run.args.reps && time.Since(began) < 2*limit {
		called := time.Now()
		within, cancel := context.WithTimeout(ctx, limit)
		status, answer, err := api.do(within, q.method, q.path, q.body)
		late := within.Err() != nil
		cancel()
		took := time.Since(called)
		asked++
		// 504 is what the server says when its own time for a read is over.
		if late && ctx.Err() == nil || status == 504 {
			res.Over = milliseconds(took)
			break
		}
		if err == nil {
			err = q.check(answer)
		}
		if err != nil {
			res.Err = strings.ReplaceAll(fmt.Sprintf("%.300s", err), "\n", " ")
			break
		}
		if asked == 1 {
			res.First = milliseconds(took)
		}
		if asked > 1 || took > limit/4 {
			latencies = append(latencies, milliseconds(took))
		}
	}
	res.CPU = (measureProcesses(run.sv.pids(), false).CPU - cpu) / float64(max(asked, 1))
	res.N = len(latencies)
	p := percentilesOf(latencies)
	res.P50, res.Max = p.p50, p.max
	fmt.Fprintf(os.Stderr, "  %-26s %s\n", res.Name, res.cell())
	return res
}

// thisMachine describes the machine by what Linux tells.
func thisMachine() Machine {
	m := Machine{Cores: runtime.NumCPU()}
	line := func(file, key string) string {
		b, _ := os.ReadFile(file)
		for _, l := range strings.Split(string(b), "\n") {
			if name, value, ok := strings.Cut(l, ":"); ok && strings.TrimSpace(name) == key {
				return strings.TrimSpace(value)
			}
		}
		return ""
	}
	m.CPU = line("/proc/cpuinfo", "model name")
	fmt.Sscanf(line("/proc/meminfo", "MemTotal"), "%d", &m.MemoryBytes)
	m.MemoryBytes <<= 10
	b, _ := os.ReadFile("/proc/sys/kernel/osrelease")
	m.Kernel = strings.TrimSpace(string(b))
	b, _ = os.ReadFile("/proc/loadavg")
	m.LoadAverage = strings.Join(strings.Fields(string(b))[:min(3, len(strings.Fields(string(b))))], " ")
	return m
}
