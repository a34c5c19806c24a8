package view

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// Stored documents are read by later versions: neither names nor order may change.
func TestStoredDocument(t *testing.T) {
	v := View{ID: "x", Name: "a \"quoted\" <text>", Page: "sessions", State: json.RawMessage(`{ "q":"é", "n":1.0}`), Created: 3, Updated: 4}
	const want = `{"name":"a \"quoted\" <text>","page":"sessions","state":{ "q":"é", "n":1.0}}`
	if got := string(v.Doc()); got != want {
		t.Errorf("stored\n%s, want\n%s", got, want)
	}
	v.ID, v.Created, v.Updated = "", 0, 0
	if diff := cmp.Diff(v, FromDoc(json.RawMessage(want))); diff != "" {
		t.Errorf("read back (-want +got):\n%s", diff)
	}
}
