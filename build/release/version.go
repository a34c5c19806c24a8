package main

import (
	"fmt"
	"regexp"
	"time"
)

// version is a semantic version. Each kind of package spells it its own way, so that its order is the same there.
type version struct {
	number string // "1.2.3"
	pre    string // "alpha", "beta", "rc" or "dev"; empty for a release
	preN   string // the number after it
	build  string // of a development version: the commit, and "dirty"
}

var versionForm = regexp.MustCompile(`^((?:0|[1-9]\d*)\.(?:0|[1-9]\d*)\.(?:0|[1-9]\d*))(?:-(alpha|beta|rc)\.(0|[1-9]\d*))?$`)

// parseVersion reads 1.2.3, or a version before it: 1.2.3-alpha.1, -beta.1 or -rc.1. Others have no
// spelling for pip.
func parseVersion(text string) (version, error) {
	m := versionForm.FindStringSubmatch(text)
	if m == nil {
		return version{}, fmt.Errorf("%q is not a version such as 1.2.3 or 1.2.3-rc.1 (or alpha, beta)", text)
	}
	return version{number: m[1], pre: m[2], preN: m[3]}, nil
}

// developmentVersion returns the version of a commit that is no release.
func developmentVersion(at time.Time, commit string, dirty bool) version {
	v := version{number: "0.0.0", pre: "dev", preN: at.UTC().Format("20060102150405"), build: commit[:min(12, len(commit))]}
	if dirty {
		v.build += ".dirty"
	}
	return v
}

// String returns the version as semver has it, for people.
func (v version) String() string {
	text := v.npm()
	if v.build != "" {
		text += "+" + v.build
	}
	return text
}

// npm returns it as npm and file names have it: without the build, which npm drops.
func (v version) npm() string {
	if v.pre == "" {
		return v.number
	}
	return v.number + "-" + v.pre + "." + v.preN
}

// pep440 returns it as pip has it. The build is left out: PyPI takes no local versions.
func (v version) pep440() string {
	switch v.pre {
	case "":
		return v.number
	case "dev":
		return v.number + ".dev" + v.preN
	}
	return v.number + map[string]string{"alpha": "a", "beta": "b", "rc": "rc"}[v.pre] + v.preN
}

// linux returns it as dpkg and rpm have it: what follows a ~ sorts before what does not.
func (v version) linux() string {
	if v.pre == "" {
		return v.number
	}
	return v.number + "~" + v.pre + "." + v.preN
}
