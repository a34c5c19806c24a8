// Package sampleprocessor keeps every trace that has an error or a bad score, and a part of the rest, without losing what it
// was given: a request is answered once all its traces are decided about and what is kept of it was taken by what follows.
//
// Until then the request waits, with its spans; what is in front of it, a sender or a queue on disk, still has them. So a
// process that is killed loses nothing that it had answered. Other samplers answer at once, and hold the spans in memory.
//
// A trace is decided about a fixed time after its first span came. In spans of native events the trace is the session.
package sampleprocessor
