package wire

import (
	"bytes"
	"encoding/json"
	"fmt"
	"iter"
	"math"
	"slices"
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

// kindName returns what raw is, for messages: "a string". It names the kind only, and no value, which may be a secret.
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

// wrong returns the error of a value of the wrong kind: "must be an object, not a string".
func wrong(want string, raw []byte) error {
	return fault.New(fault.Invalid, "must be %s, not %s", want, kindName(raw))
}

// The functions read… check a value of a body and return it; those set… put it where it belongs. Errors are fault.Invalid
// without a field, which the caller adds (eachMember). Values are never converted from another kind but where it says so.
func readUUID(raw json.RawMessage) (uuid.UUID, error) {
	s, ok := rawjson.Text(raw)
	if !ok {
		return uuid.Nil, wrong("a UUID", raw)
	}
	return ParseID(s)
}

// readObject checks an object.
func readObject(raw json.RawMessage) (json.RawMessage, error) {
	if rawjson.KindOf(raw) != '{' {
		return nil, wrong("an object", raw)
	}
	return raw, nil
}

// readText reads a string.
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

// readBool reads a boolean, or a string that holds one: true and 1, false, 0 and "", in either case.
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

// PathText returns an id as it stands in a path, with what no store can hold replaced; such an id is
// nobody's.
func PathText(s string) string {
	s, _ = rawjson.ValidText(s)
	return s
}

// readTexts reads an array of strings, at most max of them.
func readTexts(raw []byte, max int) ([]string, error) {
	if rawjson.KindOf(raw) != '[' {
		return nil, wrong("an array of strings", raw)
	}
	n := 0
	for i, v := range rawjson.Array(raw) {
		switch {
		case rawjson.KindOf(v) != '"':
			return nil, fault.InvalidField(indexed("", i), "must be a string, not %s", kindName(v))
		case i == max:
			return nil, fault.New(fault.Invalid, "must have at most %d elements", max)
		}
		n++
	}
	list := make([]string, 0, n)
	for _, v := range rawjson.Array(raw) {
		text, _ := rawjson.Text(v)
		list = append(list, text)
	}
	return list, nil
}

// eachMember hands the members of a request's object to read, null ones left out, since clients
// send null for what they were not given. Errors get the member's name before their field.
func eachMember(body []byte, read func(key string, raw []byte) error) error {
	object, _, err := DecodeObject(body)
	if err != nil {
		return err
	}
	return eachOf(object, read)
}

// eachOf is eachMember for an object that was checked before. It ends at the first error.
func eachOf(object []byte, read func(key string, raw []byte) error) error {
	for key, raw := range rawjson.Object(object) {
		if rawjson.Null(raw) {
			continue
		}
		if err := read(key, raw); err != nil {
			return fault.In(key, err)
		}
	}
	return nil
}

// setField sets a text or flag that callers may set by its name; nil is a name that nobody knows, which is ignored.
func setField(field any, raw []byte) (err error) {
	switch to := field.(type) {
	case **string:
		err = setTextPointer(to, raw)
	case *string:
		*to, err = readText(raw)
	case **bool:
		err = setBoolPointer(to, raw)
	}
	return err
}

// addFields adds a resource's fields to an answer; in V1 the nullable ones are null if they are absent.
func addFields(b *rawjson.Builder, fields iter.Seq2[string, json.RawMessage], dialect Dialect, nullable ...string) {
	for name, value := range fields {
		addField(b, name, value, dialect == V1 && slices.Contains(nullable, name))
	}
}

// addField adds a field, as null if it is absent and may be null.
func addField(b *rawjson.Builder, name string, value json.RawMessage, null bool) {
	switch {
	case value != nil:
		b.Raw(name, value)
	case null:
		b.Raw(name, json.RawMessage("null"))
	}
}

// setTextPointer sets an optional text.
func setTextPointer(to **string, raw []byte) error {
	s, err := readText(raw)
	if err != nil {
		return err
	}
	*to = &s
	return nil
}

// setBoolPointer sets an optional flag.
func setBoolPointer(to **bool, raw []byte) error {
	v, err := readBool(raw)
	if err != nil {
		return err
	}
	*to = &v
	return nil
}

// readNumber reads a number, which may stand in a string.
func readNumber(raw json.RawMessage) (json.RawMessage, error) {
	if text, ok := rawjson.Text(raw); ok {
		raw, _, _ = rawjson.Clean([]byte(text))
	}
	if _, ok := rawjson.Number(raw); !ok {
		return nil, fault.New(fault.Invalid, "must be a number")
	}
	return raw, nil
}

// readArray checks an array.
func readArray(raw json.RawMessage) (json.RawMessage, error) {
	if rawjson.KindOf(raw) != '[' {
		return nil, wrong("an array", raw)
	}
	return raw, nil
}

// readKind checks a value of any kind, which an error calls what.
func readKind(raw []byte, kind rawjson.Kind, what string) (json.RawMessage, error) {
	if rawjson.KindOf(raw) != kind {
		return nil, wrong(what, raw)
	}
	return raw, nil
}

// readWhole reads a whole number that fits 32 bits.
func readWhole(raw json.RawMessage) (int64, error) {
	f, ok := rawjson.Number(raw)
	if !ok || f != math.Trunc(f) || math.Abs(f) > math.MaxInt32 {
		return 0, fault.New(fault.Invalid, "must be a whole number")
	}
	return int64(f), nil
}

// readDouble reads a number as a double.
func readDouble(raw []byte) (float64, error) {
	f, ok := rawjson.Number(raw)
	if !ok {
		return 0, wrong("a number", raw)
	}
	return f, nil
}

// readEventIDs reads an array of ids, at most max of them.
func readEventIDs(raw json.RawMessage, max int) ([]uuid.UUID, error) {
	texts, err := readTexts(raw, max)
	if err != nil {
		return nil, err
	}
	ids := make([]uuid.UUID, len(texts))
	for i, text := range texts {
		if ids[i], err = ParseID(text); err != nil {
			return nil, fault.In(indexed("", i), err)
		}
	}
	return ids, nil
}

// uniqueIDs returns ids without repeats, in the order in which each came first.
func uniqueIDs(ids []uuid.UUID) (out []uuid.UUID) {
	seen := make(map[uuid.UUID]bool, len(ids))
	for _, id := range ids {
		if !seen[id] {
			seen[id] = true
			out = append(out, id)
		}
	}
	return out
}
