// Command gen makes the built-in table of prices from releases of LiteLLM:
//
//	pip download litellm --no-deps
//	cd pkg/price && go run ./internal/gen -date 2026-11-21 litellm-1.109.1-*.whl litellm-1.90.0-*.whl …
//
// It takes the list of prices, the licence and the version out of each wheel, which is a zip
// file. The first wheel decides; wheels of earlier releases, newest first, have the last prices
// of models that the first has dropped.
package main

import (
	"archive/zip"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"time"

	"github.com/spangrove/spangrove/pkg/price"
)

// listFile is the list inside a wheel.
const listFile = "litellm/model_prices_and_context_window_backup.json"

var licenceFile = regexp.MustCompile(`^litellm-([0-9][^/]*)\.dist-info/(licenses/)?LICENSE$`)

func main() {
	date := flag.String("date", "", "the day the first wheel was downloaded, YYYY-MM-DD")
	to := flag.String("to", "litellm", "folder to write to")
	flag.Parse()
	if err := run(flag.Args(), *date, *to); err != nil {
		fmt.Fprintln(os.Stderr, "gen:", err)
		os.Exit(1)
	}
}

func run(wheels []string, date, to string) error {
	if len(wheels) == 0 {
		return errors.New("name the wheels of litellm, the newest first")
	}
	if _, err := time.Parse(time.DateOnly, date); err != nil {
		return fmt.Errorf("-date: %w", err)
	}
	source := price.Source{Name: "LiteLLM", Date: date, File: listFile, Licence: "MIT"}
	var lists [][]byte
	var licence []byte
	for i, wheel := range wheels {
		r, err := open(wheel)
		if err != nil {
			return fmt.Errorf("%s: %w", wheel, err)
		}
		lists = append(lists, r.list)
		if i == 0 {
			source.Version, licence = r.version, r.licence
		} else {
			source.Earlier = append(source.Earlier, r.version)
		}
	}
	lines, models, err := price.Pack(lists...)
	if err != nil {
		return err
	}
	source.Models = models
	packed, err := pack(lines)
	if err != nil {
		return err
	}
	about, err := json.MarshalIndent(source, "", "  ")
	if err != nil {
		return err
	}
	for name, content := range map[string][]byte{"prices.txt.gz": packed, "LICENSE": licence, "source.json": append(about, '\n')} {
		if err := os.WriteFile(filepath.Join(to, name), content, 0o644); err != nil { //nolint:gosec // files of the repository
			return err
		}
	}
	fmt.Printf("%s %s: %d models, %d bytes, %d packed\n", source.Name, source.Version, models, len(lines), len(packed))
	return nil
}

// release is what is taken out of a wheel.
type release struct {
	version       string
	list, licence []byte
}

func open(wheel string) (r release, err error) {
	files, err := zip.OpenReader(wheel)
	if err != nil {
		return r, err
	}
	defer func() { _ = files.Close() }() // only read
	for _, f := range files.File {
		if m := licenceFile.FindStringSubmatch(f.Name); m != nil {
			r.version = m[1]
			r.licence, err = read(f)
		} else if f.Name == listFile {
			r.list, err = read(f)
		}
		if err != nil {
			return r, err
		}
	}
	if r.list == nil || !strings.Contains(string(r.licence), "MIT License") {
		return r, errors.New("lacks the list, or a licence that is MIT")
	}
	return r, nil
}

func read(f *zip.File) ([]byte, error) {
	r, err := f.Open()
	if err != nil {
		return nil, err
	}
	defer func() { _ = r.Close() }() // only read
	return io.ReadAll(r)
}

func pack(lines []byte) ([]byte, error) {
	var b bytes.Buffer
	w, err := gzip.NewWriterLevel(&b, gzip.BestCompression)
	if err != nil {
		return nil, err
	}
	if _, err := w.Write(lines); err != nil {
		return nil, err
	}
	if err := w.Close(); err != nil {
		return nil, err
	}
	return b.Bytes(), nil
}
