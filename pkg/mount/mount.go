// Package mount is how components of one collector meet at run time without importing each
// other: the receiver serves paths on the API extension's port, and reads a session back
// through it; the exporter and the API find the store.
package mount

import (
	"context"
	"net/http"

	"github.com/google/uuid"

	"github.com/spangrove/spangrove/pkg/event"
	"github.com/spangrove/spangrove/pkg/project"
)

// Registrar is the part of the API extension that lets another component serve paths on the
// API port. The caller of a mounted path is already authenticated when the handler runs
// (project.IdentityFrom) and its body is decompressed and bounded; the handler checks the scope.
type Registrar interface {
	// Mount serves pattern ("POST /events/batch", net/http's form) with h until Unmount. A
	// second Mount of the same pattern is an error. A path the extension knows to be a write
	// path but that nobody has mounted answers 503 with Retry-After.
	Mount(pattern string, h http.Handler) error
	// Unmount takes the pattern back; requests under way go on.
	Unmount(pattern string)
}

// SessionReader reads back what was stored, for answers that carry the whole session.
type SessionReader interface {
	// ReadSession gives the session event as stored. fault.NotFound if there is none.
	ReadSession(ctx context.Context, projectID int64, sessionID uuid.UUID) (event.Event, error)
}

// StartChecker knows when events may begin.
type StartChecker interface {
	// CheckStart returns a fault.Invalid about start_time if an event that is no span begins too
	// far from now to be stored.
	CheckStart(e *event.Event) error
}

// Projects resolves projects for components that meet a request without an identity.
type Projects interface {
	// ProjectByPublicID gives a project. fault.NotFound if there is none.
	ProjectByPublicID(ctx context.Context, publicID string) (project.Project, error)
	// DefaultProject is the first project of the store.
	DefaultProject(ctx context.Context) (project.Project, error)
}
