package harness

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
)

// Postgres is a PostgreSQL server of a test's own, which may be killed. It is started again by itself.
type Postgres struct {
	DSN  string
	data string
}

// OwnPostgres starts a server, which ends with the test.
func OwnPostgres(t *testing.T) *Postgres {
	t.Helper()
	Require(t)
	cmd := exec.Command(filepath.Join(Root(t), "e2e", "with-postgres.sh"), "sh", "-c", `echo "$SPANGROVE_TEST_POSTGRES $SPANGROVE_TEST_POSTGRES_DATA"; read -r end`)
	cmd.Env = append(os.Environ(), "SPANGROVE_PG_RESTART=1")
	cmd.Stderr = os.Stderr
	stdin, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_, _ = io.WriteString(stdin, "end\n")
		_ = cmd.Wait()
	})
	line, err := bufio.NewReader(stdout).ReadString('\n')
	if err != nil {
		t.Fatalf("start PostgreSQL: %v", err)
	}
	p := &Postgres{}
	if _, err := fmt.Sscan(line, &p.DSN, &p.data); err != nil {
		t.Fatalf("start PostgreSQL: %q: %v", line, err)
	}
	return p
}

// Citus is a new schema in the cluster whose coordinator SPANGROVE_TEST_CITUS names.
type Citus struct {
	DSN  string
	kill string
}

// NewCitus makes the schema, which is dropped when the test ends. The test is skipped if there is no cluster, or no command to kill a worker of it
// and to start it again: SPANGROVE_TEST_CITUS_KILL.
func NewCitus(t *testing.T) *Citus {
	t.Helper()
	Require(t)
	admin, kill := os.Getenv("SPANGROVE_TEST_CITUS"), os.Getenv("SPANGROVE_TEST_CITUS_KILL")
	if admin == "" || kill == "" {
		t.Skip("SPANGROVE_TEST_CITUS and SPANGROVE_TEST_CITUS_KILL are not set")
	}
	u, schema := createIn(t, "SPANGROVE_TEST_CITUS", admin, "SCHEMA", "CASCADE")
	q := u.Query()
	q.Set("search_path", schema)
	u.RawQuery = q.Encode()
	return &Citus{DSN: u.String(), kill: kill}
}

// Kill kills a worker with SIGKILL, and starts it again.
func (c *Citus) Kill() error {
	if out, err := exec.Command("sh", "-c", c.kill).CombinedOutput(); err != nil {
		return fmt.Errorf("SPANGROVE_TEST_CITUS_KILL: %w: %s", err, out)
	}
	return nil
}

// Kill kills the server with SIGKILL, and all of its connections with it.
func (p *Postgres) Kill() error {
	text, err := os.ReadFile(filepath.Join(p.data, "postmaster.pid"))
	if err != nil {
		return err
	}
	first, _, _ := strings.Cut(string(text), "\n")
	pid, err := strconv.Atoi(first)
	if err != nil {
		return err
	}
	return syscall.Kill(pid, syscall.SIGKILL)
}
