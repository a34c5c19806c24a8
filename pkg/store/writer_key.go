package store

import (
	"bytes"
	"cmp"

	"github.com/google/uuid"
)

// idKey is an id of a project.
type idKey struct {
	project int64
	id      uuid.UUID
}

// compare returns the order in which all writers lock the rows of sessions.
func (k idKey) compare(o idKey) int {
	return cmp.Or(cmp.Compare(k.project, o.project), bytes.Compare(k.id[:], o.id[:]))
}
