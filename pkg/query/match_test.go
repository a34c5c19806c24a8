package query

import (
	"testing"

	"github.com/spangrove/spangrove/pkg/event"
	"github.com/spangrove/spangrove/pkg/query/querytest"
	"github.com/spangrove/spangrove/pkg/rawjson"
)

// joined is e as a reader gets it.
func joined(e event.Event) *event.Event {
	e.Metadata = rawjson.Concat(e.Metadata, e.ColdMetadata)
	e.ColdMetadata = nil
	return &e
}

func caseFilters(t *testing.T, c querytest.Case) []Filter {
	t.Helper()
	fs, err := ParseFilters(c.Filter, "filters")
	if err != nil || len(fs) != 1 {
		t.Fatalf("%s: ParseFilters(%s) = %v, %v", c.Name, c.Filter, fs, err)
	}
	return fs
}

func TestMatch(t *testing.T) {
	t.Parallel()
	for _, c := range querytest.Cases() {
		if got := Match(joined(c.Event), caseFilters(t, c)); got != c.Want {
			t.Errorf("%s: %v, want %v", c.Name, got, c.Want)
		}
	}
}
