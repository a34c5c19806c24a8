package metric

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/spangrove/spangrove/pkg/fault"
)

func raw(s string) json.RawMessage { return json.RawMessage(s) }

func TestTypesHaveTwoNames(t *testing.T) {
	t.Parallel()
	for _, typ := range Types() {
		if got, ok := TypeOf(string(typ)); !ok || got != typ {
			t.Errorf("%q is %q, %t", typ, got, ok)
		}
		want := typ
		if typ == Expression { // older clients know it by the name of another
			want = Python
		}
		if got, ok := TypeOf(typ.Older()); !ok || got != want {
			t.Errorf("%q is %q, %t; want %q", typ.Older(), got, ok, want)
		}
	}
	for _, name := range []string{"", "python", "Custom", "MODEL"} {
		if got, ok := TypeOf(name); ok {
			t.Errorf("%q is %q", name, got)
		}
	}
	if Categorical.Older() != "string" || Float.Older() != "float" {
		t.Error("return types of older clients")
	}
}

func TestDocComesBack(t *testing.T) {
	t.Parallel()
	text, empty := "x\"\n☃", ""
	for _, d := range []Definition{
		{},
		{Name: "n", Type: LLM, Criteria: text, Description: text, Return: Float, EnabledInProd: true, NeedsGroundTruth: true, Sampling: raw(`12.50`),
			ModelProvider: &text, ModelName: &empty, EventName: &text, EventType: &text, Scale: raw(`5`), Threshold: raw(`{"min": 1e0}`),
			Categories: raw(`[]`), Children: raw(`[ ]`), Filters: raw(`{"filterArray":[]}`)},
	} {
		if diff := cmp.Diff(d, FromDoc(d.Doc())); diff != "" {
			t.Errorf("(-written +read)\n%s", diff)
		}
		m := Metric{Definition: d, Deployed: 7}
		if diff := cmp.Diff(m, FromRow(m.Row())); diff != "" {
			t.Errorf("row (-written +read)\n%s", diff)
		}
	}
}

func TestValidate(t *testing.T) {
	t.Parallel()
	good := Definition{Name: "n", Type: Human}
	good.Complete(DefaultSampling)
	for _, tt := range []struct {
		change func(*Definition)
		want   string // empty: valid
	}{
		{func(*Definition) {}, ""},
		{func(d *Definition) { d.Name = " " }, "name: is required"},
		{func(d *Definition) { d.Name = strings.Repeat("ß", 201) }, "name: must have at most 200 characters"},
		{func(d *Definition) { d.Type = "" }, "type: is required"},
		{func(d *Definition) { d.Type = Python }, "criteria: is required"},
		{func(d *Definition) { d.Type, d.Criteria = LLM, " " }, "criteria: is required"},
		{func(d *Definition) { d.Type, d.Criteria = LLM, "x" }, ""},
		{func(d *Definition) { d.Return = "int" }, `return_type: must be one of float, boolean, string, categorical, not "int"`},
		{func(d *Definition) { d.Sampling = raw(`-1`) }, "sampling_percentage: "},
		{func(d *Definition) { d.Sampling = raw(`100.1`) }, "sampling_percentage: "},
		{func(d *Definition) { d.Sampling = raw(`0`) }, ""},
		{func(d *Definition) { d.Scale = raw(`0`) }, "scale: must be a whole number"},
		{func(d *Definition) { d.Scale = raw(`1.5`) }, "scale: must be a whole number"},
		{func(d *Definition) { d.Scale = raw(`5.0`) }, ""},
		{func(d *Definition) { d.Threshold = raw(`{}`) }, ""},
		{func(d *Definition) { d.Threshold = raw(`{"min":"1"}`) }, "threshold.min: must be a number"},
		{func(d *Definition) { d.Threshold = raw(`{"max":true}`) }, "threshold.max: must be a number"},
		{func(d *Definition) { d.Threshold = raw(`{"min":2,"max":1}`) }, "threshold.min: must not be more than max"},
		{func(d *Definition) { d.Threshold = raw(`{"pass_when":"yes"}`) }, "threshold.pass_when: "},
		{func(d *Definition) { d.Threshold = raw(`{"passing_categories":"a"}`) }, "threshold.passing_categories: "},
		{func(d *Definition) { d.Threshold = raw(`{"passing_categories":["a",1]}`) }, "threshold.passing_categories[1]: "},
		{func(d *Definition) { d.Categories = raw(`{}`) }, "categories: must be an array"},
		{func(d *Definition) { d.Categories = raw(`[{"category":"a"},1]`) }, "categories[1]: must be an object"},
		{func(d *Definition) { d.Categories = raw(`[{"category":"a","score":"1"}]`) }, "categories[0].score: must be a number"},
		{func(d *Definition) { d.Categories = raw(`[{"category":""}]`) }, "categories[0].category: is required"},
		{func(d *Definition) { d.Children = raw(`[{"name":"a"}]`) }, "child_metrics[0].weight: is required"},
		{func(d *Definition) { d.Children = raw(`[{"name":"a","weight":-1}]`) }, "child_metrics[0].weight: must be 0 or more"},
		{func(d *Definition) { d.Children = raw(`[{"name":"a","weight":1,"scale":0}]`) }, "child_metrics[0].scale: "},
		{func(d *Definition) { d.Children = raw(`[{"name":"a","weight":1,"id":7}]`) }, "child_metrics[0].id: "},
		{func(d *Definition) { d.Children = raw(`[` + strings.Repeat(`{"name":"a","weight":1},`, 1000) + `{}]`) }, "child_metrics: must have at most 1000 elements"},
		{func(d *Definition) { d.Filters = raw(`[]`) }, "filters: must be an object"},
		{func(d *Definition) { d.Description = strings.Repeat("x", MaxBytes) }, "a metric has at most 1048576 bytes"},
	} {
		d := good
		tt.change(&d)
		err := d.Validate()
		if (err == nil) != (tt.want == "") || err != nil && !strings.HasPrefix(err.Error(), tt.want) {
			t.Errorf("%v, want %q", err, tt.want)
		}
		if kind := fault.Of(err); err != nil && kind != fault.Invalid && kind != fault.TooLarge {
			t.Errorf("kind of %v: %v", err, kind)
		}
	}
}

func TestPasses(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ threshold, score, want string }{
		{`{}`, `1`, "says nothing"},
		{`null`, `1`, "says nothing"},
		{`{"min":1}`, `1`, "passes"},
		{`{"min":1}`, `0.9`, "fails"},
		{`{"max":1}`, `1.0`, "passes"},
		{`{"max":1}`, `1.1`, "fails"},
		{`{"min":1,"max":2}`, `3`, "fails"},
		{`{"min":1}`, `true`, "passes"},
		{`{"min":1}`, `false`, "fails"},
		{`{"min":1}`, `"2"`, "says nothing"},
		{`{"min":1}`, `null`, "says nothing"},
		{`{"pass_when":true}`, `true`, "passes"},
		{`{"pass_when":true}`, `false`, "fails"},
		{`{"pass_when":false}`, `false`, "passes"},
		{`{"pass_when":true}`, `1`, "passes"},
		{`{"pass_when":0.3}`, `0.30`, "passes"},
		{`{"pass_when":true}`, `"x"`, "says nothing"},
		{`{"min":0,"pass_when":2}`, `3`, "fails"},
		{`{"passing_categories":["a","b"]}`, `"b"`, "passes"},
		{`{"passing_categories":["a","b"]}`, `"c"`, "fails"},
		{`{"passing_categories":[]}`, `"c"`, "fails"},
		{`{"passing_categories":["1"]}`, `1`, "says nothing"},
		{`{"min":1,"passing_categories":["a"]}`, `"a"`, "passes"},
		{`{"min":1}`, `{"a":1}`, "says nothing"},
	} {
		threshold, err := ThresholdOf(raw(tt.threshold))
		if err != nil {
			t.Fatal(err)
		}
		passes, says := threshold.Passes(raw(tt.score))
		got := map[[2]bool]string{{true, true}: "passes", {false, true}: "fails", {false, false}: "says nothing"}[[2]bool{passes, says}]
		if got != tt.want {
			t.Errorf("%s of %s: %s, want %s", tt.threshold, tt.score, got, tt.want)
		}
	}
	both, err := ThresholdOf(raw(`{"min":0.5,"max":2,"pass_when":true,"passing_categories":["a"]}`))
	if err != nil || both.String() != `from 0.5 to 2, and exactly true, and one of ["a"]` {
		t.Errorf("%s, %v", both, err)
	}
}

func TestApply(t *testing.T) {
	t.Parallel()
	name := "n"
	for _, tt := range []struct {
		p    Patch
		want string // threshold
	}{
		{Patch{}, `{"min":1,"own":2}`},
		{Patch{Threshold: raw(`{"max":3}`)}, `{"max":3}`},
		{Patch{Threshold: raw(`{"max":3}`), Older: true}, `{"min":1,"own":2,"max":3}`},
		{Patch{PassWhen: raw(`true`)}, `{"min":1,"own":2,"pass_when":true}`},
		{Patch{PassWhen: raw(`true`), Threshold: raw(`{"pass_when":false}`)}, `{"pass_when":true}`},
	} {
		d := Definition{Threshold: raw(`{"min":1,"own":2}`)}
		tt.p.Name = &name
		d.Apply(&tt.p)
		if string(d.Threshold) != tt.want || d.Name != name {
			t.Errorf("%+v gives %s, want %s", tt.p, d.Threshold, tt.want)
		}
	}
	var bare Definition
	bare.Apply(&Patch{PassWhen: raw(`true`)})
	if string(bare.Threshold) != `{"pass_when":true}` {
		t.Errorf("pass_when alone gives %s", bare.Threshold)
	}
}

// TestOlderCodeKeepsItsType: older clients have one name for PYTHON and EXPRESSION.
func TestOlderCodeKeepsItsType(t *testing.T) {
	t.Parallel()
	code, text := Python, LLM
	d := Definition{Type: Expression}
	if d.Apply(&Patch{Type: &code, Older: true}); d.Type != Expression {
		t.Errorf("put back by an older client, it is %s", d.Type)
	}
	if d.Apply(&Patch{Type: &text, Older: true}); d.Type != LLM {
		t.Errorf("changed by an older client, it is %s", d.Type)
	}
	d.Type = Expression
	if d.Apply(&Patch{Type: &code}); d.Type != Python {
		t.Errorf("changed, it is %s", d.Type)
	}
}

func TestVersionNames(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]int64{"v1": 1, "v120": 120, "v0": 0, "": 0, "v": 0, "1": 0, "v01": 0, "v+1": 0, "v99999999999999999999": 0} {
		if got := VersionNumber(name); got != want {
			t.Errorf("%q: %d, want %d", name, got, want)
		}
	}
	a, b := Version{MetricID: "m", Number: 1}, Version{MetricID: "m", Number: 2}
	a.Seal()
	b.Seal()
	if len(a.SHA) != 64 || a.SHA == b.SHA {
		t.Errorf("shas %s, %s", a.SHA, b.SHA)
	}
}
