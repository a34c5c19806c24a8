package main

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"encoding/json"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	provenancev1 "github.com/in-toto/attestation/go/predicates/provenance/v1"
	intoto "github.com/in-toto/attestation/go/v1"
	"google.golang.org/protobuf/encoding/protojson"
)

// TestArchivesRepeat writes archives of one content twice, from files of other folders, times and permissions.
func TestArchivesRepeat(t *testing.T) {
	content := func(mode fs.FileMode) []file {
		path := filepath.Join(t.TempDir(), "program")
		if err := os.WriteFile(path, []byte("program"), mode); err != nil {
			t.Fatal(err)
		}
		if err := os.Chtimes(path, time.Time{}, time.Unix(int64(mode), 0)); err != nil {
			t.Fatal(err)
		}
		return []file{{name: "a/text", text: []byte("text"), mode: 0o644}, {name: "a/program", path: path, mode: 0o755}}
	}
	for name, write := range map[string]func(*bytes.Buffer, []file) error{
		"tar.gz": func(b *bytes.Buffer, files []file) error { return writeTarGz(b, time.Unix(1e9, 0), files) },
		"zip":    func(b *bytes.Buffer, files []file) error { return writeZip(b, time.Unix(1e9, 0), files) },
	} {
		var one, two bytes.Buffer
		if err := write(&one, content(0o600)); err != nil {
			t.Fatal(err)
		}
		if err := write(&two, content(0o755)); err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(one.Bytes(), two.Bytes()) {
			t.Errorf("%s: two archives of one content differ", name)
		}
	}

	// Times are those of the release, and nobody's name is in it.
	at := time.Unix(1e9, 0)
	var text bytes.Buffer
	if err := writeTar(&text, at, content(0o600)); err != nil {
		t.Fatal(err)
	}
	for r := tar.NewReader(&text); ; {
		h, err := r.Next()
		if err == io.EOF {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		if !h.ModTime.Equal(at) || h.Uid != 0 || h.Gid != 0 || h.Uname != "" || h.Gname != "" {
			t.Errorf("tar: %+v", h)
		}
	}
	text.Reset()
	if err := writeZip(&text, at, content(0o600)); err != nil {
		t.Fatal(err)
	}
	z, err := zip.NewReader(bytes.NewReader(text.Bytes()), int64(text.Len()))
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range z.File {
		if !f.Modified.Equal(at) {
			t.Errorf("zip: %s is of %s", f.Name, f.Modified)
		}
	}
}

// TestProvenance has in-toto's own library read the statement.
func TestProvenance(t *testing.T) {
	v, err := parseVersion("1.2.3")
	if err != nil {
		t.Fatal(err)
	}
	p := &packer{
		source: &source{commit: strings.Repeat("0a", 20), version: v, time: time.Unix(1e9, 0)},
		out:    &output{artefacts: []artefact{{"spangrove.tar.gz", strings.Repeat("ab", 32), 1}}},
	}
	s, err := p.provenance(options{platforms: platforms[:1], formats: formats}, []build{{modules: []module{
		{purl: "pkg:golang/example.com/x@v1.0.0", name: "example.com/x", h1: "h1:Khu2En+0gcYPZ2kuIihfswbzxv/mIHXgzPZ018Oty48="},
	}}}, "go1.26.8")
	if err != nil {
		t.Fatal(err)
	}
	text, err := json.Marshal(s)
	if err != nil {
		t.Fatal(err)
	}
	var read intoto.Statement
	if err := protojson.Unmarshal(text, &read); err != nil {
		t.Fatal(err)
	}
	if err := read.Validate(); err != nil {
		t.Error(err)
	}
	predicate, err := protojson.Marshal(read.GetPredicate())
	if err != nil {
		t.Fatal(err)
	}
	var provenance provenancev1.Provenance
	if err := protojson.Unmarshal(predicate, &provenance); err != nil {
		t.Fatal(err)
	}
	if err := provenance.Validate(); err != nil {
		t.Error(err)
	}
	// The example of the specification of digests.
	if d := provenance.GetBuildDefinition().GetResolvedDependencies(); len(d) != 2 || d[1].GetDigest()["dirHash1"] != "2a1bb6127fb481c60f67692e22285fb306f3c6ffe62075e0ccf674d7c3adcb8f" {
		t.Errorf("materials: %v", d)
	}
}

// TestContainerfile holds the recipe to the image that a release has.
func TestContainerfile(t *testing.T) {
	root, err := repository("")
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(filepath.Join(root, "packaging", "container", "Containerfile"))
	if err != nil {
		t.Fatal(err)
	}
	_, last, _ := strings.Cut(string(text), "\nFROM gcr.io/")
	instruction := func(name string) string {
		m := regexp.MustCompile(`(?m)^` + name + ` (.*)$`).FindStringSubmatch(last)
		if m == nil {
			t.Fatalf("no %s", name)
		}
		return m[1]
	}
	list := func(text string) (list []string) {
		if err := json.Unmarshal([]byte(text), &list); err != nil {
			t.Errorf("%s: %v", text, err)
		}
		return list
	}
	c := imageConfig()
	var ports []string
	for _, port := range strings.Fields(instruction("EXPOSE")) {
		ports = append(ports, port+"/tcp")
	}
	slices.Sort(ports)
	_, check, _ := strings.Cut(instruction("HEALTHCHECK"), "CMD ")
	environment := append([]string{"PATH=/usr/bin"}, strings.Fields(instruction("ENV"))...)
	for what, same := range map[string]bool{
		"USER":       instruction("USER") == c.User,
		"WORKDIR":    instruction("WORKDIR") == c.WorkingDir,
		"VOLUME":     slices.Equal(slices.Sorted(maps.Keys(c.Volumes)), []string{instruction("VOLUME")}),
		"EXPOSE":     slices.Equal(slices.Sorted(maps.Keys(c.ExposedPorts)), ports),
		"ENTRYPOINT": slices.Equal(list(instruction("ENTRYPOINT")), c.Entrypoint),
		"HEALTHCHECK": slices.Equal(append([]string{"CMD"}, list(check)...), c.Healthcheck.Test) &&
			strings.HasPrefix(instruction("HEALTHCHECK"), "--interval="+c.Healthcheck.Interval.String()+" --timeout="+c.Healthcheck.Timeout.String()+" --start-period=60s"),
		"ENV": slices.Equal(slices.Sorted(slices.Values(environment)), slices.Sorted(slices.Values(c.Env))),
	} {
		if !same {
			t.Errorf("%s differs from the image's: %+v", what, c)
		}
	}
}

func TestAbsoluteLinks(t *testing.T) {
	got := string(absoluteLinks([]byte("[a](docs/a.md#b) ![c](c.png) [d](https://d) [e](#e)"), "abc"))
	want := "[a](https://github.com/spangrove/spangrove/blob/abc/docs/a.md#b) ![c](https://raw.githubusercontent.com/spangrove/spangrove/abc/c.png) [d](https://d) [e](#e)"
	if got != want {
		t.Errorf("got %s\nwant %s", got, want)
	}
}
