package wire

import (
	"encoding/json"

	"github.com/spangrove/spangrove/pkg/configuration"
	"github.com/spangrove/spangrove/pkg/fault"
	"github.com/spangrove/spangrove/pkg/project"
	"github.com/spangrove/spangrove/pkg/rawjson"
)

// DecodeConfiguration reads the body of a configuration's creation, complete and checked. Unknown
// fields are ignored, among them the project older clients send; unknown keys of parameters stay.
func DecodeConfiguration(body []byte) (configuration.Configuration, error) {
	u, err := DecodeConfigurationUpdate(body, "")
	if err != nil {
		return configuration.Configuration{}, err
	}
	c := configuration.Configuration{Env: []string{}, Tags: []string{}}
	c.Apply(&u)
	c.Complete()
	return c, c.Validate()
}

// DecodeConfigurationUpdate reads the body of an update of the configuration with an id.
func DecodeConfigurationUpdate(body []byte, id string) (configuration.Update, error) {
	u := configuration.Update{ID: id}
	err := eachMember(body, func(key string, raw []byte) (err error) {
		switch key {
		case "parameters":
			if len(raw) > configuration.MaxBytes {
				return fault.New(fault.Invalid, "must be at most %d bytes", configuration.MaxBytes)
			}
			u.Parameters, err = readObject(raw)
		case "env":
			u.Env, err = readTexts(raw, len(configuration.Environments)*2)
		case "env_versions":
			u.EnvVersions, err = readEnvVersions(raw)
		case "tags":
			u.Tags, err = readTexts(raw, configuration.MaxTags)
		case "user_properties":
			u.UserProperties, err = readObject(raw)
		default:
			err = setField(u.Field(key), raw)
		}
		return err
	})
	return u, err
}

// readEnvVersions reads versions by environments; 0 or null is the current one.
func readEnvVersions(raw json.RawMessage) (map[string]int64, error) {
	if _, err := readObject(raw); err != nil {
		return nil, err
	}
	versions := make(map[string]int64)
	for env, v := range rawjson.Object(raw) {
		if err := configuration.CheckEnvironment(env); err != nil {
			return nil, err
		}
		versions[env] = 0
		if rawjson.Null(v) {
			continue
		}
		n, err := readWhole(v)
		if err != nil {
			return nil, fault.In(env, err)
		}
		versions[env] = n
	}
	return versions, nil
}

// AppendConfiguration appends a configuration as answers show it. V0 has the project's name, and no member for
// user_properties that are absent.
func AppendConfiguration(dst []byte, c *configuration.Configuration, p *project.Project, dialect Dialect) []byte {
	b := itemOf(c.ID, dialect)
	if dialect == V0 {
		b.String("project", p.Name)
	}
	b.String("name", c.Name)
	b.String("type", c.Type)
	b.String("provider", c.Provider)
	b.Raw("parameters", c.Parameters)
	b.Raw("env", rawjson.AppendStrings(nil, c.Env))
	b.Raw("env_versions", rawjson.AppendIntegers(nil, c.EnvVersions))
	b.Raw("tags", rawjson.AppendStrings(nil, c.Tags))
	switch {
	case c.UserProperties != nil:
		b.Raw("user_properties", c.UserProperties)
	case dialect == V1:
		b.Raw("user_properties", json.RawMessage("null"))
	}
	b.Int("version", c.Version)
	addTimes(b, c.Created, c.Updated, dialect)
	return append(dst, b.Bytes()...)
}

// AppendVersion appends one entry of a list of versions: its number and since when it was the current one.
func AppendVersion(dst []byte, version, since int64) []byte {
	var b rawjson.Builder
	b.Int("version", version)
	b.String("created_at", isoTime(since))
	return append(dst, b.Bytes()...)
}
