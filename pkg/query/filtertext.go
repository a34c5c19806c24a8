package query

import (
	"regexp"
	"strings"

	"github.com/spangrove/spangrove/pkg/rawjson"
)

// shortNames are the fields that the filter bar of the pages calls otherwise.
var shortNames = map[string]string{
	"event_name": "name", "event_type": "type", "config.model": "model", "user_properties.user_id": "user", "session_id": "session",
	"event_id": "id", "start_time": "start", "end_time": "end", "metadata.run_id": "run", "config.provider": "provider",
	"metadata.total_tokens": "tokens", "metadata.cost": "cost",
}

// FilterText returns filters for people, as the filter bar of the pages has them: `type:model -name:ping cost>0.1`. Empty: there are none.
func FilterText(filters []Filter) string {
	parts := make([]string, len(filters))
	for i := range filters {
		parts[i] = filters[i].text()
	}
	return strings.Join(parts, " ")
}

func (f *Filter) text() string {
	if f.Any != nil {
		lists := make([]string, len(f.Any))
		for i, list := range f.Any {
			lists[i] = FilterText(list)
		}
		return "(" + strings.Join(lists, " OR ") + ")"
	}
	field := f.Field
	if short := shortNames[field]; short != "" {
		field = short
	}
	value := filterValue(f.Value)
	switch f.Operator {
	case "exists":
		return "has:" + field
	case "not exists":
		return "-has:" + field
	case "contains":
		if f.Field == "text" {
			return plainOr(f.Value, plainWords)
		}
		return field + "~" + value
	case "not contains":
		return field + "!~" + value
	case "is", "is any of":
		return field + ":" + value
	case "is not":
		return "-" + field + ":" + value
	case "greater than", "after":
		return field + ">" + value
	case "less than", "before":
		return field + "<" + value
	}
	return field + " " + f.Operator + " " + value
}

// plainValue matches what the filter bar takes without quotes.
var plainValue = regexp.MustCompile(`^[^\s"\\()]+$`)

// filterValue returns a value as the filter bar has it, several in brackets.
func filterValue(raw []byte) string {
	if rawjson.KindOf(raw) == '[' {
		var values []string
		for _, v := range rawjson.Array(raw) {
			values = append(values, filterValue(v))
		}
		return "(" + strings.Join(values, " OR ") + ")"
	}
	return plainOr(raw, plainValue)
}

// plainWords matches words that the filter bar takes without quotes, and not for a field and its value.
var plainWords = regexp.MustCompile(`^[^\s"\\:~<>!()-][^\s"\\:~<>!()]*$`)

// plainOr returns a text as it is if it is plain, else in quotes; anything but a text as it is.
func plainOr(raw []byte, plain *regexp.Regexp) string {
	text, ok := rawjson.Text(raw)
	if !ok {
		return string(raw)
	}
	if text != "OR" && plain.MatchString(text) {
		return text
	}
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(text) + `"`
}
