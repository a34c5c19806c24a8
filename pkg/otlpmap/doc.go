// Package otlpmap turns the spans and log records of foreign instrumentations into events.
//
// What an attribute means is data: ordered tables of rules (rules.go and its neighbours) say
// which attribute goes to which field, read by which reader. All rules of all conventions run
// over every span, keyed on attribute names and not on vendors, and each fills only what is
// still empty; so a library nobody has heard of works at once if it uses known names.
//
// Nothing is lost: an attribute that no rule could place, or whose value could not be parsed,
// stays in metadata under its own name, as one literal key, and with its own type; only if metadata
// has a member of that name, in metadata.attributes. Span events and links are kept likewise.
// docs/otlp-mapping.md is printed from the tables by a test.
//
// Log records become notes about the events of their spans, in a form that needs no more
// reading: whoever stores them composes events and notes, in whatever order they come.
//
// The package does no I/O and keeps nothing between requests. What only a store can know (the
// session that an earlier request named for a trace) is marked on the event for the store.
package otlpmap
