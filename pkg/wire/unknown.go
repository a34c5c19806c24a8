package wire

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/spangrove/spangrove/pkg/fault"
	"github.com/spangrove/spangrove/pkg/rawjson"
)

// clientNames are parameters, and fields of searches, that published clients send everywhere to name what
// the key decides. They are accepted, and ignored where an operation has no use of its own for them.
var clientNames = []string{"project", "project_id", "project_name", "tenant"}

// Known refuses parameters whose names are neither among known nor such as clients send everywhere.
// Errors are fault.Invalid and name the nearest known one.
func (p Params) Known(known []string) error {
	var unknown []string
	for key := range p.values {
		name, _, _ := strings.Cut(key, "[")
		if !slices.Contains(known, name) && !slices.Contains(clientNames, name) {
			unknown = append(unknown, name)
		}
	}
	if len(unknown) == 0 {
		return nil
	}
	return notKnown("parameter", slices.Min(unknown), known)
}

// knownFields refuses members of a request's object as Known does parameters. Null ones are absent.
func knownFields(object json.RawMessage, known []string) error {
	for key, raw := range rawjson.Object(object) {
		if !rawjson.Null(raw) && !slices.Contains(known, key) && !slices.Contains(clientNames, key) {
			return notKnown("field", key, known)
		}
	}
	return nil
}

// notKnown returns the error of a name that is not known: with the nearest one that is, if one is near, else with all.
func notKnown(what, name string, known []string) error {
	if len(known) == 0 {
		return fault.New(fault.Invalid, "unknown %s %.60q; none is allowed here", what, name)
	}
	if near := nearest(name, known); near != "" {
		return fault.New(fault.Invalid, "unknown %s %.60q; did you mean %q?", what, name, near)
	}
	return fault.New(fault.Invalid, "unknown %s %.60q; must be one of %s", what, name, strings.Join(known, ", "))
}

// nearest returns the known name that takes fewest changes of one character to become name, with no regard
// to case and underscores, the first of several; "" if all are far from it.
func nearest(name string, known []string) string {
	const longest = 60
	if len(name) > longest {
		return ""
	}
	plain := func(s string) string { return strings.ReplaceAll(strings.ToLower(s), "_", "") }
	near, best := "", 1+max(2, len(name)/3)
	for _, k := range known {
		if d := distance(plain(name), plain(k)); d < best && d < len(k) {
			near, best = k, d
		}
	}
	return near
}

// distance returns the Levenshtein distance in bytes. Both are short: see nearest.
func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			change := diagonal
			if a[i] != b[j] {
				change++
			}
			diagonal = row[j+1]
			row[j+1] = min(change, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(b)]
}
