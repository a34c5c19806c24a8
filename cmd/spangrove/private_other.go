//go:build !unix

package main

// keepPrivate does nothing: files have the permissions of their directory here.
func keepPrivate() {}

// makePrivate does nothing, as keepPrivate.
func makePrivate() (restore func()) { return func() {} }
