package python

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/tetratelabs/wazero/sys"
	"go.uber.org/goleak"

	"github.com/spangrove/spangrove/pkg/evaluate"
	"github.com/spangrove/spangrove/pkg/evaluation"
	"github.com/spangrove/spangrove/pkg/fault"
	"github.com/spangrove/spangrove/pkg/metric"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// fake is a program in the interpreter's place: it speaks the harness's part, and does for each
// event what the event says.
type fake struct {
	mu      sync.Mutex
	starts  int // of those that got a task
	most    int // ran at the same time
	now     int
	running int   // the one that is ready included
	backs   int   // how often the kept state was gone back to
	broken  error // of every start
	closed  bool
}

func (f *fake) Close() error {
	f.closed = true
	return nil
}

func (f *fake) Run(ctx context.Context, s guestIO) error {
	f.mu.Lock()
	f.running++
	f.mu.Unlock()
	defer func() {
		f.mu.Lock()
		f.running--
		f.mu.Unlock()
	}()
	if f.broken != nil {
		return f.broken
	}
	input := fakeInput{s.in, &fakeState{fake: f}}
	lines := bufio.NewReader(input)
	var token string
	answer := func(text string) { fmt.Fprintf(s.out, "\n%s%s\n", token, text) }
	for n := 0; ; n++ {
		line, err := lines.ReadBytes('\n')
		if err != nil {
			return sys.NewExitError(0)
		}
		var in struct{ Token, Code, Do, Text string }
		if err := json.Unmarshal(line, &in); err != nil {
			return err
		}
		switch {
		case n == 0:
			token = in.Token
			answer("{}")
			continue
		case n == 1: // modules
			f.mu.Lock()
			f.starts++
			f.now++
			f.most = max(f.most, f.now)
			f.mu.Unlock()
			defer func() {
				f.mu.Lock()
				f.now--
				f.mu.Unlock()
			}()
			answer("{}")
			continue
		case in.Code == "no python":
			answer(`{"failure":"syntax","text":"bad"}`)
			return sys.NewExitError(0)
		case n == 2:
			answer("{}")
			continue
		}
		switch in.Do {
		case "return":
			answer(in.Text)
		case "print":
			fmt.Fprint(s.out, in.Text)
			fmt.Fprint(s.err, "warned ")
			answer(`{"type":"int","number":"1"}`)
		case "print for ever":
			for ctx.Err() == nil {
				fmt.Fprintln(s.out, strings.Repeat("x", 100))
			}
			return sys.NewExitError(sys.ExitCodeContextCanceled)
		case "wait":
			<-ctx.Done()
			return sys.NewExitError(sys.ExitCodeContextCanceled)
		case "answer late": // as one whose sleep the end cuts short
			<-ctx.Done()
			answer(`{"type":"int","number":"4"}`)
			return sys.NewExitError(sys.ExitCodeContextCanceled)
		case "exit":
			fmt.Fprint(s.err, in.Text)
			return sys.NewExitError(3)
		case "overflow":
			return errors.New("wasm error: stack overflow")
		case "grow":
			input.state.grown = true
			answer(`{"failure":"exception","error":"MemoryError"}`)
		case "read": // what the harness alone may
			if n, err := input.Read(make([]byte, 10)); n != 0 || err != io.EOF {
				answer(`{"failure":"exception","error":"it read something"}`)
			}
			answer(`{"type":"int","number":"2"}`)
			answer(`{"type":"int","number":"3"}`) // too much: it must not be the next event's
		}
	}
}

// fakeInput reads as the interpreter does: a read that was interrupted is repeated.
type fakeInput struct {
	in    input
	state *fakeState
}

func (f fakeInput) Read(p []byte) (n int, err error) {
	for err = errAgain; err == errAgain; {
		n, err = f.in.Read(p, f.state)
	}
	return n, err
}

type fakeState struct {
	fake        *fake
	kept, grown bool
}

func (s *fakeState) keep() error {
	s.kept = true
	return nil
}

func (s *fakeState) back() error {
	if !s.kept || s.grown {
		return errGrown
	}
	s.fake.backs++
	return nil
}

func fakeEngine(c Config, f *fake) *Engine {
	return newEngine(c, func(context.Context) (program, error) { return f, nil })
}

func events(list ...string) (all []json.RawMessage) {
	for _, e := range list {
		all = append(all, json.RawMessage(e))
	}
	return all
}

func task(code string, list ...string) evaluate.Task {
	return evaluate.Task{Metric: &metric.Definition{Name: "m", Type: metric.Python, Return: metric.Float, Criteria: code}, Events: events(list...)}
}

// TestBatch runs events one after the other: each failure is one event's, and those after it have
// a new interpreter if it ended.
func TestBatch(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := &fake{}
		e := fakeEngine(Config{OutputKiB: 5}, f)
		steps := []struct {
			event  string
			want   evaluation.Result // Explanation: a part of it
			starts int
		}{
			{`{"do":"return","text":"{\"type\":\"float\",\"number\":\"0.50\"}"}`, evaluation.Result{Success: true, Score: json.RawMessage("0.50"), Explanation: "returned 0.50."}, 1},
			{"{\"do\":\r\n\"read\"}", evaluation.Result{Success: true, Score: json.RawMessage("2")}, 1},
			{`{"do":"print","text":"some\ntext"}`, evaluation.Result{Success: true, Score: json.RawMessage("1"), Explanation: "It printed:\nsome\nwarned text"}, 1},
			{`{"do":"return","text":"{\"failure\":\"exception\",\"error\":\"KeyError\",\"text\":\"'x'\",\"trace\":[\"  File 1\"]}"}`,
				evaluation.Result{Failure: Exception, Explanation: "The evaluator raised KeyError: 'x'\nTraceback (most recent call last):\n  File 1\nKeyError: 'x'"}, 1},
			{`{"do":"wait"}`, evaluation.Result{Failure: Timeout, Explanation: "took longer than 1s"}, 1},
			{`{"do":"answer late"}`, evaluation.Result{Failure: Timeout, Explanation: "took longer than 1s"}, 2},
			{`{"do":"print for ever"}`, evaluation.Result{Failure: Output, Explanation: "more than 5 KiB"}, 3},
			{`{"do":"return","text":"{\"failure\":\"memory\"}"}`, evaluation.Result{Failure: Memory, Explanation: "have 128 MiB"}, 4},
			{`{"do":"exit","text":"Fatal: no"}`, evaluation.Result{Failure: Exit, Explanation: "with status 3.\nIt printed:\nFatal: no"}, 4},
			{`{"do":"exit","text":"MemoryError"}`, evaluation.Result{Failure: Memory}, 5},
			{`{"do":"overflow"}`, evaluation.Result{Failure: Recursion}, 6},
			{`{"do":"return","text":"nonsense"}`, evaluation.Result{Failure: Exit, Explanation: "cannot be read"}, 7},
			{`{"do":"grow"}`, evaluation.Result{Failure: Exception}, 7},
			{`{"do":"print","text":"again"}`, evaluation.Result{Success: true, Score: json.RawMessage("1")}, 8},
		}
		var list []string
		for i, s := range steps {
			list = append(list, s.event)
			f.starts, f.backs = 0, 0
			results, err := e.Evaluate(t.Context(), task("code", list...))
			if err != nil || len(results) != i+1 {
				t.Fatalf("%d results, %v", len(results), err)
			}
			got := results[i]
			if !strings.Contains(got.Explanation, s.want.Explanation) {
				t.Errorf("%s: explanation %q, want %q in it", s.event, got.Explanation, s.want.Explanation)
			}
			if diff := cmp.Diff(s.want, got, cmpopts.IgnoreFields(evaluation.Result{}, "Explanation")); diff != "" {
				t.Errorf("%s (-want +got):\n%s", s.event, diff)
			}
			if f.starts != s.starts {
				t.Errorf("%s: %d interpreters, want %d", s.event, f.starts, s.starts)
			}
		}
		if f.backs != 3 { // after the exception, the lack of memory and the nonsense
			t.Errorf("%d times back to the kept state, want 3", f.backs)
		}
		if err := e.Close(); err != nil || !f.closed {
			t.Errorf("Close: %v, closed %v", err, f.closed)
		}
		if _, err := e.Evaluate(t.Context(), task("code", "{}")); fault.Of(err) != fault.Unavailable {
			t.Errorf("after Close: %v, want Unavailable", err)
		}
	})
}

// TestReady: while a task runs the next one's interpreter starts, and no more than that one; what
// ended while it waited is not given to anybody.
func TestReady(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := &fake{}
		e := fakeEngine(Config{}, f)
		defer e.Close()
		var last *interpreter
		for i := range 5 {
			if got, err := e.Evaluate(t.Context(), task("code", `{"do":"print"}`)); err != nil || !got[0].Success {
				t.Fatal(got, err)
			}
			if e.spare == nil || e.spare == last {
				t.Fatal("no further interpreter was started")
			}
			last = e.spare
			if i == 3 {
				last.end(nil)
			}
		}
		synctest.Wait()
		if f.starts != 5 || f.running != 1 {
			t.Errorf("%d tasks, %d interpreters that run, want 5 and 1", f.starts, f.running)
		}
	})
}

func TestCodeThatIsNone(t *testing.T) {
	t.Parallel()
	f := &fake{}
	e := fakeEngine(Config{}, f)
	defer e.Close()
	got, err := e.Evaluate(t.Context(), task("no python", "{}", "", `"text"`))
	if err != nil || len(got) != 3 || f.starts != 1 {
		t.Fatalf("%+v, %v, %d interpreters", got, err, f.starts)
	}
	for _, r := range got {
		if r.Failure != Syntax || r.Success {
			t.Errorf("%+v, want a syntax failure", r)
		}
	}
}

// TestNoResultsOfNobody: who gives up gets nothing, also in the middle of a batch, and an engine
// that ends ends what runs.
func TestNoResultsOfNobody(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		e := fakeEngine(Config{Deadline: time.Hour, Parallel: 1}, &fake{})
		ctx, cancel := context.WithCancel(t.Context())
		defer time.AfterFunc(time.Minute, cancel).Stop()
		if got, err := e.Evaluate(ctx, task("code", `{"do":"print"}`, `{"do":"wait"}`)); got != nil || !errors.Is(err, context.Canceled) {
			t.Errorf("%v, %v: want the context's error", got, err)
		}
		done := make(chan error)
		for range 2 { // one runs, one waits for it
			go func() {
				_, err := e.Evaluate(t.Context(), task("code", `{"do":"wait"}`))
				done <- err
			}()
		}
		synctest.Wait()
		if err := e.Close(); err != nil {
			t.Error(err)
		}
		for range 2 {
			if err := <-done; fault.Of(err) != fault.Unavailable {
				t.Errorf("%v, want Unavailable", err)
			}
		}
	})
}

// TestTimeIsOver: what a caller's time does not suffice for is left for another time, and the
// results that there are are given.
func TestTimeIsOver(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		e := fakeEngine(Config{}, &fake{})
		defer e.Close()
		ctx, cancel := context.WithTimeout(t.Context(), 8*time.Second)
		defer cancel()
		wait := `{"do":"wait"}`
		got, err := e.Evaluate(ctx, task("code", `{"do":"print"}`, wait, wait, wait, wait, wait))
		if err != nil || len(got) != 6 {
			t.Fatalf("%d results, %v", len(got), err)
		}
		for i, r := range got {
			if r.Success != (i == 0) || r.Temporary != (i > 3) || i > 0 && r.Failure != Timeout {
				t.Errorf("event %d: %+v", i, r)
			}
		}
	})
}

// TestShortTime: a caller that has little time, as the processor of a pipeline, gets what can be had in it.
func TestShortTime(t *testing.T) {
	t.Parallel()
	const result, wait = `{"do":"print"}`, `{"do":"wait"}`
	for _, tt := range []struct {
		deadline, time time.Duration
		events         []string
		want           string // of each event: S it has a score, F it took too long, - it was skipped
	}{
		{time.Second, 5 * time.Second, []string{result, result, result, result}, "SSSS"},
		{time.Second, 5 * time.Second, []string{result, wait, result, result}, "SFSS"},
		{10 * time.Second, 5 * time.Second, []string{result, result, result}, "SSS"},
		{10 * time.Second, 5 * time.Second, []string{result, wait, result}, "S--"},
	} {
		synctest.Test(t, func(t *testing.T) {
			e := fakeEngine(Config{Deadline: tt.deadline}, &fake{})
			defer e.Close()
			ctx, cancel := context.WithTimeout(t.Context(), tt.time)
			defer cancel()
			results, err := e.Evaluate(ctx, task("code", tt.events...))
			got := ""
			for _, r := range results {
				switch {
				case r.Success:
					got += "S"
				case r.Skipped:
					got += "-"
				default:
					got += "F"
				}
			}
			if err != nil || got != tt.want {
				t.Errorf("%s an event, %s in all: %s, %v; want %s", tt.deadline, tt.time, got, err, tt.want)
			}
		})
	}
}

// TestParallel: no more interpreters at once than may be, and every task has its own.
func TestParallel(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := &fake{}
		e := fakeEngine(Config{Parallel: 3}, f)
		defer e.Close()
		var all sync.WaitGroup
		for range 10 {
			all.Go(func() {
				got, err := e.Evaluate(t.Context(), task("code", `{"do":"wait"}`, `{"do":"print"}`))
				if err != nil || got[0].Failure != Timeout || !got[1].Success {
					t.Errorf("%+v, %v", got, err)
				}
			})
		}
		all.Wait()
		if f.most != 3 || f.starts != 20 {
			t.Errorf("%d interpreters at once, want 3; %d in all, want 20", f.most, f.starts)
		}
	})
}

func TestStartsThatFail(t *testing.T) {
	t.Parallel()
	e := fakeEngine(Config{}, &fake{broken: errors.New("no memory")})
	defer e.Close()
	if _, err := e.Evaluate(t.Context(), task("code", "{}")); fault.Of(err) != fault.Unavailable || !strings.Contains(err.Error(), "no memory") {
		t.Errorf("%v, want Unavailable for want of memory", err)
	}

	// What could not be loaded is tried again.
	tries := 0
	e = newEngine(Config{}, func(context.Context) (program, error) {
		if tries++; tries == 1 {
			return nil, errors.New("disk")
		}
		return &fake{}, nil
	})
	defer e.Close()
	if _, err := e.Evaluate(t.Context(), task("code", `{"do":"print"}`)); err == nil {
		t.Error("no error where the interpreter could not be loaded")
	}
	if got, err := e.Evaluate(t.Context(), task("code", `{"do":"print"}`)); err != nil || !got[0].Success {
		t.Errorf("%+v, %v", got, err)
	}
}

// TestNotInstalled: without the interpreter, or with another file in its place, a metric answers
// with the command that installs it; as soon as it is there, it is used.
func TestNotInstalled(t *testing.T) {
	t.Parallel()
	for _, content := range []string{"", "\x00asm"} {
		dir := t.TempDir()
		if content != "" {
			write(t, dir, guestFile, content)
		}
		e := New(Config{Directory: dir}, nil)
		got, err := e.Evaluate(t.Context(), task("1", "{}", "{}"))
		if err != nil || len(got) != 2 {
			t.Fatalf("%+v, %v", got, err)
		}
		for _, r := range got {
			if r.Success || r.Failure != NotInstalled || !strings.Contains(r.Explanation, "spangrove evaluators install") {
				t.Errorf("%+v", r)
			}
		}
		if err := e.Close(); err != nil {
			t.Error(err)
		}
	}
}

func write(t *testing.T, dir, name, content string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
}
