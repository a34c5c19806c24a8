package sqldbtest

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
)

// PgBouncer runs PgBouncer before a database of its own, with further settings, and returns the connection strings through it and past it. The
// test is skipped where it is not installed.
func PgBouncer(t *testing.T, settings ...string) (pooled, direct string) {
	t.Helper()
	b, direct := BouncerOf(t, settings...)
	return b.DSN, direct
}

// BouncerOf does the same, and returns PgBouncer with the connection string past it.
func BouncerOf(t *testing.T, settings ...string) (b *Bouncer, direct string) {
	t.Helper()
	bouncerProgram(t) // skips before a database is made
	dsn := serverOfTests(t, postgresVariable)
	u := parse(t, dsn)
	u.Path = "/" + create(t, dsn, "DATABASE", "WITH (FORCE)")
	return StartBouncer(t, u.String(), settings...), u.String()
}

func bouncerProgram(t *testing.T) string {
	t.Helper()
	program, err := exec.LookPath("pgbouncer")
	if err != nil {
		if program, err = exec.LookPath("/usr/sbin/pgbouncer"); err != nil { // Debian's, off the PATH of most users
			t.Skip("pgbouncer is not installed")
		}
	}
	return program
}

// Bouncer is a PgBouncer that runs until the test ends.
type Bouncer struct {
	DSN string // through it

	t       *testing.T
	program string
	args    []string
	address string
	cmd     *exec.Cmd
	log     strings.Builder
}

// StartBouncer runs PgBouncer before a database, with further settings. The test is skipped where it is not installed.
func StartBouncer(t *testing.T, direct string, settings ...string) *Bouncer {
	t.Helper()
	b := &Bouncer{t: t, program: bouncerProgram(t)}
	conf, err := pgx.ParseConfig(direct)
	if err != nil {
		t.Fatal(err)
	}
	name := conf.Database
	port := freePort(t)
	database := fmt.Sprintf("%s = host=%s port=%d dbname=%s user=%s", name, conf.Host, conf.Port, name, conf.User)
	if conf.Password != "" {
		database += " password='" + strings.ReplaceAll(conf.Password, "'", "''") + "'"
	}
	ini := filepath.Join(t.TempDir(), "pgbouncer.ini")
	text := strings.Join(append([]string{"[databases]", database, "[pgbouncer]", "listen_addr = 127.0.0.1", "listen_port = " + port,
		"unix_socket_dir =", "auth_type = any"}, settings...), "\n")
	if err := os.WriteFile(ini, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	b.args = []string{ini}
	if os.Geteuid() == 0 { // which it refuses
		b.args = []string{"-u", "nobody", ini}
	}
	b.address = net.JoinHostPort("127.0.0.1", port)
	b.DSN = fmt.Sprintf("postgres://%s@%s/%s?sslmode=disable", conf.User, b.address, name)
	b.start()
	t.Cleanup(func() {
		b.kill()
		if t.Failed() {
			t.Log(b.log.String())
		}
	})
	return b
}

func (b *Bouncer) start() {
	b.t.Helper()
	b.cmd = exec.Command(b.program, b.args...)
	b.cmd.Stderr = &b.log
	if err := b.cmd.Start(); err != nil {
		b.t.Fatal(err)
	}
	for range 200 {
		if c, err := net.Dial("tcp", b.address); err == nil {
			_ = c.Close()
			return
		}
		time.Sleep(50 * time.Millisecond)
	}
	b.t.Fatal("PgBouncer does not listen")
}

func (b *Bouncer) kill() {
	_ = b.cmd.Process.Kill()
	_ = b.cmd.Wait()
}

// Restart kills PgBouncer by SIGKILL and, after a while, starts it anew at the same address.
func (b *Bouncer) Restart(after time.Duration) {
	b.t.Helper()
	b.kill()
	time.Sleep(after)
	b.start()
}
