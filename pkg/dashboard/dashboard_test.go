package dashboard

import (
	"encoding/json"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// Stored documents are read by later versions: neither names nor order may change.
func TestStoredDocument(t *testing.T) {
	text := "what \"we\" watch <é>"
	d := Dashboard{ID: "x", Name: text, Description: &text, Layout: json.RawMessage(`[ {"chart":"c","x":0}]`), Created: 3, Updated: 4}
	const want = `{"name":"what \"we\" watch <é>","description":"what \"we\" watch <é>","layout":[ {"chart":"c","x":0}]}`
	if got := string(d.Doc()); got != want {
		t.Errorf("stored\n%s, want\n%s", got, want)
	}
	d.ID, d.Created, d.Updated = "", 0, 0
	if diff := cmp.Diff(d, FromDoc(json.RawMessage(want))); diff != "" {
		t.Errorf("read back (-want +got):\n%s", diff)
	}
}

func TestLayout(t *testing.T) {
	n := 0
	tile := func(x, y, width, height string) string {
		n++
		return `{"chart": "c` + strconv.Itoa(n) + `", "x": ` + x + `, "y": ` + y + `, "width": ` + width + `, "height": ` + height + `}`
	}
	many := ""
	for range 50 {
		many += tile("0", "0", "1", "1") + ","
	}
	for layout, want := range map[string]string{
		`[]`: "",
		`[` + tile("0", "0", "12", "3") + `,` + tile("6", "1000", "6", "20") + `]`: "",
		`{}`:                                    "layout: must be an array",
		`[1]`:                                   "layout[0]: must be an object",
		`[{"x": 0}]`:                            "layout[0].chart: must be the id",
		`[` + tile("12", "0", "1", "1") + `]`:   "layout[0].x: must be a whole number from 0 to 11",
		`[` + tile("0", "1.5", "1", "1") + `]`:  "layout[0].y: must be a whole number",
		`[` + tile("null", "0", "1", "1") + `]`: "layout[0].x: must be a whole number",
		`[` + tile("0", "0", "13", "1") + `]`:   "layout[0].width: must be a whole number from 1 to 12",
		`[` + tile("7", "0", "6", "1") + `]`:    "layout[0].width: reaches beyond",
		`[` + tile("0", "0", "1", "0") + `]`:    "layout[0].height: must be",
		`[` + tile("0", "0", "1", `"2"`) + `]`:  "layout[0].height: must be",
		`[{"chart": "c", "x": 0, "y": 0, "width": 1, "height": 1}, {"chart": "c", "x": 1, "y": 0, "width": 1, "height": 1}]`: "layout[1].chart: has a place already",
		`[{"chart": "c", "x": 0, "y": 0}]`:    "layout[0].width: must be",
		`[` + strings.Repeat("1,", 50) + `1]`: "layout[0]: must be an object",
		`[` + many + `1]`:                     "layout: must be at most 50",
	} {
		d := Dashboard{Name: "x", Layout: json.RawMessage(layout)}
		err := d.Validate()
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%.60s: %v, want %q", layout, err, want)
		}
	}
}
