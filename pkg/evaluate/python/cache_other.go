//go:build !unix

package python

import "os"

// guardCache makes the directory of compiled code. Who may write there is for the system's own lists
// of rights to say.
func guardCache(dir string) error { return os.MkdirAll(dir, 0o700) }
