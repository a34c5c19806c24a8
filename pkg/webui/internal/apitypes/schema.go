package main

import (
	"fmt"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

// schema is a JSON Schema, as far as types say it.
type schema struct {
	line        int
	ref         string // name of a schema of the document
	description string
	deprecated  bool
	types       []string     // string, number, integer, boolean, null, object, array; none if any is allowed
	values      []*yaml.Node // of enum or const; scalars
	members     []member
	required    []string
	rest        *schema // of members of other names; nil if nothing is said of them
	restAny     bool    // members of other names may be anything, and that is said
	items       *schema
	all, any    []*schema // any has oneOf, too: a value that meets several is one of them all the same
}

// member is a property of an object.
type member struct {
	name   string
	schema *schema
}

// unsaid are keywords that bound or explain values, of which a type says nothing.
var unsaid = []string{
	"format", "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf", "minLength", "maxLength", "pattern", "minItems", "maxItems",
	"uniqueItems", "minProperties", "maxProperties", "propertyNames", "default", "example", "examples", "title", "readOnly", "writeOnly", "$comment",
}

// parseSchema reads a schema. What it asks of values that a type cannot say, other than a bound, is an error: the type
// would promise too little or too much.
func parseSchema(n *yaml.Node) (*schema, error) {
	n = target(n)
	s := &schema{line: n.Line}
	if n.Kind == yaml.ScalarNode && n.Tag == "!!bool" && n.Value == "true" {
		return s, nil
	}
	if n.Kind != yaml.MappingNode {
		return nil, fmt.Errorf("line %d: the schema is not an object", n.Line)
	}
	for key, value := range members(n) {
		if err := s.keyword(key, value); err != nil {
			return nil, err
		}
	}
	return s, nil
}

func (s *schema) keyword(key, value *yaml.Node) (err error) {
	switch key.Value {
	case "$ref":
		name, ok := strings.CutPrefix(value.Value, "#/components/schemas/")
		if !ok {
			return fmt.Errorf("line %d: $ref must lead to a schema below #/components/schemas/", key.Line)
		}
		s.ref = name
	case "description":
		s.description = value.Value
	case "deprecated":
		s.deprecated = value.Value == "true"
	case "type":
		s.types, err = texts(value)
	case "const":
		s.values = []*yaml.Node{value}
	case "enum":
		for _, v := range value.Content {
			s.values = append(s.values, target(v))
		}
	case "required":
		s.required, err = texts(value)
	case "properties":
		for name, v := range members(value) {
			m := member{name: name.Value}
			if m.schema, err = parseSchema(v); err != nil {
				return err
			}
			s.members = append(s.members, m)
		}
	case "additionalProperties":
		switch value.Value {
		case "true":
			s.restAny = true
		case "false":
		default:
			s.rest, err = parseSchema(value)
		}
	case "items":
		s.items, err = parseSchema(value)
	case "allOf":
		s.all, err = parseSchemas(s.all, value)
	case "anyOf", "oneOf":
		if s.any != nil {
			return fmt.Errorf("line %d: anyOf and oneOf together have no type", key.Line)
		}
		s.any, err = parseSchemas(nil, value)
	default:
		if !slices.Contains(unsaid, key.Value) && !strings.HasPrefix(key.Value, "x-") {
			return fmt.Errorf("line %d: no type says what %s asks", key.Line, key.Value)
		}
	}
	return err
}

func parseSchemas(to []*schema, list *yaml.Node) ([]*schema, error) {
	for _, n := range list.Content {
		s, err := parseSchema(n)
		if err != nil {
			return nil, err
		}
		to = append(to, s)
	}
	return to, nil
}

// texts returns a list of texts, or a single one.
func texts(n *yaml.Node) ([]string, error) {
	if n.Kind == yaml.ScalarNode {
		return []string{n.Value}, nil
	}
	var list []string
	if err := n.Decode(&list); err != nil {
		return nil, fmt.Errorf("line %d: must be a text or a list of texts", n.Line)
	}
	return list, nil
}

// bare reports whether a schema says nothing but what objects have, if that.
func (s *schema) bare() bool {
	return s.ref == "" && s.values == nil && s.any == nil && s.items == nil && s.rest == nil && !s.restAny &&
		(len(s.types) == 0 || len(s.types) == 1 && s.types[0] == "object")
}
