package writer

import (
	"bytes"
	"cmp"

	"github.com/google/uuid"
)

// Key is an id of a project.
type Key struct {
	Project int64
	ID      uuid.UUID
}

// Compare returns the order in which all writers lock the rows of sessions.
func (k Key) Compare(o Key) int {
	return cmp.Or(cmp.Compare(k.Project, o.Project), bytes.Compare(k.ID[:], o.ID[:]))
}
