package main

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"io"
	"io/fs"
	"strings"
)

// summary says what Spangrove is, in registries.
const summary = "Observability and evaluation for AI applications, in one self-hosted binary"

// writeWheel writes a wheel: the program, which pip puts on the PATH, and nothing that is imported.
func (p *packer) writeWheel(b build) error {
	v := p.source.version.pep440()
	readme, err := p.source.read("README.md")
	if err != nil {
		return err
	}
	licences, err := p.licenceFiles(b)
	if err != nil {
		return err
	}
	info := "spangrove-" + v + ".dist-info"
	files := []file{{name: "spangrove-" + v + ".data/scripts/" + b.platform.program(), path: b.binary, mode: fs.FileMode(0o755)}}
	files = append(files, below(info+"/licenses", licences)...)
	files = append(files,
		file{name: info + "/METADATA", text: wheelMetadata(v, absoluteLinks(readme, p.source.commit), licences), mode: 0o644},
		file{name: info + "/WHEEL", text: wheelTags(b.platform), mode: 0o644},
	)
	record, err := wheelRecord(files, info+"/RECORD")
	if err != nil {
		return err
	}
	files = append(files, file{name: info + "/RECORD", text: record, mode: 0o644})
	name := fmt.Sprintf("spangrove-%s-py3-none-%s.whl", v, strings.Join(b.platform.wheelTags, "."))
	return p.out.write(name, func(w io.Writer) error { return writeZip(w, p.source.time, files) })
}

func wheelMetadata(version string, readme []byte, licences []file) []byte {
	var m bytes.Buffer
	fmt.Fprintf(&m, "Metadata-Version: 2.4\nName: spangrove\nVersion: %s\nSummary: %s\n", version, summary)
	m.WriteString("License-Expression: Apache-2.0\n")
	for _, f := range licences {
		fmt.Fprintf(&m, "License-File: %s\n", f.name)
	}
	m.WriteString("Keywords: observability,evaluation,opentelemetry,llm,agents,tracing\n" +
		"Classifier: Environment :: Console\nClassifier: Operating System :: MacOS\nClassifier: Operating System :: Microsoft :: Windows\n" +
		"Classifier: Operating System :: POSIX :: Linux\nClassifier: Programming Language :: Go\nClassifier: Topic :: System :: Monitoring\n" +
		"Requires-Python: >=3.8\nProject-URL: Source, " + repositoryURL + "\nProject-URL: Changelog, " + repositoryURL + "/blob/main/CHANGELOG.md\n" +
		"Description-Content-Type: text/markdown\n\n")
	m.Write(readme)
	return m.Bytes()
}

func wheelTags(p platform) []byte {
	var w bytes.Buffer
	w.WriteString("Wheel-Version: 1.0\nGenerator: spangrove-release\nRoot-Is-Purelib: false\n")
	for _, tag := range p.wheelTags {
		fmt.Fprintf(&w, "Tag: py3-none-%s\n", tag)
	}
	return w.Bytes()
}

// wheelRecord lists all files of a wheel with their hashes; itself, it has none.
func wheelRecord(files []file, self string) ([]byte, error) {
	var record bytes.Buffer
	for _, f := range files {
		r, size, err := f.open()
		if err != nil {
			return nil, err
		}
		sum := sha256.New()
		_, err = io.Copy(sum, r)
		r.Close()
		if err != nil {
			return nil, err
		}
		fmt.Fprintf(&record, "%s,sha256=%s,%d\n", f.name, base64.RawURLEncoding.EncodeToString(sum.Sum(nil)), size)
	}
	fmt.Fprintf(&record, "%s,,\n", self)
	return record.Bytes(), nil
}
