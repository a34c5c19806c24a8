// Package spancodec carries native events through a pipeline as spans and gets them back
// equal. It is the only place that knows the encoding; it does no I/O and maps no foreign spans.
//
// A native span stands in a scope named [Scope]. What any processor can make sense of is where
// OTLP wants it: trace id (the session), span id and parent span id, name, kind, times, and the
// error as the status. The rest rides in attributes under "spangrove.": the full ids, the type,
// the source, the exact times, and each JSON field as the text it came in, one string a field.
// Text costs a fraction of a nested pcommon.Map, and loses nothing: a Map changes
// 9007199254740993 and forgets the order of keys. An absent attribute is an absent field, the
// text "null" is null.
//
// A processor may change a span on its way. What it leaves is what is stored, as long as it is
// still an event: name and status rule the event's name and error, and a JSON field that is no
// longer JSON is refused. Attributes without that prefix are none of the event's: whoever decodes
// a span that has some (DecodeAdded) puts them into the event by the rules for attributes.
package spancodec
