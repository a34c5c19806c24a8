package wire

// Dialect is the form of answers that a path promises, and the form of requests where the two
// differ. Events and sessions look the same in both, except that V0 shows no fraction of a
// millisecond in end_time, which its clients refuse.
type Dialect string

// The dialects.
const (
	V0 Dialect = "v0" // paths without a prefix, for older clients
	V1 Dialect = "v1" // paths under /v1
)
