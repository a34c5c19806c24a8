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
