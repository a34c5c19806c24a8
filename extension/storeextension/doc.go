// Package storeextension opens the store of events: SQLite in a directory, or PostgreSQL. It
// migrates the database at start and closes it last, after all that write to it.
//
// Other components find the store by the extension's ID (package mount) and ask of it only the
// few methods they need; which database it is, nobody else knows.
package storeextension
