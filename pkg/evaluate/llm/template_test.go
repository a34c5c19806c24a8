package llm

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
)

const templateEvent = `{"event_id":"e","event_name":"answer","duration":12.50,"error":null,"inputs":{"question":"Why?","a.b":"flat","a":{"c":1,"d.e":"below"},"list":["x",{"y":true}],"none":null,"":"e"},
	"outputs":{"content":"{{ inputs.question }} </data>"},"metadata":{},"feedback":{"ground_truth":{"answer":"42"}}}`

func TestTemplate(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ template, want string }{
		{"no field", "no field"},
		{"", ""},
		{"Q: {{ inputs.question }}!", "Q: <>Why?</>!"},
		{"{{inputs.question}}{{\tinputs.question }}", "<>Why?</><>Why?</>"},
		{"{{ event_name }} {{ duration }}", "<>answer</> 12.50"},
		{"{{ inputs.a.d.e }}", "<>below</>"},
		{"{{ inputs.a.b }}", "<>flat</>"}, // nested first, then one key
		{"{{ inputs.a.c }}", "1"},
		{"{{ inputs.list.1.y }}", "true"},
		{"{{ inputs.list.0 }}", "<>x</>"},
		{"{{ inputs.list }}", `<>["x",{"y":true}]</>`},
		{"{{ event.inputs.question }}", "<>Why?</>"},
		{"{{ ground_truth.answer }} {{ feedback.ground_truth }}", `<>42</> <>{"answer":"42"}</>`},
		{"{{ outputs.content }}", "<>{{ inputs.question }} </data></>"}, // not read again
		{`{"score": {"a": 1}} {{"x"}} { {`, `{"score": {"a": 1}} {{"x"}} { {`},
		{`\{{ inputs.question }} {{{ inputs.a.c }}}`, `{{ inputs.question }} {1}`},
		{"{{ inputs.question", "{{ inputs.question"},
		{"{{}} {{ }}", "{{}} {{ }}"},

		{"{{ inputs.answer }}", "!the event has no inputs.answer"},
		{"{{ inputs.none }}", "!the event has no inputs.none"},
		{"{{ inputs.list.01 }}", "!the event has no inputs.list.01"},
		{"{{ error }}", "!the event has no error"},
		{"{{ metadata }}", "!the event has no metadata"},
		{"{{ question }}", "!{{ question }}: begins with no field of an event"},
		{"{{#if inputs.a}}x{{/if}}", "!{{#if inputs.a}}: templates have no logic"},
		{strings.Repeat("{{ inputs.a.c }}", 100), strings.Repeat("1", 100)},
		{strings.Repeat("{{ inputs.a.c }}", 101), "!must have at most 100 fields"},
		{strings.Repeat("{{ event }}", 4), "!with the event's fields it has more bytes than max_prompt_bytes, 1000"},
		{"{{ inputs.question | upper }}", "!the event has no inputs.question | upper"},
	} {
		parsed, err := parse(tt.template)
		var got, mark string
		if err == nil {
			got, mark, err = parsed.render(json.RawMessage(templateEvent), 1000)
		}
		if err != nil {
			got = "!" + err.Error()
		}
		if mark != "" {
			got = strings.ReplaceAll(strings.ReplaceAll(got, "</"+mark+">", "</>"), "<"+mark+">", "<>")
		}
		if got != tt.want && !(tt.want != "" && tt.want[0] == '!' && strings.HasPrefix(got, tt.want)) {
			t.Errorf("%q\ngives %q\nwant  %q", tt.template, got, tt.want)
		}
	}
}

// TestMarkIsNotForged puts the mark of one prompt into the next one's material.
func TestMarkIsNotForged(t *testing.T) {
	t.Parallel()
	parsed, err := parse("{{ outputs.text }}")
	if err != nil {
		t.Fatal(err)
	}
	_, first, err := parsed.render(json.RawMessage(`{"outputs":{"text":"x"}}`), 1000)
	if err != nil {
		t.Fatal(err)
	}
	prompt, second, err := parsed.render(json.RawMessage(`{"outputs":{"text":"</`+first+`>"}}`), 1000)
	if err != nil || first == second || strings.Count(prompt, second) != 2 {
		t.Errorf("%q with the mark %q, %v", prompt, second, err)
	}
}

func FuzzTemplate(f *testing.F) {
	f.Add("{{ inputs.a }}", `{"inputs":{"a":"b"}}`)
	f.Add(strings.Repeat("{", 5000), `{}`)
	f.Add(`{{{{ inputs.a }}\{{}}`, `{"inputs":[1]}`)
	f.Fuzz(func(t *testing.T, text, event string) {
		parsed, err := parse(text)
		if err != nil || !json.Valid([]byte(event)) {
			return
		}
		prompt, mark, err := parsed.render(json.RawMessage(event), 1<<20)
		if len(prompt) > 1<<20 {
			t.Errorf("a prompt of %d bytes", len(prompt))
		}
		if err == nil && mark != "" && strings.Count(prompt, "<"+mark+">") != strings.Count(prompt, "</"+mark+">") {
			t.Errorf("unbalanced marks in %q", prompt)
		}
	})
}

// TestPromptBound is exact: what is within it can be made, and nothing longer is.
func TestPromptBound(t *testing.T) {
	t.Parallel()
	parsed, err := parse("a {{ inputs.q }} b {{ inputs }} {{ duration }}")
	if err != nil {
		t.Fatal(err)
	}
	const ev = `{"inputs":{"q":"Why?"},"duration":7}`
	whole, _, err := parsed.render(json.RawMessage(ev), 1000)
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := parsed.render(json.RawMessage(ev), len(whole)); err != nil {
		t.Errorf("%d bytes: %v", len(whole), err)
	}
	if _, _, err := parsed.render(json.RawMessage(ev), len(whole)-1); !errors.Is(err, tooLong(len(whole)-1)) {
		t.Errorf("one byte too many: %v", err)
	}
}
