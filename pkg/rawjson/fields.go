package rawjson

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"iter"
	"reflect"
	"slices"
	"strconv"
	"strings"
)

// Fields writes the tagged fields of a struct as the members of an object, in the order of the
// struct, and reads them back. A field has a tag such as
//
//	Name        string  `doc:"name"`
//	Description *string `doc:"description,omitzero"`
//
// and its type is a string, a bool, an int, an int64 or a float64, a pointer to a string or a bool, a list of
// strings, a map of whole numbers, bytes, which are written as base64, or a json.RawMessage, which keeps its spelling. What is nil,
// empty, 0 or false is left out if the tag says omitzero; bytes only if they are nil. Fields without a tag are neither written nor read.
type Fields[T any] []taggedField

// taggedField is a field of a struct, by the name in its tag and its index.
type taggedField struct {
	name     string
	index    int
	omitZero bool
}

// FieldsOf returns the tagged fields of a struct. It panics if one has a type that it cannot write, or an option that is
// not known, so that a mistake shows when the program starts.
func FieldsOf[T any]() Fields[T] {
	var (
		fields Fields[T]
		zero   T
	)
	value := reflect.ValueOf(&zero).Elem()
	for i := range value.NumField() {
		tag, ok := value.Type().Field(i).Tag.Lookup("doc")
		if !ok {
			continue
		}
		name, option, _ := strings.Cut(tag, ",")
		f := taggedField{name, i, option == "omitzero"}
		if option != "" && !f.omitZero {
			panic(fmt.Sprintf("field %s of %T has the unknown option %s", name, zero, option))
		}
		appendField(nil, pointer(value, i)) // panics
		fields = append(fields, f)
	}
	return fields
}

// pointer returns a pointer to the field of a struct: to a string for all kinds of strings.
func pointer(value reflect.Value, index int) any {
	field := value.Field(index)
	if field.Kind() == reflect.String { // also of types such as metric.Type
		return field.Addr().Convert(reflect.TypeFor[*string]()).Interface()
	}
	return field.Addr().Interface()
}

// Object writes all fields as one object.
func (fields Fields[T]) Object(v *T) json.RawMessage {
	var b Builder
	value := reflect.ValueOf(v).Elem()
	for _, f := range fields {
		at := pointer(value, f.index)
		if f.omitZero && isZero(at) {
			continue
		}
		b.key(f.name)
		b.buf = appendField(b.buf, at)
	}
	return b.Bytes()
}

// All returns the names and values of all fields in order; those that are left out are nil.
func (fields Fields[T]) All(v *T) iter.Seq2[string, json.RawMessage] {
	return func(yield func(string, json.RawMessage) bool) {
		value := reflect.ValueOf(v).Elem()
		for _, f := range fields {
			var raw json.RawMessage
			if at := pointer(value, f.index); !f.omitZero || !isZero(at) {
				raw = appendField(nil, at)
			}
			if !yield(f.name, raw) {
				return
			}
		}
	}
}

// Pointer returns a pointer to the field with a name in its tag, nil if there is none. A field whose type
// is a kind of string is a *string.
func (fields Fields[T]) Pointer(v *T, name string) any {
	if i := slices.IndexFunc(fields, func(f taggedField) bool { return f.name == name }); i >= 0 {
		return pointer(reflect.ValueOf(v).Elem(), fields[i].index)
	}
	return nil
}

// Read sets the fields that an object has members for, as Object wrote it. Raw values are parts of
// object, not copies.
func (fields Fields[T]) Read(object json.RawMessage, v *T) {
	for name, raw := range Object(object) {
		readField(fields.Pointer(v, name), raw)
	}
}

// isZero, appendField and readField do their work through the pointer to a field, by its type. They know the same types:
// appendField panics at any other, which FieldsOf finds out for all fields beforehand.
func isZero(at any) bool {
	switch p := at.(type) {
	case *string:
		return *p == ""
	case **string:
		return *p == nil
	case *bool:
		return !*p
	case **bool:
		return *p == nil
	case *int:
		return *p == 0
	case *int64:
		return *p == 0
	case *float64:
		return *p == 0
	case *[]string:
		return len(*p) == 0
	case *map[string]int64:
		return len(*p) == 0
	case *[]byte:
		return *p == nil
	case *json.RawMessage:
		return len(*p) == 0
	}
	return false
}

func appendField(dst []byte, at any) []byte {
	switch p := at.(type) {
	case *string:
		return AppendString(dst, *p)
	case **string:
		if *p == nil {
			return append(dst, "null"...)
		}
		return AppendString(dst, **p)
	case *bool:
		return strconv.AppendBool(dst, *p)
	case **bool:
		if *p == nil {
			return append(dst, "null"...)
		}
		return strconv.AppendBool(dst, **p)
	case *int:
		return strconv.AppendInt(dst, int64(*p), 10)
	case *int64:
		return strconv.AppendInt(dst, *p, 10)
	case *float64:
		return AppendNumber(dst, *p)
	case *[]string:
		return AppendStrings(dst, *p)
	case *map[string]int64:
		return AppendIntegers(dst, *p)
	case *[]byte:
		return AppendString(dst, base64.StdEncoding.EncodeToString(*p))
	case *json.RawMessage:
		return append(dst, *p...)
	}
	panic(fmt.Sprintf("a field cannot be a %T", at))
}

// readField sets a field. What is read was written by Object: a value of another kind is no error.
func readField(at any, raw json.RawMessage) {
	switch p := at.(type) {
	case *string:
		*p, _ = Text(raw)
	case **string:
		if text, ok := Text(raw); ok {
			*p = &text
		}
	case *bool:
		*p = KindOf(raw) == 't'
	case **bool:
		if kind := KindOf(raw); kind == 't' || kind == 'f' {
			set := kind == 't'
			*p = &set
		}
	case *int:
		*p, _ = strconv.Atoi(string(raw))
	case *int64:
		*p, _ = strconv.ParseInt(string(raw), 10, 64)
	case *float64:
		*p, _ = Number(raw)
	case *[]byte:
		if text, ok := Text(raw); ok {
			*p, _ = base64.StdEncoding.DecodeString(text)
		}
	case *[]string:
		list := (*p)[:0:0] // an empty list stays one, and nil stays nil
		for _, v := range Array(raw) {
			text, _ := Text(v)
			list = append(list, text)
		}
		*p = list
	case *map[string]int64:
		*p = make(map[string]int64)
		for name, v := range Object(raw) {
			(*p)[name], _ = strconv.ParseInt(string(v), 10, 64)
		}
	case *json.RawMessage:
		*p = raw
	}
}
