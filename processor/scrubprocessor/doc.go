// Package scrubprocessor replaces well-known secrets in whatever travels a pipeline: spans, native events, log records and
// metrics. Package scrub has the rules; this one knows where strings stand.
//
// It looks at all names and texts of a request, at strings in lists and maps at any depth, at their keys, and at bytes that
// are text. It leaves ids alone: those of traces and spans, the attributes that name sessions and events, and
// what the receiver stamps on the resource. No span is ever held back or dropped.
package scrubprocessor
