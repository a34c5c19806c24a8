package main

import (
	"bytes"
	"encoding/pem"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/google/go-containerregistry/pkg/v1/types"
	"golang.org/x/crypto/x509roots/fallback/bundle"
)

// imageUser is the user of the container, who is nobody's on the machine around it.
const imageUser = 65532

// imageConfig is how a container of the image is run.
func imageConfig() v1.Config {
	return v1.Config{
		User:       fmt.Sprintf("%d:%[1]d", imageUser),
		WorkingDir: "/data",
		Entrypoint: []string{"/usr/bin/spangrove"},
		Env: []string{
			"PATH=/usr/bin", "HOME=/data", "SPANGROVE_DATA_DIR=/data",
			"SPANGROVE_ADDR=0.0.0.0:7420", "SPANGROVE_OTLP_GRPC_ADDR=0.0.0.0:4317", "SPANGROVE_OTLP_HTTP_ADDR=0.0.0.0:4318",
		},
		ExposedPorts: map[string]struct{}{"7420/tcp": {}, "4317/tcp": {}, "4318/tcp": {}},
		Volumes:      map[string]struct{}{"/data": {}},
		Healthcheck:  &v1.HealthConfig{Test: []string{"CMD", "/usr/bin/spangrove", "health"}, Interval: 30 * time.Second, Timeout: 5 * time.Second, StartPeriod: time.Minute},
	}
}

// writeImage writes the container image of all Linux platforms, as a tar of an OCI layout, which needs
// neither a registry nor a daemon.
func (p *packer) writeImage(builds []build) error {
	labels := map[string]string{
		"org.opencontainers.image.title": "spangrove", "org.opencontainers.image.description": summary,
		"org.opencontainers.image.version": p.source.version.npm(), "org.opencontainers.image.revision": p.source.commit,
		"org.opencontainers.image.source": repositoryURL, "org.opencontainers.image.licenses": "Apache-2.0",
		"org.opencontainers.image.created": p.source.time.Format(time.RFC3339),
	}
	index := mutate.IndexMediaType(empty.Index, types.OCIImageIndex)
	count := 0
	for _, b := range builds {
		if b.platform.os != "linux" {
			continue
		}
		image, err := p.image(b, labels)
		if err != nil {
			return fmt.Errorf("%s: %w", b.platform, err)
		}
		index = mutate.AppendManifests(index, mutate.IndexAddendum{
			Add: image, Descriptor: v1.Descriptor{Platform: &v1.Platform{OS: "linux", Architecture: b.platform.arch}},
		})
		count++
	}
	if count == 0 {
		return nil // of other systems there is none
	}
	annotated, ok := mutate.Annotations(index, labels).(v1.ImageIndex)
	if !ok {
		return fmt.Errorf("an index with annotations is no index")
	}
	dir := filepath.Join(p.temp, "image")
	place, err := layout.Write(dir, empty.Index)
	if err != nil {
		return err
	}
	if err := place.AppendIndex(annotated, layout.WithAnnotations(map[string]string{"org.opencontainers.image.ref.name": p.source.version.npm()})); err != nil {
		return err
	}
	files, err := folder(dir)
	if err != nil {
		return err
	}
	return p.out.write("spangrove-"+p.source.version.npm()+"-image.tar", func(w io.Writer) error { return writeTar(w, p.source.time, files) })
}

// image makes the image of one platform, of two layers: what changes seldom, and the program.
func (p *packer) image(b build, labels map[string]string) (v1.Image, error) {
	licences, err := p.licenceFiles(b)
	if err != nil {
		return nil, err
	}
	base := []file{
		{name: "data", mode: fs.ModeDir | 0o700, uid: imageUser},
		{name: "etc", mode: fs.ModeDir | 0o755},
		{name: "etc/group", text: []byte(fmt.Sprintf("root:x:0:\nspangrove:x:%d:\n", imageUser)), mode: 0o644},
		{name: "etc/passwd", text: []byte(fmt.Sprintf("root:x:0:0:root:/:/none\nspangrove:x:%d:%[1]d:Spangrove:/data:/none\n", imageUser)), mode: 0o644},
		{name: "etc/ssl", mode: fs.ModeDir | 0o755},
		{name: "etc/ssl/certs", mode: fs.ModeDir | 0o755},
		{name: "etc/ssl/certs/ca-certificates.crt", text: authorities(), mode: 0o644},
		{name: "tmp", mode: fs.ModeDir | fs.ModeSticky | 0o777},
	}
	program := []file{
		{name: "usr", mode: fs.ModeDir | 0o755},
		{name: "usr/bin", mode: fs.ModeDir | 0o755},
		{name: "usr/bin/spangrove", path: b.binary, mode: 0o755},
		{name: "usr/share", mode: fs.ModeDir | 0o755},
		{name: "usr/share/doc", mode: fs.ModeDir | 0o755},
		{name: "usr/share/doc/spangrove", mode: fs.ModeDir | 0o755},
	}
	program = append(program, below("usr/share/doc/spangrove", licences)...)
	image := mutate.ConfigMediaType(mutate.MediaType(empty.Image, types.OCIManifestSchema1), types.OCIConfigJSON)
	config := imageConfig()
	config.Labels = labels
	image, err = mutate.ConfigFile(image, &v1.ConfigFile{
		OS: "linux", Architecture: b.platform.arch, Created: v1.Time{Time: p.source.time}, Config: config, RootFS: v1.RootFS{Type: "layers"},
	})
	if err != nil {
		return nil, err
	}
	for _, l := range []struct {
		what  string
		files []file
	}{{"certificates of authorities, users and folders", base}, {"the program", program}} {
		var text bytes.Buffer
		if err := writeTar(&text, p.source.time, l.files); err != nil {
			return nil, err
		}
		layer, err := tarball.LayerFromOpener(func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(text.Bytes())), nil },
			tarball.WithMediaType(types.OCILayer), tarball.WithCompressedCaching)
		if err != nil {
			return nil, err
		}
		if image, err = mutate.Append(image, mutate.Addendum{Layer: layer, History: v1.History{Created: v1.Time{Time: p.source.time}, CreatedBy: "spangrove release", Comment: l.what}}); err != nil {
			return nil, err
		}
	}
	return image, nil
}

// authorities returns the certificates that Mozilla trusts. Those that it trusts for some names only
// are left out: a file of certificates cannot say so.
func authorities() []byte {
	var b bytes.Buffer
	for root := range bundle.Roots() {
		if root.Constraint == nil {
			b.Write(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: root.Certificate}))
		}
	}
	return b.Bytes()
}

// folder returns all that is in a folder, sorted.
func folder(dir string) ([]file, error) {
	found := map[string]file{}
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || path == dir {
			return err
		}
		name, err := filepath.Rel(dir, path)
		if err != nil {
			return err
		}
		f := file{name: filepath.ToSlash(name), path: path, mode: 0o644}
		if d.IsDir() {
			f.path, f.mode = "", fs.ModeDir|0o755
		} else if !d.Type().IsRegular() {
			return &os.PathError{Op: "pack", Path: path, Err: os.ErrInvalid}
		}
		found[f.name] = f
		return nil
	})
	var files []file
	for _, name := range slices.Sorted(maps.Keys(found)) {
		files = append(files, found[name])
	}
	return files, err
}
