// Package spangrovereceiver is the way in: native sessions and events as JSON, and OTLP over
// gRPC and HTTP, all of which it hands to the pipeline as traces (and logs).
//
// It serves OTLP on listeners of its own, and OTLP and the native write paths on the port of
// the API extension, where it mounts them (package mount). It stores nothing and maps nothing. Every request takes
// the same steps, whatever the way:
//
//  1. The caller is identified, before anything of the body is read.
//  2. The body is read, decompressed, within a budget of memory and a time limit (package ingress).
//  3. What is in it is counted before it is decoded: spans, values, and how deep they nest (admit).
//  4. It is decoded. Of an OTLP request, items that cannot be decoded are left out and reported as rejected; a native
//     request is all or nothing.
//  5. The caller's project is stamped into every resource (stamp).
//  6. It goes down the pipeline, and the pipeline's answer is the request's: success means that the whole pipeline
//     took the data. An error says whether to try again (refusal).
package spangrovereceiver
