package events

import (
	"context"
	"errors"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/metric/noop"

	"github.com/spangrove/spangrove/pkg/store/internal/writer"
)

// telemetry counts what the store does. Names, units and descriptions are what an operator sees. Events are counted after
// their commit, so that none is counted that is not on disk.
type telemetry struct {
	events  metric.Int64Counter     // written, repeats included
	commits metric.Float64Histogram // seconds of each
	failed  metric.Int64Counter     // commits that failed
	refuse  metric.Int64Counter     // requests for which the queue had no room
	expire  metric.Int64Counter     // updates that waited too long
	logs    metric.Int64Counter     // log parts that waited too long
	outbox  metric.Int64Counter     // rows of the outbox that nobody took
	packed  metric.Int64Counter     // chunks that were compressed again
	builds  metric.Float64Histogram // seconds of building segments
	damaged metric.Int64Counter     // segments that were found damaged
	reads   metric.Int64Counter     // questions that segments may answer

	activity *activity // for the status of the server
}

// newTelemetry makes the instruments; without a meter they count into nothing.
func newTelemetry(m metric.Meter, now func() time.Time, read gauges) (*telemetry, error) {
	// So nobody who counts need ask whether there is a meter.
	if m == nil {
		m = noop.NewMeterProvider().Meter("store")
	}
	t := telemetry{activity: newActivity(now)}
	var err error
	if t.events, err = m.Int64Counter("spangrove_store_events_written", metric.WithUnit("{event}"),
		metric.WithDescription("Events whose commit is on disk, repeats included.")); err != nil {
		return nil, err
	}
	if t.commits, err = m.Float64Histogram("spangrove_store_commit_seconds", metric.WithUnit("s"),
		metric.WithDescription("Time of one commit, which many requests share."),
		metric.WithExplicitBucketBoundaries(.001, .002, .005, .01, .02, .05, .1, .2, .5, 1, 2, 5, 10, 30, 60)); err != nil {
		return nil, err
	}
	if t.failed, err = m.Int64Counter("spangrove_store_commits_failed", metric.WithUnit("{commit}"),
		metric.WithDescription("Commits that failed, by reason: disk_full, unavailable, timeout or other.")); err != nil {
		return nil, err
	}
	if t.refuse, err = m.Int64Counter("spangrove_store_refused", metric.WithUnit("{request}"),
		metric.WithDescription("Writes refused because the queue was full.")); err != nil {
		return nil, err
	}
	if t.expire, err = m.Int64Counter("spangrove_store_updates_expired", metric.WithUnit("{update}"),
		metric.WithDescription("Updates dropped because their event never came.")); err != nil {
		return nil, err
	}
	if t.logs, err = m.Int64Counter("spangrove_store_log_parts_expired", metric.WithUnit("{part}"),
		metric.WithDescription("Log parts dropped because the event of their span never came.")); err != nil {
		return nil, err
	}
	if t.outbox, err = m.Int64Counter("spangrove_store_outbox_expired", metric.WithUnit("{row}"),
		metric.WithDescription("Rows of the outbox dropped because nobody evaluated their events for a week.")); err != nil {
		return nil, err
	}
	if t.packed, err = m.Int64Counter("spangrove_store_chunks_packed", metric.WithUnit("{chunk}"),
		metric.WithDescription("Chunks of payload that were compressed again, together and better, once their sessions were at rest.")); err != nil {
		return nil, err
	}
	if t.builds, err = m.Float64Histogram("spangrove_store_segment_build_seconds", metric.WithUnit("s"),
		metric.WithDescription("Time of building and storing segments: those of the events that one pass seals, or one anew."),
		metric.WithExplicitBucketBoundaries(.01, .02, .05, .1, .2, .5, 1, 2, 5, 10, 30, 60)); err != nil {
		return nil, err
	}
	if t.damaged, err = m.Int64Counter("spangrove_store_segments_damaged", metric.WithUnit("{segment}"),
		metric.WithDescription("Segments that a read found damaged, and that are built again.")); err != nil {
		return nil, err
	}
	t.damaged.Add(context.Background(), 0) // the first one is a rise then, for which rules of alerts look
	if t.reads, err = m.Int64Counter("spangrove_store_segment_reads", metric.WithUnit("{read}"),
		metric.WithDescription("Searches, charts and lists of values, by what answered them (by: segments or rows) and why rows did (reason).")); err != nil {
		return nil, err
	}
	return &t, observe(m, read)
}

// gauges are what telemetry reads when it is asked.
type gauges struct {
	queued     func() int64 // bytes that wait for a commit
	waiting    func() (requests, events, maxRequests int64)
	updates    func() int   // that wait for their event
	statements func() int64 // statements that transactions have run
	replica    func() (replica, itself int64)
	idFilters  func() (n int, size int) // filters of ids, and their bytes
	segments   *segmentGauges
	condition  *condition
}

// observe registers what is read when somebody collects, and costs nothing otherwise.
func observe(m metric.Meter, read gauges) error {
	// Gauges are read when an exporter collects, and not when their values change.
	queue, err := m.Int64ObservableGauge(
		"spangrove_store_queue_bytes",
		metric.WithUnit("By"),
		metric.WithDescription("Payload waiting for a commit."),
	)
	if err != nil {
		return err
	}
	requests, err := m.Int64ObservableGauge("spangrove_store_queue_requests", metric.WithUnit("{request}"),
		metric.WithDescription("Writes that wait for a commit or are in one."))
	if err != nil {
		return err
	}
	updates, err := m.Int64ObservableGauge("spangrove_store_updates_waiting", metric.WithUnit("{update}"),
		metric.WithDescription("Updates that wait for their event, as far as this server knows."))
	if err != nil {
		return err
	}
	statements, err := m.Int64ObservableCounter("spangrove_store_statements", metric.WithUnit("{statement}"),
		metric.WithDescription("SQL statements that write transactions have run."))
	if err != nil {
		return err
	}
	replica, err := m.Int64ObservableCounter("spangrove_store_replica_reads", metric.WithUnit("{read}"),
		metric.WithDescription("Reads that a replica may answer, by what answered them: replica, or primary while the replica cannot."))
	if err != nil {
		return err
	}
	filters, err := m.Int64ObservableGauge("spangrove_store_id_filters", metric.WithUnit("{filter}"),
		metric.WithDescription("Filters that know on which days event ids may be stored."))
	if err != nil {
		return err
	}
	filterBytes, err := m.Int64ObservableGauge("spangrove_store_id_filter_bytes", metric.WithUnit("By"),
		metric.WithDescription("Memory of the filters of event ids."))
	if err != nil {
		return err
	}
	if err := errors.Join(read.segments.observe(m), read.condition.observe(m)); err != nil {
		return err
	}
	// One callback for all, so that number and size of the filters are read under one lock and belong together.
	_, err = m.RegisterCallback(func(_ context.Context, o metric.Observer) error {
		n, size := read.idFilters()
		waiting, _, _ := read.waiting()
		o.ObserveInt64(queue, read.queued())
		o.ObserveInt64(requests, waiting)
		o.ObserveInt64(updates, int64(read.updates()))
		o.ObserveInt64(statements, read.statements())
		if by, not := read.replica(); by+not > 0 {
			o.ObserveInt64(replica, by, metric.WithAttributes(attribute.String("by", "replica")))
			o.ObserveInt64(replica, not, metric.WithAttributes(attribute.String("by", "primary")))
		}
		o.ObserveInt64(filters, int64(n))
		o.ObserveInt64(filterBytes, int64(size))
		return nil
	}, queue, requests, updates, statements, replica, filters, filterBytes)
	return err
}

// commit records one commit: its time whatever came of it, its events only if it is on disk, and why it is not (failure).
func (t *telemetry) commit(ctx context.Context, batches []writer.Batch, d time.Duration, failure string) {
	// Failed commits count as well: a database that answers slowly and then with an error is what an operator looks for.
	t.commits.Record(ctx, d.Seconds())
	t.activity.commit(batches, d, failure != "")
	if failure != "" {
		t.failed.Add(ctx, 1, metric.WithAttributes(attribute.String("reason", failure)))
		return
	}
	n := 0
	// Changes other than batches, such as updates, have no events of their own to count.
	for _, b := range batches {
		events, _ := b.Size()
		n += events
	}
	t.events.Add(ctx, int64(n))
}

func (t *telemetry) refused(ctx context.Context) {
	t.refuse.Add(ctx, 1)
	t.activity.refuse()
}

func (t *telemetry) expired(ctx context.Context, n int64) { t.expire.Add(ctx, n) }

func (t *telemetry) logsExpired(ctx context.Context, n int64) {
	if n > 0 {
		t.logs.Add(ctx, n)
	}
}
