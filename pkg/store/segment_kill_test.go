package store_test

import (
	"bufio"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/spangrove/spangrove/pkg/store/storetest"
)

// Variables of the process that TestSegmentsOutliveKills kills: where its store is, and its seed.
const (
	killedPlace = "SPANGROVE_TEST_KILLED_PLACE"
	killedSeed  = "SPANGROVE_TEST_KILLED_SEED"
)

// begun is what it prints before it may be killed.
const begun = "begun"

// TestSegmentsOutliveKills kills a process with SIGKILL at random moments while it stores events, seals them and removes what is not kept,
// SPANGROVE_KILLS times, by default 5, and 2 where the tests are to be short: each time the answers from segments are those from rows.
func TestSegmentsOutliveKills(t *testing.T) {
	t.Parallel()
	t.Run("sqlite", func(t *testing.T) {
		t.Parallel()
		dir := t.TempDir()
		outliveKills(t, "sqlite:"+dir, sqlitePlace{dir: dir})
	})
	t.Run("postgres", func(t *testing.T) {
		t.Parallel()
		p := newPostgresPlace(t)
		outliveKills(t, "postgres:"+p.dsn, p)
	})
}

func outliveKills(t *testing.T, name string, place storetest.Place) {
	kills := 5
	if testing.Short() {
		kills = 2
	}
	if n, err := strconv.Atoi(os.Getenv("SPANGROVE_KILLS")); err == nil {
		kills = n
	}
	seed := uint64(time.Now().UnixNano())
	if n, err := strconv.ParseUint(os.Getenv("SPANGROVE_SEED"), 10, 64); err == nil {
		seed = n
	}
	t.Logf("SPANGROVE_SEED=%d", seed)
	r := rand.New(rand.NewPCG(seed, 9))
	for i := range kills {
		killWhileAtWork(t, name, seed+uint64(i), time.Duration(r.Int64N(int64(time.Second))))
		if ok := t.Run(fmt.Sprint("kill ", i+1), func(t *testing.T) { storetest.CompareAnswers(t, place, seed+uint64(i)) }); !ok {
			return
		}
	}
}

// killWhileAtWork runs storetest.Churn in a process, and kills it some time after it has begun.
func killWhileAtWork(t *testing.T, place string, seed uint64, after time.Duration) {
	t.Helper()
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), program, "-test.run=^TestChurn$", "-test.timeout=3m")
	cmd.Env = append(os.Environ(), killedPlace+"="+place, fmt.Sprint(killedSeed, "=", seed))
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	printed := bufio.NewScanner(out)
	ready := false
	var said []string
	for !ready && printed.Scan() {
		said = append(said, printed.Text())
		ready = printed.Text() == begun
	}
	if ready {
		time.Sleep(after)
	}
	_ = cmd.Process.Kill()
	for printed.Scan() {
		said = append(said, printed.Text())
	}
	_ = cmd.Wait() // it was killed
	if status := cmd.ProcessState.String(); !ready || status != "signal: killed" {
		t.Fatalf("the process did not work until it was killed: %s\n%s", status, strings.Join(said, "\n"))
	}
}

// TestChurn is the process that TestSegmentsOutliveKills kills, and no test otherwise.
func TestChurn(t *testing.T) {
	name := os.Getenv(killedPlace)
	if name == "" {
		return // in a run of all tests there is nothing to kill
	}
	var place storetest.Place
	if dir, ok := strings.CutPrefix(name, "sqlite:"); ok {
		place = sqlitePlace{dir: dir}
	} else {
		place = postgresPlace{dsn: strings.TrimPrefix(name, "postgres:")}
	}
	seed, err := strconv.ParseUint(os.Getenv(killedSeed), 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	storetest.Churn(t, place, seed, func() { fmt.Println(begun) })
}
