package spangroveexporter

import (
	"context"
	"fmt"
	"sync"
	"time"

	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/exporter"
	"go.opentelemetry.io/collector/pdata/ptrace"
	"go.uber.org/zap"

	"github.com/spangrove/spangrove/pkg/event"
	"github.com/spangrove/spangrove/pkg/fault"
	"github.com/spangrove/spangrove/pkg/mount"
	"github.com/spangrove/spangrove/pkg/price"
)

// eventStore is what the exporter asks of the store.
type eventStore interface {
	mount.Projects
	// Put stores a project's batch, all of it or nothing; nil means committed and synced. A
	// batch that is stored already changes nothing. Errors have a fault kind.
	Put(ctx context.Context, projectID int64, b event.Batch) error
}

type spangroveExporter struct {
	id           component.ID
	cfg          *Config
	log          *zap.Logger
	metrics      *telemetry
	mapper       mapper
	logMapper    logMapper
	stepMapper   stepMapper
	nativeMapper nativeMapper
	prices       *price.Book
	store        eventStore      // nil until start
	pauses       []time.Duration // before a request that met an internal error is tried again
	stopping     chan struct{}   // closed when the exporter is told to stop
	numbers      sync.Map        // the store's numbers of projects by public id, as callers have asked for them
}

func newExporter(set exporter.Settings, cfg *Config) (*spangroveExporter, error) {
	metrics, err := newTelemetry(set.TelemetrySettings)
	if err != nil {
		return nil, err
	}
	prices, err := readPrices(cfg.PriceFile)
	if err != nil {
		return nil, err
	}
	e := &spangroveExporter{id: set.ID, cfg: cfg, log: set.Logger, metrics: metrics, prices: prices, pauses: internalPauses, stopping: make(chan struct{})}
	e.mapper, e.logMapper, e.stepMapper, e.nativeMapper = newMappers(cfg.Mapping, prices)
	return e, nil
}

func (e *spangroveExporter) start(_ context.Context, host component.Host) error {
	s, err := mount.StoreOf[eventStore](host, e.cfg.Store, fmt.Sprintf("exporters::%s::store", e.id))
	if err != nil {
		return err
	}
	e.store = s
	return nil
}

// startTraces is start, and tells by what prices model calls get their cost: spans here, native
// events and updates in the store, which takes the prices of price_file, too. It warns of a queue that a crash empties.
func (e *spangroveExporter) startTraces(ctx context.Context, host component.Host) error {
	if err := e.start(ctx, host); err != nil {
		return err
	}
	if s, ok := e.store.(interface{ UsePrices(*price.Book) }); ok && e.cfg.PriceFile != "" {
		s.UsePrices(e.prices)
	}
	if e.cfg.answersEarly() && e.cfg.Queue.Get().StorageID == nil {
		e.log.Warn("an answer of success does not mean that data is stored: sending_queue holds it in memory, and a crash loses it; "+
			"set wait_for_result, or storage to a file_storage with fsync", zap.String("exporter", e.id.String()))
	}
	prices := price.BuiltIn()
	e.log.Info("model prices", zap.String("source", prices.Name), zap.String("version", prices.Version),
		zap.String("date", prices.Date), zap.Int("models", prices.Models), zap.String("price_file", e.cfg.PriceFile))
	return nil
}

// shutdown has nothing to stop: every write ends with the call that began it.
func (e *spangroveExporter) shutdown(context.Context) error { return nil }

// consumeTraces stores td. If it holds several projects, each is stored for itself.
func (e *spangroveExporter) consumeTraces(ctx context.Context, td ptrace.Traces) error {
	return delivery[part]{
		store:   func(p part) outcome { return e.storePart(ctx, p) },
		halves:  part.halves,
		refuse:  func(o outcome) { e.metrics.refuse(ctx, o.refused, o.err) },
		mayLack: func(p part) bool { return len(p.native) == 0 },
	}.deliver(ctx, e, e.split(ctx, td))
}

// storePart stores what one project gets. A native span that is no longer an event fails the
// part, so that nothing that a caller was promised is silently left out. A foreign span that
// cannot be an event is counted and left out; if none can, that is the error.
func (e *spangroveExporter) storePart(ctx context.Context, p part) outcome {
	if p.err != nil {
		return outcome{err: p.err, refused: p.spans}
	}
	batch, rejected, err := e.events(p)
	if err != nil {
		return outcome{err: err, refused: p.spans}
	}
	if len(batch.Events) > 0 || len(batch.Sessions) > 0 {
		began := time.Now()
		err = e.store.Put(ctx, p.project, batch)
		e.metrics.put(ctx, time.Since(began), len(batch.Events), err)
		if err != nil {
			return outcome{err: fmt.Errorf("store %d events: %w", len(batch.Events), err), refused: p.spans}
		}
	} else if len(rejected) > 0 {
		err = fault.New(fault.Invalid, "span %s of trace %s: %s", rejected[0].SpanID, rejected[0].TraceID, rejected[0].Reason)
	}
	for _, r := range rejected {
		e.metrics.reject(ctx, r.Reason)
	}
	return outcome{err: err}
}
