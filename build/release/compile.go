package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"strings"
)

// buildFlags are those of every build; a test compares two builds.
func buildFlags(src *source) []string {
	return []string{
		"-trimpath",       // no folder of this machine
		"-buildvcs=false", // the version says more, and is the same without a repository
		"-mod=readonly",
		"-ldflags=-s -w -X main.release=" + src.version.String(),
	}
}

// buildEnvironment returns the environment of a build for a platform: that of this process without
// what changes a build.
func buildEnvironment(p platform) []string {
	var env []string
	for _, kv := range os.Environ() {
		name, _, _ := strings.Cut(kv, "=")
		switch name {
		case "GOFLAGS", "GOEXPERIMENT", "GODEBUG", "GOWORK", "GOFIPS140", "GOOS", "GOARCH", "GOAMD64", "GOARM64", "CGO_ENABLED":
			continue
		}
		env = append(env, kv)
	}
	return append(env, "CGO_ENABLED=0", "GOWORK=off", "GOFLAGS=", "GOEXPERIMENT=", "GOFIPS140=off", "GOAMD64=v1", "GOARM64=v8.0",
		"GOOS="+p.os, "GOARCH="+p.arch)
}

// compile builds the binary of a platform.
func compile(ctx context.Context, src *source, p platform, out string) error {
	args := append([]string{"build"}, buildFlags(src)...)
	cmd := exec.CommandContext(ctx, "go", append(args, "-o", out, "./cmd/spangrove")...)
	cmd.Dir, cmd.Env = src.dir, buildEnvironment(p)
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("build for %s: %w", p, err)
	}
	return nil
}
