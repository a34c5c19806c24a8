package wire

import (
	"cmp"
	"fmt"
	"math"
	"net/url"
	"reflect"
	"slices"
	"strings"

	"github.com/spangrove/spangrove/pkg/fault"
	"github.com/spangrove/spangrove/pkg/query"
	"github.com/spangrove/spangrove/pkg/rawjson"
)

// Params are the parameters of a query string, read one by one. What nobody asks for is
// ignored, unless Known is asked. Errors are fault.Invalid and name the parameter.
type Params struct{ values url.Values }

// ParseParams reads a query string.
func ParseParams(rawQuery string) (Params, error) {
	values, err := url.ParseQuery(rawQuery)
	if err != nil {
		return Params{}, fault.Wrap(fault.Invalid, err, "the query string is malformed: %v", err)
	}
	return Params{values}, nil
}

// find returns all that was sent for name: name=, name[]=, name[0]= and the like, by key and then
// as sent, so that the outcome is always the same: the parameters themselves are a map. What no store can hold is
// replaced.
func (p Params) find(name string) (ps []param, err error) {
	for key, texts := range p.values {
		base, rest, bracketed := strings.Cut(key, "[")
		if base != name {
			continue
		}
		var path []string
		if bracketed {
			var ok bool
			if path, ok = splitPath(rest); !ok {
				return nil, fault.InvalidField(short(key), "its brackets do not match")
			}
		}
		for _, text := range texts {
			text, _ = rawjson.ValidText(text)
			ps = append(ps, param{key, path, text})
		}
	}
	slices.SortStableFunc(ps, func(a, b param) int { return cmp.Compare(a.key, b.key) })
	return ps, nil
}

// Read sets the fields of a struct that have a tag such as `query:"name"`, in their order, up to the first
// error. A string is read as by Text, a list of strings as by Texts, a bool as by Bool and an int64 as by
// Whole; a pointer to a bool stays nil if the parameter is absent.
func (p Params) Read(to any) error {
	v := reflect.ValueOf(to).Elem()
	for i := range v.NumField() {
		if name, ok := v.Type().Field(i).Tag.Lookup("query"); ok {
			if err := p.readField(v.Field(i).Addr().Interface(), name); err != nil {
				return err
			}
		}
	}
	return nil
}

// readField reads a parameter into a pointer, by its type.
func (p Params) readField(to any, name string) (err error) {
	switch to := to.(type) {
	case *string:
		*to, err = p.Text(name)
	case *[]string:
		*to, err = p.Texts(name)
	case *bool:
		*to, err = p.Bool(name)
	case **bool:
		var text string
		if text, err = p.Text(name); err == nil && text != "" {
			*to = new(bool)
			**to, err = p.Bool(name)
		}
	case *int64:
		*to, err = p.Whole(name)
	default:
		panic(fmt.Sprintf("a parameter cannot be read into a %T", to))
	}
	return err
}

// Text returns a parameter given once, "" if it is not.
func (p Params) Text(name string) (string, error) {
	ps, err := p.find(name)
	if err != nil || len(ps) == 0 {
		return "", err
	}
	raw, err := scalarParam(ps)
	text, _ := rawjson.Text(raw)
	return text, err
}

// Texts returns a list: name=a,b, name=a&name=b, name[]=a, name[0]=a, or the JSON of the array.
func (p Params) Texts(name string) ([]string, error) {
	ps, err := p.find(name)
	if err != nil || len(ps) == 0 {
		return nil, err
	}
	raw, err := namesParam(ps)
	if err != nil {
		return nil, err
	}
	if _, err := readStrings(raw); err != nil {
		return nil, fault.In(name, err)
	}
	var list []string
	for _, v := range rawjson.Array(raw) {
		text, _ := rawjson.Text(v)
		list = append(list, text)
	}
	return list, nil
}

// Bool returns a boolean given as true or false, 1 or 0, yes or no, in either case; absent is false.
func (p Params) Bool(name string) (bool, error) {
	text, err := p.Text(name)
	if err != nil || text == "" {
		return false, err
	}
	switch strings.ToLower(text) {
	case "yes":
		return true, nil
	case "no":
		return false, nil
	}
	v, err := readBool(rawjson.AppendString(nil, text))
	return v, fault.In(name, err)
}

// Whole returns a whole number from 1; absent is 0.
func (p Params) Whole(name string) (int64, error) {
	text, err := p.Text(name)
	if err != nil || text == "" {
		return 0, err
	}
	n, ok := rawjson.Number([]byte(text))
	if !ok || n < 1 || n != math.Trunc(n) || n > 1<<53 {
		return 0, fault.InvalidField(name, "must be a whole number, 1 or more")
	}
	return int64(n), nil
}

// Page returns limit and page by an operation's rule.
func (p Params) Page(rule query.PageRule) (limit, page int, err error) {
	var raw [2][]byte
	for i, name := range []string{"limit", "page"} {
		text, err := p.Text(name)
		if err != nil {
			return 0, 0, err
		}
		if text != "" {
			raw[i] = rawjson.AppendString(nil, text)
		}
	}
	return rule.Parse(raw[0], raw[1])
}
