package query

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/spangrove/spangrove/pkg/fault"
)

func TestProjection(t *testing.T) {
	t.Parallel()
	p, err := ParseProjection(nil)
	if err != nil || !p.Empty() || !p.Has("inputs") || !p.Whole("inputs") || !p.NeedPayload() {
		t.Errorf("no names: %+v, %v", p, err)
	}
	p, err = ParseProjection([]string{"event_name", "metadata.cost", "metadata.model"})
	if err != nil || p.Empty() || p.NeedPayload() {
		t.Errorf("%+v, %v", p, err)
	}
	for name, want := range map[string]bool{"event_id": true, "event_name": true, "metadata": true, "inputs": false, "source": false} {
		if p.Has(name) != want {
			t.Errorf("Has(%s) = %v", name, !want)
		}
	}
	if p.Whole("metadata") || !p.Whole("event_name") || p.Whole("source") {
		t.Error("Whole is wrong")
	}
	if got := p.Cut("metadata", []byte(`{"cost":1.50,"x":2,"model":"m"}`)); string(got) != `{"cost":1.50,"model":"m"}` {
		t.Errorf("Cut = %s", got)
	}
	if got := p.Cut("inputs", []byte(`{"a":1}`)); got != nil {
		t.Errorf("Cut of an unwanted field = %s", got)
	}
	for names, want := range map[string]bool{
		"inputs": true, "outputs.x": true, "config.a": true, "metadata": true, "metadata.attributes.a": true,
		"metadata.cost": false, "metrics": false, "event_id": false, "project_id": false, "metadata.x metadata.span_name": true,
	} {
		p, err := ParseProjection(strings.Fields(names))
		if err != nil || p.NeedPayload() != want {
			t.Errorf("NeedPayload of %s = %v, %v", names, !want, err)
		}
	}
	p, err = ParseProjection([]string{"metadata.cost", "metadata"})
	if err != nil || !p.Whole("metadata") {
		t.Errorf("a whole field beside a part of it: %+v, %v", p, err)
	}
}

func TestProjectionErrors(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		names []string
		field string
	}{
		{[]string{"event_id", "nope"}, "projections[1]"},
		{[]string{""}, "projections[0]"},
		{[]string{"event_name.x"}, "projections[0]"},
		{[]string{"metadata." + strings.Repeat("x", MaxFieldBytes)}, "projections[0]"},
		{make([]string, MaxProjections+1), "projections"},
	} {
		_, err := ParseProjection(tt.names)
		var f *fault.Error
		if !errors.As(err, &f) || f.Kind != fault.Invalid || f.Field != tt.field {
			t.Errorf("ParseProjection(%.40v): %v; want an Invalid of %s", tt.names, err, tt.field)
		}
	}
}

func TestCut(t *testing.T) {
	t.Parallel()
	const doc = `{"a":{"b":1.0,"c":[10,{"d":"x","e":2},[3]]},"a.b":"literal","x.y":"only literal","n":null,"0":"zero","m":{"k":null},"deep":{"t.s.l":"go","l":[{"k.k":2}]},"part.of":{"it":3,"is":4}}`
	for _, tt := range []struct{ paths, want string }{
		{"", ``},
		{"a", `{"a":{"b":1.0,"c":[10,{"d":"x","e":2},[3]]}}`},
		{"a.b", `{"a":{"b":1.0}}`},
		{"deep.t.s.l deep.u.v", `{"deep":{"t.s.l":"go"}}`},
		{"deep.l.0.k.k", `{"deep":{"l":[{"k.k":2}]}}`},
		{"part.of.it", `{"part.of":{"it":3}}`},
		{"a.b a.c.0", `{"a":{"b":1.0,"c":[10]}}`},
		{"a.c.1.d", `{"a":{"c":[null,{"d":"x"}]}}`},
		{"a.c.2.0 a.c.1.e", `{"a":{"c":[null,{"e":2},[3]]}}`},
		{"a.c.1.none", ``},
		{"a.c.01", ``},
		{"a.c.-1", ``},
		{"a.c.7", ``},
		{"a.c.x", ``},
		{"x.y", `{"x.y":"only literal"}`},
		{"n", `{"n":null}`},
		{"m.k", `{"m":{"k":null}}`},
		{"0", `{"0":"zero"}`},
		{"none a.none a.b.none", ``},
		{"a a.b", `{"a":{"b":1.0,"c":[10,{"d":"x","e":2},[3]]}}`},
	} {
		var paths [][]string
		for _, p := range strings.Fields(tt.paths) {
			paths = append(paths, strings.Split(p, "."))
		}
		if got := Cut(json.RawMessage(doc), paths); string(got) != tt.want {
			t.Errorf("Cut(%s) = %s, want %s", tt.paths, got, tt.want)
		}
	}
	for _, raw := range []string{``, `null`, `"text"`, `5`, `[]`, `{}`} {
		if got := Cut(json.RawMessage(raw), [][]string{{"a"}}); got != nil {
			t.Errorf("Cut(%s) = %s, want nothing", raw, got)
		}
	}
	if got := Cut(json.RawMessage(`[1,{"a":2}]`), [][]string{{"1", "a"}}); string(got) != `[null,{"a":2}]` {
		t.Errorf("Cut of an array = %s", got)
	}
}
