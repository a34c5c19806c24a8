package wire

import (
	"encoding/json"

	"github.com/spangrove/spangrove/pkg/fault"
	"github.com/spangrove/spangrove/pkg/project"
	"github.com/spangrove/spangrove/pkg/rawjson"
)

// ProjectAnswer returns a project as the API shows it. What has no value is left out, but the
// description, which old clients require.
func ProjectAnswer(p *project.Project) json.RawMessage {
	var b rawjson.Builder
	b.String("id", p.PublicID)
	b.String("_id", p.PublicID)
	b.String("name", p.Name)
	b.String("description", p.Description)
	if p.Type != "" {
		b.String("type", string(p.Type))
	}
	b.String("org_id", p.OrgID)
	b.String("workspace_id", p.WorkspaceID)
	b.String("created_at", iso(p.CreatedAt))
	b.String("updated_at", iso(p.UpdatedAt))
	return b.Bytes()
}

// ProjectsAnswer returns a list of projects.
func ProjectsAnswer(list []project.Project) json.RawMessage {
	return array(list, func(p project.Project) json.RawMessage { return ProjectAnswer(&p) })
}

// DecodeProject reads the body of a project create: {"name", "description"?, "type"?}. Null is
// absent and unknown fields are ignored. Errors are fault.Invalid naming the field.
func DecodeProject(body []byte) (project.Project, error) {
	var p project.Project
	c, _, err := decodeProject(body, func(key string) bool { return key == "name" })
	if err != nil {
		return p, err
	}
	if c.Name == nil {
		return p, fault.InvalidField("name", "is required")
	}
	p.Apply(c)
	return p, p.Validate()
}

// ProjectRef says which project an update is of: by id, or by name if ID is empty.
type ProjectRef struct{ ID, Name string }

// DecodeProjectUpdate reads the body of a project update, in either of its forms:
// {"project_id", "name"?, "description"?}, where name is the new name, and
// {"name", "new_name"?, "description"?, "type"?}. Null is absent and unknown fields are
// ignored. Errors are fault.Invalid naming the field.
func DecodeProjectUpdate(body []byte) (ProjectRef, project.Change, error) {
	object, _, err := DecodeObject(body)
	if err != nil {
		return ProjectRef{}, project.Change{}, err
	}
	byID := !rawjson.Null(rawjson.Get(object, "project_id"))
	c, ref, err := decodeProject(object, func(key string) bool { return key == "new_name" || key == "name" && byID })
	if err == nil && ref.ID == "" && ref.Name == "" {
		err = fault.InvalidField("name", "is required, or project_id")
	}
	return ref, c, err
}

// decodeProject reads what a project is made of; sets says which key sets its name. The other
// ones of its names only say which project is meant: "name" is the new name in {"project_id", "name"}, and the project
// in {"name", "new_name"}.
func decodeProject(body []byte, sets func(key string) bool) (c project.Change, ref ProjectRef, err error) {
	object, _, err := DecodeObject(body)
	if err != nil {
		return c, ref, err
	}
	for key, raw := range rawjson.Object(object) {
		if rawjson.Null(raw) {
			continue
		}
		var text string
		switch key {
		case "name", "new_name", "project_id", "description", "type":
			if text, err = readText(raw); err != nil {
				return c, ref, fault.In(key, err)
			}
		}
		switch {
		case key == "project_id":
			ref.ID = text
		case key == "description":
			c.Description = &text
		case key == "type":
			typ := project.Type(text)
			c.Type = &typ
		// new_name goes before name, whichever comes first.
		case sets(key) && (c.Name == nil || key == "new_name"):
			c.Name = &text
		case key == "name":
			ref.Name = text
		}
	}
	if ref.ID != "" {
		ref.Name = ""
	}
	// Checked here too, so that the error names the field that was sent.
	if c.Name != nil {
		field := "name"
		if !rawjson.Null(rawjson.Get(object, "new_name")) && sets("new_name") {
			field = "new_name"
		}
		if err := project.CheckName(*c.Name); err != nil {
			return c, ref, fault.In(field, err)
		}
	}
	return c, ref, nil
}
