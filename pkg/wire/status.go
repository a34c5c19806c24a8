package wire

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/spangrove/spangrove/pkg/project"
	"github.com/spangrove/spangrove/pkg/rawjson"
	"github.com/spangrove/spangrove/pkg/status"
)

// StatusAnswer returns the status of a server.
func StatusAnswer(s *status.Status) (json.RawMessage, error) { return json.Marshal(s) }

// SpaceAnswer returns what takes the space of the database.
func SpaceAnswer(s *status.Space) (json.RawMessage, error) { return json.Marshal(s) }

// ProjectRule is a project with what was set of its rule of retention, and what applies.
type ProjectRule struct {
	Project *project.Project
	Own     project.Retention
	Rule    project.RetentionRule
}

// RetentionListAnswer returns the rules of projects.
func RetentionListAnswer(list []ProjectRule) (json.RawMessage, error) {
	var failed error
	text := func(v any) json.RawMessage {
		raw, err := json.Marshal(v)
		if err != nil {
			failed = err
		}
		return raw
	}
	var b rawjson.Builder
	b.Raw("projects", array(list, func(r ProjectRule) json.RawMessage {
		var b rawjson.Builder
		b.String("project_id", r.Project.PublicID)
		b.String("name", r.Project.Name)
		b.Raw("retention", text(r.Own))
		b.Raw("effective", text(r.Rule))
		return b.Bytes()
	}))
	return b.Bytes(), failed
}

// DiagnosisJSON returns a status for who is told of a fault: without the path of the data directory, which may have names in it. Nothing
// else in a status names anybody or has anything of an event.
func DiagnosisJSON(s *status.Status) (json.RawMessage, error) {
	out := *s
	if s.Store != nil {
		store := *s.Store
		store.Directory = ""
		out.Store = &store
	}
	raw, err := json.Marshal(&out)
	if err != nil {
		return nil, err
	}
	var b bytes.Buffer
	if err := json.Indent(&b, raw, "", "  "); err != nil {
		return nil, err
	}
	b.WriteByte('\n')
	return b.Bytes(), nil
}

// DiagnosisMarkdown returns the same with a few lines before it that say the most important.
func DiagnosisMarkdown(s *status.Status) ([]byte, error) {
	all, err := DiagnosisJSON(s)
	if err != nil {
		return nil, err
	}
	var b strings.Builder
	line := func(name, format string, args ...any) {
		fmt.Fprintf(&b, "- %s: %s\n", name, fmt.Sprintf(format, args...))
	}
	b.WriteString("## Spangrove diagnosis\n\n")
	v := &s.Server
	line("Version", "%s, %s, %s/%s", v.Version, v.GoVersion, v.OS, v.Arch)
	line("Time", "%s, up for %s", s.Time.UTC().Format(time.RFC3339), (time.Duration(v.UptimeS) * time.Second).String())
	line("Process", "%d MB, %d goroutines, GOMAXPROCS %d of %d CPUs", v.MemoryBytes>>20, v.Goroutines, v.GOMAXPROCS, v.CPUs)
	if d := s.Store; d != nil {
		line("Store", "%s %s", d.Kind, d.Version)
		if d.Disk != nil {
			line("Disk", "%d MB free of %d MB", d.Disk.FreeBytes>>20, d.Disk.TotalBytes>>20)
		}
	}
	if c := s.Contents; c != nil {
		line("Stored", "%d events in %d sessions, %d MB", c.Events, c.Sessions, c.StoredBytes>>20)
	}
	if i := s.Ingest; i != nil {
		line("Ingest", "%.2f events/s over a minute, %.2f over five, %d since the start", i.Events.PerSecond1m, i.Events.PerSecond5m, i.Events.Total)
	}
	if c := s.Commits; c != nil && c.P50MS != nil && c.P99MS != nil {
		line("Commits", "p50 %.1f ms, p99 %.1f ms", *c.P50MS, *c.P99MS)
	}
	if len(s.Problems) == 0 {
		line("Problems", "none")
	}
	for _, p := range s.Problems {
		line("Problem", "%s (%s): %s", p.Code, p.Severity, p.Message)
	}
	fmt.Fprintf(&b, "\n<details><summary>All figures</summary>\n\n```json\n%s```\n\n</details>\n", all)
	return []byte(b.String()), nil
}
