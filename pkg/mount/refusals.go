package mount

import "github.com/spangrove/spangrove/pkg/refused"

// Refusals is told of requests that were refused, for those who wonder where their data is. The API extension is one, and
// its API lists them.
type Refusals interface {
	// Refuse notes a request of the project with a public id, or of a caller whose project is not known if that is empty. It
	// keeps a bounded number of them in memory, and does no I/O.
	Refuse(projectID string, r refused.Request)
}
