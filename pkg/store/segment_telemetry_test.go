package store_test

import (
	"context"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"
	"go.opentelemetry.io/otel/attribute"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"

	"github.com/spangrove/spangrove/pkg/event"
	"github.com/spangrove/spangrove/pkg/query"
	"github.com/spangrove/spangrove/pkg/store"
)

// segmentMetrics returns what is told of segments: values by name, and reads by what answered them.
func segmentMetrics(t *testing.T, reader sdkmetric.Reader) (values map[string]int64, reads map[string]int64) {
	t.Helper()
	var all metricdata.ResourceMetrics
	if err := reader.Collect(t.Context(), &all); err != nil {
		t.Fatal(err)
	}
	values, reads = map[string]int64{}, map[string]int64{}
	for _, scope := range all.ScopeMetrics {
		for _, m := range scope.Metrics {
			switch data := m.Data.(type) {
			case metricdata.Gauge[int64]:
				values[m.Name] = data.DataPoints[0].Value
			case metricdata.Gauge[float64]:
				values[m.Name] = int64(data.DataPoints[0].Value)
			case metricdata.Histogram[float64]:
				values[m.Name] = int64(data.DataPoints[0].Count)
			case metricdata.Sum[int64]:
				for _, p := range data.DataPoints {
					values[m.Name] += p.Value
					if m.Name == "spangrove_store_segment_reads" {
						by, _ := p.Attributes.Value(attribute.Key("by"))
						reason, _ := p.Attributes.Value(attribute.Key("reason"))
						reads[by.AsString()+" "+reason.AsString()] += p.Value
					}
				}
			}
		}
	}
	return values, reads
}

// What an operator is told of segments: how many there are and wait, and what answered.
func TestSegmentTelemetry(t *testing.T) {
	t.Parallel()
	place := sqlitePlace{dir: t.TempDir()}
	var s *store.Store
	var projectID int64
	var reader *sdkmetric.ManualReader
	open := func() {
		reader = sdkmetric.NewManualReader()
		s = place.Open(t, store.Options{Meter: sdkmetric.NewMeterProvider(sdkmetric.WithReader(reader)).Meter("test")})
		p, err := s.EnsureProject(t.Context(), "default")
		if err != nil {
			t.Fatal(err)
		}
		projectID = p.ID
	}
	search := func(field, operator string) {
		t.Helper()
		filters, err := query.ParseFilters([]byte(`[{"field":"`+field+`","operator":"`+operator+`","type":"string","value":"x"}]`), "filters")
		if err != nil {
			t.Fatal(err)
		}
		if _, err := s.Search(t.Context(), projectID, query.Search{Filters: filters, Limit: 10, Page: 1}); err != nil {
			t.Fatal(err)
		}
	}
	check := func(what string, want map[string]int64, wantReads map[string]int64) {
		t.Helper()
		values, reads := segmentMetrics(t, reader)
		if idle, ok := values["spangrove_store_segment_idle_seconds"]; !ok || idle < 0 {
			t.Errorf("%s: %d seconds, %t, since the background has looked for segments", what, idle, ok)
		}
		got := map[string]int64{}
		for name := range want {
			got[name] = values[name]
		}
		if d := cmp.Diff(want, got); d != "" {
			t.Errorf("%s (-want +got):\n%s", what, d)
		}
		if d := cmp.Diff(wantReads, reads); d != "" {
			t.Errorf("reads %s (-want +got):\n%s", what, d)
		}
	}
	open()
	search("metadata.tier", "is")
	if err := s.Put(t.Context(), projectID, event.Batch{Events: marked("x", uuid.New(), 20)}); err != nil {
		t.Fatal(err)
	}
	if err := s.Seal(t.Context()); err != nil {
		t.Fatal(err)
	}
	search("metadata.tier", "is")
	search("inputs.x", "exists")
	search("session_id", "is")
	search("parent_id", "is")
	check("of a sealed store", map[string]int64{
		"spangrove_store_segments": 1, "spangrove_store_segments_waiting": 0, "spangrove_store_segment_events_unsealed": 0,
		"spangrove_store_segments_damaged": 0, "spangrove_store_segment_build_seconds": 1,
	}, map[string]int64{"rows none": 1, "segments ": 2, "rows fields": 1, "rows index": 1})

	if err := s.Close(context.Background()); err != nil { // what is in memory is not damaged
		t.Fatal(err)
	}
	place.Exec(t, `UPDATE segment SET header = x'01'`)
	open()
	search("metadata.tier", "is")
	if err := s.Seal(t.Context()); err != nil {
		t.Fatal(err)
	}
	search("metadata.tier", "is")
	check("of one that was damaged", map[string]int64{
		"spangrove_store_segments_damaged": 1, "spangrove_store_segment_build_seconds": 1, "spangrove_store_segments_waiting": 0,
	}, map[string]int64{"rows damaged": 1, "segments ": 1})
}
