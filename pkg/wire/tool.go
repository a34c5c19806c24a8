package wire

import (
	"encoding/json"

	"github.com/spangrove/spangrove/pkg/fault"
	"github.com/spangrove/spangrove/pkg/project"
	"github.com/spangrove/spangrove/pkg/rawjson"
	"github.com/spangrove/spangrove/pkg/tool"
)

// DecodeTool reads the body of a tool's creation, complete and checked. Unknown fields are
// ignored, among them the project older clients send as task.
func DecodeTool(body []byte) (tool.Tool, error) {
	u, err := decodeTool(body)
	if err != nil {
		return tool.Tool{}, err
	}
	var t tool.Tool
	t.Apply(&u)
	t.Complete()
	return t, t.Validate()
}

// DecodeToolUpdate reads the body of a tool's update, which names it in id.
func DecodeToolUpdate(body []byte) (tool.Update, error) {
	u, err := decodeTool(body)
	if err == nil && u.ID == "" {
		err = fault.InvalidField("id", "is required")
	}
	return u, err
}

// decodeTool knows both names of the type; tool_type, the one that is stored, wins over type, whatever their order.
func decodeTool(body []byte) (u tool.Update, err error) {
	var byOldName *string
	err = eachMember(body, func(key string, raw []byte) (err error) {
		switch key {
		case "parameters":
			u.Parameters = json.RawMessage(raw)
		case "type":
			err = setTextPointer(&byOldName, raw)
		default:
			err = setField(u.Field(key), raw)
		}
		return err
	})
	if u.Type == nil {
		u.Type = byOldName
	}
	return u, err
}

// AppendTool appends a tool as answers show it. Clients of V0 need parameters to be an object:
// anything else is put into one under "value". task is the project's name, as older clients know it.
func AppendTool(dst []byte, t *tool.Tool, p *project.Project, dialect Dialect) []byte {
	b := itemOf(t.ID, dialect)
	b.String("task", p.Name)
	b.String("name", t.Name)
	if t.Description != nil {
		b.String("description", *t.Description)
	}
	parameters := t.Parameters
	if dialect == V0 && rawjson.KindOf(parameters) != '{' {
		var inner rawjson.Builder
		inner.Raw("value", parameters)
		parameters = inner.Bytes()
	}
	b.Raw("parameters", parameters)
	b.String("tool_type", t.Type)
	addTimes(b, t.Created, t.Updated, dialect)
	return append(dst, b.Bytes()...)
}
