// Package comment holds what people say of an event: comments, oldest first, each with the name of who wrote it. It knows the rules of a
// comment and how it is written down, and does no I/O. The server knows no people: a name is what the caller says it is.
package comment

import (
	"encoding/json"
	"strings"
	"unicode/utf8"

	"github.com/google/uuid"

	"github.com/spangrove/spangrove/pkg/fault"
	"github.com/spangrove/spangrove/pkg/rawjson"
)

// Bounds of comments.
const (
	MaxText   = 10_000 // characters
	MaxAuthor = 200    // characters
	MaxEvent  = 1000   // comments on one event
)

// Comment is what a person says of an event. ID, EventID, Created and Updated are the store's to set.
type Comment struct {
	ID      string
	EventID uuid.UUID
	Author  string `doc:"author"`
	Text    string `doc:"text"`
	Created int64  // Unix milliseconds
	Updated int64  // of the last change of the text, Unix milliseconds; 0: there was none
}

var fields = rawjson.FieldsOf[Comment]()

// Validate reports the first broken rule as a fault.Invalid that names the field.
func (c *Comment) Validate() error {
	switch {
	case strings.TrimSpace(c.Author) == "":
		return fault.InvalidField("author", "is required")
	case utf8.RuneCountInString(c.Author) > MaxAuthor:
		return fault.InvalidField("author", "must have at most %d characters", MaxAuthor)
	}
	return CheckText(c.Text)
}

// CheckText checks the text of a comment.
func CheckText(text string) error {
	switch {
	case strings.TrimSpace(text) == "":
		return fault.InvalidField("text", "is required")
	case utf8.RuneCountInString(text) > MaxText:
		return fault.InvalidField("text", "must have at most %d characters", MaxText)
	}
	return nil
}

// Doc writes down the comment except what the store keeps in columns.
func (c *Comment) Doc() json.RawMessage { return fields.Object(c) }

// FromDoc reads what Doc wrote.
func FromDoc(doc json.RawMessage) (c Comment) {
	fields.Read(doc, &c)
	return c
}
