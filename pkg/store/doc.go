// Package store holds sessions, events and resources in SQLite or PostgreSQL, with one behaviour over both.
//
// What the store promises stands in three files: events.go (sessions and events), resources.go (all that
// is not telemetry) and evaluations.go. Package storetest is the suite that holds it to that, on both
// databases. The rest is how it is done:
//
//   - internal/events: sessions and events, from the request to the row and back; searches and charts
//   - internal/resource: documents such as datasets and metrics, projects, keys, the audit log
//   - internal/evalqueue: evaluations, backfills, and the outbox of events that wait to be evaluated
//   - internal/writer: the queues, and the transactions that requests share
//   - internal/sqldb: the two databases: connections, transactions, migrations, the spelling of SQL
//   - internal/live: who wants to know of sessions that change; servers on one PostgreSQL tell each other
//   - internal/bloom, internal/record, internal/sessiontree: Bloom filters, the bytes of payload, the
//     trees of sessions; without a database
//
// Package evalqueue knows resource and events, resource knows events, and events knows neither: what it
// needs of them it asks by hooks. None of them knows which database there is.
package store
