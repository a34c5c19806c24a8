// Package library holds ready-made metrics that a user enables by name: expressions, and prompts for
// a model as judge. Each carries examples with the score that it should give, by which a judge is
// measured before it is trusted.
package library

import (
	"embed"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"go.yaml.in/yaml/v3"

	"github.com/spangrove/spangrove/pkg/fault"
	"github.com/spangrove/spangrove/pkg/metric"
	"github.com/spangrove/spangrove/pkg/rawjson"
)

// Entry is a ready-made metric.
type Entry struct {
	// Definition is complete but for Parameters.
	Definition metric.Definition
	// Parameters are given when the metric is enabled, and become part of its criteria.
	Parameters []Parameter
	Examples   []Example
}

// Parameter is what a metric can be told when it is enabled.
type Parameter struct {
	Name        string
	Description string
	Default     json.RawMessage // nil: it must be given
}

// Example is an event with the score that a person gave it, or that an expression must compute.
type Example struct {
	Event      json.RawMessage
	Score      json.RawMessage
	Parameters json.RawMessage // those with which the score holds; nil: the defaults
}

//go:embed metrics/*.yaml
var files embed.FS

// Entries returns all entries by their names, in order.
func Entries() []*Entry { return load() }

// Find returns the entry with a name, or nil.
func Find(name string) *Entry {
	for _, e := range load() {
		if e.Definition.Name == name {
			return e
		}
	}
	return nil
}

// Define returns the definition with parameters, a JSON object or nothing. Errors are fault.Invalid and
// name the parameter.
func (e *Entry) Define(parameters json.RawMessage) (metric.Definition, error) {
	d := e.Definition
	if !rawjson.Null(parameters) && rawjson.KindOf(parameters) != '{' {
		return d, fault.New(fault.Invalid, "must be an object of the metric's parameters")
	}
	for name := range rawjson.Object(parameters) {
		if !slices.ContainsFunc(e.Parameters, func(p Parameter) bool { return p.Name == name }) {
			return d, fault.InvalidField(name, "the metric %s has no such parameter", d.Name)
		}
	}
	var let strings.Builder
	for _, p := range e.Parameters {
		value := rawjson.Get(parameters, p.Name)
		if rawjson.Null(value) {
			value = p.Default
		}
		if value == nil {
			return d, fault.InvalidField(p.Name, "is required: %s", p.Description)
		}
		fmt.Fprintf(&let, "let %s = %s;\n", p.Name, literal(value))
	}
	d.Criteria = let.String() + d.Criteria
	return d, nil
}

// literal returns a JSON value as an expression. The language knows fewer escapes in texts than JSON has,
// and no null.
func literal(value json.RawMessage) string {
	if text, ok := rawjson.Text(value); ok {
		return string(rawjson.AppendString(nil, text))
	}
	if kind := rawjson.KindOf(value); kind == '{' || kind == '[' {
		return "fromJSON(" + string(rawjson.AppendString(nil, string(value))) + ")"
	}
	return string(value)
}

// entry is an Entry as the files have it.
type entry struct {
	Name        string
	Description string
	Type        metric.Type
	ReturnType  metric.Return `yaml:"return_type"`
	Criteria    string
	GroundTruth bool `yaml:"needs_ground_truth"`
	Scale       *int
	Threshold   map[string]any
	Parameters  []struct {
		Name, Description string
		Default           yaml.Node
	}
	Examples []example
}

// example is an Example as the files have it: short names for what most events need, and any other
// fields under event.
type example struct {
	Question   *string        `yaml:"q"`
	Context    any            `yaml:"context"`
	History    [][2]string    `yaml:"history"` // of role and content
	Answer     *string        `yaml:"a"`
	Expected   any            `yaml:"expected"`
	Event      map[string]any `yaml:"event"`
	Parameters map[string]any `yaml:"parameters"`
	Score      any            `yaml:"score"`
}

// load reads the files, once. They are part of the program, and a test reads them.
var load = sync.OnceValue(func() []*Entry {
	list, err := read()
	if err != nil {
		panic("library: " + err.Error())
	}
	return list
})

func read() ([]*Entry, error) {
	var list []*Entry
	dir, err := files.ReadDir("metrics")
	if err != nil {
		return nil, err
	}
	for _, f := range dir {
		text, err := files.ReadFile("metrics/" + f.Name())
		if err != nil {
			return nil, err
		}
		var entries []entry
		d := yaml.NewDecoder(strings.NewReader(string(text)))
		d.KnownFields(true)
		if err := d.Decode(&entries); err != nil {
			return nil, fmt.Errorf("%s: %w", f.Name(), err)
		}
		for i := range entries {
			e, err := entries[i].complete()
			if err != nil {
				return nil, fmt.Errorf("%s: %s: %w", f.Name(), entries[i].Name, err)
			}
			list = append(list, e)
		}
	}
	slices.SortFunc(list, func(a, b *Entry) int { return strings.Compare(a.Definition.Name, b.Definition.Name) })
	return list, nil
}

func (e *entry) complete() (*Entry, error) {
	out := &Entry{Definition: metric.Definition{Name: e.Name, Description: e.Description, Type: e.Type, Return: e.ReturnType,
		Criteria: strings.TrimSpace(e.Criteria), NeedsGroundTruth: e.GroundTruth}}
	out.Definition.Complete(metric.DefaultSampling)
	var err error
	if out.Definition.Threshold, err = json.Marshal(e.Threshold); err != nil {
		return nil, err
	}
	if e.Scale != nil {
		out.Definition.Scale = fmt.Append(nil, *e.Scale)
	}
	for _, p := range e.Parameters {
		parameter := Parameter{Name: p.Name, Description: p.Description}
		if !p.Default.IsZero() {
			var value any
			if err := p.Default.Decode(&value); err != nil {
				return nil, err
			}
			if parameter.Default, err = json.Marshal(value); err != nil {
				return nil, err
			}
		}
		out.Parameters = append(out.Parameters, parameter)
	}
	for _, x := range e.Examples {
		done, err := x.complete()
		if err != nil {
			return nil, err
		}
		out.Examples = append(out.Examples, done)
	}
	return out, out.Definition.Validate()
}

func (x *example) complete() (out Example, err error) {
	event := maps.Clone(x.Event)
	if event == nil {
		event = map[string]any{}
	}
	put := func(field, key string, value any) {
		object, _ := event[field].(map[string]any)
		object = maps.Clone(object)
		if object == nil {
			object = map[string]any{}
		}
		object[key] = value
		event[field] = object
	}
	if x.Question != nil {
		put("inputs", "question", *x.Question)
	}
	if x.Context != nil {
		put("inputs", "context", x.Context)
	}
	if x.History != nil {
		var messages []map[string]string
		for _, m := range x.History {
			messages = append(messages, map[string]string{"role": m[0], "content": m[1]})
		}
		put("inputs", "chat_history", messages)
	}
	if x.Answer != nil {
		put("outputs", "content", *x.Answer)
	}
	if x.Expected != nil {
		put("feedback", "ground_truth", x.Expected)
	}
	if out.Event, err = json.Marshal(event); err != nil {
		return out, err
	}
	if x.Parameters != nil {
		if out.Parameters, err = json.Marshal(x.Parameters); err != nil {
			return out, err
		}
	}
	out.Score, err = json.Marshal(x.Score)
	return out, err
}
