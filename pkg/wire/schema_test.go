package wire_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/spangrove/spangrove/pkg/event"
	"github.com/spangrove/spangrove/pkg/wire"
)

func TestAppendSchema(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name string
		in   event.FieldIndex
		want string
	}{
		{"nothing", event.FieldIndex{}, `{"fields":[],"datasets":[],"mappings":{}}`},
		{"fields of several names once, names apart", event.FieldIndex{
			Keys: []event.Key{{Type: event.TypeModel, Name: "b", Path: "inputs.q"}, {Type: event.TypeTool, Name: `a"`, Path: "inputs.q"},
				{Type: event.TypeTool, Name: "b", Path: "inputs.q"}, {Type: event.TypeTool, Name: "", Path: "inputs.r"}},
			Datasets: []string{"EXT-1", "x\"y"}},
			`{"fields":[{"name":"inputs.q","event_type":"model"},{"name":"inputs.q","event_type":"tool"},{"name":"inputs.r","event_type":"tool"}],` +
				`"datasets":["EXT-1","x\"y"],` +
				`"mappings":{"a\"":[{"field_name":"inputs.q","event_type":"tool"}],"b":[{"field_name":"inputs.q","event_type":"model"},{"field_name":"inputs.q","event_type":"tool"}]}}`},
	} {
		if diff := cmp.Diff(tt.want, string(wire.AppendSchema(nil, &tt.in))); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.name, diff)
		}
	}
}

func TestDecodeSchema(t *testing.T) {
	t.Parallel()
	q, err := wire.DecodeSchema(`dateRange={"$gte":1000,"$lte":2000}&evaluation_id=r1&limit=none`, time.Now())
	if err != nil || q.RunID != "r1" || q.From == nil || *q.From != 1000 || q.To == nil || *q.To != 2000 {
		t.Errorf("%+v, %v", q, err)
	}
	if _, err := wire.DecodeSchema(`dateRange=soon`, time.Now()); err == nil {
		t.Error("a range that is none is taken")
	}
}
