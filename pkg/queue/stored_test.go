package queue

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// Stored documents are read by later versions: neither names nor order nor what is left out may change.
func TestStoredDocument(t *testing.T) {
	text, empty := "a \"quoted\" <text> & é\n", ""
	for _, c := range []struct {
		v    Queue
		want string
	}{
		{Queue{Filters: json.RawMessage(`{}`), Description: empty},
			`{"name":"","description":"","filters":{},"enabled":false,"until":0,"annotators":0,"lease":0,"metrics":[]}`},
		{Queue{
			ID: "x", Name: text, Description: text, Filters: json.RawMessage(`{ "filterArray" : [1.0]}`),
			Enabled: true, Until: 1 << 60, Annotators: 7,
			Lease: 1 << 61, Metrics: []string{"a", text}, Created: 3, Updated: 4, Counts: Counts{1, 2, 3, 4},
		}, `{"name":"a \"quoted\" <text> & é\n","description":"a \"quoted\" <text> & é\n",` +
			`"filters":{ "filterArray" : [1.0]},"enabled":true,"until":1152921504606846976,"annotators":7,` +
			`"lease":2305843009213693952,"metrics":["a","a \"quoted\" <text> & é\n"]}`},
	} {
		if got := string(c.v.Doc()); got != c.want {
			t.Errorf("stored\n%s, want\n%s", got, c.want)
		}
		c.v.ID, c.v.Created, c.v.Updated, c.v.Counts = "", 0, 0, Counts{}
		if diff := cmp.Diff(c.v, FromDoc(json.RawMessage(c.want))); diff != "" {
			t.Errorf("read back (-want +got):\n%s", diff)
		}
	}
}

func TestStoredSettlement(t *testing.T) {
	s := Settlement{Annotator: "x", Scores: json.RawMessage(`{ "a" : 1.0 }`), Comment: "a \"quoted\" <text>", At: 3}
	const want = `{"annotator":"x","scores":{ "a" : 1.0 },"comment":"a \"quoted\" <text>","at":3}`
	if got := string(s.Doc()); got != want {
		t.Errorf("stored\n%s, want\n%s", got, want)
	}
	if diff := cmp.Diff(s, SettlementFrom(json.RawMessage(want))); diff != "" {
		t.Errorf("read back (-want +got):\n%s", diff)
	}
}

func TestStoredAnnotation(t *testing.T) {
	a := Annotation{Annotator: "x", Scores: json.RawMessage(`{ "a" : 1.0 }`), Comment: "a \"quoted\" <text>", Created: 3, Updated: 4}
	const want = `{"scores":{ "a" : 1.0 },"comment":"a \"quoted\" <text>"}`
	if got := string(a.Doc()); got != want {
		t.Errorf("stored\n%s, want\n%s", got, want)
	}
	var b Annotation
	b.Read(json.RawMessage(want))
	a.Annotator, a.Created, a.Updated = "", 0, 0
	if diff := cmp.Diff(a, b); diff != "" {
		t.Errorf("read back (-want +got):\n%s", diff)
	}
}
