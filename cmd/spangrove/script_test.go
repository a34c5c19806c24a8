package main

import (
	"bufio"
	"errors"
	"flag"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/creack/pty"
	"github.com/klauspost/compress/zstd"
	"github.com/rogpeppe/go-internal/testscript"

	"github.com/spangrove/spangrove/e2e/fakeopenai"
	"github.com/spangrove/spangrove/e2e/harness"
)

// TestMain lets the test's own binary be the programs that scripts run.
func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){"spangrove": main, "inpty": inPTY, "interrupt": interrupt, "peakrss": peakRSS, "manyevents": manyEvents, "sendspan": sendSpan, "storedir": storeDir, "pack": pack})
}

var update = flag.Bool("update", false, "write what scripts compare with, and docs/cli.md")

// TestScripts runs testdata/*.txtar, commands and what they must print, against a server on each
// database. Each script has a project of its own, so that all can run at the same time:
//
//	$SPANGROVE_SERVER, $SPANGROVE_API_KEY   the server, and a key of scope full of the project
//	$ADMIN_KEY, $PROJECT                    a key of scope admin, and the project's name
//	$TLS_SERVER                             the server, as if it spoke TLS, which it does not
//	$MODELS                                 models as OpenAI serves them
//	$SINK                                   a server that takes every batch and keeps nothing
//	exits N COMMAND...                      the command must exit with this status
//	capture NAME [REGEXP]                   sets a variable to what was printed last, or to its first group
//	exec inpty WIDTH [-type TEXT] COMMAND…  the command in a terminal that is so wide
//	exec interrupt N COMMAND…               the command gets Ctrl-C while it waits for its answer N+1
//	away N                                  from now on $SPANGROVE_SERVER gives N answers and breaks all further connections
//	exec peakrss MB COMMAND…                the command must not have more memory than this
//	exec manyevents N BYTES FILE            writes so many events with inputs of so many bytes, in sessions of 50
//	exec storedir DIR [SQL]                 makes a data directory, if there is none, and runs a statement on its database
//	$PLACE_FLAG $PLACE                      how spangrove doctor is told where the server's data is
//	$COPY                                   how spangrove upgrade is told where a copy of it may go
//	$NEW                                    such a place with nothing in it, which $PLACE_FLAG may name
//	[postgres] $EMPTY                       an empty schema of PostgreSQL, for one script, where there is PostgreSQL
//	exec sh -c 'pack [-d] <FILE'            compresses with zstd, or decompresses
func TestScripts(t *testing.T) {
	// Commands of the scripts would ignore SIGHUP where this program was started to ignore it, as by nohup. What it catches, they do not.
	hangup := make(chan os.Signal, 1)
	signal.Notify(hangup, syscall.SIGHUP)
	t.Cleanup(func() { signal.Stop(hangup) })
	t.Run("sqlite", func(t *testing.T) { runScripts(t, "") })
	t.Run("postgres", func(t *testing.T) {
		if os.Getenv("SPANGROVE_TEST_POSTGRES") == "" {
			t.Skip("SPANGROVE_TEST_POSTGRES is not set")
		}
		runScripts(t, harness.PostgresDSN(t))
	})
}

const adminKey = "sg_scripts_0123456789abcdef"

func runScripts(t *testing.T, dsn string) {
	data := t.TempDir()
	place := []string{"PLACE_FLAG=--data", "PLACE=" + data, "COPY=--work=" + t.TempDir(), "NEW=" + filepath.Join(t.TempDir(), "new")}
	if dsn != "" {
		place = []string{"PLACE_FLAG=--dsn", "PLACE=" + dsn, "COPY=--scratch=" + harness.PostgresDSN(t), "NEW=" + harness.PostgresDSN(t), "EMPTY=" + harness.PostgresDSN(t)}
	}
	server := startProcess(t, "SPANGROVE_DATA_DIR="+data, "SPANGROVE_POSTGRES_DSN="+dsn, "SPANGROVE_API_KEY="+adminKey)
	admin := harness.NewClient(server, adminKey)
	nowhere := sink(t)
	models := httptest.NewServer(fakeopenai.Handler())
	t.Cleanup(models.Close)
	testscript.Run(t, testscript.Params{
		Dir:                 "testdata",
		WorkdirRoot:         t.TempDir(), // or a run of some scripts alone leaves its folder behind
		UpdateScripts:       *update,
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
		Condition: func(name string) (bool, error) {
			if name != "postgres" {
				return false, fmt.Errorf("unknown condition %s", name)
			}
			return dsn != "", nil
		},
		Setup: func(env *testscript.Env) error {
			name := filepath.Base(env.WorkDir)
			var project struct{ ID string }
			if err := admin.JSON(t.Context(), "POST", "/v1/projects", map[string]any{"name": name}, &project); err != nil {
				return err
			}
			var key struct {
				Data struct {
					Value string `json:"key_value"`
				}
			}
			body := map[string]any{"name": "script", "permissions": []string{"full"}, "expires_at": "2099-01-01"}
			if err := admin.JSON(t.Context(), "POST", "/v1/projects/"+project.ID+"/fine_grained_api_keys", body, &key); err != nil {
				return err
			}
			home := filepath.Join(env.WorkDir, ".home")
			if err := os.Mkdir(home, 0o700); err != nil {
				return err
			}
			env.Vars = append(append(env.Vars, place...), "SPANGROVE_SERVER="+server, "SPANGROVE_API_KEY="+key.Data.Value,
				"TLS_SERVER="+strings.Replace(server, "http", "https", 1), "ADMIN_KEY="+adminKey, "PROJECT="+name, "SINK="+nowhere, "MODELS="+models.URL+"/v1", "HOME="+home, "TZ=UTC", "TERM=xterm")
			return nil
		},
		Cmds: map[string]func(ts *testscript.TestScript, neg bool, args []string){
			"away": away(t, server),
			"exits": func(ts *testscript.TestScript, neg bool, args []string) {
				if neg || len(args) < 2 {
					ts.Fatalf("usage: exits STATUS COMMAND...")
				}
				status := 0
				var exit *exec.ExitError
				if err := ts.Exec(args[1], args[2:]...); errors.As(err, &exit) {
					status = exit.ExitCode()
				} else if err != nil {
					ts.Fatalf("%v", err)
				}
				if strconv.Itoa(status) != args[0] {
					ts.Fatalf("exit status %d, want %s", status, args[0])
				}
			},
			"capture": func(ts *testscript.TestScript, neg bool, args []string) {
				if neg || len(args) < 1 || len(args) > 2 {
					ts.Fatalf("usage: capture NAME [REGEXP]")
				}
				text := strings.TrimSpace(ts.ReadFile("stdout"))
				if len(args) == 2 {
					m := regexp.MustCompile(args[1]).FindStringSubmatch(text)
					if m == nil {
						ts.Fatalf("no %s in what was printed", args[1])
					}
					text = m[1]
				}
				ts.Setenv(args[0], text)
			},
		},
	})
}

// startProcess runs the server as a process of its own until the test ends, and gives its URL.
func startProcess(t *testing.T, environment ...string) string {
	t.Helper()
	cmd := exec.Command("spangrove")
	cmd.Env = append(append(os.Environ(), "SPANGROVE_ADDR=127.0.0.1:0", "SPANGROVE_OTLP_GRPC_ADDR=", "SPANGROVE_OTLP_HTTP_ADDR=",
		"SPANGROVE_POSTGRES_DSN=", "SPANGROVE_LOG_LEVEL=error"), environment...)
	told, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Signal(syscall.SIGTERM) // if it is gone already, Wait tells
		if err := cmd.Wait(); err != nil {
			t.Errorf("the server: %v", err)
		}
	})
	lines := bufio.NewScanner(told)
	for lines.Scan() {
		if m := regexp.MustCompile(apiLine).FindStringSubmatch(lines.Text()); m != nil {
			go io.Copy(os.Stderr, told) //nolint:errcheck // ends with the process
			return m[1]
		}
	}
	t.Fatal("the server did not start")
	panic("unreachable")
}

// inPTY runs a command in a terminal and shows what was written to it, with ^[ for escapes:
//
//	inpty WIDTH [-type TEXT] COMMAND [ARGUMENT...]
func inPTY() {
	args := os.Args[1:]
	width, err := strconv.ParseUint(args[0], 10, 16)
	if err != nil {
		fmt.Fprintln(os.Stderr, "inpty:", err)
		os.Exit(2)
	}
	args = args[1:]
	typed := ""
	if args[0] == "-type" {
		typed, args = args[1]+"\n", args[2:]
	}
	cmd := exec.Command(args[0], args[1:]...)
	terminal, err := pty.StartWithSize(cmd, &pty.Winsize{Rows: 24, Cols: uint16(width)})
	if err != nil {
		fmt.Fprintln(os.Stderr, "inpty:", err)
		os.Exit(2)
	}
	_, _ = io.WriteString(terminal, typed)
	screen, _ := io.ReadAll(terminal) // its error is how the end of the terminal shows
	_ = cmd.Wait()                    // its status is below
	fmt.Print(strings.NewReplacer("\r\n", "\n", "\x1b", "^[").Replace(string(screen)))
	os.Exit(cmd.ProcessState.ExitCode())
}

// sendSpan sends a span of that name, which goes on with the trace of TRACEPARENT, as instrumented
// programs do:
//
//	sendspan NAME
func sendSpan() {
	parent := strings.Split(os.Getenv("TRACEPARENT"), "-")
	now := time.Now().UnixNano()
	body := fmt.Sprintf(`{"resourceSpans": [{"scopeSpans": [{"spans": [{"traceId": %q, "parentSpanId": %q, "spanId": "%016x", "name": %q,
		"startTimeUnixNano": "%d", "endTimeUnixNano": "%d"}]}]}]}`, parent[1], parent[2], now, os.Args[1], now, now+1e6)
	request, err := http.NewRequest(http.MethodPost, os.Getenv("SPANGROVE_SERVER")+"/v1/traces", strings.NewReader(body))
	if err == nil {
		request.Header.Set("Authorization", "Bearer "+os.Getenv("SPANGROVE_API_KEY"))
		request.Header.Set("Content-Type", "application/json")
		var answer *http.Response
		if answer, err = http.DefaultClient.Do(request); err == nil && answer.StatusCode != http.StatusOK {
			err = errors.New(answer.Status)
		}
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "sendspan:", err)
		os.Exit(1)
	}
}

// pack compresses its input with zstd, or with -d decompresses it:
//
//	pack [-d]
func pack() {
	var err error
	if len(os.Args) > 1 {
		var z *zstd.Decoder
		if z, err = zstd.NewReader(os.Stdin); err == nil {
			_, err = z.WriteTo(os.Stdout)
		}
	} else {
		var z *zstd.Encoder
		if z, err = zstd.NewWriter(os.Stdout); err == nil {
			_, err = io.Copy(z, os.Stdin)
			err = errors.Join(err, z.Close())
		}
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "pack:", err)
		os.Exit(1)
	}
}

// TestReadme runs the lines of the README's section about the command line as one script, next to
// a server that made its own key.
func TestReadme(t *testing.T) {
	text, err := os.ReadFile("../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	_, section, _ := strings.Cut(string(text), "\n## From your terminal\n")
	section, _, _ = strings.Cut(section, "\n## ")
	script := ""
	for line := range strings.Lines(section) {
		if code, ok := strings.CutPrefix(line, "    "); ok {
			script += code
		}
	}
	if strings.Count(script, "spangrove ") < 5 {
		t.Fatalf("the section has hardly any commands:\n%s", script)
	}
	directory := t.TempDir()
	server := startProcess(t, "SPANGROVE_DATA_DIR="+filepath.Join(directory, "spangrove-data"), "SPANGROVE_API_KEY=")
	cmd := exec.Command("sh", "-eu", "-c", script)
	cmd.Dir = directory
	cmd.Env = append(os.Environ(), "SPANGROVE_SERVER="+server, "SPANGROVE_API_KEY=", "HOME="+directory)
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Errorf("%v:\n%s", err, out)
	}
	for _, want := range []string{"added 2 datapoints", "  tool  ", `"event_name":"first steps"`} {
		if !strings.Contains(string(out), want) {
			t.Errorf("no %q in\n%s", want, out)
		}
	}
}

// interrupt runs a command whose server answers so many requests; at the next one the command
// gets what Ctrl-C sends. An answer that breaks off on its way does not count:
//
//	interrupt ANSWERS COMMAND [ARGUMENT...]
func interrupt() {
	fail := func(err error) {
		if err != nil {
			fmt.Fprintln(os.Stderr, "interrupt:", err)
			os.Exit(2)
		}
	}
	answers, err := strconv.ParseInt(os.Args[1], 10, 64)
	fail(err)
	server, err := url.Parse(os.Getenv("SPANGROVE_SERVER"))
	fail(err)
	cmd := exec.Command(os.Args[2], os.Args[3:]...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	var asked atomic.Int64
	real := httputil.NewSingleHostReverseProxy(server)
	between := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if asked.Add(1) <= answers {
			defer func() {
				if broken := recover(); broken != nil { // the command asks again
					asked.Add(-1)
					panic(broken)
				}
			}()
			real.ServeHTTP(w, r)
			return
		}
		_ = cmd.Process.Signal(os.Interrupt) // fails only when it has ended, which the script sees
		<-r.Context().Done()
	}))
	defer between.Close()
	cmd.Env = append(os.Environ(), "SPANGROVE_SERVER="+between.URL)
	_ = cmd.Run() // its status is below
	os.Exit(cmd.ProcessState.ExitCode())
}
