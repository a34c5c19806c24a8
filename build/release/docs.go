package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// completions are the files with the completions of each shell.
var completions = map[string]string{"bash": "spangrove.bash", "zsh": "_spangrove", "fish": "spangrove.fish", "powershell": "spangrove.ps1"}

// writeDocs has the program write its man pages and completions, and returns them as man/ and completions/.
func writeDocs(ctx context.Context, program, temp string) ([]file, error) {
	dir := filepath.Join(temp, "man")
	if out, err := exec.CommandContext(ctx, program, "man", dir).CombinedOutput(); err != nil {
		return nil, fmt.Errorf("man pages: %w: %s", err, out)
	}
	pages, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	var docs []file
	for _, page := range pages {
		text, err := os.ReadFile(filepath.Join(dir, page.Name()))
		if err != nil {
			return nil, err
		}
		docs = append(docs, file{name: path.Join("man", page.Name()), text: text, mode: 0o644})
	}
	for shell, name := range completions {
		text, err := exec.CommandContext(ctx, program, "completion", shell).Output()
		if err != nil {
			return nil, fmt.Errorf("completion for %s: %w", shell, commandError(err))
		}
		docs = append(docs, file{name: path.Join("completions", name), text: text, mode: 0o644})
	}
	slices.SortFunc(docs, func(a, b file) int { return strings.Compare(a.name, b.name) })
	return docs, nil
}

// licenceFiles returns the licence of Spangrove and those of all that is linked.
func (p *packer) licenceFiles(b build) ([]file, error) {
	own, err := p.source.read("LICENSE")
	if err != nil {
		return nil, err
	}
	return []file{
		{name: "LICENSE", text: own, mode: 0o644},
		{name: "THIRD-PARTY-LICENSES.txt", text: thirdPartyText(b.modules), mode: 0o644},
	}, nil
}

// writeArchive writes the program with what belongs to it: a zip for Windows, a compressed tar for others.
func (p *packer) writeArchive(b build) error {
	files, err := p.licenceFiles(b)
	if err != nil {
		return err
	}
	for _, name := range []string{"README.md", "CHANGELOG.md"} {
		text, err := p.source.read(name)
		if err != nil {
			return err
		}
		files = append(files, file{name: name, text: text, mode: 0o644})
	}
	files = append(files, file{name: b.platform.program(), path: b.binary, mode: 0o755})
	if b.platform.os == "linux" {
		for _, name := range []string{"spangrove.service", "spangrove.env"} {
			text, err := p.source.read("packaging", "systemd", name)
			if err != nil {
				return err
			}
			files = append(files, file{name: path.Join("systemd", name), text: text, mode: 0o644})
		}
	}
	files = append(files, p.docs...)
	slices.SortFunc(files, func(a, b file) int { return strings.Compare(a.name, b.name) })
	name := p.archiveName(b.platform)
	files = below(strings.TrimSuffix(strings.TrimSuffix(name, ".zip"), ".tar.gz"), files)
	return p.out.write(name, func(w io.Writer) error {
		if b.platform.os == "windows" {
			return writeZip(w, p.source.time, files)
		}
		return writeTarGz(w, p.source.time, files)
	})
}

// archiveName returns the name of a platform's archive.
func (p *packer) archiveName(on platform) string {
	ending := ".tar.gz"
	if on.os == "windows" {
		ending = ".zip"
	}
	return fmt.Sprintf("spangrove-%s-%s-%s%s", p.source.version.npm(), on.os, on.arch, ending)
}
