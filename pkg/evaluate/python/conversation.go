package python

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"io"
)

// errOutput ends an interpreter that wrote too much.
var errOutput = errors.New("too much output")

// conversation is both ends of the talk with one interpreter: it reads a line, writes what the
// evaluator prints, and answers by a line that begins with the token. Read and Write are called by
// the interpreter alone, one at a time; the engine uses the two channels, and end.
//
// Each message has one reply. Both channels have room for one, so neither side waits for the other to take it: an
// interpreter that is ended leaves no goroutine behind.
//
// An evaluator that finds out the token can answer in its harness's place, but only for itself:
// that gives it nothing that returning another value would not.
type conversation struct {
	token string
	// Bytes that may be written from one line read to the next.
	max int
	// The interpreter's context, and what ends it with a cause: errOutput, or context.DeadlineExceeded.
	ctx context.Context
	end context.CancelCauseFunc

	messages chan message // to the interpreter
	replies  chan reply   // from it

	// From here on what only the interpreter's goroutine uses. rest is of a line that was read in part.
	rest    []byte
	asked   bool   // a line was read and not yet answered
	written int    // since then
	line    []byte // of standard output, not yet ended
	printed tail
}

// message is a line for the interpreter, or else a step.
type message struct {
	line []byte
	do   step
}

// step is what is done with the interpreter's state when it reads.
type step int

const (
	keep step = iota + 1 // remember it
	back                 // return to it
)

// reply is what came back for a message.
type reply struct {
	answer  []byte // JSON, if the harness wrote it
	printed string // the end of what was printed until then
	err     error  // of a step
}

// newConversation returns the talk with a new interpreter. Its first line, with the token, waits to be read.
func newConversation(ctx context.Context, end context.CancelCauseFunc, max int) *conversation {
	c := &conversation{token: rand.Text(), max: max, ctx: ctx, end: end, messages: make(chan message, 1), replies: make(chan reply, 1)}
	c.rest = object(setup{c.token}) // the first line that it reads
	return c
}

// Read returns the line that is to be read next, and waits for one. Whoever reads before they
// answered the last one finds that there is nothing: that is the evaluator itself, reading standard input. Steps are
// done here, since only while it reads is the interpreter in a state that can be kept.
func (c *conversation) Read(p []byte, s state) (int, error) {
	for len(c.rest) == 0 {
		if c.asked {
			return 0, io.EOF
		}
		select {
		case m := <-c.messages:
			switch m.do {
			case keep:
				c.replies <- reply{err: s.keep()}
			case back:
				err := s.back()
				c.replies <- reply{err: err}
				if err == nil {
					return 0, errAgain
				}
			default:
				c.rest = m.line
			}
		case <-c.ctx.Done():
			return 0, io.EOF
		}
	}
	n := copy(p, c.rest)
	c.rest = c.rest[n:]
	if len(c.rest) == 0 {
		c.asked, c.written, c.printed = true, 0, tail{}
	}
	return n, nil
}

// Write takes standard output. A line that begins with the token is the answer, if one is due; any other is printed.
func (c *conversation) Write(p []byte) (int, error) {
	if err := c.count(p); err != nil {
		return 0, err
	}
	for rest := p; len(rest) > 0; {
		line, after, ended := bytes.Cut(rest, []byte("\n"))
		rest = after
		c.line = append(c.line, line...)
		if !ended {
			break
		}
		if answer, ok := bytes.CutPrefix(c.line, []byte(c.token)); !ok {
			c.printed.add(c.line, "\n")
		} else if c.asked {
			c.asked = false
			c.replies <- reply{answer: bytes.Clone(answer), printed: c.printed.String()}
		}
		c.line = c.line[:0]
	}
	return len(p), nil
}

// count ends the interpreter if what it writes is too much. One that was ended is not heard any
// more: its sleep was cut short, and what it says then is not an answer.
func (c *conversation) count(p []byte) error {
	if c.ctx.Err() != nil {
		return context.Cause(c.ctx)
	}
	if c.written += len(p); c.written > c.max {
		c.end(errOutput)
		return errOutput
	}
	return nil
}

// errorOutput is the writer of standard error. Nothing in it is an answer.
type errorOutput struct{ *conversation }

func (c errorOutput) Write(p []byte) (int, error) {
	if err := c.count(p); err != nil {
		return 0, err
	}
	c.printed.add(p, "")
	return len(p), nil
}

// tailBytes is how much of what an evaluator printed is kept, to be shown.
const tailBytes = 2000

// tail keeps the end of what is added.
type tail struct{ b []byte }

// add adds p and then end. What is over tailBytes goes from the front.
func (t *tail) add(p []byte, end string) {
	t.b = append(append(t.b, p...), end...)
	if over := len(t.b) - tailBytes; over > 0 {
		t.b = append(t.b[:0], t.b[over:]...)
	}
}

// String returns text that is shown.
func (t *tail) String() string {
	return string(bytes.TrimSpace(bytes.ToValidUTF8(t.b, []byte("\uFFFD"))))
}
