package query

import (
	"strings"

	"github.com/spangrove/spangrove/pkg/fault"
)

// LabelSearch chooses events that people have labelled, for the scores of a metric to be compared with.
type LabelSearch struct {
	Search          // which events, by filters and range; its Limit is how many of them are looked at, the newest first
	Label  []string // path of the label in the event, from its field on: metrics or feedback
	// MetricID and Metric are id and name of the metric. With a Version it is that version's score that counts, else the one that the
	// event has now.
	MetricID, Metric string
	Version          int64
}

// ParseLabel reads the field of an event that has a label, feedback.<path> or metrics.<name>, and returns its path and the filter that
// an event has it.
func ParseLabel(field string) (path []string, has Filter, err error) {
	path = strings.Split(field, ".")
	if rest := strings.Join(path[1:], "."); rest == "" || path[0] != "feedback" && path[0] != "metrics" {
		return nil, has, fault.New(fault.Invalid, "must be feedback.<path> or metrics.<name>, not %.60q", field)
	}
	has, err = newFilter(Filter{Field: field, Operator: "exists", Type: typeString})
	return path, has, err
}
