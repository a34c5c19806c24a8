package dataset

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func point(inputs, truth, metadata string) *Datapoint {
	p := &Datapoint{Inputs: []byte(inputs), GroundTruth: []byte(truth), Metadata: []byte(metadata)}
	p.Complete()
	return p
}

func TestRowFilter(t *testing.T) {
	t.Parallel()
	p := point(`{"q":"Größe \"X\"","deep":[{"Key":7}]}`, `{"a":true}`, `{"split":"test","tags":["a","b",3,["c"]],"x.y":"z"}`)
	for _, tt := range []struct {
		f    RowFilter
		want bool
	}{
		{RowFilter{}, true},
		{RowFilter{Text: "GRÖSSE"}, false},
		{RowFilter{Text: `größe "x`}, true},
		{RowFilter{Text: "key"}, true},
		{RowFilter{Text: "7"}, true},
		{RowFilter{Text: "true"}, true},
		{RowFilter{Text: "nowhere"}, false},
		{RowFilter{Field: "metadata.split", Value: "test"}, true},
		{RowFilter{Field: "metadata.split", Value: "Test"}, false},
		{RowFilter{Field: "metadata.tags", Value: "b"}, true},
		{RowFilter{Field: "metadata.tags", Value: "3"}, true},
		{RowFilter{Field: "metadata.tags", Value: "c"}, false},
		{RowFilter{Field: "metadata.x.y", Value: "z"}, true},
		{RowFilter{Field: "ground_truth.a", Value: "true", Text: "x"}, true},
		{RowFilter{Field: "ground_truth.a", Value: "false", Text: "x"}, false},
	} {
		if err := tt.f.Validate(); err != nil {
			t.Fatal(err)
		}
		if got := tt.f.Match(p); got != tt.want {
			t.Errorf("%+v: got %v", tt.f, got)
		}
	}
	gone := &Datapoint{Deleted: true}
	gone.Complete()
	if !(&RowFilter{}).Match(gone) || (&RowFilter{Text: "a"}).Match(gone) {
		t.Error("a deleted datapoint is found by its text, or not at all")
	}
	for _, f := range []RowFilter{{Value: "x"}, {Field: "outputs.x"}, {Field: "metadata"}, {Field: "metadata."}, {Text: strings.Repeat("x", 1001)}} {
		if f.Validate() == nil {
			t.Errorf("%.40v is taken", f)
		}
	}
}

func TestSplits(t *testing.T) {
	t.Parallel()
	list := []*Datapoint{
		point(`{"l":"x"}`, `{}`, `{"split":"train","tags":["a","b","a"]}`),
		point(`{"l":"y"}`, `{}`, `{"split":"train","tags":["b"],"o":{}}`),
		point(`{"l":"y"}`, `{}`, `{"split":"test","long":"`+strings.Repeat("x", 300)+`"}`),
	}
	count := func(fields ...string) string {
		s := NewSplits(fields)
		for _, p := range list {
			s.Add(p)
		}
		var b strings.Builder
		for _, f := range s.Fields {
			values, more := f.Values()
			fmt.Fprintf(&b, "%s %d %v %d %v\n", f.Name, f.With, values, more, f.Many)
		}
		return b.String()
	}
	want := "metadata.split 3 [{train 2} {test 1}] 0 false\nmetadata.tags 2 [{b 2} {a 1}] 0 false\nmetadata.long 1 [] 0 true\n"
	if d := cmp.Diff(want, count()); d != "" {
		t.Errorf("found fields (-want +got)\n%s", d)
	}
	if d := cmp.Diff("inputs.l 3 [{y 2} {x 1}] 0 false\nmetadata.none 0 [] 0 false\n", count("inputs.l", "metadata.none")); d != "" {
		t.Errorf("fields asked for (-want +got)\n%s", d)
	}
	s := NewSplits(nil)
	for i := range MaxSplitFields + 5 {
		s.Add(point(`{}`, `{}`, fmt.Sprintf(`{"f%d":1,"v":"%d"}`, i, i)))
	}
	values, more := s.at["metadata.v"].Values()
	if len(s.Fields) != MaxSplitFields || s.More != 6 || len(values) != showSplitValues || more != 5 {
		t.Errorf("%d fields, %d more; %d values, %d more", len(s.Fields), s.More, len(values), more)
	}
}

func TestChangedFields(t *testing.T) {
	t.Parallel()
	a := point(`{"q":"1","same":1}`, `{"gone":1}`, `{}`)
	b := point(`{"q":"2","same":1}`, `{}`, `{"new":null}`)
	b.History, b.LinkedDatasets, b.LinkedEvent = []byte(`[{}]`), []string{"x"}, "e"
	want := []string{"inputs.q", "ground_truth.gone", "metadata.new", "history", "linked_event"}
	if d := cmp.Diff(want, ChangedFields(a, b)); d != "" {
		t.Errorf("(-want +got)\n%s", d)
	}
	if got := ChangedFields(a, a); len(got) != 0 {
		t.Errorf("a datapoint differs from itself in %v", got)
	}
}
