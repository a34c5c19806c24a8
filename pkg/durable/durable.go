// Package durable writes files that a crash leaves whole, and puts them on disk before it returns.
package durable

import (
	"errors"
	"os"
	"path/filepath"
	"runtime"
)

// TempSuffix ends the names of files that WriteFile has not finished. Those of a process that ended may be removed.
const TempSuffix = ".tmp"

// WriteFile writes a file that only its owner may read (mode 0600), or replaces one. It writes to another name in the same directory, and
// renames that once the content is on disk: whoever reads the file, also after a crash, finds the old content or the new. The new name is on
// disk after SyncDirectory.
func WriteFile(path string, content []byte) (err error) {
	f, err := os.CreateTemp(filepath.Dir(path), filepath.Base(path)+".*"+TempSuffix)
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			_ = os.Remove(f.Name())
		}
	}()
	_, err = f.Write(content)
	if err := errors.Join(err, f.Sync(), f.Close()); err != nil {
		return err
	}
	return os.Rename(f.Name(), path)
}

// SyncFile returns once what was written to a file is on disk.
func SyncFile(path string) error {
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}

// SyncDirectory returns once the names in a directory are on disk. On Windows it does nothing: the system has no call for it, and writes
// names by itself.
func SyncDirectory(path string) error {
	if runtime.GOOS == "windows" {
		return nil
	}
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}
