package wire

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/google/uuid"

	"github.com/spangrove/spangrove/pkg/event"
	"github.com/spangrove/spangrove/pkg/fault"
	"github.com/spangrove/spangrove/pkg/rawjson"
)

// DecodeObject checks a body that must be one JSON object and brings it into the form that
// can be stored (rawjson.Clean); replaced counts the characters that could not. A body that
// is empty or null is {}.
func DecodeObject(body []byte) (object json.RawMessage, replaced int, err error) {
	if len(bytes.TrimSpace(bytes.TrimPrefix(body, []byte("\xef\xbb\xbf")))) == 0 {
		return json.RawMessage("{}"), 0, nil
	}
	object, replaced, err = rawjson.Clean(body)
	if err != nil {
		return nil, 0, fault.Wrap(fault.Invalid, err, "the body is %v", err)
	}
	switch rawjson.KindOf(object) {
	case '{':
		return object, replaced, nil
	case 'n':
		return json.RawMessage("{}"), replaced, nil
	default:
		return nil, 0, fault.New(fault.Invalid, "the body must be a JSON object, not %s", kindName(object))
	}
}

// ParseID reads an id as it stands in a path: a UUID with dashes or as 32 hexadecimal digits,
// in either case, but not the zero one.
func ParseID(s string) (uuid.UUID, error) {
	id, ok := parseUUID(s)
	if !ok {
		return uuid.Nil, fault.New(fault.Invalid, "%.40q is not a UUID", s)
	}
	return id, nil
}

// kindName is what raw is, for messages.
func kindName(raw []byte) string {
	switch rawjson.KindOf(raw) {
	case 0:
		return "nothing"
	case 'n':
		return "null"
	case 't', 'f':
		return "a boolean"
	case '"':
		return "a string"
	case '0':
		return "a number"
	case '[':
		return "an array"
	default:
		return "an object"
	}
}

func wrong(want string, raw []byte) error {
	return fault.New(fault.Invalid, "must be %s, not %s", want, kindName(raw))
}

func readUUID(raw json.RawMessage) (uuid.UUID, error) {
	s, ok := rawjson.Text(raw)
	if !ok {
		return uuid.Nil, wrong("a UUID", raw)
	}
	return ParseID(s)
}

func readObject(raw json.RawMessage) (json.RawMessage, error) {
	if rawjson.KindOf(raw) != '{' {
		return nil, wrong("an object", raw)
	}
	return raw, nil
}

func readText(raw json.RawMessage) (string, error) {
	s, ok := rawjson.Text(raw)
	if !ok {
		return "", wrong("a string", raw)
	}
	return s, nil
}

// readStrings checks an array of strings.
func readStrings(raw json.RawMessage) (json.RawMessage, error) {
	if rawjson.KindOf(raw) != '[' {
		return nil, wrong("an array of strings", raw)
	}
	for i, v := range rawjson.Array(raw) {
		if rawjson.KindOf(v) != '"' {
			return nil, fault.InvalidField(fmt.Sprintf("[%d]", i), "must be a string, not %s", kindName(v))
		}
	}
	return raw, nil
}

// readMillis reads a number of milliseconds from 0 to the end of the year 9999.
func readMillis(raw json.RawMessage) (*float64, error) {
	f, ok := rawjson.Number(raw)
	if !ok {
		return nil, wrong("a number", raw)
	}
	if f < 0 || f > event.MaxMillis {
		return nil, fault.New(fault.Invalid, "must be milliseconds, 0 or more and before the year 10000")
	}
	return &f, nil
}

// readBool reads a boolean, or a string that holds one.
func readBool(raw json.RawMessage) (bool, error) {
	switch rawjson.KindOf(raw) {
	case 't':
		return true, nil
	case 'f':
		return false, nil
	}
	if s, ok := rawjson.Text(raw); ok {
		switch strings.ToLower(s) {
		case "true", "1":
			return true, nil
		case "false", "0", "":
			return false, nil
		}
		return false, fault.New(fault.Invalid, "%.40q is not a boolean", s)
	}
	return false, wrong("a boolean", raw)
}
