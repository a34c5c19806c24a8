package wire

import (
	"encoding/hex"
	"encoding/json"

	"github.com/google/uuid"

	"github.com/spangrove/spangrove/pkg/event"
	"github.com/spangrove/spangrove/pkg/project"
	"github.com/spangrove/spangrove/pkg/query"
	"github.com/spangrove/spangrove/pkg/rawjson"
)

// AppendEvent appends e, which must be whole, as the JSON object every answer shows it as. p
// is the project it belongs to.
//
// The shape is the same in both dialects, but for what a Stream is told, such as Stream.WholeEnd. What has no value is left out and never null, since
// clients of the older dialect refuse null: parent_id on a session, error, and outputs if
// they are null. The objects are always there, {} if empty, and so is children_ids, []. JSON
// inside the fields goes out digit for digit as it is stored.
func AppendEvent(dst []byte, e *event.Event, p *project.Project) []byte {
	return AppendProjected(dst, e, p, query.Projection{})
}

// AppendProjected is AppendEvent with only the wanted fields, nested as in the event.
// event_id is always there; a wanted path that leads to nothing is left out.
func AppendProjected(dst []byte, e *event.Event, p *project.Project, want query.Projection) []byte {
	return append(appendFields(dst, e, p, want, e.Metadata), '}')
}

// appendFields is AppendProjected without the closing brace, and with the metadata given: nodes of a tree have more
// members than an event, and may have more metadata.
func appendFields(dst []byte, e *event.Event, p *project.Project, want query.Projection, metadata json.RawMessage) []byte {
	dst = append(dst, `{"event_id":`...)
	f := fieldSet{dst: appendID(dst, e.ID), want: want}
	f.id("session_id", e.SessionID)
	if e.ParentID != uuid.Nil {
		f.id("parent_id", e.ParentID)
	}
	f.text("event_type", string(e.Type))
	f.text("event_name", e.Name)
	f.text("source", e.Source)
	if e.Error != nil {
		f.text("error", *e.Error)
	}
	f.number("start_time", e.Start)
	f.number("end_time", e.End)
	f.number("duration", e.Duration)
	// Old clients call a project by its name, and the organisation tenant.
	f.text("project", p.Name)
	f.text("project_id", p.PublicID)
	f.text("org_id", p.OrgID)
	f.text("workspace_id", p.WorkspaceID)
	f.text("tenant", p.OrgID)
	f.json("children_ids", e.ChildrenIDs, "[]")
	f.json("config", e.Config, "{}")
	f.json("inputs", e.Inputs, "{}")
	if rawjson.KindOf(e.Outputs) != 'n' {
		f.json("outputs", e.Outputs, "{}")
	}
	f.json("metadata", metadata, "{}")
	f.json("metrics", e.Metrics, "{}")
	f.json("feedback", e.Feedback, "{}")
	f.json("user_properties", e.UserProperties, "{}")
	if e.PayloadExpired && f.key("payload_expired") {
		f.dst = append(f.dst, "true"...)
	}
	return f.dst
}

// fieldSet appends those members of an event that are wanted. Keys are plain words.
type fieldSet struct {
	dst  []byte
	want query.Projection
}

// key begins a member, and reports whether it is wanted; if not, no value must follow.
func (f *fieldSet) key(name string) bool {
	if !f.want.Has(name) {
		return false
	}
	f.dst = append(f.dst, `,"`...)
	f.dst = append(f.dst, name...)
	f.dst = append(f.dst, `":`...)
	return true
}

// id, text and number append a member of that kind, if it is wanted.
func (f *fieldSet) id(name string, id uuid.UUID) {
	if f.key(name) {
		f.dst = appendID(f.dst, id)
	}
}

func (f *fieldSet) text(name, value string) {
	if f.key(name) {
		f.dst = rawjson.AppendString(f.dst, value)
	}
}

func (f *fieldSet) number(name string, value float64) {
	if f.key(name) {
		f.dst = rawjson.AppendNumber(f.dst, value)
	}
}

// json appends a JSON field, or the text missing if it is absent or null. Of a field that is
// wanted in part it appends what the parts lead to, if anything.
func (f *fieldSet) json(name string, raw json.RawMessage, missing string) {
	if !f.want.Whole(name) {
		if raw = f.want.Cut(name, raw); raw == nil {
			return
		}
	} else if rawjson.Null(raw) {
		raw = json.RawMessage(missing)
	}
	if f.key(name) {
		f.dst = append(f.dst, raw...)
	}
}

// appendID appends id as a JSON string, lower case with dashes.
func appendID(dst []byte, id uuid.UUID) []byte {
	dst = append(dst, '"')
	for i, group := range [...][2]int{{0, 4}, {4, 6}, {6, 8}, {8, 10}, {10, 16}} {
		if i > 0 {
			dst = append(dst, '-')
		}
		dst = hex.AppendEncode(dst, id[group[0]:group[1]])
	}
	return append(dst, '"')
}

// AppendCreateAnswer appends the answer to an event create: {"success", "event_id"}.
func AppendCreateAnswer(dst []byte, id uuid.UUID) []byte {
	dst = append(dst, `{"success":true,"event_id":`...)
	return append(appendID(dst, id), '}')
}
