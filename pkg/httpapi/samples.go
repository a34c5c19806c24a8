package httpapi

import (
	"net/http"

	"github.com/spangrove/spangrove/pkg/fault"
	"github.com/spangrove/spangrove/pkg/project"
	"github.com/spangrove/spangrove/pkg/rawjson"
	"github.com/spangrove/spangrove/pkg/sample"
)

// The samples are loaded by the receiver, on the way of all events.
var sampleOperations = []apiOperation{
	{"deleteSamples", http.MethodDelete, []string{"/samples"}, project.ScopeFull, (*Server).deleteSamples},
}

// deleteSamples deletes the sample sessions by their ids, and so nothing that somebody else has sent under the same source. What is
// deleted when an error ends it is gone; a repetition deletes the rest.
func (s *Server) deleteSamples(c *call) error {
	deleted := int64(0)
	for _, id := range sample.IDs() {
		switch err := s.Store.DeleteSession(c.ctx(), c.project.ID, id); {
		case err == nil:
			deleted++
		case !fault.IsNotFound(err):
			return err
		}
	}
	var b rawjson.Builder
	b.Int("deleted", deleted)
	return c.json(&b)
}
