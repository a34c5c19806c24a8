// Package spangroveexporter is where spans become events and are stored: native spans are
// decoded (package spancodec), all others mapped (package otlpmap), and each project's events
// of one request are stored in one call, all or none; spans that the store refuses are left out.
//
// It returns only when the store has answered. A nil error means committed and synced; any
// other error tells by its kind whether to send the same data again (package verdict).
package spangroveexporter
