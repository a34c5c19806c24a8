package wire_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/spangrove/spangrove/pkg/fault"
	"github.com/spangrove/spangrove/pkg/query"
	"github.com/spangrove/spangrove/pkg/wire"
)

var noon = time.UnixMilli(1_800_000_000_000)

func TestDecodeSearch(t *testing.T) {
	t.Parallel()
	ms := func(f float64) *float64 { return &f }
	isModel := []query.Filter{{Field: "event_type", Operator: "is", Type: "string", Value: json.RawMessage(`"model"`)}}
	for _, tt := range []struct {
		name, in string
		pages    query.PageRule
		want     query.Search
	}{
		{"nothing given", `{}`, query.SearchPages, query.Search{Limit: 1000, Page: 1}},
		{"null is nothing", `{"filters":null,"dateRange":null,"limit":null,"page":null,"evaluation_id":null,"projections":null,"ignore_order":null}`,
			query.SearchPages, query.Search{Limit: 1000, Page: 1}},
		{"everything", `{"project":"x","filters":[{"field":"event_type","operator":"is","value":"model"}],"dateRange":{"$gte":1,"$lte":"2"},"limit":5.0,"page":"2","evaluation_id":"r","ignore_order":true}`,
			query.SearchPages, query.Search{Filters: isModel, From: ms(1), To: ms(2), RunID: "r", Limit: 5, Page: 2}},
		{"filters as text", `{"filters":"[{\"field\":\"event_type\",\"operator\":\"is\",\"value\":\"model\"}]"}`,
			query.SearchPages, query.Search{Filters: isModel, Limit: 1000, Page: 1}},
		{"a relative range", `{"dateRange":{"relative":"1m"}}`, query.SearchPages, query.Search{From: ms(1_799_999_940_000), Limit: 1000, Page: 1}},
		{"an export is clamped", `{"limit":7500}`, query.ExportPages, query.Search{Limit: 1000, Page: 1}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got, err := wire.DecodeSearch(json.RawMessage(tt.in), tt.pages, noon)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, got.Search, cmpopts.IgnoreUnexported(query.Filter{})); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
		})
	}
}

func TestDecodeSearchRefuses(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ in, field string }{
		{`{"limit":1001}`, "limit"},
		{`{"limit":0}`, "limit"},
		{`{"limit":1.5}`, "limit"},
		{`{"limit":"many"}`, "limit"},
		{`{"page":0}`, "page"},
		{`{"page":[1]}`, "page"},
		{`{"filters":{"a":1}}`, "filters.field"},
		{`{"filters":5}`, "filters"},
		{`{"filters":[{"field":"event_type","operator":"resembles","value":"x"}]}`, "filters[0].operator"},
		{`{"filters":[{"field":"event_type","operator":"is","type":"colour","value":"x"}]}`, "filters[0].type"},
		{`{"filters":[{"field":"nowhere","operator":"is","value":"x"}]}`, "filters[0].field"},
		{`{"dateRange":{"$gte":"soon"}}`, "dateRange.$gte"},
		{`{"dateRange":{"$gt":1}}`, "dateRange"},
		{`{"dateRange":5}`, "dateRange"},
		{`{"evaluation_id":5}`, "evaluation_id"},
		{`{"ignore_order":"perhaps"}`, "ignore_order"},
		{`{"ignore_order":[]}`, "ignore_order"},
		{`{"projections":{}}`, "projections"},
		{`{"projections":["event_name",1]}`, "projections[1]"},
		{`{"projections":["nowhere"]}`, "projections[0]"},
		{`{"projections":"[oops"}`, "projections"},
	} {
		t.Run(tt.in, func(t *testing.T) {
			t.Parallel()
			_, err := wire.DecodeSearch(json.RawMessage(tt.in), query.SearchPages, noon)
			if err == nil || fault.Of(err) != fault.Invalid || !strings.HasPrefix(err.Error(), tt.field+":") {
				t.Errorf("got %v; want an invalid %s", err, tt.field)
			}
		})
	}
}

func TestDecodeSearchProjections(t *testing.T) {
	t.Parallel()
	for _, in := range []string{
		`{"projections":["event_name","metadata.cost"]}`, `{"projections":"[\"event_name\",\"metadata.cost\"]"}`,
	} {
		got, err := wire.DecodeSearch(json.RawMessage(in), query.SearchPages, noon)
		if err != nil {
			t.Fatal(err)
		}
		if p := got.Projection; p.Empty() || !p.Has("event_name") || !p.Has("metadata") || p.Has("inputs") {
			t.Errorf("%s: wrong projection", in)
		}
	}
}
