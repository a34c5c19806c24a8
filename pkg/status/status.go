// Package status is the noun "status of a server": figures about a running server and its store, and what is wrong with it. They hold no
// content of events, and neither names nor keys.
package status

import (
	"encoding/json"
	"time"
)

// Coverage says whose figures a status has.
type Coverage string

// What a status covers.
const (
	CoversServer  Coverage = "server"  // all projects
	CoversProject Coverage = "project" // the server as such, and of what is stored one project only
)

// Status is what a server tells of itself. Sections that the caller may not see, or that could not be read, are nil.
type Status struct {
	Time     time.Time `json:"time"`
	Covers   Coverage  `json:"covers"`
	Problems []Problem `json:"problems"`

	Server      Server       `json:"server"`
	Store       *Database    `json:"store,omitempty"`
	Ingest      *Ingest      `json:"ingest,omitempty"`
	Commits     *Commits     `json:"commits,omitempty"`
	Queue       *Queue       `json:"queue,omitempty"`
	Waiting     *Waiting     `json:"waiting,omitempty"`
	Evaluations *Evaluations `json:"evaluations,omitempty"`
	Index       *Index       `json:"index,omitempty"`
	Packer      *Packer      `json:"packer,omitempty"`
	Contents    *Contents    `json:"contents,omitempty"`

	Refusals      []Refusals     `json:"refusals"`
	Retention     *Retention     `json:"retention,omitempty"`
	Configuration *Configuration `json:"configuration,omitempty"`
}

// Server is the program and its process.
type Server struct {
	Version     string    `json:"version"`
	GoVersion   string    `json:"go_version"`
	OS          string    `json:"os"`
	Arch        string    `json:"arch"`
	Started     time.Time `json:"started_at"`
	UptimeS     float64   `json:"uptime_s"`
	MemoryBytes int64     `json:"memory_bytes"` // what the Go runtime has of the system
	HeapBytes   int64     `json:"heap_bytes"`   // objects, those among them that are not yet collected
	MemoryLimit int64     `json:"memory_limit"` // from which on memory is collected harder; 0: none
	Goroutines  int64     `json:"goroutines"`
	GOMAXPROCS  int       `json:"gomaxprocs"`
	CPUs        int       `json:"cpus"`
}

// Kind names a database.
type Kind string

// Database is where a store keeps what it has.
type Database struct {
	Kind    Kind   `json:"kind"`
	Version string `json:"version"`
	// Directory is that of the data, for who may see it; empty if the store has none of its own.
	Directory     string `json:"directory,omitempty"`
	Disk          *Disk  `json:"disk,omitempty"` // nil if the store has no directory
	DatabaseBytes *int64 `json:"database_bytes,omitempty"`
	// WriteCheck is the last try to write; nil before the first.
	WriteCheck *WriteCheck `json:"write_check,omitempty"`
}

// Disk is the file system of a data directory.
type Disk struct {
	FreeBytes  int64 `json:"free_bytes"` // for the user that runs the server
	TotalBytes int64 `json:"total_bytes"`
}

// WriteCheck is a try to commit a row that nobody reads.
type WriteCheck struct {
	Time   time.Time `json:"time"`
	OK     bool      `json:"ok"`
	TookMS float64   `json:"took_ms"`
	Reason string    `json:"reason,omitempty"` // the code of the error
}

// Ingest is what a server has stored since it started: events with repeats, those that evaluators store among them.
type Ingest struct {
	Events Rate `json:"events"`
	Spans  Rate `json:"spans"`  // of the events, those that came as OpenTelemetry's spans
	Native Rate `json:"native"` // all others
}

// Rate is how many of something came.
type Rate struct {
	PerSecond1m float64 `json:"per_second_1m"`
	PerSecond5m float64 `json:"per_second_5m"`
	Total       int64   `json:"total"` // since the server started
}

// Commits are the transactions of the last five minutes, but for totals since the server started.
type Commits struct {
	P50MS *float64 `json:"p50_ms"` // nil if there was none
	P99MS *float64 `json:"p99_ms"`
	// The others are nil for who sees one project only: they tell how much others store.
	Count      *int64     `json:"count,omitempty"`
	MeanEvents *float64   `json:"mean_events,omitempty"` // of commits that store events
	Total      *int64     `json:"total,omitempty"`
	Failed     *int64     `json:"failed,omitempty"` // since the server started
	LastFailed *time.Time `json:"last_failed_at,omitempty"`
}

// Queue is what waits for a commit, or is in one.
type Queue struct {
	Requests    int64 `json:"requests"`
	MaxRequests int64 `json:"max_requests"` // that wait in queues; further ones wait to be let in
	Events      int64 `json:"events"`
	Bytes       int64 `json:"bytes"`
	MaxBytes    int64 `json:"max_bytes"`
	Refused     int64 `json:"refused"` // requests that found no room, since the server started
}

// Waiting is what came before its event.
type Waiting struct {
	Updates    int64 `json:"updates"`
	MaxUpdates int64 `json:"max_updates"`
	LogParts   int64 `json:"log_parts"` // 0 for who sees one project only
}

// Evaluations is the queue of evaluations.
type Evaluations struct {
	Waiting   int64 `json:"waiting"` // those that are being worked on among them
	Due       int64 `json:"due"`
	Delayed   int64 `json:"delayed"`    // events that are looked at later, since they may go on
	NewEvents int64 `json:"new_events"` // events that nobody has looked at yet
	Failed    int64 `json:"failed"`     // that gave no score
	Dead      int64 `json:"dead"`       // that were tried as often as may be
}

// Index is how far the segments are, which answer searches and charts.
type Index struct {
	Segments          int64   `json:"segments"`
	WaitingSegments   int64   `json:"waiting_segments"` // to be built anew
	WaitingWords      int64   `json:"waiting_words"`    // segments that wait for their index of words
	WaitingTextEvents int64   `json:"waiting_text_events"`
	UnsealedEvents    int64   `json:"unsealed_events"` // at most, that came after the last segment
	ChangedEvents     int64   `json:"changed_events"`  // since their segment was built
	IdleS             float64 `json:"idle_s"`          // since the background last looked
}

// Packer is what waits to be compressed better.
type Packer struct {
	Sessions int64 `json:"sessions"` // with payload that is not packed
	Due      int64 `json:"due"`      // of them, those at rest
}

// Contents is how much is stored, by sums that are kept.
type Contents struct {
	Projects    int64 `json:"projects"`
	Sessions    int64 `json:"sessions"`
	Events      int64 `json:"events"` // session events among them
	StoredBytes int64 `json:"stored_bytes"`
}

// Refusals are the requests that were refused for one reason, since the server started.
type Refusals struct {
	Reason string    `json:"reason"` // such as validation_error
	Status int       `json:"status"`
	Count  int64     `json:"count"`
	Last   time.Time `json:"last_at"`
}

// Retention is the rule that applies to the caller's project, and that of projects without one of their own.
type Retention struct {
	Rule    json.RawMessage `json:"rule"`
	Default json.RawMessage `json:"default"`
}

// Configuration is how a server is set up, as far as that is no secret.
type Configuration struct {
	Synchronous string   `json:"synchronous,omitempty"` // of SQLite
	Writers     int      `json:"writers"`
	ReadTimeout float64  `json:"read_timeout_s"`
	ReadShare   int      `json:"read_share"`
	ReadWait    float64  `json:"read_wait_s"`
	ValueEvents int      `json:"value_events"`
	PendingTTL  float64  `json:"pending_ttl_s"`
	PackAfter   *float64 `json:"pack_after_s"` // nil: never

	Keys       bool       `json:"keys"` // callers must have one
	MaxBody    int64      `json:"max_body_bytes"`
	Listeners  []Listener `json:"listeners"`
	Evaluators []string   `json:"evaluators"`
	Providers  int        `json:"providers"`
}

// Listener is a port or path that takes requests.
type Listener struct {
	Serves  string `json:"serves"`
	TLS     bool   `json:"tls"`
	MaxBody int64  `json:"max_body_bytes"`
}

// Activity is what memory knows of a store.
type Activity struct {
	Ingest        Ingest
	Commits       Commits
	Queue         Queue
	Waiting       Waiting
	Index         Index // without what is read of the database
	Configuration Configuration
}

// State is what a database knows of a store.
type State struct {
	Contents Contents
	// The others are of all projects; nil in the state of one.
	WaitingWords, WaitingTextEvents int64
	Packer                          Packer
}

// Space is what takes the space of a database, in bytes.
type Space struct {
	Counted time.Time   `json:"counted_at"`
	TookMS  float64     `json:"took_ms"`
	Bytes   int64       `json:"bytes"` // all of it
	Kinds   []KindSpace `json:"kinds"` // the largest first
}

// KindSpace is what one kind of data takes.
type KindSpace struct {
	Kind  string `json:"kind"`
	Bytes int64  `json:"bytes"`
}
