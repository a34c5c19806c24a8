// Package apiextension owns the API's port: one HTTP server and one mux, on which it serves
// what reads and changes stored data (package httpapi), and on which the receiver mounts what
// writes telemetry (package mount).
//
// The life of the server follows the pipelines: the port is bound in Start, so that a clash
// fails at once; it accepts when all pipelines run (Ready), and it is drained before the first
// receiver stops (NotReady), so that an answered write has always been through its pipeline.
package apiextension
