// Package spangrovereceiver is the way in: native sessions and events as JSON, and OTLP over
// gRPC and HTTP, all of which it hands to the pipeline as traces (and logs).
//
// It serves OTLP on listeners of its own, and OTLP and the native write paths on the port of
// the API extension, where it mounts them (package mount). It decodes, checks who may write,
// stamps the caller's project into the resource, pushes, and answers what the pipeline said:
// success means that the whole pipeline took the data. It stores nothing and maps nothing.
package spangrovereceiver
