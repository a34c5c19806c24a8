package main

import (
	"bytes"
	"context"
	"crypto/sha256"
	"debug/buildinfo"
	_ "embed" // MIT-0.txt
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	licenseclassifier "github.com/google/licenseclassifier/v2"
	"github.com/google/licenseclassifier/v2/assets"
)

// accepted are the licences under which something may be linked: those that ask for no more than
// that their text comes along, which it does. The source of what is under the MPL is where the text says.
var accepted = map[string]bool{
	"Apache-2.0": true, "MIT": true, "MIT-0": true, "BSD-2-Clause": true, "BSD-3-Clause": true, "BSD-1-Clause": true, "ISC": true, "0BSD": true,
	"MPL-2.0": true, "Zlib": true, "Unlicense": true, "CC0-1.0": true, "OFL-1.1": true, "blessing": true,
}

// module is something of others that is in the binary: a Go module, the Go library, or what the
// repository has copies of.
type module struct {
	purl          string // package URL: kind, name and version
	name, version string
	url           string   // where its source is
	h1            string   // Go's hash of a module; empty: it has none
	licences      []string // identifiers of SPDX, sorted
	texts         []text
	needs         []string // purls
}

// text is a file with a licence, a notice or the like.
type text struct{ name, content string }

// mit0 is the text of MIT-0, which the library does not know.
//
//go:embed MIT-0.txt
var mit0 []byte

// classifier recognizes licences by their text.
type classifier struct {
	known *licenseclassifier.Classifier
	seen  map[[32]byte][]string
}

func newClassifier() (*classifier, error) {
	known, err := assets.DefaultClassifier()
	if err != nil {
		return nil, fmt.Errorf("known licences: %w", err)
	}
	known.AddContent("License", "MIT-0", "license.txt", mit0)
	return &classifier{known, map[[32]byte][]string{}}, nil
}

// classify returns the licences in a text, sorted.
func (c *classifier) classify(content []byte) []string {
	key := sha256.Sum256(content)
	if found, ok := c.seen[key]; ok {
		return found
	}
	var found []string
	for _, m := range c.known.Match(content).Matches {
		if m.MatchType == "License" {
			found = append(found, m.Name)
		}
	}
	slices.Sort(found)
	c.seen[key] = slices.Compact(found)
	return c.seen[key]
}

// isLicence matches the names of files whose text must come along.
var isLicence = regexp.MustCompile(`(?i)^(licen[cs]es?|copying|notice|copyright|unlicen[cs]e|patents)([-_.][\w.-]*)?$`)

// read adds the texts in a folder to the module, and the licences that they are.
func (m *module) read(dir, prefix string, c *classifier) error {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	for _, e := range entries {
		if e.IsDir() || !isLicence.MatchString(e.Name()) || strings.HasSuffix(e.Name(), ".go") {
			continue
		}
		content, err := os.ReadFile(filepath.Join(dir, e.Name()))
		if err != nil {
			return err
		}
		m.texts = append(m.texts, text{prefix + e.Name(), strings.TrimRight(string(content), "\n") + "\n"})
		m.licences = append(m.licences, c.classify(content)...)
	}
	slices.Sort(m.licences)
	m.licences = slices.Compact(m.licences)
	return nil
}

// check is an error if the module is under no licence that is known, or under one that is not accepted.
func (m *module) check() error {
	if len(m.licences) == 0 {
		return fmt.Errorf("%s %s: no licence was recognized; it cannot be part of a release", m.name, m.version)
	}
	for _, l := range m.licences {
		if !accepted[l] {
			return fmt.Errorf("%s %s: the licence %s is not one that is accepted", m.name, m.version, l)
		}
	}
	return nil
}

// listedPackage is what go list says of a package.
type listedPackage struct {
	ImportPath, Dir string
	Standard        bool
	Imports         []string
	Module          *struct {
		Path, Version, Dir string
		Main               bool
	}
}

// linkedModules returns what is in the binary, sorted by package URL, and which of it Spangrove itself needs. It
// is an error if the licence of any is unknown.
func linkedModules(ctx context.Context, src *source, p platform, binary string, c *classifier) (linked []module, direct []string, err error) {
	info, err := buildinfo.ReadFile(binary)
	if err != nil {
		return nil, nil, err
	}
	packages, err := listPackages(ctx, src, p)
	if err != nil {
		return nil, nil, err
	}
	root, err := goRoot(ctx)
	if err != nil {
		return nil, nil, err
	}
	std := module{purl: "pkg:golang/std@" + strings.TrimPrefix(info.GoVersion, "go"), name: "Go standard library", version: info.GoVersion, url: "https://go.dev/dl/"}
	if err := std.read(root, "", c); err != nil {
		return nil, nil, err
	}
	own := module{}
	modules := map[string]*module{"": &std} // by module path
	for _, d := range info.Deps {
		if d.Replace != nil {
			return nil, nil, fmt.Errorf("%s is replaced by %s: a release is of published modules", d.Path, d.Replace.Path)
		}
		modules[d.Path] = &module{
			purl: "pkg:golang/" + d.Path + "@" + d.Version,
			name: d.Path, version: d.Version, url: "https://pkg.go.dev/" + d.Path + "@" + d.Version, h1: d.Sum,
		}
	}
	if err := readModules(&own, modules, packages, c); err != nil {
		return nil, nil, err
	}
	all := slices.Collect(maps.Values(modules))
	copies, err := copiedModules(src, c)
	if err != nil {
		return nil, nil, err
	}
	var errs []error
	for _, m := range copies {
		own.needs = append(own.needs, m.purl)
	}
	for _, m := range append(all, copies...) {
		errs = append(errs, m.check())
		linked = append(linked, *m)
	}
	slices.SortFunc(linked, func(a, b module) int { return strings.Compare(a.purl, b.purl) })
	slices.Sort(own.needs)
	return linked, own.needs, errors.Join(errs...)
}

// readModules reads the licences of modules where their packages are: at the root, and in each folder
// on the way to a package that is linked. It notes what each module needs, and our own.
func readModules(own *module, modules map[string]*module, packages []listedPackage, c *classifier) error {
	owner := map[string]*module{} // by import path
	read := map[string]bool{}     // folders
	for _, p := range packages {
		if p.Module == nil {
			owner[p.ImportPath] = modules[""]
			continue
		}
		if p.Module.Main {
			owner[p.ImportPath] = own
			continue
		}
		m := modules[p.Module.Path]
		if m == nil || m.version != p.Module.Version {
			return fmt.Errorf("%s %s is listed but not what is in the binary; was it built from other files?", p.Module.Path, p.Module.Version)
		}
		owner[p.ImportPath] = m
		for dir := p.Dir; ; dir = filepath.Dir(dir) {
			if read[dir] {
				break
			}
			read[dir] = true
			prefix, err := filepath.Rel(p.Module.Dir, dir)
			if err != nil {
				return err
			}
			if prefix = filepath.ToSlash(prefix) + "/"; prefix == "./" {
				prefix = ""
			}
			if err := m.read(dir, prefix, c); err != nil {
				return err
			}
			if dir == p.Module.Dir {
				break
			}
		}
	}
	for _, p := range packages {
		m := owner[p.ImportPath]
		for _, i := range p.Imports {
			if to := owner[i]; m != nil && to != nil && to != m && !slices.Contains(m.needs, to.purl) {
				m.needs = append(m.needs, to.purl)
			}
		}
	}
	for _, m := range modules {
		slices.Sort(m.needs)
		slices.SortFunc(m.texts, func(a, b text) int { return strings.Compare(a.name, b.name) })
	}
	return nil
}

func listPackages(ctx context.Context, src *source, p platform) (packages []listedPackage, err error) {
	cmd := exec.CommandContext(ctx, "go", "list", "-deps", "-json=ImportPath,Dir,Standard,Imports,Module", "./cmd/spangrove")
	cmd.Dir, cmd.Env = src.dir, buildEnvironment(p)
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("go list: %w", commandError(err))
	}
	for d := json.NewDecoder(bytes.NewReader(out)); ; {
		var p listedPackage
		if err := d.Decode(&p); errors.Is(err, io.EOF) {
			return packages, nil
		} else if err != nil {
			return nil, err
		}
		packages = append(packages, p)
	}
}

func goRoot(ctx context.Context) (string, error) {
	out, err := exec.CommandContext(ctx, "go", "env", "GOROOT").Output()
	if err != nil {
		return "", fmt.Errorf("go env GOROOT: %w", commandError(err))
	}
	return strings.TrimSpace(string(out)), nil
}

// copies are what the repository has copies of that end in the binary. A test compares the versions with the
// page beside the copies.
var copies = []struct{ dir, purl, name, version, url string }{
	{"pkg/webui/src/lib/preact", "pkg:npm/preact@", "preact", "11.2.0", "https://www.npmjs.com/package/preact"},
	{"pkg/webui/src/lib/signals", "pkg:npm/%40preact/signals@", "@preact/signals", "2.11.4", "https://www.npmjs.com/package/@preact/signals"},
	{"pkg/webui/src/lib/signals-core", "pkg:npm/%40preact/signals-core@", "@preact/signals-core", "1.14.5", "https://www.npmjs.com/package/@preact/signals-core"},
	{"pkg/webui/src/lib/marked", "pkg:npm/marked@", "marked", "18.2.1", "https://www.npmjs.com/package/marked"},
	{"pkg/webui/src/lib/uplot", "pkg:npm/uplot@", "uplot", "1.6.32", "https://www.npmjs.com/package/uplot"},
	{"pkg/webui/src/lib/fonts", "pkg:npm/%40fontsource-variable/geist@", "Geist", "5.3.0", "https://www.npmjs.com/package/@fontsource-variable/geist"},
	{"pkg/price/litellm", "pkg:pypi/litellm@", "LiteLLM", "", "https://pypi.org/project/litellm/"}, // its version is in source.json
}

func copiedModules(src *source, c *classifier) (modules []*module, err error) {
	for _, k := range copies {
		m := &module{name: k.name, version: k.version, url: k.url}
		if m.version == "" {
			text, err := src.read(k.dir, "source.json")
			if err != nil {
				return nil, err
			}
			var source struct{ Version string }
			if err := json.Unmarshal(text, &source); err != nil || source.Version == "" {
				return nil, fmt.Errorf("%s: no version: %w", k.dir, err)
			}
			m.version = source.Version
		}
		m.purl = k.purl + m.version
		if err := m.read(filepath.Join(src.dir, filepath.FromSlash(k.dir)), "", c); err != nil {
			return nil, err
		}
		modules = append(modules, m)
	}
	return modules, nil
}

// thirdPartyText returns the licences and notices of all modules. What several say alike stands once.
func thirdPartyText(modules []module) []byte {
	var b bytes.Buffer
	b.WriteString("Spangrove contains the following software of others. Each licence is given once, below the names of those\n" +
		"that come under it; the source is at the address beside the name.\n")
	said := map[string][]string{} // by text
	var order []string
	for _, m := range modules {
		for _, t := range m.texts {
			if said[t.content] == nil {
				order = append(order, t.content)
			}
			said[t.content] = append(said[t.content], fmt.Sprintf("%s %s (%s), %s: %s", m.name, m.version, strings.Join(m.licences, ", "), t.name, m.url))
		}
	}
	for _, content := range order {
		b.WriteString("\n" + strings.Repeat("=", 80) + "\n")
		for _, line := range said[content] {
			b.WriteString(line + "\n")
		}
		b.WriteString(strings.Repeat("-", 80) + "\n\n" + content)
	}
	return b.Bytes()
}
