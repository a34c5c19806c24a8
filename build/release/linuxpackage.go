package main

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/goreleaser/nfpm/v2"
	_ "github.com/goreleaser/nfpm/v2/deb" // registers the format
	"github.com/goreleaser/nfpm/v2/files"
	_ "github.com/goreleaser/nfpm/v2/rpm" // registers the format
)

// maintainer is whom packages name. It is no mailbox: questions go to the repository.
const maintainer = "The Spangrove maintainers <maintainers@spangrove.invalid>"

const description = summary + `.
Takes traces of agents and model calls over OpenTelemetry and its own API, keeps
them durably in SQLite or PostgreSQL, shows them in a browser, and evaluates them.`

// writeLinuxPackage writes a package of Debian or of Red Hat: the program, its service, settings, man
// pages and completions.
func (p *packer) writeLinuxPackage(format string, b build) error {
	dir, err := os.MkdirTemp(p.temp, format)
	if err != nil {
		return err
	}
	contents, err := p.linuxContents(format, b, dir)
	if err != nil {
		return err
	}
	script := func(name string) string { return filepath.Join(p.source.dir, "packaging", format, name) }
	info := nfpm.WithDefaults(&nfpm.Info{
		Name: "spangrove", Arch: b.platform.arch, Platform: "linux",
		Version: p.source.version.linux(), VersionSchema: "none", Release: "1",
		Section: "net", Priority: "optional", Maintainer: maintainer,
		Description: description, Homepage: repositoryURL, License: "Apache-2.0", MTime: p.source.time, DisableGlobbing: true,
		Overridables: nfpm.Overridables{
			Contents: contents,
			RPM:      nfpm.RPM{Summary: summary, BuildHost: "reproducible", Packager: maintainer},
		},
	})
	info.Recommends = []string{"ca-certificates"}
	if format == formatDeb {
		info.Release = ""
		info.Scripts = nfpm.Scripts{PostInstall: script("postinst"), PreRemove: script("prerm"), PostRemove: script("postrm")}
	} else {
		info.Scripts = nfpm.Scripts{PostInstall: script("post"), PreRemove: script("preun"), PostRemove: script("postun")}
	}
	packager, err := nfpm.Get(format)
	if err != nil {
		return err
	}
	if err := nfpm.PrepareForPackager(info, format); err != nil {
		return err
	}
	return p.out.write(packager.ConventionalFileName(info), func(w io.Writer) error { return packager.Package(info, w) })
}

// linuxContents lays the files of a package out in dir.
func (p *packer) linuxContents(format string, b build, dir string) (files.Contents, error) {
	var contents files.Contents
	n := 0
	add := func(to, kind string, mode fs.FileMode, text []byte) error {
		n++
		from := filepath.Join(dir, fmt.Sprint(n))
		contents = append(contents, &files.Content{
			Source: from, Destination: to, Type: kind,
			FileInfo: &files.ContentFileInfo{Owner: "root", Group: "root", Mode: mode, MTime: p.source.time},
		})
		return os.WriteFile(from, text, 0o600)
	}
	contents = append(contents,
		&files.Content{Source: b.binary, Destination: "/usr/bin/spangrove",
			FileInfo: &files.ContentFileInfo{Owner: "root", Group: "root", Mode: 0o755, MTime: p.source.time}},
		&files.Content{Destination: "/etc/spangrove", Type: files.TypeDir,
			FileInfo: &files.ContentFileInfo{Owner: "root", Group: "root", Mode: 0o755, MTime: p.source.time}},
	)
	for _, f := range []struct {
		name, to, kind string
		mode           fs.FileMode
	}{
		{"spangrove.service", "/usr/lib/systemd/system/spangrove.service", files.TypeFile, 0o644},
		{"spangrove.env", "/etc/spangrove/spangrove.env", files.TypeConfigNoReplace, 0o600}, // it may hold secrets
	} {
		text, err := p.source.read("packaging", "systemd", f.name)
		if err != nil {
			return nil, err
		}
		if err := add(f.to, f.kind, f.mode, text); err != nil {
			return nil, err
		}
	}
	licences, err := p.licenceFiles(b)
	if err != nil {
		return nil, err
	}
	for _, f := range licences {
		to, kind := "/usr/share/licenses/spangrove/"+f.name, files.TypeRPMLicense
		if format == formatDeb {
			to, kind = "/usr/share/doc/spangrove/"+f.name, files.TypeFile
			if f.name == "LICENSE" {
				to = "/usr/share/doc/spangrove/copyright" // where Debian has it
			}
		}
		if err := add(to, kind, 0o644, f.text); err != nil {
			return nil, err
		}
	}
	for _, f := range p.docs {
		to := p.docPath(format, f.name)
		if to == "" {
			continue
		}
		text := f.text
		if strings.HasSuffix(to, ".gz") {
			if text, err = compressed(text); err != nil {
				return nil, err
			}
		}
		if err := add(to, files.TypeFile, 0o644, text); err != nil {
			return nil, err
		}
	}
	return contents, nil
}

// docPath returns where a man page or a completion is installed; empty: nowhere.
func (p *packer) docPath(format, name string) string {
	if page, ok := strings.CutPrefix(name, "man/"); ok {
		return "/usr/share/man/man1/" + page + ".gz"
	}
	switch path.Base(name) {
	case completions["bash"]:
		return "/usr/share/bash-completion/completions/spangrove"
	case completions["fish"]:
		return "/usr/share/fish/vendor_completions.d/spangrove.fish"
	case completions["zsh"]:
		if format == formatDeb {
			return "/usr/share/zsh/vendor-completions/_spangrove"
		}
		return "/usr/share/zsh/site-functions/_spangrove"
	}
	return ""
}

// compressed returns text as gzip, without a time.
func compressed(text []byte) ([]byte, error) {
	var b bytes.Buffer
	z, err := gzip.NewWriterLevel(&b, gzip.BestCompression)
	if err != nil {
		return nil, err
	}
	if _, err := z.Write(text); err != nil {
		return nil, err
	}
	if err := z.Close(); err != nil {
		return nil, err
	}
	return b.Bytes(), nil
}
