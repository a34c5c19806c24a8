package store

import (
	"time"

	"go.opentelemetry.io/otel/metric"
	"go.uber.org/zap"

	"github.com/spangrove/spangrove/pkg/event"
	"github.com/spangrove/spangrove/pkg/project"
)

// Options of a store. The zero value is ready for use.
type Options struct {
	Logger *zap.Logger
	Meter  metric.Meter
	// Synchronous is SQLite's promise: "full" (the default), an answered write survives a
	// power cut, or "normal", it survives a crash of the process but the last commits may be
	// lost with the power.
	Synchronous string
	// QueueBytes bounds the payload that waits for a commit; past it writes are refused as
	// busy. Default 64 MiB.
	QueueBytes int64
	// PendingTTL is how long an update, or what log records say of a span, waits for its event,
	// and how long the latter is known after it came. Default 24 hours.
	PendingTTL time.Duration
	// MaxPending bounds the updates that wait, and likewise what waits of log records (one for
	// each span and request), of which the oldest give way. Default 100,000.
	MaxPending int
	// Writers is the number of writers of telemetry on PostgreSQL, in addition to one for all else. Default
	// 4; SQLite has one for both.
	Writers int
	// DirectDSN is a connection string of the same PostgreSQL database that leads to a session for each connection. With it the store may be
	// opened through a pooler that gives each transaction another session.
	DirectDSN string
	// ReadDSN is a connection string of a replica of the PostgreSQL database, by which heavy reads are answered. They see what
	// they would see at the primary.
	ReadDSN string
	// ReplicaWait is how long a read waits for the replica to have what was committed when it began; past it,
	// reads go to the primary until the replica keeps up again. Default 100 ms.
	ReplicaWait time.Duration
	// Limits are those of projects that set none of their own. Default project.DefaultBounds.
	Limits *project.Bounds
	// Retention is the rule of projects that set none of their own. Default: everything is kept.
	Retention project.RetentionRule
	// Window is when events may begin. A span outside of it is stored at the time it arrived; any
	// other event is refused as fault.Invalid. Default event.DefaultWindow.
	Window event.Window
	// ReadTimeout bounds each read; past it a read is fault.Timeout. Default 30 seconds.
	ReadTimeout time.Duration
	// ReadShare is how many connections the heavy reads of one project (searches, charts, sessions, results
	// of runs) may have at once; one that reads payload has two. Default 4, at most three quarters
	// of the readers.
	ReadShare int
	// ReadWait is how long a heavy read waits for its project's share; past it, it is
	// fault.Limited. Default 10 seconds.
	ReadWait time.Duration
	// ValueEvents is how many events Values looks at. Default 50,000.
	ValueEvents int
	// SealBeforeReads has each read that can use segments find all events in them. It is for tests.
	SealBeforeReads bool
	// AuditRetention is how long entries of the audit log are kept. Default 400 days.
	AuditRetention time.Duration
	// AuditMaxEntries bounds the entries of the audit log. Default 1,000,000.
	AuditMaxEntries int64
	// IDFilterBytes bounds the Bloom filters of event ids; past it, ids of the days with the most are
	// looked up instead. Default 64 MiB, for the ids of about 35 million events.
	IDFilterBytes int
	// PackAfter is how long nothing must have been stored of a session before its payloads are compressed again, together and
	// better. Negative: never. Default 10 minutes.
	PackAfter time.Duration
	// SlowCommit is from when on a commit counts as slow, which the log tells once until commits are fast again. Negative: never.
	// Default 2 seconds.
	SlowCommit time.Duration
	// Now is the clock. Default time.Now.
	Now func() time.Time

	still bool // nothing runs in the background
}

// Defaults of what reads may take.
const (
	DefaultReadTimeout = 30 * time.Second
	DefaultReadShare   = 4
	DefaultReadWait    = 10 * time.Second
	DefaultReplicaWait = 100 * time.Millisecond
	DefaultValueEvents = 50_000
	DefaultPackAfter   = 10 * time.Minute
	DefaultSlowCommit  = 2 * time.Second
)

// Bounds of what waits.
const (
	defaultQueueBytes    = 64 << 20
	defaultPendingTTL    = 24 * time.Hour
	defaultMaxPending    = 100_000
	defaultWriters       = 4
	defaultIDFilterBytes = 64 << 20
)

func (o Options) withDefaults() Options {
	if o.Logger == nil {
		o.Logger = zap.NewNop()
	}
	if o.Synchronous == "" {
		o.Synchronous = "full"
	}
	if o.QueueBytes == 0 {
		o.QueueBytes = defaultQueueBytes
	}
	if o.PendingTTL == 0 {
		o.PendingTTL = defaultPendingTTL
	}
	if o.MaxPending == 0 {
		o.MaxPending = defaultMaxPending
	}
	if o.Writers == 0 {
		o.Writers = defaultWriters
	}
	if o.Limits == nil {
		defaults := project.DefaultBounds()
		o.Limits = &defaults
	}
	if o.Window == (event.Window{}) {
		o.Window = event.DefaultWindow
	}
	if o.SlowCommit == 0 {
		o.SlowCommit = DefaultSlowCommit
	}
	if o.ReadTimeout == 0 {
		o.ReadTimeout = DefaultReadTimeout
	}
	if o.ReadShare == 0 {
		o.ReadShare = DefaultReadShare
	}
	if o.ReadWait == 0 {
		o.ReadWait = DefaultReadWait
	}
	if o.ReplicaWait == 0 {
		o.ReplicaWait = DefaultReplicaWait
	}
	if o.ValueEvents == 0 {
		o.ValueEvents = DefaultValueEvents
	}
	if o.AuditRetention == 0 {
		o.AuditRetention = DefaultAuditRetention
	}
	if o.AuditMaxEntries == 0 {
		o.AuditMaxEntries = DefaultAuditMaxEntries
	}
	if o.IDFilterBytes == 0 {
		o.IDFilterBytes = defaultIDFilterBytes
	}
	if o.PackAfter == 0 {
		o.PackAfter = DefaultPackAfter
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	return o
}
