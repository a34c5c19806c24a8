package wire

import (
	"encoding/hex"
	"encoding/json"

	"github.com/google/uuid"

	"github.com/spangrove/spangrove/pkg/event"
	"github.com/spangrove/spangrove/pkg/project"
	"github.com/spangrove/spangrove/pkg/rawjson"
)

// AppendEvent appends e, which must be whole, as the JSON object every answer shows it as. p
// is the project it belongs to.
//
// The shape is the same in both dialects. What has no value is left out and never null, since
// clients of the older dialect refuse null: parent_id on a session, error, and outputs if
// they are null. The objects are always there, {} if empty, and so is children_ids, []. JSON
// inside the fields goes out digit for digit as it is stored.
func AppendEvent(dst []byte, e *event.Event, p *project.Project) []byte {
	return append(appendFields(dst, e, p, e.Metadata), '}')
}

// appendFields is AppendEvent without the closing brace, and with the metadata given.
func appendFields(dst []byte, e *event.Event, p *project.Project, metadata json.RawMessage) []byte {
	dst = append(dst, `{"event_id":`...)
	dst = appendID(dst, e.ID)
	dst = append(dst, `,"session_id":`...)
	dst = appendID(dst, e.SessionID)
	if e.ParentID != uuid.Nil {
		dst = append(dst, `,"parent_id":`...)
		dst = appendID(dst, e.ParentID)
	}
	dst = append(dst, `,"event_type":"`...)
	dst = append(dst, e.Type...) // one of five plain words
	dst = append(dst, `","event_name":`...)
	dst = rawjson.AppendString(dst, e.Name)
	dst = append(dst, `,"source":`...)
	dst = rawjson.AppendString(dst, e.Source)
	if e.Error != nil {
		dst = append(dst, `,"error":`...)
		dst = rawjson.AppendString(dst, *e.Error)
	}
	dst = append(dst, `,"start_time":`...)
	dst = rawjson.AppendNumber(dst, e.Start)
	dst = append(dst, `,"end_time":`...)
	dst = rawjson.AppendNumber(dst, e.End)
	dst = append(dst, `,"duration":`...)
	dst = rawjson.AppendNumber(dst, e.Duration)
	dst = appendProject(dst, p)
	dst = appendOr(dst, `,"children_ids":`, e.ChildrenIDs, `[]`)
	dst = appendOr(dst, `,"config":`, e.Config, `{}`)
	dst = appendOr(dst, `,"inputs":`, e.Inputs, `{}`)
	if rawjson.KindOf(e.Outputs) != 'n' {
		dst = appendOr(dst, `,"outputs":`, e.Outputs, `{}`)
	}
	dst = appendOr(dst, `,"metadata":`, metadata, `{}`)
	dst = appendOr(dst, `,"metrics":`, e.Metrics, `{}`)
	dst = appendOr(dst, `,"feedback":`, e.Feedback, `{}`)
	return appendOr(dst, `,"user_properties":`, e.UserProperties, `{}`)
}

// appendProject appends the members that say whose the event is. project, the name, is what
// old clients call it by; tenant is the organisation under its old name.
func appendProject(dst []byte, p *project.Project) []byte {
	dst = append(dst, `,"project":`...)
	dst = rawjson.AppendString(dst, p.Name)
	dst = append(dst, `,"project_id":`...)
	dst = rawjson.AppendString(dst, p.PublicID)
	dst = append(dst, `,"org_id":`...)
	dst = rawjson.AppendString(dst, p.OrgID)
	dst = append(dst, `,"workspace_id":`...)
	dst = rawjson.AppendString(dst, p.WorkspaceID)
	dst = append(dst, `,"tenant":`...)
	return rawjson.AppendString(dst, p.OrgID)
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

// appendOr appends a member, with the default if raw is absent or null.
func appendOr(dst []byte, key string, raw json.RawMessage, def string) []byte {
	dst = append(dst, key...)
	if rawjson.Null(raw) {
		return append(dst, def...)
	}
	return append(dst, raw...)
}
