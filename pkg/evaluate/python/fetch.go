package python

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"go.uber.org/zap"

	"github.com/spangrove/spangrove/pkg/evaluation"
)

// Loading is the failure of evaluators that wait for the interpreter, which is being fetched.
const Loading evaluation.Failure = "loading"

const (
	// fetchWait is how long a caller waits for the interpreter that is being fetched, before it is told
	// to come back.
	fetchWait = 4 * time.Second
	// fetchAgain is when what waits in a queue is tried again while the interpreter is being fetched.
	fetchAgain = 15 * time.Second
	// firstPause is how long the second attempt to fetch waits; each further one waits twice as long, up
	// to lastPause.
	firstPause = 30 * time.Second
	lastPause  = time.Hour
)

// fetcher brings the interpreter, once for all that wait for it. After a failure it tries again when
// somebody asks, but not before a pause.
type fetcher struct {
	install Install
	logger  *zap.Logger
	now     func() time.Time
	wait    time.Duration

	mu      sync.Mutex
	done    chan struct{} // of the attempt under way; nil: there is none
	tries   int           // that failed, one after another
	failure error         // of the last one
	next    time.Time     // not before
}

// newFetcher returns a fetcher that has not begun.
func newFetcher(c Config, logger *zap.Logger) *fetcher {
	return &fetcher{
		install: Install{Directory: c.Directory, Index: c.Index, progress: &progress{}},
		logger:  logger,
		now:     time.Now,
		wait:    fetchWait,
	}
}

// progress counts the bytes of the file that is being fetched.
type progress struct{ got, total atomic.Int64 }

// start begins an attempt unless there is one, or it is too early for another one; done is nil then.
// prepare is what makes the interpreter ready once it is there. run runs the attempt.
func (f *fetcher) start(ctx context.Context, run func(func()), prepare func(context.Context) error) (done <-chan struct{}) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.done != nil || f.now().Before(f.next) {
		return f.done
	}
	finished := make(chan struct{})
	f.done = finished
	f.install.progress.got.Store(0)
	f.install.progress.total.Store(0)
	f.logger.Info("fetching the Python interpreter", zap.String("to", f.install.Directory), zap.Int("attempt", f.tries+1))
	run(func() {
		began := time.Now()
		_, err := f.install.Run(ctx)
		if err == nil {
			f.logger.Info("the Python interpreter is installed, and is being compiled", zap.Duration("took", time.Since(began)))
			err = prepare(ctx)
		}
		f.mu.Lock()
		defer f.mu.Unlock()
		f.done, f.failure = nil, err
		switch {
		case err == nil:
			f.tries, f.next = 0, time.Time{}
			f.logger.Info("Python evaluators can run", zap.Duration("took", time.Since(began)))
		case ctx.Err() == nil:
			pause := lastPause
			if doubled := firstPause << f.tries; doubled > 0 && doubled < lastPause {
				pause = doubled
			}
			f.tries++
			f.next = f.now().Add(pause)
			f.logger.Warn("the Python interpreter was not fetched", zap.Duration("next_attempt_in", pause), zap.Error(err))
		}
		close(finished)
	})
	return f.done
}

// result returns what evaluators answer for now.
func (f *fetcher) result() evaluation.Result {
	f.mu.Lock()
	defer f.mu.Unlock()
	r := evaluation.Result{Failure: Loading, Temporary: true, Skipped: true, Loading: true, Later: fetchAgain}
	if f.done == nil && f.failure != nil {
		r.Failure, r.Loading, r.Later = NotInstalled, false, max(f.next.Sub(f.now()), time.Second)
		r.Explanation = notInstalled(fmt.Sprintf("The Python interpreter could not be fetched; "+
			"the server's log says why, and it tries again in %s.", r.Later.Round(time.Second))).Error()
		return r
	}
	got, total := f.install.progress.got.Load(), f.install.progress.total.Load()
	switch {
	case total > 0 && got >= total:
		r.Explanation = "The Python interpreter, which evaluators run in, was fetched and is being compiled for this machine"
	case total > 0:
		r.Explanation = fmt.Sprintf("The Python interpreter, which evaluators run in, is being fetched: %.1f of %.1f MB",
			float64(got)/1e6, float64(total)/1e6)
	default:
		r.Explanation = "The Python interpreter, which evaluators run in, is being fetched"
	}
	r.Explanation += ". That happens once; ask again in some seconds."
	return r
}

// await has the interpreter fetched, and waits for it for a while. It returns the program if it is there
// then, or else the result of each event. What waits in a queue is not held up: it comes again.
func (e *Engine) await(ctx context.Context, queued bool) (program, *evaluation.Result, error) {
	f := e.fetcher
	done := f.start(e.ctx, e.running.Go, func(ctx context.Context) error {
		_, err := e.program(ctx)
		return err
	})
	if done != nil && !queued {
		timer := time.NewTimer(f.wait)
		defer timer.Stop()
		select {
		case <-done:
		case <-timer.C:
		case <-ctx.Done():
			return nil, nil, ctx.Err()
		}
	}
	select {
	case <-done:
		p, err := e.program(ctx)
		if missing := notInstalled(""); !errors.As(err, &missing) {
			return p, nil, err
		}
	default:
	}
	r := f.result()
	return nil, &r, nil
}
