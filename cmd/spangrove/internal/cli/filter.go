package cli

import (
	"encoding/json"
	"regexp"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"github.com/spangrove/spangrove/pkg/rawjson"
)

// filterHelp explains how filters are written; it is in the help of the verbs that take them.
const filterHelp = `A filter is FIELD OPERATOR VALUE, and all filters must hold:

    metadata.cost > 0.5                >, <, =, != compare numbers and dates; is and is not are = and !=
    event_type is any of model, tool   one of up to 100 values; one with commas stands in quotes
    inputs.question contains refund    a text, in any case as it is written; also not contains
    text matches words refund late     all of these words, in any case and order; text is name, error, inputs and outputs
    start_time after 2026-01-31        also before; a date, or a time as 2026-01-31T12:00:00Z
    error exists                       also not exists
    error exists || duration > 5e3 && event_type is model    one side of || must hold, with all of its parts around &&

A field is a path such as outputs.choices.0.text; one with spaces stands in quotes. A value is a number, true, false or null if it
reads as one, and a text otherwise, or if it stands in quotes, single or double: between them everything is what it is.`

// filterFlag adds the flag --filter to verbs that select events.
func filterFlag(cmd *cobra.Command, to *[]string) {
	cmd.Flags().StringArrayVar(to, "filter", nil,
		"only those for which this `FILTER` holds, such as 'metadata.cost > 0.5'; repeated, all must hold")
	cmd.Long = strings.TrimSpace(cmd.Long + "\n\n" + filterHelp)
}

// operators are those of the API by how they are written, longest first.
var operators = []struct {
	text, name string
	sign       bool // no letters: needs no space around it
}{
	{"matches words", "matches words", false},
	{"greater than", "greater than", false},
	{"not contains", "not contains", false},
	{"not exists", "not exists", false},
	{"less than", "less than", false},
	{"contains", "contains", false},
	{"is any of", "is any of", false},
	{"is not", "is not", false},
	{"exists", "exists", false},
	{"before", "before", false},
	{"after", "after", false},
	{"is", "is", false}, {"!=", "is not", true}, {"==", "is", true}, {"=", "is", true}, {">", "greater than", true}, {"<", "less than", true},
}

// signs are what operators without letters are made of.
const signs = "=!<>~"

const someOperator = "expected an operator: is, is not, is any of, contains, not contains, exists, not exists, =, !=, >, <, after, before or matches words"

// parseFilters reads filters as people write them into those of the API.
func parseFilters(texts []string) ([]json.RawMessage, error) {
	var list []json.RawMessage
	for _, text := range texts {
		fs, at, problem := parseAlternative(text)
		if problem != "" {
			return nil, usage("--filter '%s': column %d: %s", clean(text), utf8.RuneCountInString(text[:at])+1, problem)
		}
		list = append(list, fs...)
	}
	return list, nil
}

// parseAlternative reads filters with || and && between them: those around && as filters that must all hold, and what
// || divides as one alternative. problem says what is wrong at the byte at, empty if nothing is.
func parseAlternative(text string) (fs []json.RawMessage, at int, problem string) {
	var lists [][]json.RawMessage
	from := 0
	for _, side := range splitFilters(text, "||") {
		var list []json.RawMessage
		for _, part := range splitFilters(side, "&&") {
			f, at, problem := parseFilter(part)
			if problem != "" {
				return nil, from + at, problem
			}
			list = append(list, f)
			from += len(part) + len("&&")
		}
		lists = append(lists, list)
	}
	if len(lists) == 1 {
		return lists[0], 0, ""
	}
	var b rawjson.Builder
	raw, err := json.Marshal(lists)
	if err != nil {
		return nil, 0, err.Error()
	}
	b.Raw("any", raw)
	return []json.RawMessage{b.Bytes()}, 0, ""
}

// splitFilters divides a text at the marks that stand outside of quotes. A quote begins only where a value or a field may, so
// that the apostrophe of a word is none.
func splitFilters(text, mark string) []string {
	var parts []string
	from := 0
	for i := 0; i < len(text); i++ {
		switch {
		case isQuote(text[i]) && (i == from || strings.IndexByte(" \t,"+signs, text[i-1]) >= 0):
			end := strings.IndexByte(text[i+1:], text[i])
			if end < 0 {
				return append(parts, text[from:])
			}
			i += end + 1
		case strings.HasPrefix(text[i:], mark):
			parts = append(parts, text[from:i])
			from = i + len(mark)
			i = from - 1
		}
	}
	return append(parts, text[from:])
}

// parseFilter reads one filter; problem says what is wrong at the byte at, empty if nothing is.
func parseFilter(text string) (f json.RawMessage, at int, problem string) {
	field, rest, problem := filterField(text)
	at = len(text) - len(rest)
	if problem != "" {
		return nil, at, problem
	}
	operator, value, problem := filterOperator(rest)
	if problem != "" {
		return nil, at, problem
	}
	at = len(text) - len(value)
	var b rawjson.Builder
	b.String("field", field)
	switch operator {
	case "exists", "not exists":
		if value != "" {
			return nil, at, operator + " takes no value"
		}
		b.String("operator", operator)
		b.String("type", "string")
		return b.Bytes(), at, ""
	}
	if value == "" {
		return nil, at, "a value is missing"
	}
	kind, v, problem := filterValue(value)
	if operator == "is any of" {
		kind, v, problem = filterValues(value)
	}
	if problem != "" {
		return nil, at, problem
	}
	switch {
	case operator == "contains" || operator == "not contains" || operator == "matches words":
		kind, v = "string", rawjson.AppendString(nil, unquoted(value))
	case operator == "after" || operator == "before":
		if kind != "datetime" && kind != "number" {
			return nil, at, "expected a date such as 2026-01-31, or a time such as 2026-01-31T12:00:00Z"
		}
		kind = "datetime"
	case kind == "datetime" && operator == "greater than":
		operator = "after"
	case kind == "datetime" && operator == "less than":
		operator = "before"
	case (kind == "boolean" || kind == "null") && (operator == "greater than" || operator == "less than"):
		return nil, at, "expected a number, a date or a text to compare with"
	}
	if kind == "null" {
		kind = "string"
	}
	b.String("operator", operator)
	b.Raw("value", v)
	b.String("type", kind)
	return b.Bytes(), at, ""
}

// filterField returns the field that a filter begins with, and what comes behind it.
func filterField(text string) (field, rest, problem string) {
	rest = strings.TrimLeft(text, " \t")
	if rest != "" && isQuote(rest[0]) {
		end := strings.IndexByte(rest[1:], rest[0])
		if end < 0 {
			return "", rest, "the quote is not closed"
		}
		return rest[1 : end+1], strings.TrimLeft(rest[end+2:], " \t"), ""
	}
	end := strings.IndexAny(rest, " \t=!<>")
	if end < 0 {
		end = len(rest)
	}
	if end == 0 {
		return "", rest, "expected a field, such as metadata.cost"
	}
	return rest[:end], strings.TrimLeft(rest[end:], " \t"), ""
}

// filterOperator returns the operator that a text begins with, and the value behind it.
func filterOperator(text string) (name, value, problem string) {
	lower := strings.ToLower(strings.Join(strings.Fields(text), " "))
	sign := text[:len(text)-len(strings.TrimLeft(text, signs))]
	for _, o := range operators {
		behind, ok := strings.CutPrefix(lower, o.text)
		if !ok || o.sign && o.text != sign || !o.sign && behind != "" && behind[0] != ' ' && !isQuote(behind[0]) {
			continue
		}
		// The operator may be written with more space between its words than it has here.
		rest := text
		for range strings.Fields(o.text) {
			rest = strings.TrimLeft(rest, " \t")
			word := o.text
			if !o.sign {
				word, _, _ = strings.Cut(rest, " ")
				if i := strings.IndexAny(word, `"'`); i > 0 {
					word = word[:i]
				}
			}
			rest = rest[len(word):]
		}
		return o.name, strings.TrimSpace(rest), ""
	}
	if sign != "" {
		return "", text, sign + " is not an operator; " + someOperator
	}
	return "", text, someOperator
}

var filterTime = regexp.MustCompile(`^\d{4}-\d\d-\d\d([T ]\d\d:\d\d(:\d\d(\.\d+)?)?(Z|[-+]\d\d:?\d\d)?)?$`)

// filterValue returns the kind of a value, and the value as JSON.
func filterValue(text string) (kind string, value json.RawMessage, problem string) {
	if isQuote(text[0]) {
		if len(text) < 2 || text[len(text)-1] != text[0] {
			return "", nil, "the quote is not closed"
		}
		return "string", rawjson.AppendString(nil, unquoted(text)), ""
	}
	switch text {
	case "true", "false":
		return "boolean", json.RawMessage(text), ""
	case "null":
		return "null", json.RawMessage(text), ""
	}
	if filterTime.MatchString(text) {
		if !slices.ContainsFunc(
			[]string{
				time.DateOnly,
				time.RFC3339Nano,
				"2006-01-02T15:04:05Z0700",
				"2006-01-02T15:04Z07:00",
				"2006-01-02T15:04:05",
				"2006-01-02T15:04",
			},
			func(layout string) bool {
				_, err := time.Parse(layout, strings.Replace(text, " ", "T", 1))
				return err == nil
			},
		) {
			return "", nil, "no such date"
		}
		return "datetime", rawjson.AppendString(nil, strings.Replace(text, " ", "T", 1)), ""
	}
	if _, ok := rawjson.Number([]byte(text)); ok && json.Valid([]byte(text)) {
		return "number", json.RawMessage(text), ""
	}
	return "string", rawjson.AppendString(nil, text), ""
}

// filterValues returns the common kind of values with commas between them, and their array as JSON. Where one is not a
// number, all are texts.
func filterValues(text string) (kind string, array json.RawMessage, problem string) {
	kind = "number"
	var plain, numbers []string
	for rest, more := text, true; more; {
		var item string
		if item, rest, more, problem = cutValue(rest); problem != "" {
			return "", nil, problem
		}
		itemKind, _, problem := filterValue(item)
		switch {
		case problem != "" && itemKind == "" && isQuote(item[0]):
			return "", nil, problem
		case itemKind != "number":
			kind = "string"
		}
		numbers = append(numbers, item)
		plain = append(plain, string(rawjson.AppendString(nil, unquoted(item))))
	}
	if kind == "string" {
		numbers = plain
	}
	return kind, json.RawMessage("[" + strings.Join(numbers, ",") + "]"), ""
}

// cutValue returns the first of several values, and what follows the comma behind it.
func cutValue(text string) (item, rest string, more bool, problem string) {
	text = strings.TrimSpace(text)
	end := 0
	if text != "" && isQuote(text[0]) {
		close := strings.IndexByte(text[1:], text[0])
		if close < 0 {
			return "", "", false, "the quote is not closed"
		}
		end = close + 2
	}
	item, rest, more = strings.Cut(text[end:], ",")
	if end > 0 && strings.TrimSpace(item) != "" {
		return "", "", false, "expected a comma between values"
	}
	if item = strings.TrimSpace(text[:end] + item); item == "" {
		return "", "", false, "a value is missing"
	}
	return item, rest, more, ""
}

// unquoted returns a value without the quotes around it.
func unquoted(text string) string {
	if len(text) >= 2 && isQuote(text[0]) && text[len(text)-1] == text[0] {
		return text[1 : len(text)-1]
	}
	return text
}

func isQuote(c byte) bool { return c == '"' || c == '\'' }
