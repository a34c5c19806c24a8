package dataset

import (
	"github.com/spangrove/spangrove/pkg/fault"
	"github.com/spangrove/spangrove/pkg/rawjson"
)

// MaxColumns bounds the columns of a file of datapoints.
const MaxColumns = 1000

// Table writes datapoints as the rows of a CSV file (RFC 4180): their id, a column for each key of inputs, ground_truth and metadata, and their
// history. The columns are those of the datapoints that Columns was given.
type Table struct {
	keys    [3][]string // by keyedParts, in the order in which they came
	seen    [3]map[string]bool
	history bool
}

// Columns learns the columns of a datapoint. fault.Invalid if there are more than MaxColumns.
func (t *Table) Columns(p *Datapoint) error {
	for i, part := range keyedParts {
		if t.seen[i] == nil {
			t.seen[i] = map[string]bool{}
		}
		for key := range rawjson.Object(p.part(part)) {
			if !t.seen[i][key] {
				t.seen[i][key], t.keys[i] = true, append(t.keys[i], key)
			}
		}
	}
	t.history = t.history || len(p.History) > len("[]")
	if n := len(t.keys[0]) + len(t.keys[1]) + len(t.keys[2]); n > MaxColumns {
		return fault.InvalidField("format", "the datapoints have more than %d keys, too many for columns: export them as jsonl", MaxColumns)
	}
	return nil
}

// AppendHead appends the row with the names of the columns.
func (t *Table) AppendHead(dst []byte) []byte {
	dst = append(dst, "id"...)
	for i, part := range keyedParts {
		for _, key := range t.keys[i] {
			dst = rawjson.AppendCSVText(append(dst, ','), part+"."+key)
		}
	}
	if t.history {
		dst = append(dst, ",history"...)
	}
	return append(dst, "\r\n"...)
}

// AppendRow appends the row of a datapoint: a string as its text, anything else as JSON, and nothing where there is nothing.
func (t *Table) AppendRow(dst []byte, p *Datapoint) []byte {
	dst = append(dst, p.ID...)
	for i, part := range keyedParts {
		members := membersOf(p.part(part))
		for _, key := range t.keys[i] {
			dst = rawjson.AppendCSV(append(dst, ','), members[key])
		}
	}
	if t.history {
		dst = append(dst, ',')
		if len(p.History) > len("[]") {
			dst = rawjson.AppendCSV(dst, p.History)
		}
	}
	return append(dst, "\r\n"...)
}
