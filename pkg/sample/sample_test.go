package sample_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/spangrove/spangrove/pkg/event"
	"github.com/spangrove/spangrove/pkg/sample"
	"github.com/spangrove/spangrove/pkg/wire"
)

var now = time.Date(2026, 11, 23, 12, 0, 0, 0, time.UTC)

func decode(t *testing.T, at time.Time) []event.Incoming {
	t.Helper()
	b, err := wire.DecodeBatch(sample.Batch(at), wire.Strict, at)
	if err != nil {
		t.Fatal(err)
	}
	return b.Events
}

// What the samples are to show is there, in trees without gaps and at times that can have been.
func TestSamples(t *testing.T) {
	t.Parallel()
	events := decode(t, now)
	byID := map[string]*event.Incoming{}
	for i := range events {
		byID[events[i].ID.String()] = &events[i]
	}
	if len(byID) != len(events) {
		t.Errorf("%d events have %d ids", len(events), len(byID))
	}
	sessions := map[string]bool{}
	types := map[event.Type]int{}
	failed, explained := 0, 0
	for i := range events {
		e := &events[i]
		types[e.Type]++
		if e.Source != sample.Source {
			t.Errorf("%s has the source %s", e.Name, e.Source)
		}
		if e.Error != nil {
			failed++
		}
		if strings.Contains(string(e.Metrics), "_explanation") {
			explained++
		}
		parent := byID[e.SessionID.String()]
		if e.IsSession() {
			sessions[e.ID.String()] = true
			if float64(now.UnixMilli()) <= e.End || float64(now.Add(-3*time.Hour).UnixMilli()) > e.Start {
				t.Errorf("%s ran from %f to %f, and it is %d", e.Name, e.Start, e.End, now.UnixMilli())
			}
		} else {
			parent = byID[e.ParentID.String()]
		}
		if parent == nil {
			t.Errorf("the parent of %s is not there", e.Name)
		} else if e.Start < parent.Start || e.End > parent.End || e.Duration < 0 || e.SessionID != parent.SessionID {
			t.Errorf("%s does not fit into %s", e.Name, parent.Name)
		}
		for _, raw := range []json.RawMessage{e.Inputs, e.Outputs} {
			if strings.Contains(string(raw), "tool_calls") && e.Type != event.TypeModel && !e.IsSession() {
				t.Errorf("%s calls tools", e.Name)
			}
		}
	}
	ids := sample.IDs()
	if len(ids) != 5 || len(sessions) != 5 {
		t.Errorf("%d ids, %d sessions", len(ids), len(sessions))
	}
	for _, id := range ids {
		if !sessions[id.String()] {
			t.Errorf("%s is no session of the batch", id)
		}
	}
	if types[event.TypeModel] < 10 || types[event.TypeTool] < 10 || types[event.TypeChain] < 5 || types[event.TypeGeneric] < 1 || failed != 1 || explained != 2 {
		t.Errorf("types %v, %d errors, %d events with an explained score", types, failed, explained)
	}
}

// Times follow the moment of loading, ids do not.
func TestIDsStayTheSame(t *testing.T) {
	t.Parallel()
	before, after := decode(t, now), decode(t, now.Add(24*time.Hour))
	for i := range before {
		if before[i].ID != after[i].ID || before[i].SessionID != after[i].SessionID || before[i].ParentID != after[i].ParentID {
			t.Errorf("%s has other ids a day later", before[i].Name)
		}
		if after[i].Start-before[i].Start != 24*60*60*1000 || after[i].Duration != before[i].Duration {
			t.Errorf("%s began at %f, and a day later at %f", before[i].Name, before[i].Start, after[i].Start)
		}
	}
}
