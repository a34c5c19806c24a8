package wire

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/spangrove/spangrove/pkg/fault"
	"github.com/spangrove/spangrove/pkg/project"
	"github.com/spangrove/spangrove/pkg/query"
	"github.com/spangrove/spangrove/pkg/rawjson"
)

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
// ones of its names only say which project is meant.
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

// DecodeIngestionKey reads the body of the create of a key that may write telemetry:
// {"name", "description"?}. Unknown fields are ignored. Errors are fault.Invalid naming the field.
func DecodeIngestionKey(body []byte, now time.Time) (project.Key, error) {
	k, _, err := decodeKey(body, false)
	k.Scope = project.ScopeIngest
	if err == nil {
		err = k.Validate(now)
	}
	return k, err
}

// DecodeDataPlaneKey reads the body of the create of a key of any scope: {"name", "description"?,
// "permissions", "expires_at"}. permissions come back as they were sent. Unknown fields are
// ignored. Errors are fault.Invalid naming the field.
func DecodeDataPlaneKey(body []byte, now time.Time) (k project.Key, permissions json.RawMessage, err error) {
	k, permissions, err = decodeKey(body, true)
	switch {
	case err != nil:
		return k, nil, err
	case permissions == nil:
		return k, nil, fault.InvalidField("permissions", "is required: one of ingest, read, full, admin")
	case k.ExpiresAt.IsZero():
		return k, nil, fault.InvalidField("expires_at", "is required")
	}
	return k, permissions, k.Validate(now)
}

func decodeKey(body []byte, full bool) (k project.Key, permissions json.RawMessage, err error) {
	object, _, err := DecodeObject(body)
	if err != nil {
		return k, nil, err
	}
	for key, raw := range rawjson.Object(object) {
		if rawjson.Null(raw) {
			continue
		}
		switch {
		case key == "name":
			k.Name, err = readText(raw)
		case key == "description":
			k.Description, err = readText(raw)
		case key == "permissions" && full:
			permissions = raw
			k.Scope, err = readPermissions(raw)
		case key == "expires_at" && full:
			k.ExpiresAt, err = query.ParseInstant(raw)
		}
		if err != nil {
			return k, nil, fault.In(key, err)
		}
	}
	if k.Name == "" {
		return k, nil, fault.InvalidField("name", "is required")
	}
	return k, permissions, nil
}

func readPermissions(raw json.RawMessage) (project.Scope, error) {
	if _, err := readStrings(raw); err != nil {
		return "", err
	}
	var names []string
	for i, v := range rawjson.Array(raw) {
		if i >= maxPermissions {
			return "", fault.New(fault.Invalid, "must have at most %d elements", maxPermissions)
		}
		name, err := readText(v)
		if err != nil {
			return "", fault.In(fmt.Sprintf("[%d]", i), err)
		}
		names = append(names, name)
	}
	return project.ScopeOf(names)
}

// maxPermissions is more than there are scopes, and bounds what is echoed.
const maxPermissions = 100
