package spangroveexporter

import (
	"cmp"
	"context"
	"errors"
	"time"

	"go.opentelemetry.io/collector/consumer/consumererror"

	"github.com/spangrove/spangrove/pkg/fault"
	"github.com/spangrove/spangrove/pkg/fault/verdict"
)

// While the exporter's own retries repeat a request, it keeps one of the consumers of the queue (num_consumers). Once each of them has one
// that never succeeds, nothing of anybody is stored any more. So a request is only kept as long as it is the store that can take nothing
// (see waits):
//
//   - an error that nobody has foreseen (Internal) is met a few times, and then the request is given up;
//   - a project that is over a limit is not waited for;
//   - of a batch that the queue made of several requests, those that the store refuses are found by halving it, and given up alone.

// internalPauses are the pauses before a request is tried again that met an internal error.
var internalPauses = []time.Duration{time.Second, 4 * time.Second}

// waits reports whether an error says that the store can take nothing now, whatever it is.
func waits(err error) bool {
	kind := fault.Of(err)
	return err != nil && (kind == fault.Unavailable || kind == fault.Timeout)
}

// isInternal reports whether err is an error that nobody has foreseen.
func isInternal(err error) bool { return err != nil && fault.Of(err) == fault.Internal }

// worst returns the error that decides what becomes of a request, of those of its parts: one for which the store is waited for, or else one
// that sending again might cure, or else any. What is stored already does not change by being sent again.
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

// deliver stores the parts of a request or of a batch of the queue, each by store, and returns the error for the pipeline. halves divides
// a part; ok is false if it cannot be divided.
func deliver[P any](ctx context.Context, e *spangroveExporter, parts []P, store func(P) error, halves func(P) (a, b P, ok bool)) error {
	errs := make([]error, len(parts))
	for i, p := range parts {
		err := store(p)
		if e.cfg.Retry.Enabled {
			err = e.insist(ctx, err, func() error { return store(p) })
		}
		if e.cfg.answersEarly() {
			err = salvage(err, p, store, halves)
		}
		errs[i] = err
	}
	err := worst(errs...)
	answer := verdict.Pipeline(err)
	if e.cfg.Retry.Enabled && err != nil && !waits(err) {
		return consumererror.NewPermanent(answer)
	}
	return answer
}

// insist calls again what met an internal error, err.
func (e *spangroveExporter) insist(ctx context.Context, err error, again func() error) error {
	for _, pause := range e.pauses {
		if !isInternal(err) {
			break
		}
		select {
		case <-ctx.Done():
			return err
		case <-time.After(pause):
			err = again()
		}
	}
	return err
}

// salvage stores what can be stored of a part that as a whole met err, and returns the error of the rest. An internal error that both
// halves meet is not taken for theirs, but for the store's, and they are not divided further.
func salvage[P any](err error, p P, store func(P) error, halves func(P) (a, b P, ok bool)) error {
	switch fault.Of(err) {
	case fault.Internal, fault.Invalid, fault.TooLarge, fault.Conflict: // what lies in the data
	default:
		return err
	}
	if err == nil {
		return nil
	}
	first, second, ok := halves(p)
	if !ok {
		return err
	}
	firstErr, secondErr := store(first), store(second)
	if !isInternal(firstErr) || !isInternal(secondErr) {
		firstErr = salvage(firstErr, first, store, halves)
		secondErr = salvage(secondErr, second, store, halves)
	}
	return worst(firstErr, secondErr)
}
