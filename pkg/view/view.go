// Package view holds saved views: a page of the web interface with its filters, columns and order, kept under a name for everybody in
// the project. It knows how a change applies and how a view is written down, and does no I/O. What a page's state means only the page
// knows.
package view

import (
	"encoding/json"
	"unicode/utf8"

	"github.com/spangrove/spangrove/pkg/fault"
	"github.com/spangrove/spangrove/pkg/rawjson"
)

// Bounds of a view.
const (
	MaxName  = 200      // characters
	MaxPage  = 50       // characters
	MaxState = 16 << 10 // bytes: a state is an address, no data
)

// View is one. ID, Created and Updated are the store's to set.
type View struct {
	ID      string
	Name    string          `doc:"name"`
	Page    string          `doc:"page"`  // the page that it is of, such as "sessions"
	State   json.RawMessage `doc:"state"` // an object: the parameters of the page's address
	Created int64           // Unix milliseconds
	Updated int64           // of the last change, Unix milliseconds; 0: there was none
}

var fields = rawjson.FieldsOf[View]()

// Validate reports the first broken rule as a fault.Invalid that names the field.
func (v *View) Validate() error {
	switch {
	case v.Name == "":
		return fault.InvalidField("name", "is required")
	case utf8.RuneCountInString(v.Name) > MaxName:
		return fault.InvalidField("name", "must be at most %d characters", MaxName)
	case v.Page == "":
		return fault.InvalidField("page", "is required")
	case utf8.RuneCountInString(v.Page) > MaxPage:
		return fault.InvalidField("page", "must be at most %d characters", MaxPage)
	case rawjson.KindOf(v.State) != '{':
		return fault.InvalidField("state", "must be an object")
	case len(v.State) > MaxState:
		return fault.InvalidField("state", "must be at most %d bytes", MaxState)
	}
	return nil
}

// Update changes the fields that are set.
type Update struct {
	ID    string
	Name  *string
	Page  *string
	State json.RawMessage
}

// Apply changes a view by an update. A view without a state gets an empty one.
func (v *View) Apply(u *Update) {
	if u.Name != nil {
		v.Name = *u.Name
	}
	if u.Page != nil {
		v.Page = *u.Page
	}
	if u.State != nil {
		v.State = u.State
	}
	if v.State == nil {
		v.State = json.RawMessage("{}")
	}
}

// Doc writes down all but what the store sets, with the names that the API has for it.
func (v *View) Doc() json.RawMessage { return fields.Object(v) }

// FromDoc reads what Doc wrote.
func FromDoc(doc json.RawMessage) (v View) {
	fields.Read(doc, &v)
	return v
}
