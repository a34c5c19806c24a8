// Package otlpexport writes events as OpenTelemetry spans, for two kinds of readers.
//
// Another Spangrove reads back what was written: every span is a native one (package
// spancodec), from which the event comes out equal. Any other back end finds what it knows:
// the ids, the kind, the links, the scope's leftover attributes and the resource that the span
// had if the event came as one, and the standard gen_ai.* attributes, messages in their newest
// form. An importing Spangrove ignores these, since the native ones hold more, unless something on
// the way has changed them.
//
// The package does no I/O: an Encoder appends to the caller's bytes, a bounded part at a time.
package otlpexport
