package wire_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/spangrove/spangrove/pkg/event"
	"github.com/spangrove/spangrove/pkg/query"
	"github.com/spangrove/spangrove/pkg/query/querytest"
	"github.com/spangrove/spangrove/pkg/wire"
)

// FuzzDecodeValues holds that a request is read or its sender's fault, and that what it asks of any event can be counted
// and written as JSON.
func FuzzDecodeValues(f *testing.F) {
	for _, seed := range []string{
		`{"field":"config.model"}`, `{"field":"metadata.a.b.0","prefix":"É","limit":"5","dateRange":"7d","evaluation_id":"x"}`,
		`{"field":"duration","filters":[{"any":[[{"field":"text","operator":"matches words","value":"a b"}],[{"field":"error","operator":"is any of","value":[1,"x"]}]]}]}`,
		`{"field":"text"}`, `{"field":"project"}`, `{"field":"inputs","prefix":"` + strings.Repeat("x", query.MaxValueBytes+1) + `"}`, `[]`, `{"field":5}`,
	} {
		f.Add([]byte(seed))
	}
	var events []event.Event
	for _, c := range querytest.Cases() {
		events = append(events, c.Event)
	}
	f.Fuzz(func(t *testing.T, in []byte) {
		q, err := wire.DecodeValues(in, fuzzTime)
		if err != nil {
			theirFault(t, "values", err)
			return
		}
		if q.Search.Limit < 1 || q.Search.Limit > query.MaxFieldValues {
			t.Errorf("limit %d", q.Search.Limit)
		}
		b := query.NewBuilder(query.SQLite)
		query.CompileValues(b, 1, q)
		counts := query.NewValueCounts(q)
		for i := range events {
			counts.AddEvent(&events[i])
		}
		if out := wire.AppendValues(nil, counts.Answer(true)); !json.Valid(out) {
			t.Errorf("%s", out)
		}
	})
}
