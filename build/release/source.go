package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// repositoryURL is where the source is published.
const repositoryURL = "https://github.com/spangrove/spangrove"

// source is what is built.
type source struct {
	dir     string
	commit  string
	version version
	time    time.Time // of the commit, or of SOURCE_DATE_EPOCH: all files have it
	dirty   bool      // whether files differ from the commit
}

// repository returns the folder of the repository that dir is in; an empty dir is the current one.
func repository(dir string) (string, error) {
	cmd := exec.Command("git", "rev-parse", "--show-toplevel")
	cmd.Dir = dir
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("find the repository: %w", commandError(err))
	}
	return strings.TrimSpace(string(out)), nil
}

// readSource reads the commit, and the version from its tag. A commit without a tag is a development
// version, which sorts before all releases, and among its like by time.
func readSource(ctx context.Context, dir string, allowDirty bool) (*source, error) {
	git := func(args ...string) (string, error) {
		cmd := exec.CommandContext(ctx, "git", args...)
		cmd.Dir = dir
		out, err := cmd.Output()
		if err != nil {
			return "", fmt.Errorf("git %s: %w", strings.Join(args, " "), commandError(err))
		}
		return strings.TrimSpace(string(out)), nil
	}
	s := &source{dir: dir}
	changed, err := git("status", "--porcelain")
	if err != nil {
		return nil, err
	}
	if s.dirty = changed != ""; s.dirty && !allowDirty {
		return nil, fmt.Errorf("files are not as committed, so that nobody could build the same; commit them, or give -dirty:\n%s", changed)
	}
	head, err := git("log", "-1", "--format=%H %ct")
	if err != nil {
		return nil, err
	}
	commit, seconds, _ := strings.Cut(head, " ")
	s.commit = commit
	n, err := strconv.ParseInt(seconds, 10, 64)
	if err != nil {
		return nil, fmt.Errorf("time of the commit: %w", err)
	}
	s.time = time.Unix(n, 0).UTC()
	tags, err := git("tag", "--points-at", "HEAD", "--list", "v[0-9]*", "--sort", "-version:refname")
	if err != nil {
		return nil, err
	}
	if tag, _, _ := strings.Cut(tags, "\n"); tag != "" && !s.dirty {
		if s.version, err = parseVersion(strings.TrimPrefix(tag, "v")); err != nil {
			return nil, fmt.Errorf("tag %s: %w", tag, err)
		}
	} else {
		s.version = developmentVersion(s.time, s.commit, s.dirty)
	}
	if epoch := os.Getenv("SOURCE_DATE_EPOCH"); epoch != "" {
		if n, err = strconv.ParseInt(epoch, 10, 64); err != nil || n < 0 {
			return nil, fmt.Errorf("SOURCE_DATE_EPOCH: %q is not a number of seconds", epoch)
		}
		s.time = time.Unix(n, 0).UTC()
	}
	return s, nil
}

// read returns a file of the repository.
func (s *source) read(path ...string) ([]byte, error) {
	return os.ReadFile(filepath.Join(append([]string{s.dir}, path...)...))
}

// commandError adds to the error of a command what it printed.
func commandError(err error) error {
	var exit *exec.ExitError
	if errors.As(err, &exit) && len(exit.Stderr) > 0 {
		return fmt.Errorf("%w: %s", err, bytes.TrimSpace(exit.Stderr))
	}
	return err
}
