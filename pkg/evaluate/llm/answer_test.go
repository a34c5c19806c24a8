package llm

import (
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/spangrove/spangrove/pkg/metric"
)

func raw(s string) json.RawMessage { return json.RawMessage(s) }

var definitions = map[string]metric.Definition{
	"float":    {Return: metric.Float},
	"scale":    {Return: metric.Float, Scale: raw(`5`)},
	"boolean":  {Return: metric.Boolean},
	"string":   {Return: metric.String},
	"category": {Return: metric.Categorical, Categories: raw(`[{"category":"Good"},{"category":"bad","score":0}]`)},
	"any":      {Return: metric.Categorical},
}

func TestRead(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ metric, answer, want string }{
		{"float", `{"explanation":"fine","score":0.50}`, "0.50 fine"},
		{"float", "```json\n{\"explanation\":\"fine\",\"score\":1}\n```", "1 fine"},
		{"float", "<think>{\"score\": 9}</think>\nSure: {\"a\":{\"b\":1}} {\"score\": \"0.7\"} bye", "0.7 "},
		{"float", `{broken {"score":3}`, "3 "},
		{"float", `{"score":1} then {"score":2}`, "2 "}, // the last word
		{"float", ` 4.5 `, "4.5 "},
		{"float", `It is good. Rating: [[4]]`, "4 It is good. Rating: [[4]]"},
		{"float", `It is good, 4 of 5`, "!no JSON object with a score"},
		{"float", ``, "!no JSON object with a score"},
		{"float", `{"explanation":"x"}`, "!no JSON object with a score"},
		{"float", `{"score":null}`, "!not a number"},
		{"float", `{"score":1e999}`, "!no JSON object with a score"},
		{"float", `{"score":"high"}`, "!not a number"},
		{"scale", `{"score":5}`, "5 "},
		{"scale", `{"score":5.1}`, "!outside of the metric's scale"},
		{"scale", `{"score":-1}`, "!outside of the metric's scale"},
		{"boolean", `{"score":true}`, "true "},
		{"boolean", `{"score":"Yes"}`, "true "},
		{"boolean", `No`, "false "},
		{"boolean", `{"score":1}`, "!not a boolean"},
		{"string", `{"score":"a \"b\""}`, `"a \"b\"" `},
		{"string", `{"score":7}`, `"7" `},
		{"string", `just text`, "!no JSON object with a score"},
		{"category", `{"score":"Good"}`, `"Good" `},
		{"category", `{"score":" good"}`, `"Good" `},
		{"category", `{"score":"odd"}`, "!not one of the metric's categories: Good, bad"},
		{"category", `BAD`, `"bad" `},
		{"any", `{"score":"odd"}`, `"odd" `},
	} {
		d := definitions[tt.metric]
		v, why := read(&d, tt.answer)
		got := string(v.score) + " " + v.explanation
		if why != "" {
			got = "!" + why
		}
		if got != tt.want && !(tt.want[0] == '!' && strings.HasPrefix(got, tt.want)) {
			t.Errorf("%s of %q: %q, want %q", tt.metric, tt.answer, got, tt.want)
		}
	}
}

func TestExplanationIsCut(t *testing.T) {
	t.Parallel()
	d := definitions["float"]
	v, why := read(&d, `{"score":1,"explanation":"`+strings.Repeat("ß", maxExplanation)+`"}`)
	if why != "" || len(v.explanation) > maxExplanation || len(v.explanation) < maxExplanation-4 || !utf8.ValidString(v.explanation) {
		t.Errorf("%d bytes, %s", len(v.explanation), why)
	}
}

// TestSchema holds answers against the schema that the provider gets.
func TestSchema(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ metric, good, bad string }{
		{"float", `0.5`, `"0.5"`},
		{"scale", `5`, `true`},
		{"boolean", `true`, `1`},
		{"string", `"x"`, `1`},
		{"category", `"bad"`, `"worse"`},
		{"any", `"x"`, `null`},
	} {
		d := definitions[tt.metric]
		doc, err := jsonschema.UnmarshalJSON(strings.NewReader(string(schema(&d))))
		if err != nil {
			t.Fatal(err)
		}
		c := jsonschema.NewCompiler()
		if err := c.AddResource("verdict.json", doc); err != nil {
			t.Fatal(err)
		}
		s, err := c.Compile("verdict.json")
		if err != nil {
			t.Fatal(err)
		}
		for score, valid := range map[string]bool{tt.good: true, tt.bad: false} {
			v, err := jsonschema.UnmarshalJSON(strings.NewReader(`{"explanation":"x","score":` + score + `}`))
			if err != nil {
				t.Fatal(err)
			}
			if got := s.Validate(v); (got == nil) != valid {
				t.Errorf("%s of %s: %v", score, tt.metric, got)
			}
		}
	}
}

func FuzzRead(f *testing.F) {
	f.Add(`{"score": 1, "explanation": "x"}`)
	f.Add("<think>x</think>[[3]]")
	f.Add(strings.Repeat("{", 1000) + `"score":`)
	f.Fuzz(func(t *testing.T, answer string) {
		for name, d := range definitions {
			if v, why := read(&d, answer); why == "" && !json.Valid(v.score) {
				t.Errorf("%s: the score %q is no JSON", name, v.score)
			}
		}
	})
}
