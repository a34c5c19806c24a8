//go:build unix

package python

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
)

// guardCache makes the directory of compiled code one that only this user can write to, and says what
// is wrong with it otherwise: what is in there is run. Whatever others could have written is deleted.
func guardCache(dir string) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	info, err := os.Lstat(dir)
	switch {
	case err != nil:
		return err
	case !info.IsDir():
		return fmt.Errorf("%s is not a directory", dir)
	case !mine(info):
		return fmt.Errorf("%s belongs to another user", dir)
	}
	if info.Mode().Perm()&0o022 != 0 {
		if err := os.RemoveAll(dir); err != nil {
			return err
		}
		return errors.Join(os.MkdirAll(dir, 0o700), os.Chmod(dir, 0o700)) //nolint:gosec // a directory needs the x
	}
	if err := os.Chmod(dir, 0o700); err != nil { //nolint:gosec // a directory needs the x
		return err
	}
	return filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || path == dir {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		if mine(info) && info.Mode().Perm()&0o022 == 0 && (info.Mode().IsRegular() || info.IsDir()) {
			return nil
		}
		if err := os.RemoveAll(path); err != nil {
			return err
		}
		if d.IsDir() {
			return fs.SkipDir
		}
		return nil
	})
}

// mine reports whether a file belongs to the user who runs this program.
func mine(info fs.FileInfo) bool {
	stat, ok := info.Sys().(*syscall.Stat_t)
	return ok && int(stat.Uid) == os.Geteuid()
}
