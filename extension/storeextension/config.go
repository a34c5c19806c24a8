package storeextension

import (
	"errors"
	"fmt"
	"net/url"
	"strings"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"go.opentelemetry.io/collector/config/configopaque"

	"github.com/spangrove/spangrove/pkg/event"
	"github.com/spangrove/spangrove/pkg/project"
)

// Bounds of settings. A waiting update keeps its id in memory, about 100 bytes.
const (
	minQueueBytes  = 1 << 20
	maxWriters     = 64
	maxShare       = 64
	maxValueEvents = 1_000_000
	maxMaxPending  = 10_000_000

	minAuditRetention = time.Hour
	minAuditEntries   = 1000
	maxAuditEntries   = 100_000_000

	maxReplicaWait = 10 * time.Second

	maxAhead = 366 * 24 * time.Hour // each four weeks ahead may take a partition of PostgreSQL
)

// Config is the configuration of the extension. With a DSN the store is PostgreSQL, else SQLite.
type Config struct {
	// SQLite is the embedded store.
	SQLite SQLiteConfig `mapstructure:"sqlite"`

	// Postgres is the store in a PostgreSQL database, 15 or later.
	Postgres PostgresConfig `mapstructure:"postgres"`

	// QueueBytes bounds the bytes of events that wait for a commit; past it writes are
	// answered as busy, to be sent again. Default 67108864 (64 MiB), at least 1 MiB.
	QueueBytes int64 `mapstructure:"queue_bytes"`

	// PendingTTL is how long an update, or what log records say of a span, waits for an event
	// that has not come yet. Default 24h.
	PendingTTL time.Duration `mapstructure:"pending_ttl"`

	// MaxPending bounds the updates that wait, of which one project may have three quarters; past it
	// an update of an unknown event is answered "not found", and every update by a key that may only
	// write "try again later". It bounds what waits of log records as well, of which the oldest
	// give way. Default 100000, at most 10000000.
	MaxPending int `mapstructure:"max_pending"`

	// PackAfter is how long nothing must have been stored of a session before its payloads are compressed again, together and
	// better, in the background. Default 10m; 0s: never.
	PackAfter time.Duration `mapstructure:"pack_after"`

	// SlowCommit is from when on a commit counts as slow: the log tells it once, with how long commits take and what waits for one, and
	// again when they are fast. Default 2s; 0s: never.
	SlowCommit time.Duration `mapstructure:"slow_commit"`

	// Limits are those of projects that have none of their own.
	Limits LimitsConfig `mapstructure:"limits"`

	// Retention is the rule of projects that have none of their own.
	Retention RetentionConfig `mapstructure:"retention"`

	// Audit is how long the audit log is kept.
	Audit AuditConfig `mapstructure:"audit"`

	// StartTime is when events may begin.
	StartTime StartTimeConfig `mapstructure:"start_time"`

	// Reads bounds what reading may take from ingestion and from other projects.
	Reads ReadsConfig `mapstructure:"reads"`
}

// packAfter is PackAfter as the store takes it.
func (c *Config) packAfter() time.Duration {
	if c.PackAfter == 0 {
		return -1 // never
	}
	return c.PackAfter
}

// slowCommit is SlowCommit as the store takes it.
func (c *Config) slowCommit() time.Duration {
	if c.SlowCommit == 0 {
		return -1 // never
	}
	return c.SlowCommit
}

// ReadsConfig bounds reads.
type ReadsConfig struct {
	// Timeout is how long one read may take; past it the answer is 504. Default 30s.
	Timeout time.Duration `mapstructure:"timeout"`

	// Share is how many connections the searches, charts and results of runs of one project may have
	// at once, of six for all projects; one that looks into payload has two. Default 4, 2 to 64.
	Share int `mapstructure:"share"`

	// Wait is how long such a read waits for its project's share; past it the answer is 429. Default 10s.
	Wait time.Duration `mapstructure:"wait"`

	// ValueEvents is how many of the newest events that match a list of a field's values looks at, where segments cannot count all. It holds each value that it
	// finds in memory, at most 500 bytes each. Default 50000, 1 to 1000000.
	ValueEvents int `mapstructure:"value_events"`
}

// Validate reports the first setting that cannot work.
func (c *ReadsConfig) Validate() error {
	switch {
	case c.Timeout <= 0:
		return fmt.Errorf("timeout: must be more than 0s, not %s", c.Timeout)
	case c.Share < 2 || c.Share > maxShare:
		return fmt.Errorf("share: must be between 2 and %d, not %d", maxShare, c.Share)
	case c.Wait <= 0:
		return fmt.Errorf("wait: must be more than 0s, not %s", c.Wait)
	case c.ValueEvents < 1 || c.ValueEvents > maxValueEvents:
		return fmt.Errorf("value_events: must be between 1 and %d, not %d", maxValueEvents, c.ValueEvents)
	}
	return nil
}

// LimitsConfig is what a project may use where it has no limits of its own; project.Bounds says
// what each of them bounds. 0 is no bound, and for a burst as many as one second brings.
type LimitsConfig struct {
	RequestsPerSecond    float64 `mapstructure:"requests_per_second"`     // default 5000
	RequestBurst         int64   `mapstructure:"request_burst"`           // default 20000
	KeyRequestsPerSecond float64 `mapstructure:"key_requests_per_second"` // default 0
	KeyRequestBurst      int64   `mapstructure:"key_request_burst"`       // default 0
	BytesPerSecond       int64   `mapstructure:"bytes_per_second"`        // default 67108864 (64 MiB)
	ByteBurst            int64   `mapstructure:"byte_burst"`              // default 536870912 (512 MiB)
	StoredBytes          int64   `mapstructure:"stored_bytes"`            // default 107374182400 (100 GiB)
	EvaluationSlots      int64   `mapstructure:"evaluation_slots"`        // default 0
	JudgeUSDPerDay       float64 `mapstructure:"judge_usd_per_day"`       // default 100
}

// Validate reports the first setting that cannot work.
func (c *LimitsConfig) Validate() error {
	b := project.Bounds(*c)
	return b.Validate()
}

// RetentionConfig is for how long events are kept of a project that has no rule of its own; project.RetentionRule says what each
// of them means. 0, the default of all, keeps for good.
type RetentionConfig struct {
	EventDays    int64 `mapstructure:"event_days"`
	PayloadDays  int64 `mapstructure:"payload_days"`
	Bytes        int64 `mapstructure:"bytes"`
	PayloadFirst bool  `mapstructure:"payload_first"`
}

// Validate reports the first setting that cannot work.
func (c *RetentionConfig) Validate() error {
	r := project.RetentionRule(*c)
	return r.Validate()
}

// AuditConfig bounds the audit log.
type AuditConfig struct {
	// Retention is how long entries are kept. Default 9600h (400 days), at least 1h.
	Retention time.Duration `mapstructure:"retention"`

	// MaxEntries is how many entries are kept; past it the oldest go. Default 1000000, from 1000 to 100000000.
	MaxEntries int64 `mapstructure:"max_entries"`
}

// Validate reports the first setting that cannot work.
func (c *AuditConfig) Validate() error {
	switch {
	case c.Retention < minAuditRetention:
		return fmt.Errorf("retention: must be at least %s, not %s", minAuditRetention, c.Retention)
	case c.MaxEntries < minAuditEntries || c.MaxEntries > maxAuditEntries:
		return fmt.Errorf("max_entries: must be between %d and %d, not %d", minAuditEntries, maxAuditEntries, c.MaxEntries)
	}
	return nil
}

// StartTimeConfig bounds the times at which events begin. A span outside of them is stored at the
// time it arrived, with what it said in metadata.original_start_time; any other event is refused.
type StartTimeConfig struct {
	// Oldest is the earliest start, a date (UTC) or a time in RFC 3339. Default "2015-01-01", not
	// before 1970.
	Oldest string `mapstructure:"oldest"`

	// Ahead is how far a start may be ahead of the server's clock. Default 24h, at most 8784h (366
	// days).
	Ahead time.Duration `mapstructure:"ahead"`
}

// window returns the configured range. The error names the setting.
func (c *StartTimeConfig) window() (event.Window, error) {
	oldest, err := time.Parse(time.DateOnly, c.Oldest)
	if err != nil {
		oldest, err = time.Parse(time.RFC3339, c.Oldest)
	}
	if err != nil || oldest.UnixMilli() < event.MinMillis {
		return event.Window{}, fmt.Errorf("oldest: must be a date or a time in RFC 3339 from 1970 on, not %q", c.Oldest)
	}
	return event.Window{Oldest: oldest, Ahead: c.Ahead}, nil
}

// Validate reports the first setting that cannot work.
func (c *StartTimeConfig) Validate() error {
	if c.Ahead < 0 || c.Ahead > maxAhead {
		return fmt.Errorf("ahead: must be between 0s and %s, not %s", maxAhead, c.Ahead)
	}
	_, err := c.window()
	return err
}

// SQLiteConfig is about the embedded store.
type SQLiteConfig struct {
	// Directory holds the database's files; it is created if it does not exist. Default
	// "./spangrove-data".
	Directory string `mapstructure:"directory"`

	// Synchronous is what an answered write survives: "full", a power cut; "normal", a crash
	// of the process, while a power cut may take the last commits. Default "full".
	Synchronous string `mapstructure:"synchronous"`
}

// PostgresConfig is about the store in PostgreSQL.
type PostgresConfig struct {
	// DSN is a connection URL or keyword string. Empty (the default) means SQLite. Pool
	// settings such as pool_max_conns may stand in it.
	DSN configopaque.String `mapstructure:"dsn"`

	// DirectDSN is a connection string of the same database past a pooler, that leads to a session of PostgreSQL for each connection. With
	// it DSN may lead to a pooler that gives each transaction another session, such as PgBouncer with pool_mode "transaction".
	// Empty (the default): DSN serves for all.
	DirectDSN configopaque.String `mapstructure:"direct_dsn"`

	// ReadDSN is a connection string of a replica of the same database (streaming replication), or of several behind one address. Searches,
	// charts, sessions and the results of runs are read there, and see all that was committed when they began. Empty (the default): there is none.
	ReadDSN configopaque.String `mapstructure:"read_dsn"`

	// ReplicaWait is how long a read waits for the replica to have what was committed when it began; past it, reads go to
	// DSN until the replica keeps up again. Default 100 ms, at most 10 s.
	ReplicaWait time.Duration `mapstructure:"replica_wait"`

	// Writers is how many transactions write telemetry at once, in addition to one for everything else. Default 4,
	// at most 64.
	Writers int `mapstructure:"writers"`
}

// Validate reports the first setting that cannot work.
func (c *Config) Validate() error {
	switch {
	case c.QueueBytes < minQueueBytes:
		return fmt.Errorf("queue_bytes: must be at least %d, not %d", minQueueBytes, c.QueueBytes)
	case c.PendingTTL <= 0:
		return fmt.Errorf("pending_ttl: must be more than 0s, not %s", c.PendingTTL)
	case c.PackAfter < 0:
		return fmt.Errorf("pack_after: must be at least 0s, not %s", c.PackAfter)
	case c.SlowCommit < 0:
		return fmt.Errorf("slow_commit: must be at least 0s, not %s", c.SlowCommit)
	case c.MaxPending < 1 || c.MaxPending > maxMaxPending:
		return fmt.Errorf("max_pending: must be between 1 and %d, not %d", maxMaxPending, c.MaxPending)
	}
	return nil
}

// Validate reports the first setting that cannot work.
func (c *SQLiteConfig) Validate() error {
	if strings.TrimSpace(c.Directory) == "" {
		return errors.New("directory: must not be empty")
	}
	if c.Synchronous != "full" && c.Synchronous != "normal" {
		return fmt.Errorf(`synchronous: must be "full" or "normal", not %q`, c.Synchronous)
	}
	return nil
}

// Validate reports the first setting that cannot work. It never repeats the DSN, which may
// hold a password.
func (c *PostgresConfig) Validate() error {
	if c.Writers < 1 || c.Writers > maxWriters {
		return fmt.Errorf("writers: must be between 1 and %d, not %d", maxWriters, c.Writers)
	}
	if c.ReplicaWait <= 0 || c.ReplicaWait > maxReplicaWait {
		return fmt.Errorf("replica_wait: must be more than 0s and at most %s, not %s", maxReplicaWait, c.ReplicaWait)
	}
	dsns := []struct {
		name string
		dsn  configopaque.String
	}{{"dsn", c.DSN}, {"direct_dsn", c.DirectDSN}, {"read_dsn", c.ReadDSN}}
	if !c.used() {
		dsns = dsns[1:]
	}
	for _, s := range dsns {
		if !c.used() && s.dsn != "" {
			return fmt.Errorf("%s: must be set together with dsn", s.name)
		}
		if _, err := pgxpool.ParseConfig(string(s.dsn)); err != nil {
			return fmt.Errorf("%s: must be a PostgreSQL connection string, such as postgres://user:password@host:5432/database", s.name)
		}
	}
	return nil
}

// used reports whether the store is PostgreSQL.
func (c *PostgresConfig) used() bool { return strings.TrimSpace(string(c.DSN)) != "" }

// place returns where the data is, without the password.
func (c *Config) place() string {
	if !c.Postgres.used() {
		return c.SQLite.Directory
	}
	cfg, err := pgxpool.ParseConfig(string(c.Postgres.DSN))
	if err != nil {
		return "PostgreSQL"
	}
	u := url.URL{Host: cfg.ConnConfig.Host, Path: cfg.ConnConfig.Database}
	return "PostgreSQL " + strings.TrimPrefix(u.String(), "//")
}
