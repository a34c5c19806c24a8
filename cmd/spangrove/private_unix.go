//go:build unix

package main

import (
	"os"

	"golang.org/x/sys/unix"
)

// keepPrivate makes what the server writes its user's alone, and keeps prompts and keys out of core
// dumps, unless SPANGROVE_CORE_DUMPS is "keep". Errors leave things as they were: neither is
// needed to serve.
func keepPrivate() {
	unix.Umask(0o077)
	if os.Getenv("SPANGROVE_CORE_DUMPS") != "keep" {
		_ = unix.Setrlimit(unix.RLIMIT_CORE, &unix.Rlimit{})
	}
}

// makePrivate makes what this process writes its user's alone until the function is called that it returns.
func makePrivate() (restore func()) {
	before := unix.Umask(0o077)
	return func() { unix.Umask(before) }
}
