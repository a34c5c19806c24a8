package wire

import (
	"encoding/json"

	"github.com/spangrove/spangrove/pkg/project"
	"github.com/spangrove/spangrove/pkg/rawjson"
)

// IndexAnswer returns what a project has in segments, and how far a rebuild has come.
func IndexAnswer(p *project.Project, x *project.Index) json.RawMessage {
	var b rawjson.Builder
	b.String("project_id", p.PublicID)
	b.String("name", p.Name)
	b.Bool("rebuilding", x.Rebuilding())
	b.Int("segments", x.Segments)
	b.Int("events", x.Events)
	b.Int("waiting_segments", x.WaitingSegments)
	b.Int("waiting_events", x.WaitingEvents)
	b.Int("unsealed_events", x.UnsealedEvents)
	b.Int("changed_events", x.ChangedEvents)
	b.Int("waiting_text_events", x.WaitingTextEvents)
	b.Int("bytes", x.Bytes)
	return b.Bytes()
}
