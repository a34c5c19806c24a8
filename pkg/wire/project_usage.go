package wire

import (
	"encoding/json"
	"time"

	"github.com/spangrove/spangrove/pkg/project"
	"github.com/spangrove/spangrove/pkg/rawjson"
)

// ProjectSums are the kept sums of a project.
type ProjectSums struct {
	Project             *project.Project
	Events, StoredBytes int64
}

// UsageListAnswer returns what the database takes on disk, and the sums of projects.
func UsageListAnswer(databaseBytes int64, list []ProjectSums) json.RawMessage {
	var b rawjson.Builder
	b.Int("database_bytes", databaseBytes)
	b.Raw("projects", array(list, func(s ProjectSums) json.RawMessage {
		var b rawjson.Builder
		b.String("project_id", s.Project.PublicID)
		b.String("name", s.Project.Name)
		b.Int("events", s.Events)
		b.Int("stored_bytes", s.StoredBytes)
		return b.Bytes()
	}))
	return b.Bytes()
}

// UsageAnswer returns what takes the space of a project, in all and by day.
func UsageAnswer(p *project.Project, u *project.Usage, storedBytes int64) json.RawMessage {
	var b rawjson.Builder
	b.String("project_id", p.PublicID)
	b.String("name", p.Name)
	b.Int("stored_bytes", storedBytes)
	b.Int("sessions", u.Sessions)
	b.Int("events", u.Events)
	b.Int("head_bytes", u.HeadBytes)
	b.Int("payload_bytes", u.PayloadBytes)
	b.Int("log_bytes", u.LogBytes)
	b.Raw("days", array(u.Days, func(d project.DayUsage) json.RawMessage {
		var b rawjson.Builder
		b.String("day", time.Unix(int64(d.Day)*24*60*60, 0).UTC().Format(time.DateOnly))
		b.Int("events", d.Events)
		b.Int("head_bytes", d.HeadBytes)
		b.Int("payload_bytes", d.PayloadBytes)
		return b.Bytes()
	}))
	return b.Bytes()
}
