// Package configuration holds configurations: named settings for the provider of a model. It
// knows their rules, how an update changes one and how one is written down, and does no I/O.
package configuration

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"unicode/utf8"

	"github.com/spangrove/spangrove/pkg/fault"
	"github.com/spangrove/spangrove/pkg/rawjson"
)

// Bounds of a configuration.
const (
	MaxName  = 200     // characters, also of a tag
	MaxTags  = 100     // tags
	MaxBytes = 1 << 20 // of parameters, and of user_properties
)

// Environments are all there are.
var Environments = []string{"dev", "staging", "prod"}

// Configuration is one. ID, Version, Created and Updated are the store's to set.
type Configuration struct {
	ID         string
	Name       string          `doc:"name"`
	Provider   string          `doc:"provider"`
	Type       string          `doc:"type"`       // LLM or pipeline
	Parameters json.RawMessage `doc:"parameters"` // an object, see checkParameters; unknown keys stay as they came
	Env        []string        `doc:"env"`        // of Environments, to which it is deployed
	// EnvVersions has the environments that stay at a version; all others of Env get the current one.
	EnvVersions    map[string]int64 `doc:"env_versions,omitzero"`
	Tags           []string         `doc:"tags"`
	UserProperties json.RawMessage  `doc:"user_properties,omitzero"` // an object, or nil
	Version        int64            // from 1, one more with each change
	Created        int64            // Unix milliseconds
	Updated        int64            // of the last change, Unix milliseconds; 0: there was none
}

var fields = rawjson.FieldsOf[Configuration]()

// Complete fills in what a new configuration was not given.
func (c *Configuration) Complete() {
	if c.Type == "" {
		c.Type = "LLM"
	}
}

// Validate reports the first broken rule as a fault.Invalid that names the field.
func (c *Configuration) Validate() error {
	switch {
	case c.Name == "":
		return fault.InvalidField("name", "is required")
	case utf8.RuneCountInString(c.Name) > MaxName:
		return fault.InvalidField("name", "must be at most %d characters", MaxName)
	case c.Provider == "":
		return fault.InvalidField("provider", "is required")
	case utf8.RuneCountInString(c.Provider) > MaxName:
		return fault.InvalidField("provider", "must be at most %d characters", MaxName)
	case c.Type != "LLM" && c.Type != "pipeline":
		return fault.InvalidField("type", "must be one of LLM, pipeline, not %.40q", c.Type)
	case c.Parameters == nil:
		return fault.InvalidField("parameters", "is required")
	case len(c.Parameters) > MaxBytes:
		return fault.InvalidField("parameters", "must be at most %d bytes", MaxBytes)
	case len(c.UserProperties) > MaxBytes:
		return fault.InvalidField("user_properties", "must be at most %d bytes", MaxBytes)
	case len(c.Tags) > MaxTags:
		return fault.InvalidField("tags", "must be at most %d tags", MaxTags)
	}
	for i, env := range c.Env {
		if err := CheckEnvironment(env); err != nil {
			return fault.In(fmt.Sprintf("env[%d]", i), err)
		}
	}
	for _, env := range slices.Sorted(maps.Keys(c.EnvVersions)) {
		version := c.EnvVersions[env]
		switch err := CheckEnvironment(env); {
		case err != nil:
			return fault.In("env_versions", err)
		case !slices.Contains(c.Env, env):
			return fault.InvalidField("env_versions."+env, "is not in env")
		case version < 1 || version > c.Version:
			return fault.InvalidField("env_versions."+env, "there is no version %d", version)
		}
	}
	for i, tag := range c.Tags {
		if tag == "" || utf8.RuneCountInString(tag) > MaxName {
			return fault.InvalidField(fmt.Sprintf("tags[%d]", i), "must have 1 to %d characters", MaxName)
		}
	}
	return fault.In("parameters", checkParameters(c.Parameters))
}

// CheckEnvironment returns an error if env is not one of Environments.
func CheckEnvironment(env string) error {
	if !slices.Contains(Environments, env) {
		return fault.New(fault.Invalid, "must be one of dev, staging, prod, not %.40q", env)
	}
	return nil
}

// Update changes the fields that are set. Each replaces what was there, parameters as a whole.
type Update struct {
	ID         string
	Name       *string         `doc:"name"`
	Provider   *string         `doc:"provider"`
	Type       *string         `doc:"type"`
	Parameters json.RawMessage `doc:"parameters"`
	Env        []string        `doc:"env"` // nil: not set
	// EnvVersions deploys to environments beside those that there are: to each the version, which it then stays at, or with 0 the current
	// one of any time. An environment that Env takes away loses its version.
	EnvVersions    map[string]int64
	Tags           []string        `doc:"tags"` // nil: not set
	UserProperties json.RawMessage `doc:"user_properties"`
}

var updateFields = rawjson.FieldsOf[Update]()

// Field returns a pointer to the field that callers set by a name, nil if there is none.
func (u *Update) Field(name string) any { return updateFields.Pointer(u, name) }

// Apply changes a configuration by an update.
func (c *Configuration) Apply(u *Update) {
	for _, field := range []struct{ to, from *string }{{&c.Name, u.Name}, {&c.Provider, u.Provider}, {&c.Type, u.Type}} {
		if field.from != nil {
			*field.to = *field.from
		}
	}
	if p := withoutBlanks(u.Parameters); p != nil && !sameBesideSpace(p, c.Parameters) {
		c.Parameters = p
	}
	c.deploy(u)
	if u.Tags != nil {
		c.Tags = unique(u.Tags)
	}
	if p := u.UserProperties; p != nil && !sameBesideSpace(p, c.UserProperties) {
		c.UserProperties = p
	}
}

// sameBesideSpace reports whether two values are written alike but for white space between their parts, as where somebody sends back what
// a program has indented.
func sameBesideSpace(a, b json.RawMessage) bool {
	var x, y bytes.Buffer
	return json.Compact(&x, a) == nil && json.Compact(&y, b) == nil && bytes.Equal(x.Bytes(), y.Bytes())
}

// deploy changes where a configuration is deployed by an update.
func (c *Configuration) deploy(u *Update) {
	versions := maps.Clone(c.EnvVersions)
	if u.Env != nil {
		c.Env = unique(u.Env)
		maps.DeleteFunc(versions, func(env string, _ int64) bool { return !slices.Contains(c.Env, env) })
	}
	for _, env := range slices.Sorted(maps.Keys(u.EnvVersions)) {
		if u.Env == nil && !slices.Contains(c.Env, env) {
			c.Env = append(slices.Clip(c.Env), env)
		}
		if versions == nil {
			versions = make(map[string]int64)
		}
		if versions[env] = u.EnvVersions[env]; versions[env] == 0 {
			delete(versions, env)
		}
	}
	c.EnvVersions = versions
}

// SameVersion reports whether two configurations differ in where they are deployed at most, which is no part of a version.
func (c Configuration) SameVersion(other Configuration) bool {
	c.Env, c.EnvVersions = other.Env, other.EnvVersions
	return bytes.Equal(c.Doc(), other.Doc())
}

// VersionFor returns the version that the first of these environments gets to which the configuration is deployed; the
// current one if it is deployed to none.
func (c *Configuration) VersionFor(env []string) int64 {
	for _, one := range env {
		if slices.Contains(c.Env, one) {
			return cmp.Or(c.EnvVersions[one], c.Version)
		}
	}
	return c.Version
}

// Show makes a configuration what a version of it says to the program that runs it. Its name, tags and where it is deployed
// stay as they are now, since it is found by those.
func (c *Configuration) Show(version Configuration) {
	c.Version, c.Type, c.Provider = version.Version, version.Type, version.Provider
	c.Parameters, c.UserProperties = version.Parameters, version.UserProperties
}

// unique drops repetitions; a tag twice is no more than once.
func unique(list []string) []string {
	out := make([]string, 0, len(list))
	for _, s := range list {
		if !slices.Contains(out, s) {
			out = append(out, s)
		}
	}
	return out
}

// Query asks for a page of configurations.
type Query struct {
	Name  string   // exactly; "": any
	Env   []string // active in one of these; none: any
	Tags  []string // with all of these
	Limit int
	Page  int // from 1
}

// Doc writes down all but what the store sets.
func (c *Configuration) Doc() json.RawMessage { return fields.Object(c) }

// FromDoc reads what Doc wrote.
func FromDoc(doc json.RawMessage) Configuration {
	c := Configuration{Env: []string{}, Tags: []string{}}
	fields.Read(doc, &c)
	return c
}

// Labels writes the environments and tags as one text in which each can be looked for: what
// Label gives for it stands in there if and only if the configuration has it.
func (c *Configuration) Labels() string {
	labels := ""
	for _, env := range c.Env {
		labels += Label("env", env)
	}
	for _, tag := range c.Tags {
		labels += Label("tag", tag)
	}
	return labels
}

// Label returns an environment ("env") or a tag ("tag") in the form that Labels uses. Its quotes cannot be
// met inside another label, where quotes are escaped.
func Label(kind, value string) string {
	return kind + ":" + string(rawjson.AppendString(nil, value)) + "|"
}
