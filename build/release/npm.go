package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
)

// npmPackage is a package.json.
type npmPackage struct {
	Name                 string            `json:"name"`
	Version              string            `json:"version"`
	Description          string            `json:"description"`
	Keywords             []string          `json:"keywords,omitempty"`
	Homepage             string            `json:"homepage"`
	Repository           map[string]string `json:"repository"`
	License              string            `json:"license"`
	Engines              map[string]string `json:"engines,omitempty"`
	Bin                  map[string]string `json:"bin,omitempty"`
	OS                   []string          `json:"os,omitempty"`
	CPU                  []string          `json:"cpu,omitempty"`
	PreferUnplugged      bool              `json:"preferUnplugged,omitempty"` // a program cannot be run inside an archive
	OptionalDependencies map[string]string `json:"optionalDependencies,omitempty"`
	PublishConfig        map[string]string `json:"publishConfig"` // packages with a scope are private otherwise
}

func (p *packer) npmPackage(name, description string) npmPackage {
	return npmPackage{
		Name: name, Version: p.source.version.npm(), Description: description,
		Homepage: repositoryURL + "#readme", Repository: map[string]string{"type": "git", "url": "git+" + repositoryURL + ".git"}, License: "Apache-2.0",
		PublishConfig: map[string]string{"access": "public"},
	}
}

// npmName returns the name of the package with a platform's binary.
func npmName(on platform) string { return "@spangrove/" + on.nodeOS + "-" + on.nodeCPU }

// writeNPMLauncher writes the package that people install: a program that starts the binary, which
// is in the one optional dependency that fits the machine.
func (p *packer) writeNPMLauncher() error {
	main := p.npmPackage("spangrove", summary)
	main.Keywords = []string{"observability", "evaluation", "opentelemetry", "llm", "agents", "tracing"}
	main.Engines = map[string]string{"node": ">=18"}
	main.Bin = map[string]string{"spangrove": "bin/spangrove.js"}
	main.OptionalDependencies = map[string]string{}
	for _, on := range platforms {
		main.OptionalDependencies[npmName(on)] = main.Version
	}
	launcher, err := p.source.read("packaging", "npm", "spangrove.js")
	if err != nil {
		return err
	}
	readme, err := p.source.read("README.md")
	if err != nil {
		return err
	}
	licence, err := p.source.read("LICENSE")
	if err != nil {
		return err
	}
	return p.writeNPM("spangrove-npm-"+main.Version+".tgz", main, []file{
		{name: "LICENSE", text: licence, mode: 0o644},
		{name: "README.md", text: absoluteLinks(readme, p.source.commit), mode: 0o644},
		{name: "bin/spangrove.js", text: launcher, mode: 0o755},
	})
}

// writeNPMBinary writes the package with a platform's binary.
func (p *packer) writeNPMBinary(b build) error {
	on := b.platform
	pkg := p.npmPackage(npmName(on), fmt.Sprintf("The program of the package spangrove for %s on %s", on.nodeOS, on.nodeCPU))
	pkg.OS, pkg.CPU, pkg.PreferUnplugged = []string{on.nodeOS}, []string{on.nodeCPU}, true
	files, err := p.licenceFiles(b)
	if err != nil {
		return err
	}
	files = append(files, file{name: "bin/" + on.program(), path: b.binary, mode: 0o755})
	return p.writeNPM(fmt.Sprintf("spangrove-npm-%s-%s-%s.tgz", on.nodeOS, on.nodeCPU, pkg.Version), pkg, files)
}

func (p *packer) writeNPM(name string, pkg npmPackage, files []file) error {
	var text bytes.Buffer
	e := json.NewEncoder(&text)
	e.SetIndent("", "  ")
	e.SetEscapeHTML(false)
	if err := e.Encode(pkg); err != nil {
		return err
	}
	files = below("package", append([]file{{name: "package.json", text: text.Bytes(), mode: 0o644}}, files...))
	return p.out.write(name, func(w io.Writer) error { return writeTarGz(w, p.source.time, files) })
}
