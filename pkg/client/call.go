package client

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptrace"
	"net/url"
	"sync/atomic"
	"time"
)

// Request is a call of the API as Client.Call sends it.
type Request struct {
	Method string
	Path   string // below the server's address, such as /v1/events/search; ids in it escaped
	Query  url.Values
	Body   any // nil: none; []byte and json.RawMessage go as they are, all else as JSON
	// ContentType and Accept are application/json if empty.
	ContentType, Accept string
	// Repeatable says that it does no harm to send the request again when it is not known
	// whether the server has done it.
	Repeatable bool

	// deletes takes "not found" for success when an earlier attempt may have deleted the thing.
	deletes bool
}

// ErrTooLarge is the error of an answer that is over the bound of WithMaxAnswer.
var ErrTooLarge = errors.New("the answer is larger than this client takes")

// Call sends a request that has no method of its own, with the same retries, bounds and errors
// as all methods. The answer is decoded into out, which may be nil, *[]byte or *json.RawMessage
// for its text, or anything that encoding/json decodes into; numbers in values of type any
// become json.Number.
func (c *Client) Call(ctx context.Context, r Request, out any) error {
	_, err := c.CallHeader(ctx, r, out)
	return err
}

// CallHeader is Call, and also returns the header of the answer: that of a list has in
// X-Total-Count how many items there are on all pages.
func (c *Client) CallHeader(ctx context.Context, r Request, out any) (header http.Header, err error) {
	ctx, l := c.limit(ctx)
	defer l.end()
	err = c.attempts(ctx, l, &r, func(res *http.Response) error {
		defer res.Body.Close()
		header = res.Header
		text, err := io.ReadAll(io.LimitReader(res.Body, c.maxAnswer+1))
		switch {
		case err != nil:
			return fmt.Errorf("the answer breaks off: %w", err)
		case int64(len(text)) > c.maxAnswer:
			return &final{fmt.Errorf("%w, %d bytes", ErrTooLarge, c.maxAnswer)}
		}
		if err := decode(text, out); err != nil {
			return &final{fmt.Errorf("the answer is not what this client expects: %w", err)}
		}
		return nil
	})
	return header, err
}

// stream returns an answer to be read as it comes. The time limit is over when it begins; the
// context bounds the reading, too. The caller closes the answer.
func (c *Client) stream(ctx context.Context, r Request) (io.ReadCloser, http.Header, error) {
	ctx, l := c.limit(ctx)
	var res *http.Response
	err := c.attempts(ctx, l, &r, func(answer *http.Response) error { res = answer; return nil })
	if err != nil {
		l.end()
		return nil, nil, err
	}
	l.lift()
	return &streamed{res.Body, l}, res.Header, nil
}

// streamed is an answer whose context ends when it is closed.
type streamed struct {
	io.ReadCloser
	l *callLimit
}

func (s *streamed) Close() error {
	defer s.l.end()
	return s.ReadCloser.Close()
}

// errTimeout is why a context of ours ends.
var errTimeout = fmt.Errorf("the client's time limit ran out: %w", context.DeadlineExceeded)

// callLimit is the time limit of a call, which can be lifted, unlike a context's deadline.
type callLimit struct {
	deadline time.Time // zero: none
	timer    *time.Timer
	cancel   context.CancelCauseFunc
}

func (c *Client) limit(ctx context.Context) (context.Context, *callLimit) {
	l := &callLimit{}
	l.deadline, _ = ctx.Deadline()
	ctx, l.cancel = context.WithCancelCause(ctx)
	if c.timeout > 0 {
		if end := time.Now().Add(c.timeout); l.deadline.IsZero() || end.Before(l.deadline) {
			l.deadline = end
		}
		l.timer = time.AfterFunc(c.timeout, func() { l.cancel(errTimeout) })
	}
	return ctx, l
}

func (l *callLimit) lift() {
	if l.timer != nil {
		l.timer.Stop()
	}
}

func (l *callLimit) end() {
	l.lift()
	l.cancel(nil)
}

// final is an error that no further attempt would mend.
type final struct{ error }

func (f *final) Unwrap() error { return f.error }

// attempts sends a request until take has an answer of success, or it is no use.
func (c *Client) attempts(ctx context.Context, l *callLimit, r *Request, take func(*http.Response) error) error {
	if r.Path == "" {
		return errors.New("client: the id is empty, or no id")
	}
	body, err := encode(r.Body)
	if err != nil {
		return describe(ctx, r, err)
	}
	maybeDone := false // by the server, in an earlier attempt
	for n := 0; ; n++ {
		reached, err := c.attempt(ctx, r, body, take)
		if err == nil {
			return nil
		}
		var e *Error
		if errors.As(err, &e) && e.Status == http.StatusNotFound && r.deletes && maybeDone {
			return nil
		}
		// What says so for certain: there was no connection, or a status that a server gives
		// before it begins.
		undone := !reached ||
			e != nil &&
				(e.Status == http.StatusRequestTimeout || e.Status == http.StatusTooManyRequests || e.Status == http.StatusServiceUnavailable)
		if n == c.retries.Count || !undone && !r.Repeatable || !passing(err, e) || ctx.Err() != nil {
			return describe(ctx, r, err)
		}
		maybeDone = maybeDone || !undone
		wait, ok := c.wait(n, e)
		if !ok || !l.deadline.IsZero() && time.Until(l.deadline) <= wait {
			return describe(ctx, r, err)
		}
		timer := time.NewTimer(wait)
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return describe(ctx, r, err)
		}
	}
}

// passing reports whether what went wrong may have passed at the next attempt.
func passing(err error, e *Error) bool {
	var f *final
	switch {
	case errors.As(err, &f):
		return false
	case e == nil:
		return true // the connection
	default:
		return e.Status == http.StatusRequestTimeout || e.Status == http.StatusTooManyRequests ||
			e.Status >= 500 && e.Status != http.StatusNotImplemented
	}
}

// wait returns how long to wait after attempt n, counted from 0: a random part of a bound that
// doubles, so that clients that failed together do not come back together, on top of what the
// server asked for. It is false if the server asks for more than this client waits.
func (c *Client) wait(n int, e *Error) (time.Duration, bool) {
	bound := c.retries.Base << min(n, 30)
	if bound > c.retries.Max || bound < c.retries.Base {
		bound = c.retries.Max
	}
	wait := time.Duration(0)
	if bound > 0 {
		wait = rand.N(bound)
	}
	if e == nil || e.RetryAfter == 0 {
		return wait, true
	}
	return e.RetryAfter + wait, e.RetryAfter <= c.retries.Max
}

// attempt sends the request once. reached says whether there was a connection to the server, so
// that it may have got something of the request. take gets answers of success.
func (c *Client) attempt(ctx context.Context, r *Request, body []byte, take func(*http.Response) error) (reached bool, err error) {
	var connected atomic.Bool
	ctx = httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{GotConn: func(httptrace.GotConnInfo) { connected.Store(true) }})
	target := c.server + r.Path
	if len(r.Query) > 0 {
		target += "?" + r.Query.Encode()
	}
	var reader io.Reader = http.NoBody
	if body != nil {
		reader = bytes.NewReader(body)
	}
	req, err := http.NewRequestWithContext(ctx, r.Method, target, reader)
	if err != nil {
		return false, &final{err}
	}
	if c.key != "" {
		req.Header.Set("Authorization", "Bearer "+c.key)
	}
	req.Header.Set("User-Agent", c.userAgent)
	req.Header.Set("Accept", or(r.Accept, mimeJSON))
	if body != nil {
		req.Header.Set("Content-Type", or(r.ContentType, mimeJSON))
	}
	res, err := c.http.Do(req)
	if err != nil {
		var u *url.Error
		if errors.As(err, &u) {
			err = u.Err // the rest is said by describe
		}
		return connected.Load(), err
	}
	if res.StatusCode == http.StatusOK || res.StatusCode == http.StatusCreated {
		return true, take(res)
	}
	defer res.Body.Close()
	return true, readError(res)
}

// describe returns what failed, and why the context ended if that is what stopped it.
func describe(ctx context.Context, r *Request, err error) error {
	var f *final
	if errors.As(err, &f) {
		err = f.error
	}
	switch cause := context.Cause(ctx); {
	case ctx.Err() == nil:
	case errors.Is(err, ctx.Err()) || errors.Is(err, cause):
		err = cause
	default:
		err = fmt.Errorf("%w, after: %w", cause, err)
	}
	return fmt.Errorf("%s %s: %w", r.Method, r.Path, err)
}

const mimeJSON = "application/json"

func or(s, otherwise string) string {
	if s == "" {
		return otherwise
	}
	return s
}

// encode returns the bytes of a body, or nil.
func encode(v any) ([]byte, error) {
	switch v := v.(type) {
	case nil:
		return nil, nil
	case []byte:
		return v, nil
	case json.RawMessage:
		return v, nil
	}
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return nil, fmt.Errorf("the request cannot be written as JSON: %w", err)
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), nil
}

// decode reads an answer into out, numbers in values of type any digit for digit.
func decode(text []byte, out any) error {
	switch out := out.(type) {
	case nil:
		return nil
	case *[]byte:
		*out = text
		return nil
	case *json.RawMessage:
		if !json.Valid(text) {
			return errors.New("it is not JSON")
		}
		*out = text
		return nil
	}
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	if err := d.Decode(out); err != nil {
		return err
	}
	if _, err := d.Token(); err != io.EOF {
		return errors.New("there is text after the JSON value")
	}
	return nil
}
