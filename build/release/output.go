package main

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// sumsName is the file with the hashes of all others, as sha256sum reads it.
const sumsName = "SHA256SUMS"

// artefact is a file of the release.
type artefact struct {
	name   string
	sha256 string // in hex
	size   int64
}

// output is the folder of the release.
type output struct {
	dir       string
	artefacts []artefact // by name
}

// newOutput makes an empty folder. Only one that a release was written to before, or nothing, is replaced.
func newOutput(dir string) (*output, error) {
	entries, err := os.ReadDir(dir)
	if err == nil && len(entries) > 0 && !slices.ContainsFunc(entries, func(e os.DirEntry) bool { return e.Name() == sumsName || e.Name() == unfinished }) {
		return nil, fmt.Errorf("%s is not empty and is no release; give another folder with -out", dir)
	}
	if err := os.RemoveAll(dir); err != nil {
		return nil, err
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, err
	}
	return &output{dir: dir}, os.WriteFile(filepath.Join(dir, unfinished), nil, 0o644)
}

// unfinished is in the folder until the release is whole.
const unfinished = ".unfinished"

// write writes one file and notes its hash.
func (o *output) write(name string, content func(io.Writer) error) (err error) {
	f, err := os.OpenFile(filepath.Join(o.dir, name), os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	defer func() {
		if closed := f.Close(); err == nil {
			err = closed
		}
	}()
	sum := sha256.New()
	count := &counter{}
	if err := content(io.MultiWriter(f, sum, count)); err != nil {
		return err
	}
	o.artefacts = append(o.artefacts, artefact{name, hex.EncodeToString(sum.Sum(nil)), count.n})
	slices.SortFunc(o.artefacts, func(a, b artefact) int { return strings.Compare(a.name, b.name) })
	return nil
}

// hash returns the hash of a file that was written.
func (o *output) hash(name string) (string, error) {
	for _, a := range o.artefacts {
		if a.name == name {
			return a.sha256, nil
		}
	}
	return "", fmt.Errorf("%s was not written", name)
}

// writeSums writes the hashes, and thereby finishes the release.
func (o *output) writeSums() error {
	var b strings.Builder
	for _, a := range o.artefacts {
		fmt.Fprintf(&b, "%s  %s\n", a.sha256, a.name)
	}
	if err := os.WriteFile(filepath.Join(o.dir, sumsName), []byte(b.String()), 0o644); err != nil {
		return err
	}
	return os.Remove(filepath.Join(o.dir, unfinished))
}

type counter struct{ n int64 }

func (c *counter) Write(p []byte) (int, error) {
	c.n += int64(len(p))
	return len(p), nil
}
