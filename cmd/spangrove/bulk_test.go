package main

import (
	"bufio"
	"fmt"
	"io"
	"math"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/google/uuid"
	"github.com/rogpeppe/go-internal/testscript"
)

// away returns a command of scripts. It puts something between the script and the server that answers
// N times from then on and then breaks all connections:
//
//	away N
func away(t *testing.T, server string) func(ts *testscript.TestScript, neg bool, args []string) {
	to, err := url.Parse(server)
	if err != nil {
		t.Fatal(err)
	}
	real := httputil.NewSingleHostReverseProxy(to)
	var mu sync.Mutex
	left := map[*testscript.TestScript]*atomic.Int64{}
	return func(ts *testscript.TestScript, neg bool, args []string) {
		if neg || len(args) != 1 {
			ts.Fatalf("usage: away N")
		}
		n, err := strconv.ParseInt(args[0], 10, 64)
		ts.Check(err)
		mu.Lock()
		defer mu.Unlock()
		if left[ts] == nil {
			answers := &atomic.Int64{}
			between := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if answers.Add(-1) < 0 {
					panic(http.ErrAbortHandler)
				}
				real.ServeHTTP(w, r)
			}))
			ts.Defer(between.Close)
			ts.Setenv("SPANGROVE_SERVER", between.URL)
			left[ts] = answers
		}
		left[ts].Store(n)
	}
}

// sink returns a server that takes every batch and keeps nothing, for what is about the client alone.
func sink(t *testing.T) string {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body) // an error is the client's to tell
		_, _ = io.WriteString(w, `{"success":true,"event_ids":[]}`)
	}))
	t.Cleanup(server.Close)
	return server.URL
}

// peakRSS runs a command, which fails if it had more memory at a time than it may:
//
//	peakrss MB COMMAND [ARGUMENT...]
//
// The system counts for a process what the one that started it had at that time, too. This
// program has little.
func peakRSS() {
	most, err := strconv.ParseInt(os.Args[1], 10, 64)
	if err != nil {
		fmt.Fprintln(os.Stderr, "peakrss:", err)
		os.Exit(2)
	}
	cmd := exec.Command(os.Args[2], os.Args[3:]...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	_ = cmd.Run() // its status is below
	used := cmd.ProcessState.SysUsage().(*syscall.Rusage).Maxrss >> 10
	fmt.Fprintf(os.Stderr, "peakrss: %d MB\n", used)
	if used > most {
		os.Exit(1)
	}
	os.Exit(cmd.ProcessState.ExitCode())
}

// manyEvents writes events, the same ones each time:
//
//	manyevents N BYTES FILE
func manyEvents() {
	n, err := strconv.Atoi(os.Args[1])
	if err == nil {
		var size int
		if size, err = strconv.Atoi(os.Args[2]); err == nil {
			err = writeEvents(n, size, os.Args[3])
		}
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "manyevents:", err)
		os.Exit(2)
	}
}

func writeEvents(n, size int, name string) error {
	file, err := os.Create(name)
	if err != nil {
		return err
	}
	defer file.Close()
	out := bufio.NewWriter(file)
	id := func(i int) string { return uuid.NewSHA1(uuid.NameSpaceURL, []byte(strconv.Itoa(i))).String() }
	words := strings.Repeat("a question of many words ", size/25+1)[:size]
	for i := range n {
		session := id(i - i%50)
		kind := [...]string{"model", "tool", "chain"}[i%3]
		if i%50 == 0 {
			kind = "session"
		}
		fmt.Fprintf(out, `{"event_id":"%s","session_id":"%s","event_type":"%s","event_name":"step %d","start_time":%g,"duration":%g,`+
			`"inputs":{"question":"%s %d"},"outputs":{"n":%d.50},"metadata":{"cost":0.010},"metrics":{"score":%g},"feedback":{"rating":%d}}`+"\n",
			id(i), session, kind, i%7, 1795213764000+math.Floor(float64(i)/4)+0.25*float64(i%2), float64(i%100), words, i, i, float64(i%10)/10, i%5)
	}
	return out.Flush()
}
