package live

import (
	"github.com/google/uuid"

	"github.com/spangrove/spangrove/pkg/event"
)

// maxChanges bounds the sessions that changes name, in one commit or while they wait to be sent. Past it, only projects are named.
const maxChanges = 4000

// Changes collects which sessions a transaction changes. A nil *Changes collects nothing.
type Changes struct {
	projects map[int64]map[uuid.UUID]event.ChangeKind // the zero id: any session of the project
	n        int
}

// Add records that a session changed.
func (c *Changes) Add(project int64, session uuid.UUID, kind event.ChangeKind) {
	if c == nil {
		return
	}
	if c.projects == nil {
		c.projects = map[int64]map[uuid.UUID]event.ChangeKind{}
	}
	sessions := c.projects[project]
	if sessions == nil {
		sessions = map[uuid.UUID]event.ChangeKind{}
		c.projects[project] = sessions
	}
	if c.n >= maxChanges {
		session = uuid.Nil
	}
	before, known := sessions[session]
	if !known {
		c.n++
	}
	sessions[session] = stronger(before, kind)
}

// merge adds all of d.
func (c *Changes) merge(d *Changes) {
	for project, sessions := range d.projects {
		for session, kind := range sessions {
			c.Add(project, session, kind)
		}
	}
}

// stronger returns the kind of two changes that become one.
func stronger(a, b event.ChangeKind) event.ChangeKind {
	if a == event.ChangeSession || b == event.ChangeSession {
		return event.ChangeSession
	}
	return event.ChangeEvent
}
