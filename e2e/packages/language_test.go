package packages

import (
	"archive/zip"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// nodeArch is how Node.js names this machine's processor, machine how the kernel and pip do.
var (
	nodeArch = map[string]string{"amd64": "x64", "arm64": "arm64"}[runtime.GOARCH]
	machine  = map[string]string{"amd64": "x86_64", "arm64": "aarch64"}[runtime.GOARCH]
)

// TestWheel installs the wheel with pip, and runs it with uvx.
func TestWheel(t *testing.T) {
	requireLinux(t)
	wheel := artefact(t, "*-py3-none-manylinux*_"+machine+".whl")

	t.Run("pip", func(t *testing.T) {
		dir := t.TempDir()
		run(t, dir, nil, "python3", "-m", "venv", "venv")
		python := filepath.Join(dir, "venv", "bin", "python")
		begun := time.Now()
		run(t, dir, nil, python, "-m", "pip", "install", "--no-index", "--disable-pip-version-check", wheel)
		s := start(t, dir, filepath.Join(dir, "data"), nil, filepath.Join(dir, "venv", "bin", "spangrove"))
		s.firstTrace("wheel, pip", wheel, begun, "pip install, spangrove")
		s.stop()

		if out := run(t, dir, nil, python, "-c", "import importlib.metadata as m; d = m.distribution('spangrove'); print(d.version, d.metadata['License-Expression'])"); !strings.HasSuffix(out, " Apache-2.0\n") {
			t.Errorf("metadata: %q", out)
		}
		// What RECORD lists is what is removed.
		run(t, dir, nil, python, "-m", "pip", "uninstall", "-y", "--disable-pip-version-check", "spangrove")
		if left, err := filepath.Glob(filepath.Join(dir, "venv", "**", "*spangrove*")); err != nil || len(left) > 0 {
			t.Errorf("left after pip uninstall: %v (%v)", left, err)
		}
	})

	t.Run("RECORD has the hashes of all files", func(t *testing.T) {
		z, err := zip.OpenReader(wheel)
		if err != nil {
			t.Fatal(err)
		}
		defer z.Close()
		files, record := map[string]string{}, ""
		for _, f := range z.File {
			r, err := f.Open()
			if err != nil {
				t.Fatal(err)
			}
			content, err := io.ReadAll(r)
			if err != nil {
				t.Fatal(err)
			}
			if strings.HasSuffix(f.Name, ".dist-info/RECORD") {
				record = string(content)
				files[f.Name] = ","
				continue
			}
			sum := sha256.Sum256(content)
			files[f.Name] = fmt.Sprintf("sha256=%s,%d", base64.RawURLEncoding.EncodeToString(sum[:]), len(content))
		}
		listed := map[string]string{}
		for line := range strings.Lines(record) {
			name, hash, _ := strings.Cut(strings.TrimSuffix(line, "\n"), ",")
			listed[name] = hash
		}
		if diff := cmp.Diff(files, listed); diff != "" {
			t.Errorf("RECORD (-files +listed):\n%s", diff)
		}
	})

	t.Run("uvx", func(t *testing.T) {
		dir := t.TempDir()
		run(t, dir, nil, "python3", "-m", "venv", "tools")
		bin := filepath.Join(dir, "tools", "bin")
		run(t, dir, nil, filepath.Join(bin, "python"), "-m", "pip", "install", "--quiet", "--retries", "5", "--disable-pip-version-check", "uv")
		env := []string{"UV_CACHE_DIR=" + filepath.Join(dir, "cache"), "UV_TOOL_DIR=" + filepath.Join(dir, "tool"), "UV_OFFLINE=1", "UV_PYTHON_DOWNLOADS=never",
			"PATH=" + bin + ":" + os.Getenv("PATH")}
		begun := time.Now()
		s := start(t, dir, filepath.Join(dir, "data"), env, filepath.Join(bin, "uvx"), "--no-index", "--from", wheel, "spangrove")
		s.firstTrace("wheel, uvx", wheel, begun, "uvx spangrove")
		s.stop()
	})
}

// TestNPM installs the npm packages, and runs them with npx.
func TestNPM(t *testing.T) {
	requireLinux(t)
	launcher, program := artefact(t, "spangrove-npm-[0-9]*.tgz"), artefact(t, "spangrove-npm-linux-"+nodeArch+"-*.tgz")
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "package.json"), []byte(`{"private": true}`), 0o644); err != nil {
		t.Fatal(err)
	}
	// No registry is asked: the packages of other platforms, which are optional, are in none.
	env := []string{"npm_config_cache=" + filepath.Join(dir, "cache"), "npm_config_offline=true", "npm_config_audit=false", "npm_config_fund=false", "npm_config_update_notifier=false"}
	begun := time.Now()
	run(t, dir, env, "npm", "install", program, launcher)
	s := start(t, dir, filepath.Join(dir, "data"), env, "npx", "spangrove")
	s.firstTrace("npm, npx", program, begun, "npm install, npx spangrove")

	t.Run("the launcher passes signals, arguments and the exit status on", func(t *testing.T) {
		command := filepath.Join(dir, "node_modules", ".bin", "spangrove")
		s := start(t, dir, filepath.Join(dir, "data2"), nil, command, "serve")
		s.ready()
		s.stop()
		if out := run(t, dir, nil, "sh", "-c", command+" unknown; echo $?"); !strings.HasSuffix(out, "\n2\n") {
			t.Errorf("an unknown command: %q", out)
		}
	})
	t.Run("it says what is missing", func(t *testing.T) {
		if err := os.RemoveAll(filepath.Join(dir, "node_modules", "@spangrove")); err != nil {
			t.Fatal(err)
		}
		out := run(t, dir, nil, "sh", "-c", filepath.Join(dir, "node_modules", ".bin", "spangrove")+" version; echo $?")
		if !strings.Contains(out, "@spangrove/linux-"+nodeArch+" is not installed") || !strings.HasSuffix(out, "\n1\n") {
			t.Errorf("without the program: %q", out)
		}
	})
}
