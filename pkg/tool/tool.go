// Package tool holds tools: named definitions of functions that a model may call. It knows
// their rules and how one is written down, and does no I/O.
package tool

import (
	"encoding/json"
	"unicode/utf8"

	"github.com/spangrove/spangrove/pkg/fault"
	"github.com/spangrove/spangrove/pkg/rawjson"
)

// Bounds of a tool.
const (
	MaxName  = 200     // characters
	MaxBytes = 1 << 20 // of the whole definition
)

// Tool is one definition. ID, Created and Updated are the store's to set.
type Tool struct {
	ID          string
	Name        string          `doc:"name"`
	Type        string          `doc:"tool_type"` // function or tool
	Description *string         `doc:"description,omitzero"`
	Parameters  json.RawMessage `doc:"parameters"` // any JSON, stored as it came; mostly a JSON Schema
	Created     int64           // Unix milliseconds
	Updated     int64           // of the last change, Unix milliseconds; 0: there was none
}

var fields = rawjson.FieldsOf[Tool]()

// Complete fills in what a new tool was not given.
func (t *Tool) Complete() {
	if t.Type == "" {
		t.Type = "function"
	}
	if rawjson.Null(t.Parameters) {
		t.Parameters = json.RawMessage("{}")
	}
}

// Validate reports the first broken rule as a fault.Invalid that names the field.
func (t *Tool) Validate() error {
	switch {
	case t.Name == "":
		return fault.InvalidField("name", "is required")
	case utf8.RuneCountInString(t.Name) > MaxName:
		return fault.InvalidField("name", "must be at most %d characters", MaxName)
	case t.Type != "function" && t.Type != "tool":
		return fault.InvalidField("tool_type", "must be one of function, tool, not %.40q", t.Type)
	case len(t.Parameters) > MaxBytes:
		return fault.InvalidField("parameters", "must be at most %d bytes", MaxBytes)
	case t.Description != nil && len(*t.Description) > MaxBytes:
		return fault.InvalidField("description", "must be at most %d bytes", MaxBytes)
	}
	return nil
}

// Update changes the fields that are set.
type Update struct {
	ID          string          `doc:"id"`
	Name        *string         `doc:"name"`
	Type        *string         `doc:"tool_type"`
	Description *string         `doc:"description"`
	Parameters  json.RawMessage `doc:"parameters"`
}

var updateFields = rawjson.FieldsOf[Update]()

// Field returns a pointer to the field that callers set by a name, nil if there is none.
func (u *Update) Field(name string) any { return updateFields.Pointer(u, name) }

// Apply changes a tool by an update.
func (t *Tool) Apply(u *Update) {
	if u.Name != nil {
		t.Name = *u.Name
	}
	if u.Type != nil {
		t.Type = *u.Type
	}
	if u.Description != nil {
		t.Description = u.Description
	}
	if u.Parameters != nil {
		t.Parameters = u.Parameters
	}
}

// Doc writes down all but what the store sets.
func (t *Tool) Doc() json.RawMessage { return fields.Object(t) }

// FromDoc reads what Doc wrote.
func FromDoc(doc json.RawMessage) (t Tool) {
	fields.Read(doc, &t)
	return t
}
