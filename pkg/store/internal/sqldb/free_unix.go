//go:build unix && !solaris && !netbsd

package sqldb

import "golang.org/x/sys/unix"

// freeBytes returns what is free on the file system of a directory.
func freeBytes(dir string) (n int64, known bool) {
	var st unix.Statfs_t
	if err := unix.Statfs(dir, &st); err != nil {
		return 0, false
	}
	return int64(st.Bavail) * int64(st.Bsize), true //nolint:unconvert // the types differ by system
}
