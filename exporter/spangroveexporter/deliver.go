package spangroveexporter

import (
	"cmp"
	"context"
	"errors"
	"time"

	"go.opentelemetry.io/collector/consumer/consumererror"

	"github.com/spangrove/spangrove/pkg/fault"
	"github.com/spangrove/spangrove/pkg/fault/verdict"
	"github.com/spangrove/spangrove/pkg/mount"
)

// While the exporter's own retries repeat a request, the request occupies one of the queue's consumers (num_consumers). If each consumer had one
// that never succeeds, nothing would be stored any more, of any project. So a request is repeated without end only while the store can take
// nothing at all (see waits):
//
//   - after an unforeseen error (Internal) it is tried again a few times, and then given up;
//   - a project that is over a limit is not waited for;
//   - of a batch that the queue made of several requests, what the store refuses is found by halving the batch, and given up alone.
//
// A request of spans or log records without a queue is halved in the same way: its sender would drop all of a refused request. The answer counts
// what was left out.

// internalPauses are the pauses before each further attempt after an internal error.
var internalPauses = []time.Duration{time.Second, 4 * time.Second}

// waits reports whether an error says that the store can take nothing now, whatever is sent.
func waits(err error) bool {
	kind := fault.Of(err)
	return err != nil && (kind == fault.Unavailable || kind == fault.Timeout)
}

// isInternal reports whether err is an unforeseen error.
func isInternal(err error) bool { return err != nil && fault.Of(err) == fault.Internal }

// worst returns, of the errors of a request's parts, those that decide what becomes of the request: those for which the store is waited for, or
// else those that sending again might cure, or else all. Parts that are stored do not change when they are sent again.
func worst(errs ...error) error {
	var again, perhaps, never error
	for _, err := range errs {
		switch {
		case err == nil:
		case waits(err):
			again = errors.Join(again, err)
		case fault.Of(err).Permanent():
			never = errors.Join(never, err)
		default:
			perhaps = errors.Join(perhaps, err)
		}
	}
	return cmp.Or(again, perhaps, never)
}

// maxWrites bounds the writes that look for what the store refuses in one part. To find one item among 50,000 takes 32.
const maxWrites = 64

// outcome is what came of storing a part.
type outcome struct {
	err     error
	refused int  // items that err kept from the store
	unclear bool // the search for the refused items has ended at maxWrites
}

// delivery stores the parts of a request or of a batch of the queue.
type delivery[P any] struct {
	store  func(P) outcome
	halves func(P) (a, b P, ok bool) // ok is false for a part that cannot be divided
	refuse func(outcome)             // counts what is not stored
	// mayLack reports whether a request is taken without those items of a part that the store refuses.
	mayLack func(P) bool
}

// deliver stores the parts and returns the error for the pipeline. Of a request that is taken it tells what was left out (mount.LeaveOut).
func (d delivery[P]) deliver(ctx context.Context, e *spangroveExporter, parts []P) error {
	errs := make([]error, len(parts))
	var leftOut outcome
	for i, p := range parts {
		o := d.store(p)
		if e.cfg.Retry.Enabled {
			o = e.insist(ctx, o, func() outcome { return d.store(p) })
		}
		switch {
		case o.err == nil:
		case e.cfg.answersEarly():
			o = d.salvage(o, p, new(int))
		case !isInternal(o.err) && d.mayLack(p):
			rest := d.salvage(o, p, new(int))
			if rest.refused < o.refused && !rest.unclear && !waits(rest.err) && !isInternal(rest.err) {
				d.refuse(rest)
				leftOut.refused += rest.refused
				leftOut.err = cmp.Or(leftOut.err, rest.err)
				continue
			}
			o = rest
		}
		if o.err != nil {
			d.refuse(o)
		}
		errs[i] = o.err
	}
	err := worst(errs...)
	if err == nil && leftOut.refused > 0 {
		mount.LeaveOut(ctx, leftOut.refused, verdict.Status(leftOut.err).Message())
	}
	answer := verdict.Pipeline(err)
	if e.cfg.Retry.Enabled && err != nil && !waits(err) && !(isInternal(err) && e.isStopping()) {
		return consumererror.NewPermanent(answer)
	}
	return answer
}

// isStopping reports whether the exporter was told to stop. A request that met an internal error is not given up then: a queue on disk keeps
// it for the next start.
func (e *spangroveExporter) isStopping() bool {
	select {
	case <-e.stopping:
		return true
	default:
		return false
	}
}

// insist calls again after each of the pauses as long as the outcome is an internal error, and until the exporter is to stop.
func (e *spangroveExporter) insist(ctx context.Context, o outcome, again func() outcome) outcome {
	for _, pause := range e.pauses {
		if !isInternal(o.err) {
			break
		}
		select {
		case <-ctx.Done():
			return o
		case <-e.stopping:
			return o
		case <-time.After(pause):
			o = again()
		}
	}
	return o
}

// salvage stores what can be stored of a part whose outcome was o, and returns the outcome of the rest. If both halves meet an internal error,
// it is taken for the store's and not for theirs, and they are not divided further. writes counts the writes up to maxWrites.
func (d delivery[P]) salvage(o outcome, p P, writes *int) outcome {
	switch fault.Of(o.err) {
	case fault.Internal, fault.Invalid, fault.TooLarge, fault.Conflict: // what lies in the data
	default:
		return o
	}
	if o.err == nil || o.refused == 0 {
		return o
	}
	first, second, ok := d.halves(p)
	if !ok {
		return o
	}
	if *writes += 2; *writes > maxWrites {
		o.unclear = true
		return o
	}
	a, b := d.store(first), d.store(second)
	if !isInternal(a.err) || !isInternal(b.err) {
		a, b = d.salvage(a, first, writes), d.salvage(b, second, writes)
	}
	return outcome{worst(a.err, b.err), a.refused + b.refused, a.unclear || b.unclear}
}
