package packages

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
)

// descriptor points at a blob of an image.
type descriptor struct {
	Digest   string `json:"digest"`
	Platform struct {
		Architecture string `json:"architecture"`
	} `json:"platform"`
	Annotations map[string]string `json:"annotations"`
}

// layout is an unpacked image in OCI's layout.
type layout struct {
	t   *testing.T
	dir string
}

// blob decodes a blob whose hash must be as its name says.
func (l layout) blob(d descriptor, out any) string {
	l.t.Helper()
	algorithm, sum, _ := strings.Cut(d.Digest, ":")
	path := filepath.Join(l.dir, "blobs", algorithm, sum)
	text := []byte(read(l.t, path))
	if got := sha256.Sum256(text); hex.EncodeToString(got[:]) != sum {
		l.t.Errorf("blob %s has the hash %x", d.Digest, got)
	}
	if out != nil {
		if err := json.Unmarshal(text, out); err != nil {
			l.t.Fatal(err)
		}
	}
	return path
}

// imageConfig is what a container engine reads of the image.
type imageConfig struct {
	Config struct {
		User, WorkingDir string
		Env, Entrypoint  []string
		Volumes          map[string]struct{}
		Healthcheck      struct{ Test []string }
	} `json:"config"`
}

// unpack lays out the file system of this machine's image in root, as a container engine does.
func (l layout) unpack(root string) (c imageConfig) {
	l.t.Helper()
	var top, index struct{ Manifests []descriptor }
	if err := json.Unmarshal([]byte(read(l.t, filepath.Join(l.dir, "index.json"))), &top); err != nil || len(top.Manifests) != 1 {
		l.t.Fatalf("index.json: %v (%v)", top, err)
	}
	l.blob(top.Manifests[0], &index)
	i := slices.IndexFunc(index.Manifests, func(d descriptor) bool { return d.Platform.Architecture == runtime.GOARCH })
	if i < 0 {
		l.t.Fatalf("no image for %s: %v", runtime.GOARCH, index)
	}
	var manifest struct {
		Config descriptor
		Layers []descriptor
	}
	l.blob(index.Manifests[i], &manifest)
	l.blob(manifest.Config, &c)
	for _, layer := range manifest.Layers {
		run(l.t, l.dir, nil, "tar", "--extract", "--gzip", "--file", l.blob(layer, nil), "--directory", root, "--same-owner", "--preserve-permissions", "--numeric-owner")
	}
	return c
}

// TestImage runs the container image as engines do with --read-only: its own user, a root that cannot be
// written to, one volume.
func TestImage(t *testing.T) {
	requireRoot(t, "unshare", "chroot", "mount")
	image := artefact(t, "spangrove-*-image.tar")
	dir := t.TempDir()
	root := filepath.Join(dir, "root")
	if err := os.Mkdir(root, 0o755); err != nil {
		t.Fatal(err)
	}
	begun := time.Now()
	run(t, dir, nil, "tar", "--extract", "--file", image)
	c := layout{t, dir}.unpack(root)
	if err := os.Chmod(root, 0o755); err != nil {
		t.Fatal(err)
	}
	run(t, dir, nil, "chmod", "0755", dir, filepath.Dir(dir)) // the container's user must get in
	if c.Config.User == "" || strings.HasPrefix(c.Config.User, "0") || len(c.Config.Volumes) != 1 || c.Config.WorkingDir != "/data" {
		t.Errorf("configuration of the image: %+v", c.Config)
	}
	// The shell lays out what an engine does, and is replaced by the program.
	chroot, err := exec.LookPath("chroot") // the image has a PATH of its own
	if err != nil {
		t.Fatal(err)
	}
	script := `PATH=$PATH:/usr/bin:/bin:/usr/sbin:/sbin; mount --bind "$0" "$0" && mount --bind "$0/data" "$0/data" && mount -o remount,ro,bind "$0" && exec ` + chroot + ` --userspec=` + c.Config.User + ` "$0" "$@"`
	s := start(t, dir, "/data", c.Config.Env, "unshare", append([]string{"--mount", "--propagation=private", "sh", "-c", script, root}, c.Config.Entrypoint...)...)
	s.firstTrace("container image", image, begun, "unpacked, its root read-only")

	inside := filepath.Join("/proc", strconv.Itoa(s.cmd.Process.Pid), "root")
	if err := os.WriteFile(filepath.Join(inside, "x"), nil, 0o644); err == nil || !strings.Contains(err.Error(), "read-only") {
		t.Errorf("the root can be written to: %v", err)
	}
	health := func() ([]byte, error) {
		cmd := exec.CommandContext(t.Context(), chroot, in(root, c.Config.User, c.Config.Healthcheck.Test[1:]...)...)
		cmd.Env = append(slices.Clone(c.Config.Env), s.settings(strings.TrimPrefix(s.api.URL, "http://"))...)
		return cmd.CombinedOutput()
	}
	if out, err := health(); err != nil {
		t.Errorf("health check: %v: %s", err, out)
	}
	s.stop()
	if out, err := health(); err == nil {
		t.Errorf("the health check of a container that has ended: %s", out)
	}
	if n := strings.Count(read(t, filepath.Join(root, "etc", "ssl", "certs", "ca-certificates.crt")), "BEGIN CERTIFICATE"); n < 100 {
		t.Errorf("%d certificates of authorities", n)
	}
}
