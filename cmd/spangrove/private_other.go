//go:build !unix

package main

// keepPrivate does nothing: files have the permissions of their directory here.
func keepPrivate() {}
