package run

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// Stored documents are read by later versions: neither names nor order nor what is left out may change.
func TestStoredDocument(t *testing.T) {
	text, empty := "a \"quoted\" <text> & é\n", ""
	for _, c := range []struct {
		v    Run
		want string
	}{
		{Run{ID: "x"}, `{"name":"","status":"","dataset_id":"","dataset_version":0,"event_ids":[],"session_ids":[],"datapoint_ids":[]}`},
		{Run{
			ID: "x", Name: text, Description: &text, Status: Running, DatasetID: text, DatasetVersion: 3, EventIDs: []string{"e", text},
			SessionIDs: []string{"s"}, DatapointIDs: []string{"d"}, Metadata: json.RawMessage(`{ "m" : 1.0}`),
			Results:       json.RawMessage(`{ "r" : 1.0}`),
			Configuration: json.RawMessage(`{ "c" : 1.0}`), PassingRanges: json.RawMessage(`{ "p" : 1.0}`),
			Evaluators: json.RawMessage(`[ "e" ]`),
			Created:    3, Updated: 4,
		}, `{"name":"a \"quoted\" <text> & é\n","description":"a \"quoted\" <text> & é\n","status":"running",` +
			`"dataset_id":"a \"quoted\" <text> & é\n","dataset_version":3,"event_ids":["e","a \"quoted\" <text> & é\n"],` +
			`"session_ids":["s"],"datapoint_ids":["d"],"metadata":{ "m" : 1.0},"results":{ "r" : 1.0},` +
			`"configuration":{ "c" : 1.0},"passing_ranges":{ "p" : 1.0},"evaluators":[ "e" ]}`},
		{Run{Description: &empty}, `{"name":"","description":"","status":"","dataset_id":"","dataset_version":0,` +
			`"event_ids":[],"session_ids":[],"datapoint_ids":[]}`},
	} {
		if got := string(c.v.Doc()); got != c.want {
			t.Errorf("stored\n%s, want\n%s", got, c.want)
		}
		c.v.Created, c.v.Updated = 0, 0
		if diff := cmp.Diff(c.v, FromDoc(c.v.ID, json.RawMessage(c.want))); diff != "" {
			t.Errorf("read back (-want +got):\n%s", diff)
		}
	}
}
