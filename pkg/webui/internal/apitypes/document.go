package main

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

// document is what types are made of in an OpenAPI 3.1 document.
type document struct {
	root  *yaml.Node
	named map[string]definition // schemas, answers and bodies, by the name of their type
}

// definition is a schema with a name of its own.
type definition struct {
	node *yaml.Node
	doc  string // in place of the schema's own description
	path string // of the operation; empty for a schema
}

var methods = []string{"get", "put", "post", "delete", "patch"}

// parseDocument reads a document. Schemas are looked at only when a type is made of them.
func parseDocument(raw []byte) (*document, error) {
	var file yaml.Node
	if err := yaml.Unmarshal(raw, &file); err != nil {
		return nil, err
	}
	if len(file.Content) == 0 {
		return nil, errors.New("the document is empty")
	}
	d := &document{root: file.Content[0], named: map[string]definition{}}
	for name, schema := range members(find(d.root, "components", "schemas")) {
		d.named[name.Value] = definition{node: schema}
	}
	for path, item := range members(find(d.root, "paths")) {
		for method, operation := range members(item) {
			if !slices.Contains(methods, method.Value) {
				continue
			}
			if err := d.addOperation(method.Value, shownPath(path.Value, item), operation); err != nil {
				return nil, err
			}
		}
	}
	return d, nil
}

// shownPath returns the path of an operation that begins with /v1, which pages call, or else the one it stands under.
func shownPath(path string, item *yaml.Node) string {
	paths := []string{path}
	if aliases := find(item, "x-aliases"); aliases != nil {
		for _, a := range aliases.Content {
			paths = append(paths, a.Value)
		}
	}
	if i := slices.IndexFunc(paths, func(p string) bool { return strings.HasPrefix(p, "/v1/") }); i >= 0 {
		return paths[i]
	}
	return path
}

// addOperation names the body and the answer of an operation, if they are JSON that a schema describes.
func (d *document) addOperation(method, path string, operation *yaml.Node) error {
	id := find(operation, "operationId")
	if id == nil || id.Value == "" {
		return fmt.Errorf("line %d: the operation has no operationId", operation.Line)
	}
	name := strings.ToUpper(id.Value[:1]) + id.Value[1:]
	of := strings.ToUpper(method) + " " + path
	if body := find(operation, "requestBody", "content", "application/json", "schema"); body != nil {
		if err := d.add(name+"Body", definition{body, "What " + of + " takes.", path}); err != nil {
			return err
		}
	}
	for status, answer := range members(find(operation, "responses")) {
		schema := find(answer, "content", "application/json", "schema")
		if schema == nil || !strings.HasPrefix(status.Value, "2") {
			continue
		}
		doc := "What " + of + " answers."
		if says := find(answer, "description"); says != nil {
			doc = strings.TrimSuffix(doc, ".") + ": " + says.Value
		}
		if err := d.add(name+"Answer", definition{schema, doc, path}); err != nil {
			return err
		}
	}
	return nil
}

// add names a schema. Of an operation that stands under two paths, the one of the newer dialect has the name.
func (d *document) add(name string, def definition) error {
	other, taken := d.named[name]
	switch newer := strings.HasPrefix(def.path, "/v1/"); {
	case !taken || other.path != "" && newer && !strings.HasPrefix(other.path, "/v1/"):
		d.named[name] = def
	case other.path == "" || newer == strings.HasPrefix(other.path, "/v1/"):
		return fmt.Errorf("line %d: the type would be called %s, as the one of line %d", def.node.Line, name, other.node.Line)
	}
	return nil
}

// members yields the keys and values of a mapping in their order; none if the node is absent.
func members(n *yaml.Node) func(yield func(key, value *yaml.Node) bool) {
	n = target(n)
	return func(yield func(key, value *yaml.Node) bool) {
		if n == nil || n.Kind != yaml.MappingNode {
			return
		}
		for i := 0; i+1 < len(n.Content); i += 2 {
			if !yield(n.Content[i], target(n.Content[i+1])) {
				return
			}
		}
	}
}

// find returns what stands below a node, nil if nothing does.
func find(n *yaml.Node, steps ...string) *yaml.Node {
	for _, step := range steps {
		var next *yaml.Node
		for key, value := range members(n) {
			if key.Value == step {
				next = value
			}
		}
		n = next
	}
	return n
}

// target follows an alias to the node of its anchor.
func target(n *yaml.Node) *yaml.Node {
	for n != nil && n.Kind == yaml.AliasNode {
		n = n.Alias
	}
	return n
}
