//go:build unix

package sqldb

import "golang.org/x/sys/unix"

// writable reports whether this user may write a file. The file is not opened: to close it would give up the locks that SQLite has on it in this
// process.
func writable(path string) error { return unix.Access(path, unix.W_OK) }
