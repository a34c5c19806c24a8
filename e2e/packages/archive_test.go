package packages

import (
	"archive/tar"
	"archive/zip"
	"bufio"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"debug/buildinfo"
	"debug/elf"
	"debug/macho"
	"debug/pe"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/spangrove/spangrove/e2e/harness"
)

// idleTime is after how long the memory of an idle server is read.
const idleTime = 30 * time.Second

// TestArchive unpacks the archive of this machine's platform and runs what is in it.
func TestArchive(t *testing.T) {
	requireLinux(t)
	archive := artefact(t, "spangrove-*-linux-"+runtime.GOARCH+".tar.gz")
	dir := t.TempDir()
	begun := time.Now()
	run(t, dir, nil, "tar", "--extract", "--file", archive, "--strip-components=1")
	s := start(t, dir, filepath.Join(dir, "data"), nil, filepath.Join(dir, "spangrove"))
	s.firstTrace("archive", archive, begun, "tar --extract, spangrove")
	time.Sleep(idleTime)
	t.Logf("memory after %s: %s", idleTime, residentMemory(t, s.cmd.Process.Pid))
	s.stop()
	run(t, dir, nil, "bash", "-c", "source completions/spangrove.bash && complete -p spangrove")
	for _, file := range []string{"LICENSE", "THIRD-PARTY-LICENSES.txt", "README.md", "man/spangrove.1", "systemd/spangrove.env"} {
		if read(t, filepath.Join(dir, file)) == "" {
			t.Errorf("%s is empty", file)
		}
	}
}

func residentMemory(t *testing.T, pid int) string {
	t.Helper()
	for line := range strings.Lines(read(t, fmt.Sprintf("/proc/%d/status", pid))) {
		if memory, ok := strings.CutPrefix(line, "VmRSS:"); ok {
			return strings.TrimSpace(memory)
		}
	}
	t.Error("no VmRSS")
	return ""
}

// TestPrograms checks the programs of all platforms: made for it, without symbols, without a C library.
func TestPrograms(t *testing.T) {
	requireLinux(t)
	for _, on := range []string{"linux-amd64", "linux-arm64", "darwin-amd64", "darwin-arm64", "windows-amd64", "windows-arm64"} {
		t.Run(on, func(t *testing.T) {
			system, processor, _ := strings.Cut(on, "-")
			program := programOf(t, on)
			switch system {
			case "linux":
				f, err := elf.NewFile(program)
				if err != nil {
					t.Fatal(err)
				}
				if want := map[string]elf.Machine{"amd64": elf.EM_X86_64, "arm64": elf.EM_AARCH64}[processor]; f.Machine != want {
					t.Errorf("made for %s", f.Machine)
				}
				if libraries, err := f.ImportedLibraries(); err == nil && len(libraries) > 0 {
					t.Errorf("needs %v", libraries)
				}
				if _, err := f.Symbols(); !errors.Is(err, elf.ErrNoSymbols) {
					t.Errorf("symbols: %v", err)
				}
				if f.Section(".debug_info") != nil || f.Section(".zdebug_info") != nil {
					t.Error("it has debug information")
				}
			case "darwin":
				f, err := macho.NewFile(program)
				if err != nil {
					t.Fatal(err)
				}
				if want := map[string]macho.Cpu{"amd64": macho.CpuAmd64, "arm64": macho.CpuArm64}[processor]; f.Cpu != want {
					t.Errorf("made for %s", f.Cpu)
				}
				if f.Section("__debug_info") != nil || f.Section("__zdebug_info") != nil {
					t.Error("it has debug information")
				}
			case "windows":
				f, err := pe.NewFile(program)
				if err != nil {
					t.Fatal(err)
				}
				if want := map[string]uint16{"amd64": pe.IMAGE_FILE_MACHINE_AMD64, "arm64": pe.IMAGE_FILE_MACHINE_ARM64}[processor]; f.Machine != want {
					t.Errorf("made for %#x", f.Machine)
				}
			}
			info, err := buildinfo.Read(program)
			if err != nil {
				t.Fatal(err)
			}
			settings := map[string]string{}
			for _, s := range info.Settings {
				settings[s.Key] = s.Value
			}
			if settings["CGO_ENABLED"] != "0" || settings["-trimpath"] != "true" || settings["GOOS"]+"-"+settings["GOARCH"] != on {
				t.Errorf("built with %v", settings)
			}
		})
	}
}

// programOf returns the program in the archive of a platform.
func programOf(t *testing.T, on string) *bytes.Reader {
	t.Helper()
	var content []byte
	if strings.HasPrefix(on, "windows") {
		z, err := zip.OpenReader(artefact(t, "spangrove-*-"+on+".zip"))
		if err != nil {
			t.Fatal(err)
		}
		defer z.Close()
		for _, f := range z.File {
			if strings.HasSuffix(f.Name, "/spangrove.exe") {
				r, err := f.Open()
				if err != nil {
					t.Fatal(err)
				}
				if content, err = io.ReadAll(r); err != nil {
					t.Fatal(err)
				}
			}
		}
	} else {
		f, err := os.Open(artefact(t, "spangrove-*-"+on+".tar.gz"))
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		z, err := gzip.NewReader(f)
		if err != nil {
			t.Fatal(err)
		}
		for r := tar.NewReader(z); content == nil; {
			h, err := r.Next()
			if err != nil {
				t.Fatalf("no program: %v", err)
			}
			if strings.HasSuffix(h.Name, "/spangrove") {
				if content, err = io.ReadAll(r); err != nil {
					t.Fatal(err)
				}
			}
		}
	}
	return bytes.NewReader(content)
}

// TestHashes holds SHA256SUMS, the statement of provenance and the inventories to the files.
func TestHashes(t *testing.T) {
	requireLinux(t)
	dir := harness.Env(t, "SPANGROVE_E2E_RELEASE", "the folder that make release fills")
	sums := map[string]string{}
	for lines := bufio.NewScanner(strings.NewReader(read(t, artefact(t, "SHA256SUMS")))); lines.Scan(); {
		sum, name, ok := strings.Cut(lines.Text(), "  ")
		if !ok {
			t.Fatalf("SHA256SUMS: %q", lines.Text())
		}
		sums[name] = sum
		if got := hashOf(t, filepath.Join(dir, name)); got != sum {
			t.Errorf("%s has the hash %s, not %s", name, got, sum)
		}
	}
	entries, err := os.ReadDir(dir)
	if err != nil || len(entries) != len(sums)+1 {
		t.Errorf("%d files, and hashes of %d (%v)", len(entries), len(sums), err)
	}

	inventory := artefact(t, "*-linux-"+runtime.GOARCH+".cdx.json")
	var bom struct {
		BOMFormat, SpecVersion string
		Metadata               struct {
			Component struct {
				Hashes []struct{ Content string }
			}
		}
		Components []struct {
			PURL     string
			Licenses []any
		}
	}
	if err := json.Unmarshal([]byte(read(t, inventory)), &bom); err != nil {
		t.Fatal(err)
	}
	program, err := io.ReadAll(programOf(t, "linux-"+runtime.GOARCH))
	if err != nil {
		t.Fatal(err)
	}
	if sum := sha256.Sum256(program); bom.BOMFormat != "CycloneDX" || bom.Metadata.Component.Hashes[0].Content != hex.EncodeToString(sum[:]) {
		t.Errorf("the inventory is of another program: %+v", bom.Metadata)
	}
	info, err := buildinfo.Read(bytes.NewReader(program))
	if err != nil {
		t.Fatal(err)
	}
	listed := map[string]bool{}
	for _, c := range bom.Components {
		listed[c.PURL] = true
		if len(c.Licenses) == 0 {
			t.Errorf("%s has no licence", c.PURL)
		}
	}
	for _, m := range info.Deps {
		if !listed["pkg:golang/"+m.Path+"@"+m.Version] {
			t.Errorf("%s %s is linked but not in the inventory", m.Path, m.Version)
		}
	}

	// A statement is of committed files only.
	statements, err := filepath.Glob(filepath.Join(dir, "*.provenance.json"))
	if err != nil || len(statements) == 0 {
		t.Logf("no statement of provenance (%v)", err)
		return
	}
	var statement struct {
		Subject []struct {
			Name   string
			Digest struct{ SHA256 string }
		}
	}
	if err := json.Unmarshal([]byte(read(t, statements[0])), &statement); err != nil {
		t.Fatal(err)
	}
	for _, s := range statement.Subject {
		if sums[s.Name] != s.Digest.SHA256 {
			t.Errorf("the statement has another hash of %s", s.Name)
		}
	}
	if len(statement.Subject) != len(sums)-1 {
		t.Errorf("the statement is about %d files of %d", len(statement.Subject), len(sums)-1)
	}
}

func hashOf(t *testing.T, path string) string {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	sum := sha256.New()
	if _, err := io.Copy(sum, f); err != nil {
		t.Fatal(err)
	}
	return hex.EncodeToString(sum.Sum(nil))
}
