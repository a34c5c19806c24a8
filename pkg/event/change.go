package event

import (
	"context"

	"github.com/google/uuid"
)

// ChangeKind says what became of a session.
type ChangeKind string

// The kinds of changes. One message may stand for several changes; it then has the kind that comes first here.
const (
	// ChangeSession: the session is new, was deleted, or gave events to another session or took some.
	ChangeSession ChangeKind = "session"
	// ChangeEvent: an event in the session was added, changed or deleted.
	ChangeEvent ChangeKind = "event"
	// ChangeRefusal: no session changed, but a request was refused. No store tells of it.
	ChangeRefusal ChangeKind = "refusal"
)

// Change says that sessions changed, not what is different: who wants to know reads them again.
type Change struct {
	SessionID uuid.UUID // zero: more than one session, or which ones is not known
	Touched   int64     // when the latest of the changes was committed, in Unix milliseconds
	Kind      ChangeKind
	Reset     bool // changes may have been missed: whatever was read may be out of date. The other fields are empty.
}

// Watch is a subscription to the changes of one session, or of all sessions of a project. Changes that nobody has taken yet
// become one, so a slow reader costs no memory and holds nobody up.
type Watch interface {
	// Changed returns a channel that is sent to when there is something to take.
	Changed() <-chan struct{}
	// Take returns what has changed since it was called last; ok is false if nothing has. An error ends the subscription.
	Take(ctx context.Context) (c Change, ok bool, err error)
	// Close ends the subscription. It may be called again.
	Close()
}
