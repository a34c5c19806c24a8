package main

import (
	"bytes"
	"io"
	"text/template"
)

// writeFormula writes the formula of Homebrew, which takes the archives by their hashes.
func (p *packer) writeFormula(builds []build) error {
	text, err := p.source.read("packaging", "homebrew", "spangrove.rb.tmpl")
	if err != nil {
		return err
	}
	type archive struct{ URL, SHA256 string }
	archives := map[string]*archive{}
	for _, b := range builds {
		if b.platform.os == "windows" {
			continue
		}
		name := p.archiveName(b.platform)
		sum, err := p.out.hash(name)
		if err != nil {
			return err
		}
		archives[b.platform.os+"_"+b.platform.arch] = &archive{repositoryURL + "/releases/download/v" + p.source.version.npm() + "/" + name, sum}
	}
	if len(archives) == 0 {
		return nil // of Windows alone there is no formula
	}
	t, err := template.New("formula").Parse(string(text))
	if err != nil {
		return err
	}
	var formula bytes.Buffer
	if err := t.Execute(&formula, map[string]any{
		"Summary": summary, "Homepage": repositoryURL, "Version": p.source.version.npm(), "Archives": archives,
		"Systems": map[string]string{"darwin": "macos", "linux": "linux"}, "CPUs": map[string]string{"amd64": "intel", "arm64": "arm"},
	}); err != nil {
		return err
	}
	return p.out.write("spangrove.rb", func(w io.Writer) error {
		_, err := formula.WriteTo(w)
		return err
	})
}
