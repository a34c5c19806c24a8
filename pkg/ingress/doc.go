// Package ingress is what stands between a listener and its handlers: it bounds connections,
// decompresses bodies in bounded memory, cuts slow ones, and accounts for the bytes of requests
// under way, for each project. Nothing of it happens before the caller's key is checked but
// accepting the connection and reading the headers, which have bounds of their own.
package ingress
