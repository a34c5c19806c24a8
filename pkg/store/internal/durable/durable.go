// Package durable writes files such that they are on disk, whole, when it says so.
package durable

import (
	"errors"
	"os"
	"path/filepath"
	"runtime"
)

// TempSuffix ends the names of files that WriteFile has not finished. What is left of a process that ended may be removed.
const TempSuffix = ".tmp"

// WriteFile makes a file, under another name until all of it is on disk. The name itself is on disk after SyncDirectory.
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

// SyncFile has what was written to a file put on disk.
func SyncFile(path string) error {
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}

// SyncDirectory has the names in a directory put on disk. Windows does so by itself, and has no call for it.
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
