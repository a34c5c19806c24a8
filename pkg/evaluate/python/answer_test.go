package python

import (
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/spangrove/spangrove/pkg/evaluate"
	"github.com/spangrove/spangrove/pkg/metric"
)

func TestScore(t *testing.T) {
	t.Parallel()
	scale, categories := json.RawMessage(`5`), json.RawMessage(`[{"category":"good"},{"category":"bad"}]`)
	for _, tt := range []struct {
		d      metric.Definition
		answer string
		want   string // score, or what stands in the explanation of its absence
		ok     bool
	}{
		{metric.Definition{Return: metric.Float}, `{"type":"int","number":"3"}`, `3`, true},
		{metric.Definition{Return: metric.Float}, `{"type":"float","number":"1e-07"}`, `1e-07`, true},
		{metric.Definition{Return: metric.Float}, `{"type":"bool","bool":true}`, `1`, true},
		{metric.Definition{Return: metric.Float, Scale: scale}, `{"type":"int","number":"6"}`, `outside of the metric's scale, 0 to 5`, false},
		{metric.Definition{Return: metric.Float}, `{"type":"float","number":"nan"}`, `nan, which is not a finite number`, false},
		{metric.Definition{Return: metric.Float}, `{"type":"float","number":"-inf"}`, `not a finite number`, false},
		{metric.Definition{Return: metric.Float}, `{"type":"int","number":"1` + strings.Repeat("0", 400) + `"}`, `not a finite number`, false},
		{metric.Definition{Return: metric.Float}, `{"type":"int","number":"0x10"}`, `not a finite number`, false},
		{metric.Definition{Return: metric.Float}, `{"type":"str","string":"high"}`, `"high", which is not a number`, false},
		{metric.Definition{Return: metric.Float}, `{"type":"NoneType"}`, `None, and no float`, false},
		{metric.Definition{Return: metric.Float}, `{"type":"list","text":"[1, 2]"}`, `[1, 2] of type list`, false},
		{metric.Definition{Return: metric.Boolean}, `{"type":"bool","bool":false}`, `false`, true},
		{metric.Definition{Return: metric.Boolean}, `{"type":"int","number":"1"}`, `1, which is not a boolean`, false},
		{metric.Definition{Return: metric.String}, `{"type":"str","string":"a\n\"b\" ü"}`, `"a\n\"b\" ü"`, true},
		{metric.Definition{Return: metric.String}, `{"type":"int","number":"1"}`, `not a string`, false},
		{metric.Definition{Return: metric.Categorical, Categories: categories}, `{"type":"str","string":"bad"}`, `"bad"`, true},
		{metric.Definition{Return: metric.Categorical, Categories: categories}, `{"type":"str","string":"fair"}`, `not one of the metric's categories: good, bad`, false},
		{metric.Definition{Return: metric.Float}, `{"failure":"no_result"}`, `no function to call`, false},
	} {
		b := batch{engine: &Engine{}, metric: &tt.d}
		r := b.result(reply{answer: []byte(tt.answer)})
		switch {
		case tt.ok && (!r.Success || string(r.Score) != tt.want):
			t.Errorf("%s %s: %+v, want the score %s", tt.d.Return, tt.answer, r, tt.want)
		case !tt.ok && (r.Success || r.Score != nil || r.Failure != ResultType || !strings.Contains(r.Explanation, tt.want)):
			t.Errorf("%s %s: %+v, want %q", tt.d.Return, tt.answer, r, tt.want)
		}
	}
}

// FuzzAnswer holds results to what they promise, whatever the interpreter says.
func FuzzAnswer(f *testing.F) {
	for _, s := range []string{`{"type":"float","number":"0.5","explanation":"so"}`, `{"type":"bool","bool":true}`, `{"type":"str","string":"\ud800"}`,
		`{"failure":"exception","error":"E","text":"t","trace":["l"]}`, `{"failure":"import","module":"a.b"}`, `{"failure":"x"}`, `{}`, `{"type":"int","number":" 1"}`, `[`} {
		for i := range 4 {
			f.Add([]byte(s), "printed", uint8(i))
		}
	}
	returns := []metric.Return{metric.Float, metric.Boolean, metric.String, metric.Categorical}
	f.Fuzz(func(t *testing.T, line []byte, printed string, ret uint8) {
		d := metric.Definition{Name: "m", Return: returns[int(ret)%len(returns)], Scale: json.RawMessage(`5`)}
		b := batch{engine: &Engine{}, metric: &d}
		r := b.result(reply{answer: line, printed: printed})
		if r.Success != (r.Failure == "") {
			t.Fatalf("%q: success %v with the failure %q", line, r.Success, r.Failure)
		}
		if r.Score != nil && (!r.Success || !json.Valid(r.Score) || evaluate.Misfit(&d, r.Score) != "") {
			t.Fatalf("%q: the score %s is not one of the metric's", line, r.Score)
		}
		if utf8.Valid(line) && utf8.ValidString(printed) && !utf8.ValidString(r.Explanation) {
			t.Fatalf("%q: the explanation %q is no text", line, r.Explanation)
		}
		if len(r.Explanation) > evaluate.MaxExplanation+len(printed)+100 {
			t.Fatalf("an explanation of %d bytes", len(r.Explanation))
		}
	})
}
