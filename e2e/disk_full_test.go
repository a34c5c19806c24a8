//go:build linux

package e2e

import (
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"os"
	"os/user"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"go.opentelemetry.io/collector/pdata/ptrace/ptraceotlp"
	"golang.org/x/sys/unix"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"github.com/spangrove/spangrove/e2e/harness"
)

// smallDisk mounts a file system in memory for the test, which needs the right to.
func smallDisk(t *testing.T, mib int) (dir string) {
	t.Helper()
	dir, err := os.MkdirTemp("/tmp", "spangrove-disk") // PostgreSQL's user must get in
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.Remove(dir) })
	if err := unix.Mount("tmpfs", dir, "tmpfs", 0, fmt.Sprintf("size=%dm", mib)); err != nil {
		t.Skipf("this machine mounts no file system for us: %v", err)
	}
	t.Cleanup(func() {
		if err := unix.Unmount(dir, unix.MNT_DETACH); err != nil {
			t.Error(err)
		}
	})
	return dir
}

// fill takes what is left of a disk, and returns what gives it back.
func fill(t *testing.T, disk string) (free func()) {
	t.Helper()
	path := filepath.Join(disk, "filler")
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	block := make([]byte, 64<<10)
	for size := len(block); size >= 512; { // to the last page
		if _, err := f.Write(block[:size]); err != nil {
			size /= 2
		}
	}
	f.Close()
	return func() {
		if err := os.Remove(path); err != nil {
			t.Error(err)
		}
	}
}

// diskPlaces are the databases on a small disk each: of SQLite the data directory, of PostgreSQL a tablespace.
var diskPlaces = map[string]func(t *testing.T) (disk string, env map[string]string){
	"sqlite": func(t *testing.T) (string, map[string]string) {
		disk := smallDisk(t, 24)
		return disk, map[string]string{"SPANGROVE_DATA_DIR": filepath.Join(disk, "data")}
	},
	"postgres": func(t *testing.T) (string, map[string]string) {
		disk := smallDisk(t, 64)
		name := fmt.Sprintf("spangrove_disk_%08x", rand.Uint32())
		space := filepath.Join(disk, "space")
		if err := os.Mkdir(space, 0o700); err != nil {
			t.Fatal(err)
		}
		if os.Getuid() == 0 {
			owner, err := user.Lookup("postgres")
			if err != nil {
				t.Fatal(err)
			}
			uid, _ := strconv.Atoi(owner.Uid)
			gid, _ := strconv.Atoi(owner.Gid)
			for _, dir := range []string{disk, space} {
				if err := os.Chown(dir, uid, gid); err != nil {
					t.Fatal(err)
				}
			}
		}
		admin := harness.Env(t, "SPANGROVE_TEST_POSTGRES", "run the tests under e2e/with-postgres.sh")
		exec := func(ctx context.Context, sql string) {
			conn, err := pgx.Connect(ctx, admin)
			if err != nil {
				t.Fatal(err)
			}
			defer conn.Close(ctx)
			if _, err := conn.Exec(ctx, sql); err != nil {
				t.Fatalf("%s: %v", sql, err)
			}
		}
		exec(t.Context(), "CREATE TABLESPACE "+name+" LOCATION '"+space+"'")
		t.Cleanup(func() { exec(context.Background(), "DROP TABLESPACE "+name) })
		dsn := harness.PostgresDSN(t) // dropped before the tablespace
		return disk, map[string]string{"SPANGROVE_POSTGRES_DSN": dsn + "?default_tablespace=" + name}
	},
}

// TestDiskFull fills the disk of the store. Senders are told so in words, the log has it once, metrics and the health check know it, and once there is space
// again the same requests succeed, without a restart. What was acknowledged before and after is there.
func TestDiskFull(t *testing.T) {
	harness.Require(t)
	for name, place := range diskPlaces {
		t.Run(name, func(t *testing.T) {
			disk, env := place(t)
			metrics := harness.FreeAddr(t)
			env["SPANGROVE_METRICS_ADDR"] = metrics
			diskFull(t, harness.Start(t, harness.Options{Env: env}), disk, "http://"+metrics+"/metrics")
		})
	}
}

func diskFull(t *testing.T, srv *harness.Server, disk, metrics string) {
	conn, err := grpc.NewClient(srv.GRPC, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	client := ptraceotlp.NewGRPCClient(conn)
	span := decode(t, sampleOf(t, "otel-genai/agent_tool_loop").traces)
	noise := rand.NewChaCha8([32]byte{1})
	// Payload that nothing makes smaller, so that the disk is full soon.
	event := func(id string) string {
		text := make([]byte, 100_000)
		_, _ = noise.Read(text)
		for i := range text {
			text[i] = 'a' + text[i]%26
		}
		return `{"event":{"event_type":"tool","event_id":"` + id + `","inputs":{"a":"` + string(text) + `"}}}`
	}
	do := func(method, url, body string) (int, http.Header, string) {
		t.Helper()
		// A sender's patience, not a judgement of speed.
		ctx, cancel := context.WithTimeout(t.Context(), 60*time.Second)
		defer cancel()
		req, err := http.NewRequestWithContext(ctx, method, url, strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Authorization", "Bearer "+srv.Key)
		req.Header.Set("Content-Type", "application/json")
		res, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatalf("%s %s: %v", method, url, err)
		}
		defer res.Body.Close()
		text, err := io.ReadAll(res.Body)
		if err != nil {
			t.Fatal(err)
		}
		return res.StatusCode, res.Header, string(text)
	}
	export := func() error {
		ctx, cancel := context.WithTimeout(t.Context(), 60*time.Second)
		defer cancel()
		_, err := client.Export(metadata.AppendToOutgoingContext(ctx, "authorization", "Bearer "+srv.Key), toTraces(t, span))
		return err
	}
	gauge := func(want string) {
		t.Helper()
		if _, _, text := do(http.MethodGet, metrics, ""); !strings.Contains(text, want) {
			t.Errorf("metrics do not have %q", want)
		}
	}
	var acknowledged []string
	for range 5 {
		id := uuid.NewString()
		if code, _, text := do(http.MethodPost, srv.URL+"/events", event(id)); code != http.StatusOK {
			t.Fatalf("before: %d %s", code, text)
		}
		acknowledged = append(acknowledged, id)
	}
	if code, _, text := do(http.MethodGet, srv.URL+"/readyz", ""); code != http.StatusOK {
		t.Fatalf("before: /readyz %d %s", code, text)
	}

	free := fill(t, disk)
	refused := 0
	var missing []string
	for range 200 { // files have some room of their own
		id := uuid.NewString()
		code, header, text := do(http.MethodPost, srv.URL+"/events", event(id))
		if code == http.StatusOK {
			acknowledged = append(acknowledged, id)
			continue
		}
		missing = append(missing, id)
		if code != http.StatusServiceUnavailable || !strings.Contains(text, "disk full") || header.Get("Retry-After") == "" {
			t.Fatalf("on a full disk: %d, Retry-After %q, %s", code, header.Get("Retry-After"), text)
		}
		if refused++; refused == 20 {
			break
		}
	}
	if refused == 0 {
		t.Fatal("the disk is not full")
	}
	if code, _, text := do(http.MethodPost, srv.HTTP+"/v1/traces", string(toJSON(t, span))); code == http.StatusServiceUnavailable && !strings.Contains(text, "disk full") {
		t.Errorf("OTLP over HTTP: %s", text)
	}
	if err := export(); status.Code(err) == codes.Unavailable && !strings.Contains(err.Error(), "disk full") {
		t.Errorf("OTLP over gRPC: %v", err)
	}
	if code, _, text := do(http.MethodGet, srv.URL+"/readyz", ""); code != http.StatusServiceUnavailable || !strings.Contains(text, "disk full") {
		t.Errorf("/readyz: %d %s", code, text)
	}
	if code, _, _ := do(http.MethodGet, srv.URL+"/livez", ""); code != http.StatusOK {
		t.Errorf("/livez: %d", code)
	}
	if _, err := srv.Event(t.Context(), acknowledged[0]); err != nil {
		t.Errorf("a read on a full disk: %v", err)
	}
	gauge("spangrove_store_disk_full 1")
	gauge(`spangrove_store_commits_failed{reason="disk_full"}`)

	free()
	srv.Printed("disk has space again")
	gauge("spangrove_store_disk_full 0")
	for _, id := range missing {
		if code, _, text := do(http.MethodPost, srv.URL+"/events", event(id)); code != http.StatusOK {
			t.Fatalf("afterwards: %d %s", code, text)
		}
	}
	if err := export(); err != nil {
		t.Errorf("afterwards: %v", err)
	}
	if code, _, text := do(http.MethodGet, srv.URL+"/readyz", ""); code != http.StatusOK {
		t.Errorf("afterwards: /readyz %d %s", code, text)
	}
	for _, line := range []string{"disk full: nothing can be stored until it has space", "disk has space again"} {
		if n := strings.Count(string(srv.Output()), line); n != 1 {
			t.Errorf("the log says %d times %q", n, line)
		}
	}
	if err := srv.Terminate(); err != nil {
		t.Errorf("stop: %v", err)
	}
	srv.Start()
	for _, id := range append(acknowledged, missing...) {
		if _, err := srv.Event(t.Context(), id); err != nil {
			t.Errorf("acknowledged and gone: %v", err)
		}
	}
	if t.Failed() {
		return
	}
	// Whatever else works in the background has not said it line by line.
	for _, line := range strings.Split(string(srv.Output()), "\n") {
		if strings.Contains(line, "warn") && strings.Contains(strings.ToLower(line), "full") {
			t.Errorf("in the log beside: %s", line)
		}
	}
}
