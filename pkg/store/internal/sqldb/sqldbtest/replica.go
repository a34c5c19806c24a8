package sqldbtest

import (
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
)

// Replicated is a PostgreSQL server and a replica of it, of a test's own.
type Replicated struct {
	Primary, Replica string // connection strings

	t       *testing.T
	dir     string
	as      []string // what a program is started with, to run as another user
	port    string   // of the replica
	replica *exec.Cmd
}

// NewReplicated starts a server and a replica of it, which are gone when the test ends. The test is skipped where SPANGROVE_TEST_POSTGRES is not set, though the
// servers are others than that one, or where the programs are not installed.
func NewReplicated(t *testing.T) *Replicated {
	t.Helper()
	serverOfTests(t, postgresVariable)
	initdb, basebackup := serverProgram(t, "initdb"), serverProgram(t, "pg_basebackup")
	dir, err := os.MkdirTemp("", "spangrove-replica") // not the test's, which other users may not enter
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	c := &Replicated{t: t, dir: dir}
	if os.Geteuid() == 0 { // which PostgreSQL refuses
		name := os.Getenv("SPANGROVE_PG_USER")
		if name == "" {
			name = "postgres"
		}
		u, err := user.Lookup(name)
		if err != nil {
			t.Fatal(err)
		}
		c.as = []string{"setpriv", "--reuid=" + u.Uid, "--regid=" + u.Gid, "--clear-groups"}
		uid, _ := strconv.Atoi(u.Uid)
		gid, _ := strconv.Atoi(u.Gid)
		if err := os.Chown(dir, uid, gid); err != nil {
			t.Fatal(err)
		}
	}
	c.run(t, initdb, "--pgdata="+filepath.Join(dir, "primary"), "--username=spangrove", "--auth=trust", "--encoding=UTF8", "--locale=C.UTF-8", "--no-sync")
	port := freePort(t)
	c.Primary = dsnAt(port)
	c.serve(t, "primary", port)
	c.run(t, basebackup, "--dbname="+c.Primary, "--pgdata="+filepath.Join(dir, "replica"), "--write-recovery-conf", "--checkpoint=fast", "--no-sync")
	c.port = freePort(t)
	c.Replica = dsnAt(c.port)
	c.StartReplica(t)
	return c
}

// Schema makes a schema, which is dropped when the test ends, and returns connection strings to it at both servers.
func (c *Replicated) Schema(t *testing.T) (primary, replica string) {
	t.Helper()
	name := create(t, c.Primary, "SCHEMA", "CASCADE")
	return inSchema(t, c.Primary, name), inSchema(t, c.Replica, name)
}

// Exec runs a statement at one of the servers.
func (c *Replicated) Exec(t *testing.T, dsn, text string) {
	t.Helper()
	execute(t, dsn, text)
}

// KillReplica ends the replica as a crash would.
func (c *Replicated) KillReplica(t *testing.T) {
	t.Helper()
	end(c.replica, syscall.SIGQUIT)
}

// StartReplica starts it, always at the same address.
func (c *Replicated) StartReplica(t *testing.T) {
	t.Helper()
	c.replica = c.serve(t, "replica", c.port)
}

func dsnAt(port string) string {
	return "postgres://spangrove@127.0.0.1:" + port + "/postgres?sslmode=disable"
}

// serve starts a server, and waits until it answers.
func (c *Replicated) serve(t *testing.T, name, port string) *exec.Cmd {
	t.Helper()
	log, err := os.OpenFile(filepath.Join(c.dir, name+".log"), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	cmd := c.command(serverProgram(t, "postgres"), "-D", filepath.Join(c.dir, name), "-c", "listen_addresses=127.0.0.1", "-c", "port="+port,
		"-c", "unix_socket_directories=", "-c", "fsync=off", "-c", "max_connections=1000", "-c", "hot_standby_feedback=on")
	cmd.Stdout, cmd.Stderr = log, log
	err = cmd.Start()
	_ = log.Close()
	if err != nil {
		t.Fatal(err)
	}
	c.t.Cleanup(func() {
		end(cmd, syscall.SIGINT)
		if c.t.Failed() {
			text, _ := os.ReadFile(log.Name())
			c.t.Logf("%s:\n%s", name, text[max(len(text)-4000, 0):])
		}
	})
	for range 600 {
		conn, err := pgx.Connect(t.Context(), dsnAt(port))
		if err == nil {
			_ = conn.Close(t.Context())
			return cmd
		}
		time.Sleep(50 * time.Millisecond)
	}
	t.Fatalf("PostgreSQL (%s) does not answer", name)
	return nil
}

func (c *Replicated) command(program string, args ...string) *exec.Cmd {
	all := append(append(append([]string{}, c.as...), program), args...)
	cmd := exec.Command(all[0], all[1:]...)
	cmd.Dir = c.dir
	return cmd
}

func (c *Replicated) run(t *testing.T, program string, args ...string) {
	t.Helper()
	if out, err := c.command(program, args...).CombinedOutput(); err != nil {
		t.Fatalf("%s: %v\n%s", program, err, out)
	}
}

// end ends a server, if it has not ended.
func end(cmd *exec.Cmd, by os.Signal) {
	if cmd.ProcessState == nil {
		_ = cmd.Process.Signal(by)
		_ = cmd.Wait()
	}
}

// serverProgram returns the path of a program that comes with PostgreSQL's server: beside the server itself, since Debian's PATH has a wrapper for some.
func serverProgram(t *testing.T, name string) string {
	t.Helper()
	server := ""
	if path, err := exec.LookPath("postgres"); err == nil {
		server, _ = filepath.EvalSymlinks(path)
	}
	if server == "" {
		found, _ := filepath.Glob("/usr/lib/postgresql/*/bin/postgres")
		if len(found) == 0 {
			t.Skip("PostgreSQL's server is not installed")
		}
		server = found[len(found)-1]
	}
	path := filepath.Join(filepath.Dir(server), name)
	if _, err := os.Stat(path); err != nil {
		t.Skipf("%s is not installed", name)
	}
	return path
}
