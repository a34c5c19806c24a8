package experiment

import (
	"context"
	"encoding/json"
	"math"
	"slices"
	"testing"
)

// TestExternalIDs holds the ids against those that PyPI honeyhive 1.7.0 made of the same JSON:
//
//	from honeyhive.experiments.utils import prepare_external_dataset
//	prepare_external_dataset(json.loads(text))
func TestExternalIDs(t *testing.T) {
	for _, tt := range []struct {
		text, id   string
		datapoints []string
	}{
		{`[{"inputs": {"query": "test"}}]`, "EXT-6000ae9fa3f6ca4f", []string{"EXT-9842cacb60f7c166"}},
		{`[{"inputs":{"query":"test1"},"ground_truth":{"answer":"a1"}},{"inputs":{"query":"test2"},"ground_truth":{"answer":"a2"}}]`,
			"EXT-7f5e0b8f4e48c9aa", []string{"EXT-c6dfa2c4e6969832", "EXT-faada761333ea549"}},
		{`[{"id":"mine","inputs":{"a":1}},{"datapoint_id":"EXT-theirs","inputs":{"a":2}},{"id":"","inputs":{"a":3}}]`,
			"EXT-3b4c5b476c367c4f", []string{"EXT-mine", "EXT-theirs", "EXT-cceacbbcf2b9d0dc"}},
		{`[{"inputs":{"z":1,"a":[1,2.0,1e5,-0,-0.0,1.5e-7,1e16,123456789012345678901234567890,0.1,1e22,12345678.9,1e-4,0.00001234,1e400],` +
			`"Ä":"é \u007f \"q\" \\ / \b\f\n\r\t \u0001 \ud83d\ude00 <&>","é":null,"t":true,"f":false,"e":{},"l":[],"\ufffd":"x","\ud83d\ude00":"y"},` +
			`"ground_truth":"text","metadata":{"b":1,"a":2}}]`,
			"EXT-71841bdcc59317d1", []string{"EXT-443d7a411afadde3"}},
		{`[]`, "EXT-4f53cda18c2baa0c", []string{}},
		{`[{"inputs":{"x":1.0,"y":1}}]`, "EXT-4bf4fedd26532285", []string{"EXT-0770808b95be30ac"}},
	} {
		var dataset []Datapoint
		if err := json.Unmarshal([]byte(tt.text), &dataset); err != nil {
			t.Fatal(err)
		}
		id, ids, err := ExternalIDs(dataset)
		if err != nil || id != tt.id || !slices.Equal(ids, tt.datapoints) {
			t.Errorf("%s:\n got %s %v, %v\nwant %s %v", tt.text, id, ids, err, tt.id, tt.datapoints)
		}
	}
	// Values of Go, of which floats are Python's floats and structs are as encoding/json writes them.
	id, ids, err := ExternalIDs([]Datapoint{{Inputs: map[string]any{"x": 1.0, "y": 1}}})
	if err != nil || id != "EXT-4bf4fedd26532285" || ids[0] != "EXT-0770808b95be30ac" {
		t.Errorf("Go values: %s %v, %v", id, ids, err)
	}
	id, ids, err = ExternalIDs([]Datapoint{
		{Inputs: map[string]any{"query": "test1"}, GroundTruth: struct {
			Answer string `json:"answer"`
		}{"a1"}},
		{Inputs: map[string]any{"query": "test2"}, GroundTruth: map[string]string{"answer": "a2"}}})
	if err != nil || id != "EXT-7f5e0b8f4e48c9aa" || ids[1] != "EXT-faada761333ea549" {
		t.Errorf("Go values: %s %v, %v", id, ids, err)
	}
	if _, _, err := ExternalIDs([]Datapoint{{Inputs: map[string]any{"f": func() {}}}}); err == nil {
		t.Error("a function has an id")
	}
}

func TestPythonFloats(t *testing.T) {
	for _, tt := range []struct {
		f    float64
		want string // what Python 3.11's json.dumps gives
	}{
		{0, "0.0"}, {math.Copysign(0, -1), "-0.0"}, {5e-324, "5e-324"}, {9999999999999998, "9999999999999998.0"}, {1e16, "1e+16"},
		{1.7976931348623157e308, "1.7976931348623157e+308"}, {0.0001, "0.0001"}, {0.00009999, "9.999e-05"}, {-2.5, "-2.5"},
		{math.NaN(), "NaN"}, {math.Inf(-1), "-Infinity"}, {math.Inf(1), "Infinity"},
	} {
		var p pythonJSON
		if p.float(tt.f); string(p.buf) != tt.want {
			t.Errorf("%g: %s, want %s", tt.f, p.buf, tt.want)
		}
	}
}

func TestDatapointJSON(t *testing.T) {
	var d Datapoint
	text := `{"id":7,"inputs":{"n":9007199254740993},"ground_truth":null,"tags":["a"]}`
	if err := json.Unmarshal([]byte(text), &d); err != nil {
		t.Fatal(err)
	}
	if d.ID != "7" || d.Inputs["n"] != json.Number("9007199254740993") || d.GroundTruth != nil {
		t.Errorf("read %+v", d)
	}
	d.GroundTruth = "x"
	back, err := json.Marshal(d)
	if want := `{"ground_truth":"x","id":7,"inputs":{"n":9007199254740993},"tags":["a"]}`; err != nil || string(back) != want {
		t.Errorf("written %s, %v", back, err)
	}
	for _, bad := range []string{`null`, `[]`, `{"inputs":[]}`, `{"id":{}}`} {
		if err := json.Unmarshal([]byte(bad), &d); err == nil && bad != "null" {
			t.Errorf("%s is a datapoint", bad)
		}
	}
}

func named(context.Context, Datapoint) (any, error) { return nil, nil }

type method struct{}

func (method) answer(context.Context, Datapoint) (any, error) { return nil, nil }

func TestNameOf(t *testing.T) {
	closure := func(context.Context, Datapoint) (any, error) { return t.Name(), nil }
	for want, f := range map[string]Function{"named": named, "TestNameOf": closure, "answer": method{}.answer} {
		if got := nameOf(f); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
