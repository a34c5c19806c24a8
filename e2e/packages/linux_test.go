package packages

import (
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"
)

var (
	debianOnce sync.Once
	debian     string // a tar of a small Debian
	debianErr  error
	debianOut  []byte
)

// newDebian returns the folder of a small Debian, which only this test changes. It has no service manager.
func newDebian(t *testing.T) string {
	t.Helper()
	requireRoot(t, "debootstrap", "rpm", "chroot")
	debianOnce.Do(func() {
		var dir string
		if dir, debianErr = os.MkdirTemp("", "spangrove-debian"); debianErr != nil {
			return
		}
		defer os.RemoveAll(filepath.Join(dir, "root"))
		debian = filepath.Join(dir, "debian.tar")
		for _, args := range [][]string{
			{"debootstrap", "--variant=minbase", "bookworm", filepath.Join(dir, "root")},
			{"tar", "--create", "--file", debian, "--directory", filepath.Join(dir, "root"), "."},
		} {
			if debianOut, debianErr = exec.Command(args[0], args[1:]...).CombinedOutput(); debianErr != nil {
				return
			}
		}
	})
	if debianErr != nil {
		t.Fatalf("a small Debian: %v\n%s", debianErr, debianOut)
	}
	root := t.TempDir()
	run(t, root, nil, "tar", "--extract", "--file", debian, "--directory", root, "--same-owner", "--preserve-permissions")
	if err := os.Chmod(root, 0o755); err != nil {
		t.Fatal(err)
	}
	return root
}

// in returns the command line of a command in the system below root, as a user.
func in(root, user string, command ...string) []string {
	return append([]string{"--userspec=" + user, root}, command...)
}

// TestDeb installs the Debian package in a small Debian, and goes through its life: start, upgrade, removal, purge.
func TestDeb(t *testing.T) {
	root := newDebian(t)
	deb := artefact(t, "spangrove_*_"+runtime.GOARCH+".deb")
	dpkg := func(args ...string) {
		t.Helper()
		run(t, root, []string{"DEBIAN_FRONTEND=noninteractive", "LC_ALL=C"}, "chroot", append([]string{root, "dpkg"}, args...)...)
	}
	copyFile(t, deb, filepath.Join(root, "spangrove.deb"))
	begun := time.Now()
	dpkg("--install", "/spangrove.deb")
	data := nobodysFolder(t, root)
	s := start(t, root, data, nil, "chroot", in(root, "nobody:nogroup", "/usr/bin/spangrove")...)
	s.firstTrace("deb", deb, begun, "dpkg --install, spangrove")
	s.stop()
	wantInstalled(t, root)
	dpkg("--verify", "spangrove")

	// An upgrade leaves changed settings as they are.
	settings := filepath.Join(root, "etc", "spangrove", "spangrove.env")
	appendTo(t, settings, "SPANGROVE_LOG_LEVEL=warn\n")
	dpkg("--install", "--force-confold", "/spangrove.deb")
	if !strings.Contains(read(t, settings), "\nSPANGROVE_LOG_LEVEL=warn\n") {
		t.Error("an upgrade has replaced changed settings")
	}

	// Only a purge deletes data and settings.
	kept := serviceData(t, root)
	dpkg("--remove", "spangrove")
	for _, file := range []string{kept, settings} {
		if _, err := os.Stat(file); err != nil {
			t.Errorf("removing the package has deleted it: %v", err)
		}
	}
	dpkg("--purge", "spangrove")
	for _, file := range []string{filepath.Dir(kept), settings, filepath.Join(root, "var", "lib", "spangrove")} {
		if _, err := os.Lstat(file); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("after a purge there is still %s (%v)", file, err)
		}
	}
}

// TestRPM installs the RPM package. What it needs of a system, the shell of its scripts, is Debian's here.
func TestRPM(t *testing.T) {
	root := newDebian(t)
	file := artefact(t, "spangrove-*."+machine+".rpm")
	rpm := func(args ...string) string {
		t.Helper()
		return run(t, root, nil, "rpm", append([]string{"--root", root, "--dbpath", "/var/lib/rpm"}, args...)...)
	}
	if out := run(t, root, nil, "rpm", "--checksig", "--nosignature", file); !strings.Contains(out, "digests OK") {
		t.Errorf("rpm --checksig: %s", out)
	}
	rpm("--initdb")
	begun := time.Now()
	rpm("--install", "--nodeps", file) // no package of Debian's is in the database of rpm
	s := start(t, root, nobodysFolder(t, root), nil, "chroot", in(root, "nobody:nogroup", "/usr/bin/spangrove")...)
	s.firstTrace("rpm", file, begun, "rpm --install, spangrove")
	s.stop()
	wantInstalled(t, root)
	rpm("--verify", "--nodeps", "spangrove")
	if out := rpm("--query", "--configfiles", "spangrove"); out != "/etc/spangrove/spangrove.env\n" {
		t.Errorf("configuration files: %q", out)
	}
	settings := filepath.Join(root, "etc", "spangrove", "spangrove.env")
	appendTo(t, settings, "SPANGROVE_LOG_LEVEL=warn\n")
	kept := serviceData(t, root)
	rpm("--upgrade", "--nodeps", "--replacepkgs", file)
	if !strings.Contains(read(t, settings), "\nSPANGROVE_LOG_LEVEL=warn\n") {
		t.Error("an upgrade has replaced changed settings")
	}
	rpm("--erase", "spangrove")
	if _, err := os.Stat(kept); err != nil {
		t.Errorf("removing the package has deleted data: %v", err)
	}
	if _, err := os.Stat(filepath.Join(root, "usr", "bin", "spangrove")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the program is still there (%v)", err)
	}
}

// TestUnit checks the service's unit with systemd's own tools.
func TestUnit(t *testing.T) {
	requireLinux(t)
	if _, err := exec.LookPath("systemd-analyze"); err != nil {
		t.Fatalf("%v; on Debian: apt-get install systemd", err)
	}
	root := t.TempDir()
	unit := filepath.Join(root, "spangrove.service")
	run(t, root, nil, "sh", "-c", "tar --extract --gzip --to-stdout --wildcards --file \"$0\" '*/systemd/spangrove.service' | sed 's,/usr/bin/spangrove,/bin/true,' >\"$1\"",
		artefact(t, "spangrove-*-linux-"+runtime.GOARCH+".tar.gz"), unit)
	if out := run(t, root, nil, "systemd-analyze", "verify", "--man=no", unit); strings.Contains(out, "spangrove") {
		t.Errorf("systemd-analyze verify: %s", out)
	}
	// 2.0 of 10 is called OK; what is left is the network, which it is for.
	run(t, root, nil, "systemd-analyze", "security", "--offline=true", "--threshold=20", "--no-pager", unit)
}

// wantInstalled checks the files around the program.
func wantInstalled(t *testing.T, root string) {
	t.Helper()
	for path, mode := range map[string]fs.FileMode{
		"usr/bin/spangrove": 0o755, "etc/spangrove/spangrove.env": 0o600, "usr/lib/systemd/system/spangrove.service": 0o644,
		"usr/share/man/man1/spangrove.1.gz": 0o644, "usr/share/bash-completion/completions/spangrove": 0o644,
	} {
		info, err := os.Stat(filepath.Join(root, path))
		if err != nil {
			// A minimal Debian leaves out man pages.
			if !strings.HasPrefix(path, "usr/share/man") {
				t.Error(err)
			}
			continue
		}
		if info.Mode() != mode {
			t.Errorf("%s: mode %v, want %v", path, info.Mode(), mode)
		}
	}
}

// nobodysFolder makes a folder for data below root that only nobody may use, and returns its path in there.
func nobodysFolder(t *testing.T, root string) string {
	t.Helper()
	run(t, root, nil, "chroot", root, "install", "-d", "-o", "nobody", "-g", "nogroup", "-m", "0700", "/srv/data")
	return "/srv/data"
}

// serviceData lays out the service's data as systemd does for DynamicUser, and returns a file of it.
func serviceData(t *testing.T, root string) string {
	t.Helper()
	dir := filepath.Join(root, "var", "lib", "private", "spangrove")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("private/spangrove", filepath.Join(root, "var", "lib", "spangrove")); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(dir, "spangrove.db")
	if err := os.WriteFile(file, []byte("data"), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

func read(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func copyFile(t *testing.T, from, to string) {
	t.Helper()
	if err := os.WriteFile(to, []byte(read(t, from)), 0o644); err != nil {
		t.Fatal(err)
	}
}

func appendTo(t *testing.T, path, text string) {
	t.Helper()
	f, err := os.OpenFile(path, os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	_, err = f.WriteString(text)
	if closed := f.Close(); err != nil || closed != nil {
		t.Fatal(err, closed)
	}
}
