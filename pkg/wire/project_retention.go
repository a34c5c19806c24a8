package wire

import (
	"encoding/json"

	"github.com/spangrove/spangrove/pkg/fault"
	"github.com/spangrove/spangrove/pkg/project"
	"github.com/spangrove/spangrove/pkg/rawjson"
)

// DecodeRetention reads the body of a change of a project's rule of retention: an object of its members by their names. What is
// left out stays as it is, and null resets a member to the server's default. Errors, also those of the change that
// it returns, are fault.Invalid naming the field. The change is a function since the rule that it applies to is read in the
// transaction that writes it.
func DecodeRetention(body []byte) (change func(*project.Retention) error, err error) {
	object, _, err := DecodeObject(body)
	if err != nil {
		return nil, err
	}
	values := map[string]*float64{}
	var first *bool
	firstGiven := false
	for key, raw := range rawjson.Object(object) {
		if key == "payload_first" {
			firstGiven = true
			if first, err = readTruth(raw); err != nil {
				return nil, fault.In(key, err)
			}
			continue
		}
		if values[key], err = readSetting(raw); err != nil {
			return nil, fault.In(key, err)
		}
	}
	change = func(r *project.Retention) error {
		if firstGiven {
			r.PayloadFirst = first
		}
		return setAll(values, r.Set)
	}
	return change, change(&project.Retention{}) // all that can be wrong with each of them
}

// readTruth reads true or false; nil for null.
func readTruth(raw []byte) (*bool, error) {
	switch {
	case rawjson.Null(raw):
		return nil, nil
	case rawjson.KindOf(raw) != 't' && rawjson.KindOf(raw) != 'f':
		return nil, fault.New(fault.Invalid, "must be true or false")
	}
	truth := rawjson.KindOf(raw) == 't'
	return &truth, nil
}

// RemovalAnswer returns what a rule of a project would remove.
func RemovalAnswer(p *project.Project, rule *project.RetentionRule, r *project.Removal) (json.RawMessage, error) {
	all, err := json.Marshal(rule)
	if err != nil {
		return nil, err
	}
	var b rawjson.Builder
	b.String("project_id", p.PublicID)
	b.Raw("rule", all)
	var removes rawjson.Builder
	removes.Int("sessions", r.Sessions)
	removes.Int("events", r.Events)
	removes.Int("payloads", r.Payloads)
	removes.Int("bytes", r.Bytes)
	b.Raw("removes", removes.Bytes())
	return b.Bytes(), nil
}

// RetentionAnswer returns the rule of a project: what was set for it, and what applies.
func RetentionAnswer(p *project.Project, own *project.Retention, effective *project.RetentionRule) (json.RawMessage, error) {
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
	b.Raw("retention", set)
	b.Raw("effective", all)
	return b.Bytes(), nil
}
