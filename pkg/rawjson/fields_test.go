package rawjson

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestFields(t *testing.T) {
	type kind string
	type thing struct {
		ID     string
		Name   string           `doc:"name"`
		Kind   kind             `doc:"kind,omitzero"`
		Note   *string          `doc:"note,omitzero"`
		Open   bool             `doc:"open"`
		Saved  *bool            `doc:"saved,omitzero"`
		Count  int              `doc:"count"`
		Until  int64            `doc:"until,omitzero"`
		Rate   float64          `doc:"rate,omitzero"`
		Sealed []byte           `doc:"sealed,omitzero"`
		Tags   []string         `doc:"tags"`
		Links  []string         `doc:"links,omitzero"`
		Held   map[string]int64 `doc:"held,omitzero"`
		Object json.RawMessage  `doc:"object,omitzero"`
	}
	fields := FieldsOf[thing]()
	empty, no := "", false
	for name, c := range map[string]struct {
		v    thing
		want string
	}{
		"nothing is set": {thing{}, `{"name":"","open":false,"count":0,"tags":[]}`},
		"all are set, and JSON keeps its spelling": {
			thing{"", "a\n", "k", &empty, true, &no, -1, 1 << 62, 0.25, []byte{0, 0xfb, 0xff}, []string{"x", `"`}, []string{""}, map[string]int64{"\"": 1 << 62, "a": -1}, json.RawMessage(`{ "a" : 1.0, "b":"\u00e9" }`)},
			`{"name":"a\n","kind":"k","note":"","open":true,"saved":false,"count":-1,"until":4611686018427387904,"rate":0.25,"sealed":"APv/",` +
				`"tags":["x","\""],"links":[""],"held":{"\"":4611686018427387904,"a":-1},"object":{ "a" : 1.0, "b":"\u00e9" }}`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			if got := string(fields.Object(&c.v)); got != c.want {
				t.Errorf("written as\n%s, want\n%s", got, c.want)
			}
			var got thing
			fields.Read(json.RawMessage(c.want), &got)
			if diff := cmp.Diff(c.v, got); diff != "" {
				t.Errorf("read (-want +got):\n%s", diff)
			}
			for name, raw := range fields.All(&c.v) {
				if diff := cmp.Diff(Get([]byte(c.want), name), raw); diff != "" {
					t.Errorf("%s (-want +got):\n%s", name, diff)
				}
			}
		})
	}
	t.Run("a field is found by its name", func(t *testing.T) {
		var v thing
		if got := fields.Pointer(&v, "note"); got != any(&v.Note) {
			t.Errorf("note is a %T", got)
		}
		if kind, ok := fields.Pointer(&v, "kind").(*string); !ok {
			t.Error("a kind of string is not a *string")
		} else if *kind = "k"; v.Kind != "k" {
			t.Errorf("kind is %q", v.Kind)
		}
		if got := fields.Pointer(&v, "ID"); got != nil {
			t.Errorf("a field without a tag is found: %T", got)
		}
	})
	t.Run("an empty list stays one, and what has no member stays as it was", func(t *testing.T) {
		got := thing{ID: "i", Kind: "k", Tags: []string{}, Links: []string{}}
		fields.Read(json.RawMessage(`{"links":[],"other":1}`), &got)
		if diff := cmp.Diff(thing{ID: "i", Kind: "k", Tags: []string{}, Links: []string{}}, got); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	})
}
