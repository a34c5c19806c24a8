package cli

import (
	"encoding/json"
	"strings"
	"testing"
)

func TestParseFilter(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		`metadata.cost > 0.5`:                 `{"field":"metadata.cost","operator":"greater than","value":0.5,"type":"number"}`,
		`metadata.cost>0.50`:                  `{"field":"metadata.cost","operator":"greater than","value":0.50,"type":"number"}`,
		`duration less than 1e3`:              `{"field":"duration","operator":"less than","value":1e3,"type":"number"}`,
		`inputs.question contains refund`:     `{"field":"inputs.question","operator":"contains","value":"refund","type":"string"}`,
		`inputs.question contains 42 %`:       `{"field":"inputs.question","operator":"contains","value":"42 %","type":"string"}`,
		`inputs contains 42`:                  `{"field":"inputs","operator":"contains","value":"42","type":"string"}`,
		`inputs NOT   contains "true"`:        `{"field":"inputs","operator":"not contains","value":"true","type":"string"}`,
		`event_name = chat`:                   `{"field":"event_name","operator":"is","value":"chat","type":"string"}`,
		`event_name==chat`:                    `{"field":"event_name","operator":"is","value":"chat","type":"string"}`,
		`event_name is not a is b`:            `{"field":"event_name","operator":"is not","value":"a is b","type":"string"}`,
		`event_name is "not"`:                 `{"field":"event_name","operator":"is","value":"not","type":"string"}`,
		`event_name is"x"`:                    `{"field":"event_name","operator":"is","value":"x","type":"string"}`,
		`event_name is " two  spaces "`:       `{"field":"event_name","operator":"is","value":" two  spaces ","type":"string"}`,
		`event_name is 'a "b" '`:              `{"field":"event_name","operator":"is","value":"a \"b\" ","type":"string"}`,
		`'metadata.two words' is'x'`:          `{"field":"metadata.two words","operator":"is","value":"x","type":"string"}`,
		`metadata.n >-1`:                      `{"field":"metadata.n","operator":"greater than","value":-1,"type":"number"}`,
		`metrics.ok is true`:                  `{"field":"metrics.ok","operator":"is","value":true,"type":"boolean"}`,
		`metrics.ok != "true"`:                `{"field":"metrics.ok","operator":"is not","value":"true","type":"string"}`,
		`event_type is any of model, tool`:    `{"field":"event_type","operator":"is any of","value":["model","tool"],"type":"string"}`,
		`metadata.n is any of 1,2.50`:         `{"field":"metadata.n","operator":"is any of","value":[1,2.50],"type":"number"}`,
		`metadata.n is any of 1, "2"`:         `{"field":"metadata.n","operator":"is any of","value":["1","2"],"type":"string"}`,
		`event_name IS ANY  OF "a,b",'c "d"'`: `{"field":"event_name","operator":"is any of","value":["a,b","c \"d\""],"type":"string"}`,
		`event_name is any of 2026-02-31`:     `{"field":"event_name","operator":"is any of","value":["2026-02-31"],"type":"string"}`,
		`event_name is any`:                   `{"field":"event_name","operator":"is","value":"any","type":"string"}`,
		`text matches words refund 42`:        `{"field":"text","operator":"matches words","value":"refund 42","type":"string"}`,
		`error is null`:                       `{"field":"error","operator":"is","value":null,"type":"string"}`,
		`error exists`:                        `{"field":"error","operator":"exists","type":"string"}`,
		`feedback.rating not exists`:          `{"field":"feedback.rating","operator":"not exists","type":"string"}`,
		`start_time after 2026-01-31`:         `{"field":"start_time","operator":"after","value":"2026-01-31","type":"datetime"}`,
		`start_time > 2026-01-31T12:00:00Z`:   `{"field":"start_time","operator":"after","value":"2026-01-31T12:00:00Z","type":"datetime"}`,
		`start_time before 1700000000000`:     `{"field":"start_time","operator":"before","value":1700000000000,"type":"datetime"}`,
		`metadata.version is 1.2.3`:           `{"field":"metadata.version","operator":"is","value":"1.2.3","type":"string"}`,
		`metadata.id is 007`:                  `{"field":"metadata.id","operator":"is","value":"007","type":"string"}`,
		`"metadata.two words" is x`:           `{"field":"metadata.two words","operator":"is","value":"x","type":"string"}`,
		`  metadata.é is ü "quoted" `:         `{"field":"metadata.é","operator":"is","value":"ü \"quoted\"","type":"string"}`,
		`metadata.island is isolated`:         `{"field":"metadata.island","operator":"is","value":"isolated","type":"string"}`,
	} {
		got, at, problem := parseFilter(text)
		if problem != "" || string(got) != want {
			t.Errorf("%s:\n got %s %d %s\nwant %s", text, got, at, problem, want)
		}
	}
	for text, want := range map[string]string{
		``:                            "column 1: expected a field",
		`= 5`:                         "column 1: expected a field",
		`metadata.cost`:               "column 14: expected an operator",
		`metadata.cost over 5`:        "column 15: expected an operator",
		`metadata.cost isnt 5`:        "column 15: expected an operator",
		`é.cost >= 5`:                 "column 8: >= is not an operator; expected an operator: is, is not, is any of, contains, not contains, exists, not exists, =, !=, >, <, after, before or matches words",
		`metadata.cost <> 5`:          "column 15: <> is not an operator; expected an operator",
		`metadata.cost=~5`:            "column 14: =~ is not an operator; expected an operator",
		`metadata.cost >`:             "column 16: a value is missing",
		`error exists now`:            "column 14: exists takes no value",
		`event_name is "open`:         "column 15: the quote is not closed",
		`"event_name is x`:            "column 1: the quote is not closed",
		`event_name is 'x"`:           "column 15: the quote is not closed",
		`event_name is any of`:        "column 21: a value is missing",
		`event_name is any of a,`:     "column 22: a value is missing",
		`event_name is any of "a" b`:  "column 22: expected a comma",
		`event_name is any of a, "b`:  "column 22: the quote is not closed",
		`start_time after noon`:       "column 18: expected a date",
		`start_time after 2026-02-31`: "column 18: no such date",
		`metrics.ok > true`:           "column 14: expected a number, a date or a text",
	} {
		_, err := parseFilters([]string{"event_name is fine", text})
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", text, err, want)
		}
	}
}

func TestParseAlternative(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		`error exists`: `[{"field":"error","operator":"exists","type":"string"}]`,
		`error exists && event_name is "a || b"`: `[{"field":"error","operator":"exists","type":"string"},` +
			`{"field":"event_name","operator":"is","value":"a || b","type":"string"}]`,
		`error exists||duration>5 && event_name contains don't`: `[{"any":[[{"field":"error","operator":"exists","type":"string"}],` +
			`[{"field":"duration","operator":"greater than","value":5,"type":"number"},` +
			`{"field":"event_name","operator":"contains","value":"don't","type":"string"}]]}]`,
		`metadata.a is any of "||",x || error exists`: `[{"any":[[{"field":"metadata.a","operator":"is any of","value":["||","x"],"type":"string"}],` +
			`[{"field":"error","operator":"exists","type":"string"}]]}]`,
	} {
		got, err := parseFilters([]string{text})
		shown, _ := json.Marshal(got)
		if string(shown) != want {
			t.Errorf("%s:\n got %s %v\nwant %s", text, shown, err, want)
		}
	}
	for text, want := range map[string]string{
		`error exists ||`:                  "column 16: expected a field",
		`error exists && || a is 1`:        "column 17: expected a field",
		`é.a is 1 || b >`:                  "column 16: a value is missing",
		`a is 1 && b is 2 || c exists now`: "column 30: exists takes no value",
	} {
		_, err := parseFilters([]string{text})
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", text, err, want)
		}
	}
}

func FuzzParseFilter(f *testing.F) {
	for _, s := range []string{`a > 1`, `a is not "b"`, `a is'`, `'`, `a =! 1`, `"a b" contains c`, `a exists`, `a after 2026-01-01`, `a is any of 1, "b,c"`, `a is any of '`, `a is 1 || b is "x||" && c exists`} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		got, at, problem := parseFilter(text)
		if at < 0 || at > len(text) || (problem == "") == (got == nil) {
			t.Errorf("%q: %s %d %q", text, got, at, problem)
		}
		list, at, problem := parseAlternative(text)
		if at < 0 || at > len(text) || (problem == "") == (list == nil) {
			t.Errorf("%q: %s %d %q", text, list, at, problem)
		}
	})
}
