package scenario

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"go.yaml.in/yaml/v3"
)

// Document is an OpenAPI 3.1 document that answers are held against. Its schemas are JSON
// Schema of 2020-12; `x-aliases` of a path are further paths of the same operations.
type Document struct {
	root      map[string]any
	compiler  *jsonschema.Compiler
	templates []template
	schemas   map[string]*jsonschema.Schema // compiled, by pointer
}

// template is a path with parameters in braces. Those with fewer parameters come first, as
// net/http prefers them.
type template struct {
	pattern    *regexp.Regexp
	parameters int
	key        string // the path that the operations stand under
}

const documentURL = "file:///openapi.json"

var parameter = regexp.MustCompile(`\\\{\w+\\\}`)

// LoadDocument reads a document from a YAML file.
func LoadDocument(file string) (*Document, error) {
	raw, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	var loose any
	if err := yaml.Unmarshal(raw, &loose); err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	text, err := json.Marshal(loose)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	value, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	d := &Document{compiler: jsonschema.NewCompiler(), schemas: map[string]*jsonschema.Schema{}}
	d.root, _ = value.(map[string]any)
	d.compiler.DefaultDraft(jsonschema.Draft2020)
	d.compiler.AssertFormat()
	if err := d.compiler.AddResource(documentURL, value); err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	paths, _ := d.root["paths"].(map[string]any)
	for key, item := range paths {
		all := []string{key}
		operations, _ := item.(map[string]any)
		aliases, _ := operations["x-aliases"].([]any)
		for _, alias := range aliases {
			all = append(all, fmt.Sprint(alias))
		}
		for _, path := range all {
			pattern := parameter.ReplaceAllString(regexp.QuoteMeta(path), `[^/]+`)
			d.templates = append(d.templates, template{regexp.MustCompile("^" + pattern + "$"), strings.Count(path, "{"), key})
		}
	}
	slices.SortStableFunc(d.templates, func(a, b template) int { return a.parameters - b.parameters })
	return d, nil
}

// Check says what is wrong with an answer, nil if nothing is: the document must have its
// status, and its JSON body must be as the schema of that status says. Paths that the document
// does not have are not its business.
func (d *Document) Check(method, path string, answer *http.Response, body []byte) error {
	at := slices.IndexFunc(d.templates, func(t template) bool { return t.pattern.MatchString(path) })
	if at < 0 {
		return nil
	}
	steps := []string{"paths", d.templates[at].key, strings.ToLower(method)}
	if _, ok := d.find(steps...); !ok {
		return nil
	}
	steps, found := d.resolve(append(steps, "responses", strconv.Itoa(answer.StatusCode))...)
	if !found {
		return fmt.Errorf("openapi.yaml has no answer %d for %s %s", answer.StatusCode, method, d.templates[at].key)
	}
	kind, _, _ := strings.Cut(answer.Header.Get("Content-Type"), ";")
	steps = append(steps, "content", kind)
	if _, ok := d.find(steps...); !ok {
		return fmt.Errorf("openapi.yaml has no %s in the answer %d of %s %s", kind, answer.StatusCode, method, d.templates[at].key)
	}
	steps = append(steps, "schema")
	if _, ok := d.find(steps...); !ok || kind != "application/json" {
		return nil
	}
	schema, err := d.schema(steps)
	if err != nil {
		return err
	}
	value, err := jsonschema.UnmarshalJSON(bytes.NewReader(body))
	if err != nil {
		return err
	}
	return schema.Validate(value)
}

// find walks down the document.
func (d *Document) find(steps ...string) (any, bool) {
	var at any = d.root
	for _, step := range steps {
		object, ok := at.(map[string]any)
		if !ok {
			return nil, false
		}
		if at, ok = object[step]; !ok {
			return nil, false
		}
	}
	return at, true
}

// resolve returns where a thing stands, following its $ref.
func (d *Document) resolve(steps ...string) ([]string, bool) {
	at, ok := d.find(steps...)
	if !ok {
		return nil, false
	}
	object, _ := at.(map[string]any)
	if ref, ok := object["$ref"].(string); ok {
		return d.resolve(strings.Split(strings.TrimPrefix(ref, "#/"), "/")...)
	}
	return steps, true
}

// schema compiles the schema that stands at steps.
func (d *Document) schema(steps []string) (*jsonschema.Schema, error) {
	var pointer strings.Builder
	for _, step := range steps {
		step = strings.NewReplacer("~", "~0", "/", "~1").Replace(step)
		pointer.WriteString("/" + strings.NewReplacer("{", "%7B", "}", "%7D").Replace(step))
	}
	if s := d.schemas[pointer.String()]; s != nil {
		return s, nil
	}
	s, err := d.compiler.Compile(documentURL + "#" + pointer.String())
	if err != nil {
		return nil, fmt.Errorf("openapi.yaml%s: %w", pointer.String(), err)
	}
	d.schemas[pointer.String()] = s
	return s, nil
}
