package tool

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// Stored documents are read by later versions: neither names nor order nor what is left out may change.
func TestStoredDocument(t *testing.T) {
	text, empty := "a \"quoted\" <text> & é\n", ""
	for _, c := range []struct {
		v    Tool
		want string
	}{
		{Tool{Parameters: json.RawMessage(`{}`)}, `{"name":"","tool_type":"","parameters":{}}`},
		{
			Tool{
				ID: "x", Name: text, Type: "tool", Description: &text, Parameters: json.RawMessage(`{ "b": 1.0, "a": "\u00e9" }`),
				Created: 3, Updated: 4,
			},
			`{"name":"a \"quoted\" <text> & é\n","tool_type":"tool","description":"a \"quoted\" <text> & é\n",` +
				`"parameters":{ "b": 1.0, "a": "\u00e9" }}`,
		},
		{Tool{Description: &empty, Parameters: json.RawMessage(`null`)}, `{"name":"","tool_type":"","description":"","parameters":null}`},
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
