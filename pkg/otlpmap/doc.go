// Package otlpmap turns the spans and log records of foreign instrumentations into events.
//
// What an attribute means is data: ordered tables of rules (rules.go, and convention_*.go for each
// convention) say which attribute goes to which field, read by which reader. For example
//
//	{otelGenAI, "config.temperature", []string{"gen_ai.request.temperature", "llm.temperature"}, asNumber, 0}
//
// fills config.temperature from the first of two attributes that is a number. docs/otlp-mapping.md is
// printed from the tables by a test.
//
// # The rules of mapping
//
//  1. All rules of all conventions run over every span. They are keyed on attribute names and not on
//     vendors, so a library nobody has heard of works at once if it uses known names.
//  2. A rule never overwrites a field that is filled. So the order of the rules is their precedence,
//     and within a stage a more specific convention comes before a general one (see convention).
//  3. What the span itself states comes before what can be derived from a raw request or answer, and
//     that before anything computed, such as a cost from a price table.
//  4. Nothing is lost. An attribute that no rule could place, or whose value could not be parsed,
//     stays in metadata under its own name, as one literal key, and with its own type; if metadata has
//     a member of that name already, it stays in metadata.attributes. Span events and links are kept likewise.
//  5. Nothing is kept twice. An attribute is dropped if its whole content is in the event already;
//     of a JSON object, the members that add something are kept (see dropRedundant).
//  6. The result does not depend on the order in which spans arrive, nor on how they are batched, as far
//     as one request can know. The store corrects what only later requests show.
//
// # From a request to events
//
// [Mapper.Traces] first collects all spans, since they depend on each other: the session of a span follows
// from its whole trace, and an id that one span brings is the parent of another. Then it builds
// the events one after the other (see eventBuilder.event for the steps). [Mapper.Logs] does the same for log
// records: they become log parts, contributions to the events of their spans in a form that needs no
// more reading. The store merges events and log parts, in whatever order they come.
//
// # Memory
//
// Values are handled as JSON text: they are scanned, cut out and copied, but not decoded into Go values
// (see internal/jsonscan). Spans that are being mapped share the tables and buffers of a mapState, which
// is pooled; the finished event owns its bytes.
//
// The package does no I/O and keeps nothing between requests but these buffers. What only a store can
// know (the session that an earlier request named for a trace) is marked on the event for the store.
package otlpmap
