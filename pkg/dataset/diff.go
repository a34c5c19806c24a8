package dataset

import (
	"bytes"
	"encoding/json"
	"maps"

	"github.com/spangrove/spangrove/pkg/rawjson"
)

// The ways in which a datapoint differs between two versions of a dataset. Where it stands among the others does not count.
const (
	Added   = "added"
	Removed = "removed"
	Changed = "changed"
)

// DiffQuery asks how a dataset's datapoints in version To differ from those in version From.
type DiffQuery struct {
	From, To int64
	Only     string // Added, Removed or Changed; "": all
	After    string // the page begins after the datapoint with this id; "": with the first
	Limit    int
}

// Diff is a page of differences, in the order of the datapoints' ids, which is that of their creation, and how many there are in all.
type Diff struct {
	Added, Removed, Changed int
	Rows                    []DiffRow
	More                    bool // there are others after the last row
}

// DiffRow is a datapoint that differs. Before or After is nil where it was not in the dataset.
type DiffRow struct {
	ID            string
	Before, After *Datapoint
}

// Kind returns how the datapoint differs.
func (r *DiffRow) Kind() string {
	switch {
	case r.Before == nil:
		return Added
	case r.After == nil:
		return Removed
	}
	return Changed
}

// ChangedFields lists the fields in which two versions of a datapoint differ: the keys of inputs, ground_truth and metadata with the name of their
// part before them, and all other fields as a whole.
func ChangedFields(before, after *Datapoint) []string {
	fields := []string{}
	for _, part := range keyedParts {
		a, b := before.part(part), after.part(part)
		if bytes.Equal(a, b) {
			continue
		}
		old, now := membersOf(a), membersOf(b)
		for key, v := range rawjson.Object(a) {
			if !bytes.Equal(v, now[key]) {
				fields = append(fields, part+"."+key)
			}
		}
		for key := range rawjson.Object(b) {
			if old[key] == nil {
				fields = append(fields, part+"."+key)
			}
		}
	}
	other := func(p *Datapoint) map[string]string {
		rest := *p
		rest.Inputs, rest.GroundTruth, rest.Metadata, rest.LinkedDatasets = nil, nil, nil, nil
		all := map[string]string{}
		for name, raw := range pointFields.All(&rest) {
			all[name] = string(raw)
		}
		return all
	}
	a, b := other(before), other(after)
	for name := range pointFields.All(before) {
		if a[name] != b[name] {
			fields = append(fields, name)
		}
	}
	return fields
}

func membersOf(object json.RawMessage) map[string]json.RawMessage {
	return maps.Collect(rawjson.Object(object))
}
