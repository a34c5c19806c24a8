package main

import (
	"context"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"os/exec"
	"runtime/debug"
	"strings"
)

// statement is an in-toto statement with SLSA's provenance: https://slsa.dev/spec/v1.0/provenance.
type statement struct {
	Type          string     `json:"_type"`
	Subject       []resource `json:"subject"`
	PredicateType string     `json:"predicateType"`
	Predicate     provenance `json:"predicate"`
}

type resource struct {
	Name   string            `json:"name,omitempty"`
	URI    string            `json:"uri,omitempty"`
	Digest map[string]string `json:"digest,omitempty"`
}

type provenance struct {
	BuildDefinition struct {
		BuildType            string         `json:"buildType"`
		ExternalParameters   map[string]any `json:"externalParameters"`
		InternalParameters   map[string]any `json:"internalParameters"`
		ResolvedDependencies []resource     `json:"resolvedDependencies"`
	} `json:"buildDefinition"`
	RunDetails struct {
		Builder struct {
			ID                  string            `json:"id"`
			Version             map[string]string `json:"version,omitempty"`
			BuilderDependencies []resource        `json:"builderDependencies,omitempty"`
		} `json:"builder"`
	} `json:"runDetails"`
}

// writeProvenance writes from what, by what and how all artefacts so far were made. It names no time and no
// machine, so that whoever builds again gets the same statement; signing it is up to who publishes.
func (p *packer) writeProvenance(ctx context.Context, o options, builds []build) error {
	if p.source.dirty {
		fmt.Println("no statement of provenance: files are not as committed")
		return nil
	}
	version, err := exec.CommandContext(ctx, "go", "env", "GOVERSION").Output()
	if err != nil {
		return fmt.Errorf("go env GOVERSION: %w", commandError(err))
	}
	s, err := p.provenance(o, builds, strings.TrimSpace(string(version)))
	if err != nil {
		return err
	}
	return p.out.write(fmt.Sprintf("spangrove-%s.provenance.json", p.source.version.npm()), func(w io.Writer) error {
		e := json.NewEncoder(w)
		e.SetIndent("", "  ")
		e.SetEscapeHTML(false)
		return e.Encode(s)
	})
}

func (p *packer) provenance(o options, builds []build, goVersion string) (*statement, error) {
	s := &statement{Type: "https://in-toto.io/Statement/v1", PredicateType: "https://slsa.dev/provenance/v1"}
	for _, a := range p.out.artefacts {
		s.Subject = append(s.Subject, resource{Name: a.name, Digest: map[string]string{"sha256": a.sha256}})
	}
	var names []string
	for _, on := range o.platforms {
		names = append(names, on.String())
	}
	origin := resource{URI: "git+" + repositoryURL, Digest: map[string]string{"gitCommit": p.source.commit}}
	d := &s.Predicate.BuildDefinition
	d.BuildType = repositoryURL + "/blob/" + p.source.commit + "/docs/install.md#provenance"
	d.ExternalParameters = map[string]any{"source": origin, "version": p.source.version.String(), "platforms": names, "formats": o.formats}
	d.InternalParameters = map[string]any{"flags": buildFlags(p.source), "cgo": false, "sourceDateEpoch": p.source.time.Unix()}
	d.ResolvedDependencies = []resource{origin}
	seen := map[string]bool{}
	for _, b := range builds {
		for _, m := range b.modules {
			if seen[m.purl] || m.h1 == "" && !strings.HasPrefix(m.purl, "pkg:golang/std@") {
				continue // what the repository has copies of comes with it
			}
			seen[m.purl] = true
			r := resource{URI: m.purl}
			if m.h1 != "" {
				digest, err := dirHash(m.h1)
				if err != nil {
					return nil, fmt.Errorf("%s: %w", m.name, err)
				}
				r.Digest = map[string]string{"dirHash1": digest}
			}
			d.ResolvedDependencies = append(d.ResolvedDependencies, r)
		}
	}
	builder := &s.Predicate.RunDetails.Builder
	builder.ID = repositoryURL + "/tree/" + p.source.commit + "/build/release"
	builder.Version = map[string]string{"go": goVersion}
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, m := range info.Deps {
			digest, err := dirHash(m.Sum)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", m.Path, err)
			}
			builder.BuilderDependencies = append(builder.BuilderDependencies, resource{URI: "pkg:golang/" + m.Path + "@" + m.Version, Digest: map[string]string{"dirHash1": digest}})
		}
	}
	return s, nil
}

// dirHash returns Go's hash of a module, "h1:" and base64, in hex.
func dirHash(h1 string) (string, error) {
	b, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(h1, "h1:"))
	if err != nil || !strings.HasPrefix(h1, "h1:") {
		return "", fmt.Errorf("%q is not a hash of a module", h1)
	}
	return hex.EncodeToString(b), nil
}
