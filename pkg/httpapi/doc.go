// Package httpapi answers the reads and changes of the HTTP API: sessions and events are
// searched, shown as trees, updated and deleted here. Creates take the pipeline and are the
// receiver's.
//
// operations is the table of all there is; Routes spells it out for a mux. A handler decodes
// with package wire, asks the store through the interfaces declared here, and streams the
// answer with package wire. Authentication, body limits and decompression have happened before:
// a request carries its project.Identity, or none on a server without keys.
package httpapi
