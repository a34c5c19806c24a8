package client

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"net/http"
	"net/url"
	"strings"
	"time"
)

// AllSessions is what Watch takes for all sessions of the project.
const AllSessions = "*"

// Kinds of a SessionChange.
const (
	ChangeSession = "session" // the session is new, was deleted, or gave events to another session or took some
	ChangeEvent   = "event"   // an event in the session was added, changed or deleted
	ChangeRefusal = "refusal" // no session changed, but a request was refused; told to those who watch all sessions
)

// SessionChange says that sessions changed, not what is different.
type SessionChange struct {
	SessionID string  `json:"session_id"` // empty: more than one session
	Touched   float64 `json:"touched"`    // when the latest change was stored, in Unix milliseconds
	Kind      string  `json:"kind"`       // ChangeSession, ChangeEvent or ChangeRefusal; later servers may have others
	// Reset says that changes may have been missed: what was read before may be out of date. The other fields are empty.
	Reset bool `json:"-"`
}

const (
	// watchSilence is how long a stream may be silent until it is taken to be lost. The server writes every 15 s.
	watchSilence = 45 * time.Second
	// watchPause is the pause before a stream that has ended is begun again.
	watchPause = time.Second
	// maxWatchLine bounds a line of a stream, in bytes.
	maxWatchLine = 64 << 10
)

// Watch tells of changes of a session, or of all sessions of the project (AllSessions), at most four times a second: changes that
// come faster are told of as one. It goes on until the caller ends it, ctx does, or the server cannot be reached any more with
// this client's retries, which is the error. The first change has Reset set, once nothing that happens later is missed; so has one
// after the stream was interrupted.
func (s *SessionService) Watch(ctx context.Context, id string) iter.Seq2[SessionChange, error] {
	return func(yield func(SessionChange, error) bool) {
		for {
			err := s.watchOnce(ctx, id, func(c SessionChange) bool { return yield(c, nil) })
			switch {
			case errors.Is(err, errWatched):
				return
			case ctx.Err() != nil:
				yield(SessionChange{}, context.Cause(ctx))
				return
			case err != nil:
				yield(SessionChange{}, err)
				return
			}
			select {
			case <-ctx.Done():
			case <-time.After(watchPause):
			}
		}
	}
}

// errWatched says that the caller wants no more.
var errWatched = errors.New("watched enough")

// watchOnce reads one stream until it ends, which is no error.
func (s *SessionService) watchOnce(ctx context.Context, id string, tell func(SessionChange) bool) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	body, _, err := s.c.stream(ctx, Request{
		Method: http.MethodGet, Path: "/v1/live", Query: url.Values{"session": {id}}, Accept: "text/event-stream", Repeatable: true,
	})
	if err != nil {
		return err
	}
	defer body.Close()
	silence := time.AfterFunc(watchSilence, cancel)
	defer silence.Stop()
	if !tell(SessionChange{Reset: true}) {
		return errWatched
	}
	lines := bufio.NewScanner(io.Reader(body))
	lines.Buffer(nil, maxWatchLine)
	kind, data := "", ""
	for lines.Scan() {
		silence.Reset(watchSilence)
		field, value, _ := strings.Cut(lines.Text(), ":")
		value = strings.TrimPrefix(value, " ")
		switch {
		case field == "event":
			kind = value
		case field == "data":
			data += value
		case lines.Text() == "":
			c := SessionChange{Reset: kind == "reset"}
			if kind == "change" {
				if err := json.Unmarshal([]byte(data), &c); err != nil {
					return fmt.Errorf("GET /v1/live: the answer is not what this client expects: %w", err)
				}
			}
			if (kind == "change" || kind == "reset") && !tell(c) {
				return errWatched
			}
			kind, data = "", ""
		}
	}
	if errors.Is(lines.Err(), bufio.ErrTooLong) {
		return fmt.Errorf("GET /v1/live: %w", lines.Err())
	}
	return nil
}
