package wire_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/spangrove/spangrove/pkg/fault"
	"github.com/spangrove/spangrove/pkg/query"
	"github.com/spangrove/spangrove/pkg/wire"
)

func TestQueryObject(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ name, in, want string }{
		{"nothing", ``, `{}`},
		{"scalars stay text", `limit=10&page=2.0&ignore_order=true&evaluation_id=r1`,
			`{"limit":"10","page":"2.0","ignore_order":"true","evaluation_id":"r1"}`},
		{"an empty scalar is none", `limit=&page=`, `{"limit":null,"page":null}`},
		{"what a search does not have is left out", `project=x&foo[=1&ids[]=2&limit=3`, `{"limit":"3"}`},
		{"one name", `projections=event_name`, `{"projections":["event_name"]}`},
		{"a comma list", `projections=a,b.c%20,%20d,`, `{"projections":["a","b.c","d"]}`},
		{"names repeated", `projections=b&projections=a`, `{"projections":["b","a"]}`},
		{"names in brackets, percent-encoded", `projections%5B%5D=b&projections%5B%5D=a`, `{"projections":["b","a"]}`},
		{"names by index, in any order", `projections[10]=c&projections[2]=b&projections[0]=a`, `{"projections":["a","b","c"]}`},
		{"names as JSON", `projections=["a","b"]`, `{"projections":["a","b"]}`},
		{"filters by index", `filters[1][field]=b&filters[1][operator]=exists&filters[0][field]=a&filters[0][operator]=is%20not&filters[0][value]=[1]&filters[0][type]=string`,
			`{"filters":[{"field":"a","operator":"is not","type":"string","value":"[1]"},{"field":"b","operator":"exists"}]}`},
		{"filters as JSON text", `filters=[{"field":"a","operator":"exists"}]`, `{"filters":[{"field":"a","operator":"exists"}]}`},
		{"filters as JSON elements", `filters[]={"field":"a","operator":"is","value":1.0}&filters[]={"field":"b","operator":"exists"}`,
			`{"filters":[{"field":"a","operator":"is","value":1.0},{"field":"b","operator":"exists"}]}`},
		{"filters repeated", `filters={"field":"a"}&filters={"field":"b"}`, `{"filters":[{"field":"a"},{"field":"b"}]}`},
		{"a range of bounds", `dateRange[$gte]=1&dateRange[$lte]=2026-01-02`, `{"dateRange":{"$gte":"1","$lte":"2026-01-02"}}`},
		{"a range by word", `dateRange=7d`, `{"dateRange":"7d"}`},
		{"a range by word in quotes", `dateRange="7d"`, `{"dateRange":"7d"}`},
		{"a range as JSON", `dateRange={"$gte":1}`, `{"dateRange":{"$gte":1}}`},
		{"filters as Python writes them", `filters[]={'field': "it's", 'operator': 'is', 'value': True}&filters[]={'field': 'b', 'operator': 'is', 'value': None}`,
			`{"filters":[{"field":"it's","operator":"is","value":true},{"field":"b","operator":"is","value":null}]}`},
		{"a list of filters as Python writes it", `filters=[{'any': [[{'field': 'a', 'value': 1.5}], [{'field': 'b', 'value': ['x', 2]}]]}]`,
			`{"filters":[{"any":[[{"field":"a","value":1.5}],[{"field":"b","value":["x",2]}]]}]}`},
		{"names as Python writes them", `projections=['a', 'b']`, `{"projections":["a","b"]}`},
		{"a range as Python writes it", `dateRange={'$gte': 1.5, '$lte': None}`, `{"dateRange":{"$gte":1.5,"$lte":null}}`},
		{"what cannot be stored", "evaluation_id=a%00b%ff", "{\"evaluation_id\":\"a\uFFFDb\uFFFD\"}"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got, err := wire.QueryObject(tt.in)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, string(got)); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
		})
	}
}

func TestQueryObjectRefuses(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ in, field string }{
		{`limit=%zz`, ``},
		{`limit[]=1`, `limit[]`},
		{`limit=1&limit=2`, `limit`},
		{`filters[0=1`, `filters[0`},
		{`filters[]=oops`, `filters[]`},
		{`filters[]={'field': a}`, `filters[]`},
		{`filters[]={'field': 1e999}`, `filters[]`},
		{`filters[][field]=a`, `filters[][field]`},
		{`filters[-1][field]=a`, `filters[-1][field]`},
		{`filters[10000][field]=a`, `filters[10000][field]`},
		{`filters[0][value][a]=1`, `filters[0][value][a]`},
		{`projections[0][a]=1`, `projections[0][a]`},
		{`projections=[oops`, `projections`},
		{`dateRange={'$gte': oops}`, `dateRange`},
		{`filters={'field': 'a'`, `filters`},
		{`filters={'start': datetime.datetime(2026, 1, 1)}`, `filters`},
		{`dateRange={'$gte': datetime.datetime(2026, 1, 1)}`, `dateRange`},
		{`dateRange=7d&dateRange=8d`, `dateRange`},
		{`dateRange[$gte][0]=1`, `dateRange[$gte][0]`},
		{`dateRange[$gte]=1&dateRange[$gte]=2`, `dateRange[$gte]`},
	} {
		t.Run(tt.in, func(t *testing.T) {
			t.Parallel()
			got, err := wire.QueryObject(tt.in)
			if fault.Of(err) != fault.Invalid || err == nil {
				t.Fatalf("got %s, error %v; want an invalid %q", got, err, tt.field)
			}
			if !strings.HasPrefix(err.Error(), tt.field) {
				t.Errorf("error %q does not begin with %q", err, tt.field)
			}
		})
	}
}

// Whatever comes in a query string, what goes on is one JSON object, and decoding that ends in
// a search or in an error about the request.
func FuzzQueryObject(f *testing.F) {
	for _, seed := range []string{
		`filters[0][field]=metadata.cost&filters[0][operator]=greater than&filters[0][value]=1&filters[0][type]=number`,
		`dateRange[$gte]=1795213764357.0&dateRange[$lte]=2026-11-21T01:00:00Z&limit=10&page=1`,
		`dateRange={'$gte': 1, '$lte': None}&projections[]=a,b&projections[3]=c`,
		`filters=[{"field":"event_type","operator":"is","value":"model"}]&projections=["event_name"]`,
		`filters[]={"field":"a"}&filters[[=&filters]=&dateRange=7d&evaluation_id=%00`,
	} {
		f.Add(seed)
	}
	now := time.Unix(1_800_000_000, 0)
	f.Fuzz(func(t *testing.T, in string) {
		object, err := wire.QueryObject(in)
		if err == nil {
			if !json.Valid(object) || object[0] != '{' {
				t.Fatalf("%q became %s, which is no JSON object", in, object)
			}
			_, err = wire.DecodeSearch(object, query.OrderedPages, now)
		}
		if err != nil && fault.Of(err) != fault.Invalid {
			t.Fatalf("%q: %v", in, err)
		}
	})
}
