package metric

import (
	"encoding/json"
	"fmt"
	"math"
	"strings"
	"unicode/utf8"

	"github.com/spangrove/spangrove/pkg/fault"
	"github.com/spangrove/spangrove/pkg/rawjson"
)

// Bounds of a metric.
const (
	MaxName       = 200     // characters
	MaxBytes      = 1 << 20 // of the whole definition
	MaxCategories = 1000
	MaxChildren   = 1000
	MaxMessage    = 10_000 // characters of a version's message
	MaxOnline     = 100    // metrics of a project that run over new events
)

// Validate reports the first broken rule as a fault.Invalid naming the field. Filters' own rules
// are package query's.
func (d *Definition) Validate() error {
	switch {
	case strings.TrimSpace(d.Name) == "":
		return fault.InvalidField("name", "is required")
	case utf8.RuneCountInString(d.Name) > MaxName:
		return fault.InvalidField("name", "must have at most %d characters", MaxName)
	case d.Type == "":
		return fault.InvalidField("type", "is required: one of %s", TypeNames())
	case strings.TrimSpace(d.Criteria) == "" && (d.Type == Python || d.Type == LLM || d.Type == Expression):
		return fault.InvalidField("criteria", "is required")
	case d.Return != Float && d.Return != Boolean && d.Return != String && d.Return != Categorical:
		return fault.InvalidField("return_type", "must be one of float, boolean, string, categorical, not %.40q", d.Return)
	}
	if f, ok := rawjson.Number(d.Sampling); !ok || f < 0 || f > 100 {
		return fault.InvalidField("sampling_percentage", "must be a number from 0 to 100")
	}
	if f, ok := rawjson.Number(d.Scale); d.Scale != nil && (!ok || f < 1 || f != math.Trunc(f) || f > 1<<53) {
		return fault.InvalidField("scale", "must be a whole number, 1 or more")
	}
	if _, err := ThresholdOf(d.Threshold); err != nil {
		return fault.In("threshold", err)
	}
	if _, err := CategoriesOf(d.Categories); err != nil {
		return fault.In("categories", err)
	}
	if _, err := ChildrenOf(d.Children); err != nil {
		return fault.In("child_metrics", err)
	}
	if rawjson.KindOf(d.Filters) != '{' {
		return fault.InvalidField("filters", "must be an object with filterArray")
	}
	if len(d.Doc()) > MaxBytes {
		return &fault.Error{Kind: fault.TooLarge, Msg: fmt.Sprintf("a metric has at most %d bytes", MaxBytes)}
	}
	return nil
}

// CheckMessage checks the message of a version.
func CheckMessage(message string) error {
	if utf8.RuneCountInString(message) > MaxMessage {
		return fault.InvalidField("message", "must have at most %d characters", MaxMessage)
	}
	return nil
}

// Category is a value that a categorical score can have, and what it counts for.
type Category struct {
	Name  string
	Score *float64 // nil: it has no number
}

// CategoriesOf reads the field categories; nothing is none. Errors name the place below it.
func CategoriesOf(raw json.RawMessage) ([]Category, error) {
	var list []Category
	err := objects(raw, MaxCategories, func(item json.RawMessage) error {
		var c Category
		var err error
		if c.Name, err = text(item, "category"); err != nil {
			return err
		}
		if c.Score, err = number(item, "score"); err != nil {
			return err
		}
		list = append(list, c)
		return nil
	})
	return list, err
}

// Child is a metric whose score a composite one is made of.
type Child struct {
	ID, Name string
	Weight   float64
	Scale    *float64 // the score's highest value; nil: scores are taken as they are
}

// ChildrenOf reads the field child_metrics; nothing is none. Errors name the place below it.
func ChildrenOf(raw json.RawMessage) ([]Child, error) {
	var list []Child
	err := objects(raw, MaxChildren, func(item json.RawMessage) error {
		var c Child
		var err error
		if c.Name, err = text(item, "name"); err != nil {
			return err
		}
		if id := rawjson.Get(item, "id"); !rawjson.Null(id) {
			if c.ID, err = text(item, "id"); err != nil {
				return err
			}
		}
		weight, err := number(item, "weight")
		switch {
		case err != nil:
			return err
		case weight == nil:
			return fault.InvalidField("weight", "is required and must be a number")
		case *weight < 0:
			return fault.InvalidField("weight", "must be 0 or more")
		}
		c.Weight = *weight
		if c.Scale, err = number(item, "scale"); err != nil {
			return err
		}
		if c.Scale != nil && *c.Scale <= 0 {
			return fault.InvalidField("scale", "must be more than 0")
		}
		list = append(list, c)
		return nil
	})
	return list, err
}

// objects reads an array of at most max objects.
func objects(raw json.RawMessage, max int, read func(json.RawMessage) error) error {
	if rawjson.Null(raw) {
		return nil
	}
	if rawjson.KindOf(raw) != '[' {
		return fault.New(fault.Invalid, "must be an array")
	}
	for i, item := range rawjson.Array(raw) {
		at := fmt.Sprintf("[%d]", i)
		if i == max {
			return fault.New(fault.Invalid, "must have at most %d elements", max)
		}
		if rawjson.KindOf(item) != '{' {
			return fault.InvalidField(at, "must be an object")
		}
		if err := read(item); err != nil {
			return fault.In(at, err)
		}
	}
	return nil
}

// text reads a member that must be a string and not empty.
func text(object json.RawMessage, key string) (string, error) {
	s, ok := rawjson.Text(rawjson.Get(object, key))
	if !ok || s == "" {
		return "", fault.InvalidField(key, "is required and must be a string")
	}
	return s, nil
}

// number reads a member that must be a number, if it is there.
func number(object json.RawMessage, key string) (*float64, error) {
	raw := rawjson.Get(object, key)
	if rawjson.Null(raw) {
		return nil, nil
	}
	f, ok := rawjson.Number(raw)
	if !ok {
		return nil, fault.InvalidField(key, "must be a number")
	}
	return &f, nil
}
