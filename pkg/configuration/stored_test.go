package configuration

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// Stored documents are read by later versions: neither names nor order nor what is left out may change.
func TestStoredDocument(t *testing.T) {
	text, empty := "a \"quoted\" <text> & é\n", ""
	for _, c := range []struct {
		v    Configuration
		want string
	}{
		{Configuration{Parameters: json.RawMessage(`{}`), Env: []string{}, Tags: []string{}},
			`{"name":"","provider":"","type":"","parameters":{},"env":[],"tags":[]}`},
		{Configuration{
			ID: "x", Name: text, Provider: text, Type: "LLM", Parameters: json.RawMessage(`{ "b": 1.0, "a": "\u00e9" }`),
			Env: []string{"dev", text}, EnvVersions: map[string]int64{"prod": 2, "dev": 1},
			Tags: []string{"a", text, empty}, UserProperties: json.RawMessage(`{ "u" : null}`), Version: 2, Created: 3, Updated: 4,
		}, `{"name":"a \"quoted\" <text> & é\n","provider":"a \"quoted\" <text> & é\n","type":"LLM",` +
			`"parameters":{ "b": 1.0, "a": "\u00e9" },"env":["dev","a \"quoted\" <text> & é\n"],"env_versions":{"dev":1,"prod":2},` +
			`"tags":["a","a \"quoted\" <text> & é\n",""],"user_properties":{ "u" : null}}`},
	} {
		if got := string(c.v.Doc()); got != c.want {
			t.Errorf("stored\n%s, want\n%s", got, c.want)
		}
		c.v.ID, c.v.Version, c.v.Created, c.v.Updated = "", 0, 0, 0
		if diff := cmp.Diff(c.v, FromDoc(json.RawMessage(c.want))); diff != "" {
			t.Errorf("read back (-want +got):\n%s", diff)
		}
	}
}
