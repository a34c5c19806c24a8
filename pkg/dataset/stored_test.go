package dataset

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// Stored documents are read by later versions: neither names nor order nor what is left out may change.
func TestStoredDocument(t *testing.T) {
	text, yes, empty, no := "a \"quoted\" <text> & é\n", true, "", false
	for _, c := range []struct {
		d    Dataset
		want string
	}{
		{Dataset{}, `{"name":"","type":"","pipeline_type":""}`},
		{Dataset{
			ID: "x", Name: text, Description: &text, Type: "evaluation", PipelineType: "session", LinkedEvals: json.RawMessage(`[ "a" ]`),
			Saved: &yes, Metadata: json.RawMessage(`{ "b": 1.0, "a": "\u00e9" }`), Version: 2, Created: 3, Updated: 4,
		}, `{"name":"a \"quoted\" <text> & é\n","description":"a \"quoted\" <text> & é\n","type":"evaluation",` +
			`"pipeline_type":"session","linked_evals":[ "a" ],"saved":true,"metadata":{ "b": 1.0, "a": "\u00e9" }}`},
		{Dataset{Description: &empty, Saved: &no}, `{"name":"","description":"","type":"","pipeline_type":"","saved":false}`},
	} {
		if got := string(c.d.Doc()); got != c.want {
			t.Errorf("stored\n%s, want\n%s", got, c.want)
		}
		c.d.ID, c.d.Version, c.d.Created, c.d.Updated = "", 0, 0, 0
		if diff := cmp.Diff(c.d, FromDoc(json.RawMessage(c.want))); diff != "" {
			t.Errorf("read back (-want +got):\n%s", diff)
		}
	}
}

func TestStoredDatapoint(t *testing.T) {
	text, yes, empty, no := "a \"quoted\" <text>", true, "", false
	for _, c := range []struct {
		p    Datapoint
		want string
	}{
		{Datapoint{
			ID: "x", Inputs: json.RawMessage(`{}`), History: json.RawMessage(`[]`),
			GroundTruth: json.RawMessage(`{}`), Metadata: json.RawMessage(`{}`),
		}, `{"inputs":{},"history":[],"ground_truth":{},"metadata":{}}`},
		{Datapoint{
			ID: "x", Inputs: json.RawMessage(`{ "q": 1e2 }`), History: json.RawMessage(`[{"role": "user"}]`),
			GroundTruth: json.RawMessage(`{"a":"\u00e9"}`),
			Metadata:    json.RawMessage(`{"m":null}`), LinkedEvent: text, LinkedEvals: json.RawMessage(`[ "a" ]`), Saved: &yes, Type: &text,
			LinkedDatasets: []string{"stored", "EXT-1", "EXT-\"2"}, Deleted: true, Created: 3, Updated: 4,
		}, `{"inputs":{ "q": 1e2 },"history":[{"role": "user"}],"ground_truth":{"a":"\u00e9"},"metadata":{"m":null},` +
			`"linked_event":"a \"quoted\" <text>","linked_evals":[ "a" ],"saved":true,"type":"a \"quoted\" <text>",` +
			`"external_datasets":["EXT-1","EXT-\"2"]}`},
		{Datapoint{
			Inputs: json.RawMessage(`{}`), History: json.RawMessage(`[]`), GroundTruth: json.RawMessage(`{}`), Metadata: json.RawMessage(`{}`),
			Saved: &no, Type: &empty, LinkedDatasets: []string{"stored"},
		}, `{"inputs":{},"history":[],"ground_truth":{},"metadata":{},"saved":false,"type":""}`},
	} {
		if got := string(c.p.Doc()); got != c.want {
			t.Errorf("stored\n%s, want\n%s", got, c.want)
		}
		c.p.ID, c.p.Deleted, c.p.Created, c.p.Updated, c.p.LinkedDatasets = "", false, 0, 0, c.p.Links(true)
		if len(c.p.LinkedDatasets) == 0 {
			c.p.LinkedDatasets = nil
		}
		if diff := cmp.Diff(c.p, PointFromDoc(json.RawMessage(c.want))); diff != "" {
			t.Errorf("read back (-want +got):\n%s", diff)
		}
	}
}
