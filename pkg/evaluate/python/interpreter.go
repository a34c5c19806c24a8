package python

import (
	"context"
	"time"
)

// interpreter is a program that runs, and the talk with it.
type interpreter struct {
	talk *conversation
	over chan struct{} // closed when it has ended
	err  error         // how; to be read after that
}

// start starts an interpreter, which lives until it is ended or the engine is.
func (e *Engine) start(p program) *interpreter {
	inside, end := context.WithCancelCause(e.ctx)
	i := &interpreter{talk: newConversation(inside, end, e.config.OutputKiB<<10), over: make(chan struct{})}
	e.running.Go(func() {
		defer close(i.over)
		i.err = p.Run(inside, guestIO{i.talk, i.talk, errorOutput{i.talk}})
	})
	return i
}

// take returns a fresh interpreter for a task, and starts the next one. To start one takes a quarter of a second, which
// the next task then need not wait for.
func (e *Engine) take(p program) *interpreter {
	e.mu.Lock()
	defer e.mu.Unlock()
	i := e.spare
	if i == nil || i.ended() {
		i = e.start(p)
	}
	e.spare = e.start(p)
	return i
}

// ask has the interpreter answer a message, as answer says. The message before must have been answered.
func (i *interpreter) ask(ctx context.Context, m message, within time.Duration) (r reply, answered bool, err error) {
	i.talk.messages <- m
	return i.answer(ctx, within)
}

// answer waits for the interpreter's answer. If there is none within a time, or the interpreter
// ends, it has ended afterwards, and answered is false. An error is ctx's.
func (i *interpreter) answer(ctx context.Context, within time.Duration) (r reply, answered bool, err error) {
	deadline := time.NewTimer(within)
	defer deadline.Stop()
	select {
	case r := <-i.talk.replies:
		return r, true, nil
	case <-i.over:
	case <-deadline.C:
		i.end(context.DeadlineExceeded)
	case <-ctx.Done():
		i.end(nil)
		return reply{}, false, ctx.Err()
	}
	select {
	case r := <-i.talk.replies: // its last words
		return r, true, nil
	default:
		return reply{}, false, nil
	}
}

// end ends the interpreter and waits for that.
func (i *interpreter) end(cause error) {
	i.talk.end(cause)
	<-i.over
}

// ended reports whether the interpreter has ended, without waiting.
func (i *interpreter) ended() bool {
	select {
	case <-i.over:
		return true
	default:
		return false
	}
}
