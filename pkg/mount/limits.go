package mount

import (
	"context"

	"github.com/spangrove/spangrove/pkg/project"
)

// Limits tells what projects may use. The store is one.
type Limits interface {
	// ProjectLimits gives the limits of a project that are in force. It is cheap to ask again:
	// the answer is kept for a few seconds, or until this process changes a project.
	// fault.NotFound if there is no such project.
	ProjectLimits(ctx context.Context, projectID int64) (project.Bounds, error)
}
