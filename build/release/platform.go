package main

import (
	"fmt"
	"strings"
)

// platform is where a binary runs, with the names that it has elsewhere.
type platform struct {
	os, arch        string   // as Go names them
	wheelTags       []string // as pip names them
	nodeOS, nodeCPU string   // as Node.js names them
}

// platforms are all for which a release has a binary. A static binary needs no C library, so that one
// wheel is for both of Linux's; the macOS is the oldest on which Go's programs run.
var platforms = []platform{
	{"linux", "amd64", []string{"manylinux_2_17_x86_64", "manylinux2014_x86_64", "musllinux_1_1_x86_64"}, "linux", "x64"},
	{"linux", "arm64", []string{"manylinux_2_17_aarch64", "manylinux2014_aarch64", "musllinux_1_1_aarch64"}, "linux", "arm64"},
	{"darwin", "amd64", []string{"macosx_12_0_x86_64"}, "darwin", "x64"},
	{"darwin", "arm64", []string{"macosx_12_0_arm64"}, "darwin", "arm64"},
	{"windows", "amd64", []string{"win_amd64"}, "win32", "x64"},
	{"windows", "arm64", []string{"win_arm64"}, "win32", "arm64"},
}

func (p platform) String() string { return p.os + "/" + p.arch }

// is reports whether both are one platform.
func (p platform) is(q platform) bool { return p.os == q.os && p.arch == q.arch }

// program returns the name of the program's file.
func (p platform) program() string {
	if p.os == "windows" {
		return "spangrove.exe"
	}
	return "spangrove"
}

func platformNames() (names []string) {
	for _, p := range platforms {
		names = append(names, p.String())
	}
	return names
}

func platformNamed(name string) (platform, error) {
	for _, p := range platforms {
		if p.String() == name {
			return p, nil
		}
	}
	return platform{}, fmt.Errorf("unknown platform %q; must be one of %s", name, strings.Join(platformNames(), ", "))
}
