package chart

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// Stored documents are read by later versions: neither names nor order nor what is left out may change.
func TestStoredDocument(t *testing.T) {
	text, empty := "a \"quoted\" <text> & é\n", ""
	for _, c := range []struct {
		v    Chart
		want string
	}{
		{Chart{Query: json.RawMessage(`[]`)}, `{"name":"","metric":"","func":"","groupBy":"","bucketing":"","query":[]}`},
		{Chart{
			ID: "x", Name: text, Description: &text, Metric: text, Func: "average", GroupBy: text, Bucketing: "hour",
			DateRange: json.RawMessage(`{ "relative" : "7d" }`), Query: json.RawMessage(`[ {"a":1.0}]`), OwnerID: &text, Display: "bars", Series: json.RawMessage(`[{ "metric":"cost"}]`), Created: 3, Updated: 4,
		}, `{"name":"a \"quoted\" <text> & é\n","description":"a \"quoted\" <text> & é\n",` +
			`"metric":"a \"quoted\" <text> & é\n","func":"average","groupBy":"a \"quoted\" <text> & é\n",` +
			`"bucketing":"hour","dateRange":{ "relative" : "7d" },"query":[ {"a":1.0}],` +
			`"owner_id":"a \"quoted\" <text> & é\n","display":"bars","series":[{ "metric":"cost"}]}`},
		{Chart{Description: &empty, OwnerID: &empty, Query: json.RawMessage(`[]`)},
			`{"name":"","description":"","metric":"","func":"","groupBy":"","bucketing":"","query":[],"owner_id":""}`},
	} {
		if got := string(c.v.Doc()); got != c.want {
			t.Errorf("stored\n%s, want\n%s", got, c.want)
		}
		c.v.ID, c.v.Created, c.v.Updated = "", 0, 0
		if diff := cmp.Diff(c.v, FromDoc(json.RawMessage(c.want))); diff != "" {
			t.Errorf("read back (-want +got):\n%s", diff)
		}
	}
}
