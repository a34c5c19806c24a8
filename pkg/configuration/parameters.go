package configuration

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/spangrove/spangrove/pkg/fault"
	"github.com/spangrove/spangrove/pkg/rawjson"
)

// rule says what a value must be; errors name the place inside it.
type rule func(raw json.RawMessage) error

// parameterRules are the keys of parameters that mean something; all others are kept untouched.
var parameterRules = map[string]rule{
	"call_type":          oneOf("chat", "completion"),
	"model":              text,
	"hyperparameters":    object,
	"responseFormat":     responseFormat,
	"selectedFunctions":  arrayOf(selectedFunction),
	"functionCallParams": oneOf("none", "auto", "force"),
	"forceFunction":      object,
	"template":           template,
}

var requiredParameters = []string{"call_type", "model"}

// checkParameters reports the first broken rule of parameters. call_type and model are needed.
func checkParameters(raw json.RawMessage) error {
	if err := object(raw); err != nil {
		return err
	}
	if err := need(raw, requiredParameters...); err != nil {
		return err
	}
	return members(raw, parameterRules)
}

// withoutBlanks leaves out the known keys that are null, of parameters and of their functions, and a
// response format that is empty: clients send those for what they were not given or cannot spell,
// and others refuse them in an answer. Text without such keys stays as it is.
func withoutBlanks(raw json.RawMessage) json.RawMessage {
	return rewrite(raw, func(key string, v json.RawMessage) json.RawMessage {
		switch {
		case parameterRules[key] == nil:
			return v
		case rawjson.Null(v), key == "responseFormat" && rawjson.KindOf(v) == '{' && rawjson.Empty(v):
			return nil
		case key == "selectedFunctions":
			return eachElement(v, func(function json.RawMessage) json.RawMessage {
				return rewrite(function, func(key string, v json.RawMessage) json.RawMessage {
					if functionRules[key] != nil && rawjson.Null(v) {
						return nil
					}
					return v
				})
			})
		}
		return v
	})
}

// rewrite returns an object with each member as member makes it; nil leaves it out. An object that
// does not change stays as it is, byte for byte.
func rewrite(raw json.RawMessage, member func(key string, v json.RawMessage) json.RawMessage) json.RawMessage {
	var b rawjson.Builder
	changed := false
	for key, v := range rawjson.Object(raw) {
		now := member(key, v)
		changed = changed || !bytes.Equal(now, v)
		if now != nil {
			b.Raw(key, now)
		}
	}
	switch {
	case !changed:
		return raw
	case b.Len() == 0:
		return json.RawMessage("{}")
	default:
		return b.Bytes()
	}
}

// eachElement returns an array with each element as f makes it.
func eachElement(raw json.RawMessage, f func(json.RawMessage) json.RawMessage) json.RawMessage {
	out := json.RawMessage{'['}
	changed := false
	for i, v := range rawjson.Array(raw) {
		if i > 0 {
			out = append(out, ',')
		}
		now := f(v)
		changed = changed || !bytes.Equal(now, v)
		out = append(out, now...)
	}
	if !changed {
		return raw
	}
	return append(out, ']')
}

// need returns an error if an object lacks a value for one of the keys.
func need(raw json.RawMessage, keys ...string) error {
	for _, key := range keys {
		if rawjson.Null(rawjson.Get(raw, key)) {
			return fault.InvalidField(key, "is required")
		}
	}
	return nil
}

// members checks the members of an object for which there is a rule.
func members(raw json.RawMessage, rules map[string]rule) error {
	for key, v := range rawjson.Object(raw) {
		if check := rules[key]; check != nil {
			if err := check(v); err != nil {
				return fault.In(key, err)
			}
		}
	}
	return nil
}

func object(raw json.RawMessage) error {
	if rawjson.KindOf(raw) != '{' {
		return fault.New(fault.Invalid, "must be an object")
	}
	return nil
}

func text(raw json.RawMessage) error {
	if s, ok := rawjson.Text(raw); !ok || s == "" {
		return fault.New(fault.Invalid, "must be a string that is not empty")
	}
	return nil
}

func anyText(raw json.RawMessage) error {
	if rawjson.KindOf(raw) != '"' {
		return fault.New(fault.Invalid, "must be a string")
	}
	return nil
}

func oneOf(words ...string) rule {
	return func(raw json.RawMessage) error {
		s, ok := rawjson.Text(raw)
		for _, w := range words {
			if ok && s == w {
				return nil
			}
		}
		return fault.New(fault.Invalid, "must be one of %s", strings.Join(words, ", "))
	}
}

func arrayOf(element rule) rule {
	return func(raw json.RawMessage) error {
		if rawjson.KindOf(raw) != '[' {
			return fault.New(fault.Invalid, "must be an array")
		}
		for i, v := range rawjson.Array(raw) {
			if err := element(v); err != nil {
				return fault.In(fmt.Sprintf("[%d]", i), err)
			}
		}
		return nil
	}
}

// responseFormat checks {"type"}; an older client leaves the type out.
func responseFormat(raw json.RawMessage) error {
	if err := object(raw); err != nil {
		return err
	}
	if err := need(raw, "type"); err != nil {
		return err
	}
	return members(raw, map[string]rule{"type": oneOf("text", "json_object")})
}

var functionRules = map[string]rule{"id": anyText, "name": text, "description": unlessNull(anyText), "parameters": unlessNull(object)}

// selectedFunction checks {"id", "name", "description"?, "parameters"?}.
func selectedFunction(raw json.RawMessage) error {
	if err := object(raw); err != nil {
		return err
	}
	if err := need(raw, "id", "name"); err != nil {
		return err
	}
	return members(raw, functionRules)
}

func unlessNull(check rule) rule {
	return func(raw json.RawMessage) error {
		if rawjson.Null(raw) {
			return nil
		}
		return check(raw)
	}
}

// template checks a template: a text, or messages of {"role", "content"}.
func template(raw json.RawMessage) error {
	switch rawjson.KindOf(raw) {
	case '"':
		return nil
	case '[':
		return arrayOf(templateItem)(raw)
	default:
		return fault.New(fault.Invalid, "must be a string or an array of messages")
	}
}

func templateItem(raw json.RawMessage) error {
	if err := object(raw); err != nil {
		return err
	}
	if err := need(raw, "role", "content"); err != nil {
		return err
	}
	return members(raw, map[string]rule{"role": anyText, "content": anyText})
}
