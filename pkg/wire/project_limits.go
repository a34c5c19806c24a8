package wire

import (
	"encoding/json"

	"github.com/spangrove/spangrove/pkg/fault"
	"github.com/spangrove/spangrove/pkg/project"
	"github.com/spangrove/spangrove/pkg/rawjson"
)

// DecodeLimits reads the body of a change of a project's limits: an object of limits by their
// names. What is left out stays as it is, and null resets a limit to the server's default.
// Errors, also those of the change that it returns, are fault.Invalid naming the field; a name that
// is no limit is one. The change is a function since the limits that it applies to are read in the transaction that
// writes them.
func DecodeLimits(body []byte) (change func(*project.Limits) error, err error) {
	object, _, err := DecodeObject(body)
	if err != nil {
		return nil, err
	}
	values := map[string]*float64{}
	for key, raw := range rawjson.Object(object) {
		if values[key], err = readSetting(raw); err != nil {
			return nil, fault.In(key, err)
		}
	}
	change = func(l *project.Limits) error { return setAll(values, l.Set) }
	return change, change(&project.Limits{}) // all that can be wrong with them
}

// readSetting reads a number; nil for null, which resets a setting to the server's default.
func readSetting(raw json.RawMessage) (*float64, error) {
	if rawjson.Null(raw) {
		return nil, nil
	}
	f, err := readDouble(raw)
	if err != nil {
		return nil, err
	}
	return &f, nil
}

// setAll calls set for each setting. Errors name it.
func setAll(values map[string]*float64, set func(name string, value *float64) error) error {
	for name, v := range values {
		if err := set(name, v); err != nil {
			return fault.In(name, err)
		}
	}
	return nil
}

// LimitsAnswer returns the limits of a project: those that were set for it, the effective ones, and
// what it uses of them.
func LimitsAnswer(p *project.Project, own *project.Limits, effective *project.Bounds, storedBytes int64) (json.RawMessage, error) {
	set, err := json.Marshal(own)
	if err != nil {
		return nil, err
	}
	all, err := json.Marshal(effective)
	if err != nil {
		return nil, err
	}
	var b rawjson.Builder
	b.String("project_id", p.PublicID)
	b.Raw("limits", set)
	b.Raw("effective", all)
	var usage rawjson.Builder
	usage.Int("stored_bytes", storedBytes)
	b.Raw("usage", usage.Bytes())
	return b.Bytes(), nil
}
