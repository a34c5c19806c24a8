// Package e2e drives the real binary from outside: over its sockets, with the
// real SDKs, through kills and restarts, on both databases. It holds tests only.
//
// The tests run when SPANGROVE_E2E=1 and are skipped otherwise, so that a plain
// "go test ./..." needs nothing but Go. With it set nothing is skipped: a missing
// database, interpreter or SDK is a failure. Package harness lists the variables.
package e2e
