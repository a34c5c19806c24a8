// Package dashboard holds dashboards: saved charts on a page of twelve columns, kept under a name for everybody in the project. It knows how
// a change applies and how a dashboard is written down, and does no I/O.
package dashboard

import (
	"encoding/json"
	"fmt"
	"slices"
	"unicode/utf8"

	"github.com/spangrove/spangrove/pkg/fault"
	"github.com/spangrove/spangrove/pkg/rawjson"
)

// Bounds of a dashboard.
const (
	MaxName        = 200     // characters
	MaxDescription = 4 << 10 // bytes
	Columns        = 12      // of the page
	MaxTiles       = 50
	MaxHeight      = 20   // rows of a tile
	MaxRow         = 1000 // the highest row that a tile may begin at
	maxID          = 100  // bytes of the id of a chart
)

// Dashboard is one. ID, Created and Updated are the store's to set.
type Dashboard struct {
	ID          string
	Name        string  `doc:"name"`
	Description *string `doc:"description,omitzero"`
	// Layout is an array of tiles, as callers gave them.
	Layout  json.RawMessage `doc:"layout"`
	Created int64           // Unix milliseconds
	Updated int64           // of the last change, Unix milliseconds; 0: there was none
}

// Tile is the place of a saved chart: its left upper corner in columns and rows from 0, and how many of them it takes.
type Tile struct {
	Chart         string
	X, Y          int
	Width, Height int
}

var fields = rawjson.FieldsOf[Dashboard]()

// Validate reports the first broken rule as a fault.Invalid that names the field.
func (d *Dashboard) Validate() error {
	switch {
	case d.Name == "":
		return fault.InvalidField("name", "is required")
	case utf8.RuneCountInString(d.Name) > MaxName:
		return fault.InvalidField("name", "must be at most %d characters", MaxName)
	case d.Description != nil && len(*d.Description) > MaxDescription:
		return fault.InvalidField("description", "must be at most %d bytes", MaxDescription)
	}
	_, err := d.Tiles()
	return err
}

// Tiles reads the layout. Its errors are fault.Invalid and name the field.
func (d *Dashboard) Tiles() ([]Tile, error) {
	if rawjson.KindOf(d.Layout) != '[' {
		return nil, fault.InvalidField("layout", "must be an array")
	}
	list := []Tile{}
	for i, raw := range rawjson.Array(d.Layout) {
		if i == MaxTiles {
			return nil, fault.InvalidField("layout", "must be at most %d tiles", MaxTiles)
		}
		t, err := readTile(raw)
		if err != nil {
			return nil, fault.In("layout", fault.In(fmt.Sprintf("[%d]", i), err))
		}
		if slices.ContainsFunc(list, func(o Tile) bool { return o.Chart == t.Chart }) {
			return nil, fault.InvalidField(fmt.Sprintf("layout[%d].chart", i), "has a place already")
		}
		list = append(list, t)
	}
	return list, nil
}

func readTile(raw json.RawMessage) (t Tile, err error) {
	if rawjson.KindOf(raw) != '{' {
		return t, fault.New(fault.Invalid, "must be an object")
	}
	text, ok := rawjson.Text(rawjson.Get(raw, "chart"))
	if !ok || text == "" || len(text) > maxID {
		return t, fault.InvalidField("chart", "must be the id of a saved chart")
	}
	t.Chart = text
	for _, n := range []struct {
		name        string
		to          *int
		least, most int
	}{{"x", &t.X, 0, Columns - 1}, {"y", &t.Y, 0, MaxRow}, {"width", &t.Width, 1, Columns}, {"height", &t.Height, 1, MaxHeight}} {
		var v *int // null is no number
		if json.Unmarshal(rawjson.Get(raw, n.name), &v) != nil || v == nil || *v < n.least || *v > n.most {
			return t, fault.InvalidField(n.name, "must be a whole number from %d to %d", n.least, n.most)
		}
		*n.to = *v
	}
	if t.X+t.Width > Columns {
		return t, fault.InvalidField("width", "reaches beyond the %d columns", Columns)
	}
	return t, nil
}

// Update changes the fields that are set. An empty description takes away what was there.
type Update struct {
	ID          string
	Name        *string
	Description *string
	Layout      json.RawMessage
}

// Apply changes a dashboard by an update. One without a layout gets an empty one.
func (d *Dashboard) Apply(u *Update) {
	if u.Name != nil {
		d.Name = *u.Name
	}
	if u.Description != nil {
		d.Description = u.Description
		if *u.Description == "" {
			d.Description = nil
		}
	}
	if u.Layout != nil {
		d.Layout = u.Layout
	}
	if d.Layout == nil {
		d.Layout = json.RawMessage("[]")
	}
}

// Doc writes down all but what the store sets, with the names that the API has for it.
func (d *Dashboard) Doc() json.RawMessage { return fields.Object(d) }

// FromDoc reads what Doc wrote.
func FromDoc(doc json.RawMessage) (d Dashboard) {
	fields.Read(doc, &d)
	return d
}
