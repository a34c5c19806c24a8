package wire

import (
	"bytes"
	"encoding/json"
	"testing"

	"github.com/spangrove/spangrove/pkg/alert"
)

// An alert that is sent back as it was read asks what it asked, in whatever spelling a client writes JSON.
func TestAlertSentBackAsRead(t *testing.T) {
	t.Parallel()
	for name, body := range map[string]string{
		"with defaults":  `{"name":"slow","metric":"duration"}`,
		"with filters":   `{"name":"slow","metric":"duration","query":[{"value":"é","field":"event_name", "operator":"is"}],"window_minutes":1440}`,
		"on a chart":     `{"name":"slow","chart_id":"65a1b2c3d4e5f60718293a4b","compare":"week_before","timezone":"Europe/Berlin"}`,
		"as it was told": `{"name":"slow","metric":"duration","every_minutes":7,"for_minutes":30,"silenced_until":"2030-01-01T00:00:00Z","min_events":4}`,
	} {
		a := alert.New()
		u, err := DecodeAlert([]byte(body))
		if err != nil {
			t.Fatal(err)
		}
		a.Apply(&u)
		read := AppendAlert(nil, &a)
		var value any
		if err := json.Unmarshal(read, &value); err != nil {
			t.Fatal(err)
		}
		var other bytes.Buffer
		e := json.NewEncoder(&other)
		e.SetIndent(" ", "\t")
		if err := e.Encode(value); err != nil {
			t.Fatal(err)
		}
		for _, sent := range [][]byte{read, other.Bytes()} {
			if u, err = DecodeAlert(sent); err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			after := a
			after.Apply(&u)
			if !after.SameQuestion(&a) {
				t.Errorf("%s: %s\nasks something else than\n%s\nas it was sent:\n%s", name, after.Doc(), a.Doc(), sent)
			}
		}
		for _, change := range []string{`{"every_minutes":3}`, `{"query":[{"field":"event_name","operator":"is","value":"x"}]}`, `{"window_minutes":61}`} {
			if u, err = DecodeAlert([]byte(change)); err != nil {
				t.Fatal(err)
			}
			after := a
			after.Apply(&u)
			if after.SameQuestion(&a) && (a.ChartID == "" || change[2] != 'q') {
				t.Errorf("%s: it asks the same after %s", name, change)
			}
		}
	}
}
