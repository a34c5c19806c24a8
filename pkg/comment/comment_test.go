package comment

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/spangrove/spangrove/pkg/fault"
)

// Stored documents are read by later versions: neither names nor order may change.
func TestStoredDocument(t *testing.T) {
	t.Parallel()
	c := Comment{ID: "x", Author: "a \"quoted\" <name>", Text: "é\n", Created: 3, Updated: 4}
	const want = `{"author":"a \"quoted\" <name>","text":"é\n"}`
	if got := string(c.Doc()); got != want {
		t.Errorf("stored\n%s, want\n%s", got, want)
	}
	c.ID, c.Created, c.Updated = "", 0, 0
	if diff := cmp.Diff(c, FromDoc(json.RawMessage(want))); diff != "" {
		t.Errorf("read back (-want +got):\n%s", diff)
	}
}

func TestValidate(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		author, text string
		want         string // empty: valid
	}{
		{"ann", "good", ""},
		{strings.Repeat("ß", MaxAuthor), strings.Repeat("ß", MaxText), ""},
		{" \t", "good", "author: is required"},
		{strings.Repeat("ß", MaxAuthor+1), "good", "author: must have at most 200"},
		{"ann", "\n", "text: is required"},
		{"ann", strings.Repeat("ß", MaxText+1), "text: must have at most 10000"},
	} {
		c := Comment{Author: tt.author, Text: tt.text}
		err := c.Validate()
		if (err == nil) != (tt.want == "") || err != nil && (!strings.HasPrefix(err.Error(), tt.want) || fault.Of(err) != fault.Invalid) {
			t.Errorf("%.10q %.10q: %v, want %q", tt.author, tt.text, err, tt.want)
		}
	}
}
