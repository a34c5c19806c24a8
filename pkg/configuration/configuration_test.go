package configuration

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const least = `{"call_type":"chat","model":"m-large"}`

func TestRules(t *testing.T) {
	t.Parallel()
	with := func(members string) string {
		return strings.TrimSuffix(least, "}") + "," + members + "}"
	}
	for _, tt := range []struct{ name, parameters, want string }{
		{"the least", least, ""},
		{"all there is", with(`"hyperparameters":{"temperature":0.50},"responseFormat":{"type":"json_object"},"functionCallParams":"force",
			"selectedFunctions":[{"id":"1","name":"f","description":"d","parameters":{}}],"forceFunction":{"name":"f"},"template":[{"role":"user","content":"hi"}]`), ""},
		{"unknown keys", with(`"mine":[1e5,null],"Model":7`), ""},
		{"nulls", with(`"hyperparameters":null,"template":null,"selectedFunctions":null`), ""},
		{"a template as text", with(`"template":"Answer {{question}}"`), ""},
		{"an empty format, as npm sends it", with(`"responseFormat":{}`), ""},
		{"a null description", with(`"selectedFunctions":[{"id":"","name":"f","description":null}]`), ""},
		{"no object", `[]`, "parameters: must be an object"},
		{"no call type", `{"model":"m"}`, "parameters.call_type: is required"},
		{"no model", `{"call_type":"chat","model":null}`, "parameters.model: is required"},
		{"an empty model", `{"call_type":"chat","model":""}`, "parameters.model: must be a string that is not empty"},
		{"another call type", `{"call_type":"talk","model":"m"}`, `parameters.call_type: must be one of chat, completion`},
		{"hyperparameters", with(`"hyperparameters":7`), "parameters.hyperparameters: must be an object"},
		{"format", with(`"responseFormat":{"type":"xml"}`), `parameters.responseFormat.type: must be one of text, json_object`},
		{"a format without a type", with(`"responseFormat":{"schema":{}}`), "parameters.responseFormat.type: is required"},
		{"a format that is none", with(`"responseFormat":[]`), "parameters.responseFormat: must be an object"},
		{"functions", with(`"selectedFunctions":{}`), "parameters.selectedFunctions: must be an array"},
		{"a function", with(`"selectedFunctions":[{"id":"1","name":"f"},null]`), "parameters.selectedFunctions[1]: must be an object"},
		{"a function without a name", with(`"selectedFunctions":[{"id":"1"}]`), "parameters.selectedFunctions[0].name: is required"},
		{"a function's parameters", with(`"selectedFunctions":[{"id":"1","name":"f","parameters":[]}]`), "parameters.selectedFunctions[0].parameters: must be an object"},
		{"calls", with(`"functionCallParams":"always"`), `parameters.functionCallParams: must be one of none, auto, force`},
		{"force", with(`"forceFunction":"f"`), "parameters.forceFunction: must be an object"},
		{"a template that is none", with(`"template":7`), "parameters.template: must be a string or an array of messages"},
		{"a message", with(`"template":[{"role":"user"}]`), "parameters.template[0].content: is required"},
		{"a message's content", with(`"template":[{"role":"user","content":[]}]`), "parameters.template[0].content: must be a string"},
	} {
		c := Configuration{Name: "n", Provider: "p"}
		c.Apply(&Update{Parameters: json.RawMessage(tt.parameters)})
		c.Complete()
		got := ""
		if err := c.Validate(); err != nil {
			got = err.Error()
		}
		if got != tt.want {
			t.Errorf("%s: %q, want %q", tt.name, got, tt.want)
		}
	}
}

func TestFields(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		change func(*Configuration)
		want   string
	}{
		{func(c *Configuration) {}, ""},
		{func(c *Configuration) { c.Name = strings.Repeat("ü", MaxName) }, ""},
		{func(c *Configuration) { c.Name = "" }, "name: is required"},
		{func(c *Configuration) { c.Name = strings.Repeat("ü", MaxName+1) }, "name: must be at most 200 characters"},
		{func(c *Configuration) { c.Provider = "" }, "provider: is required"},
		{func(c *Configuration) { c.Type = "llm" }, `type: must be one of LLM, pipeline, not "llm"`},
		{func(c *Configuration) { c.Parameters = nil }, "parameters: is required"},
		{func(c *Configuration) { c.Env = []string{"dev", "test"} }, `env[1]: must be one of dev, staging, prod, not "test"`},
		{func(c *Configuration) { c.EnvVersions = map[string]int64{"test": 1} }, `env_versions: must be one of dev, staging, prod, not "test"`},
		{func(c *Configuration) { c.Env, c.EnvVersions = []string{"dev"}, map[string]int64{"prod": 1} }, "env_versions.prod: is not in env"},
		{func(c *Configuration) { c.Env, c.EnvVersions = []string{"dev"}, map[string]int64{"dev": 1} }, "env_versions.dev: there is no version 1"},
		{func(c *Configuration) { c.Env, c.EnvVersions = []string{"dev"}, map[string]int64{"dev": -1} }, "env_versions.dev: there is no version -1"},
		{func(c *Configuration) { c.Tags = []string{"a", ""} }, "tags[1]: must have 1 to 200 characters"},
		{func(c *Configuration) { c.Tags = make([]string, MaxTags+1) }, "tags: must be at most 100 tags"},
		{func(c *Configuration) { c.UserProperties = make([]byte, MaxBytes+1) }, "user_properties: must be at most 1048576 bytes"},
	} {
		c := Configuration{Name: "n", Provider: "p", Type: "LLM", Parameters: json.RawMessage(least)}
		tt.change(&c)
		got := ""
		if err := c.Validate(); err != nil {
			got = err.Error()
		}
		if got != tt.want {
			t.Errorf("%q, want %q", got, tt.want)
		}
	}
}

func TestDocReadsBack(t *testing.T) {
	t.Parallel()
	for _, want := range []Configuration{
		{Name: "a", Provider: "p", Type: "LLM", Parameters: json.RawMessage(`{"n": 9007199254740993,"x":1.50}`), Env: []string{}, Tags: []string{}},
		{Name: `"é`, Provider: "p", Type: "pipeline", Parameters: json.RawMessage(least), Env: []string{"prod", "dev"}, Tags: []string{`a"b`, "|"}, UserProperties: json.RawMessage(`{ "who":1 }`)},
	} {
		if diff := cmp.Diff(want, FromDoc(want.Doc())); diff != "" {
			t.Errorf("(-want +got)\n%s", diff)
		}
	}
}

func TestUpdateReplacesOnlyWhatIsSet(t *testing.T) {
	t.Parallel()
	name := "new"
	c := Configuration{Name: "n", Provider: "p", Type: "LLM", Parameters: json.RawMessage(least), Env: []string{"dev"}, Tags: []string{"a"}, UserProperties: json.RawMessage(`{"a":1}`)}
	want := c
	c.Apply(&Update{})
	if diff := cmp.Diff(want, c); diff != "" {
		t.Errorf("an empty update (-want +got)\n%s", diff)
	}
	c.Apply(&Update{Name: &name, Env: []string{}, Tags: []string{"x", "y", "x"}, Parameters: json.RawMessage(`{"template":null,"k": null,"n":1.0,"selectedFunctions":[{"id":"1","name":"f"},{"id":"2","name":"g","description":null,"k":null}]}`)})
	want.Name, want.Env, want.Tags, want.Parameters = "new", []string{}, []string{"x", "y"}, json.RawMessage(`{"k":null,"n":1.0,"selectedFunctions":[{"id":"1","name":"f"},{"id":"2","name":"g","k":null}]}`)
	if diff := cmp.Diff(want, c); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

func TestIndentedIsTheSame(t *testing.T) {
	t.Parallel()
	c := Configuration{Parameters: json.RawMessage(`{"call_type":"chat","model":"a b","n":1.50}`), UserProperties: json.RawMessage(`{"u":1}`)}
	before := c
	c.Apply(&Update{Parameters: json.RawMessage("{\n  \"call_type\": \"chat\",\n  \"model\": \"a b\",\n  \"n\": 1.50\n}"), UserProperties: json.RawMessage(`{"u": 1}`)})
	if diff := cmp.Diff(before, c); diff != "" {
		t.Errorf("indented (-want +got)\n%s", diff)
	}
	c.Apply(&Update{Parameters: json.RawMessage(`{"call_type":"chat","model":"a  b","n":1.50}`)})
	if string(c.Parameters) == string(before.Parameters) {
		t.Error("a space inside a text is no difference")
	}
}

func TestDeployed(t *testing.T) {
	t.Parallel()
	type versions map[string]int64
	for _, tt := range []struct {
		name         string
		env          []string
		set, change  versions
		changeEnv    []string
		want         string
		wantVersions versions
	}{
		{"to another environment", []string{"dev"}, nil, versions{"prod": 2}, nil, "dev prod", versions{"prod": 2}},
		{"to the current one", []string{"dev"}, versions{"dev": 1}, versions{"dev": 0, "prod": 0}, nil, "dev prod", versions{}},
		{"others stay", []string{"dev", "prod"}, versions{"prod": 1}, versions{"dev": 3}, nil, "dev prod", versions{"prod": 1, "dev": 3}},
		{"not named, not changed", []string{"prod"}, versions{"prod": 1}, nil, nil, "prod", versions{"prod": 1}},
		{"taken away", []string{"dev", "prod"}, versions{"prod": 1, "dev": 2}, nil, []string{"dev"}, "dev", versions{"dev": 2}},
		{"with a version beside its environment", nil, nil, versions{"prod": 3}, []string{"prod"}, "prod", versions{"prod": 3}},
	} {
		before := Configuration{Name: "n", Provider: "p", Type: "LLM", Parameters: json.RawMessage(least), Env: tt.env, EnvVersions: tt.set, Version: 3}
		c := before
		c.Apply(&Update{Env: tt.changeEnv, EnvVersions: tt.change})
		if diff := cmp.Diff(strings.Fields(tt.want), c.Env); diff != "" {
			t.Errorf("%s: environments (-want +got)\n%s", tt.name, diff)
		}
		if diff := cmp.Diff(tt.wantVersions, versions(c.EnvVersions)); diff != "" {
			t.Errorf("%s: versions (-want +got)\n%s", tt.name, diff)
		}
		if err := c.Validate(); err != nil || !c.SameVersion(before) {
			t.Errorf("%s: %v, same version %v", tt.name, err, c.SameVersion(before))
		}
	}
}

func TestLabelsAreFoundWhereTheyAre(t *testing.T) {
	t.Parallel()
	values := []string{"a", "b", `a"`, `"a"`, `a"|tag:"b`, `tag:"b"|`, `\`, `\"`, "|", ""}
	for i, has := range values {
		c := Configuration{Env: []string{"dev"}, Tags: []string{has}}
		for j, asked := range values {
			if found := strings.Contains(c.Labels(), Label("tag", asked)); found != (i == j) {
				t.Errorf("tag %q is found in %q: %v", asked, c.Labels(), found)
			}
		}
		if strings.Contains(c.Labels(), Label("env", "prod")) || !strings.Contains(c.Labels(), Label("env", "dev")) {
			t.Errorf("environments in %q", c.Labels())
		}
	}
}
