// Package project holds projects, API keys and their scopes: who asks, and what the key allows.
package project

import (
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/spangrove/spangrove/pkg/fault"
)

// Project is a separate space of sessions, events and everything else. ID is the store's own
// small number; PublicID, OrgID and WorkspaceID are what answers carry. All projects of a
// server are of one organisation.
type Project struct {
	ID          int64
	PublicID    string
	OrgID       string
	WorkspaceID string
	Name        string // unique among the projects of a server
	Description string
	Type        Type
	CreatedAt   time.Time
	UpdatedAt   time.Time // CreatedAt, until something changes
	Limits      Limits    // its own; the server's hold where it has none
}

// Type says what a project is for. It changes nothing here; clients show it.
type Type string

// The types. The zero value is a project whose maker did not say.
const (
	TypeEvaluation Type = "evaluation"
	TypeCompletion Type = "completion"
)

// Bounds of a project's texts, in characters.
const (
	MaxName        = 200
	MaxDescription = 10_000
)

// Change is what an update of a project sets; nil leaves a field as it is.
type Change struct {
	Name        *string
	Description *string
	Type        *Type
}

// Apply sets what c names.
func (p *Project) Apply(c Change) {
	if c.Name != nil {
		p.Name = *c.Name
	}
	if c.Description != nil {
		p.Description = *c.Description
	}
	if c.Type != nil {
		p.Type = *c.Type
	}
}

// Validate reports the first broken rule as a fault.Invalid naming the field.
func (p *Project) Validate() error {
	if err := CheckName(p.Name); err != nil {
		return fault.In("name", err)
	}
	if utf8.RuneCountInString(p.Description) > MaxDescription {
		return fault.InvalidField("description", "must have at most %d characters", MaxDescription)
	}
	switch p.Type {
	case "", TypeEvaluation, TypeCompletion:
		return nil
	default:
		return fault.InvalidField("type", "must be one of %s, %s", TypeEvaluation, TypeCompletion)
	}
}

// CheckName checks the name of a project or of a key.
func CheckName(name string) error {
	switch {
	case strings.TrimSpace(name) == "":
		return fault.New(fault.Invalid, "must not be empty")
	case utf8.RuneCountInString(name) > MaxName:
		return fault.New(fault.Invalid, "must have at most %d characters", MaxName)
	case strings.IndexFunc(name, unicode.IsControl) >= 0:
		return fault.New(fault.Invalid, "must not hold control characters")
	}
	return nil
}
