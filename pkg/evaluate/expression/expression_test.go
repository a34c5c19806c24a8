package expression

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/spangrove/spangrove/pkg/evaluate"
	"github.com/spangrove/spangrove/pkg/evaluation"
	"github.com/spangrove/spangrove/pkg/fault"
	"github.com/spangrove/spangrove/pkg/metric"
)

const event = `{"event_id":"e","event_type":"model","event_name":"chat","duration":1234.5,"error":null,
 "inputs":{"question":"How many cats?","chat_history":[{"role":"system","content":"s"},{"role":"user","content":"How many cats?"}]},
 "outputs":{"role":"assistant","content":"There are 3 cats.","tool_calls":[{"id":"1","function":{"name":"count","arguments":"{\"kind\":\"cat\"}"}}]},
 "metadata":{"total_tokens":150,"cost":0.25,"big":9007199254740993},"metrics":{"taste":0.5},
 "feedback":{"ground_truth":{"answer":"there are three cats"}},"config":{"model":"m"},"user_properties":{},
 "children":[{"event_type":"tool","event_name":"search","inputs":{"q":"cats"}},{"event_type":"tool","event_name":"count","inputs":{}}]}`

func run(t *testing.T, e *Engine, kind metric.Return, criteria, event string) evaluation.Result {
	t.Helper()
	d := metric.Definition{Name: "m", Type: metric.Expression, Return: kind, Criteria: criteria}
	results, err := evaluate.Engines{metric.Expression: e}.Run(t.Context(), evaluate.Task{Metric: &d, Events: []json.RawMessage{json.RawMessage(event)}})
	if err != nil {
		t.Fatal(err)
	}
	return results[0]
}

func TestScores(t *testing.T) {
	t.Parallel()
	e := New(Config{})
	for criteria, want := range map[string]string{
		`duration < 2000`:                 `true`,
		`metadata.total_tokens`:           `150`,
		`metadata.total_tokens * 2 + 0.5`: `300.5`,
		`metadata.big`:                    `9007199254740993`,
		`metadata?.none?.deeper ?? 7`:     `7`,
		`metadata.cost / metrics.taste`:   `0.5`,
		`error == nil`:                    `true`,
		`answer`:                          `"There are 3 cats."`,
		`question`:                        `"How many cats?"`,
		`expected`:                        `"there are three cats"`,
		`ground_truth.answer`:             `"there are three cats"`,
		`event.event_name + "!"`:          `"chat!"`,
		`answer matches "[0-9]+ cats"`:    `true`,
		`answer matches "^[\\pL ]+\\pN"`:  `true`,
		`outputs.nothing matches "a"`:     `false`,
		`lower(answer) contains "there"`:  `true`,
		`filter(inputs.chat_history, .role == "user")[0].content`:    `"How many cats?"`,
		`len(inputs.chat_history)`:                                   `2`,
		`sum(map(1..4, # * #))`:                                      `30`,
		`{"score": 0.5, "explanation": "half"}`:                      `0.5`,
		`number(answer)`:                                             `3`,
		`number("costs 1,234.50 dollars")`:                           `1234.5`,
		`normalize("The  Cat, sat!")`:                                `"cat sat"`,
		`levenshtein("kitten", "sitting")`:                           `3`,
		`similarity("kitten", "sitting")`:                            `0.5714285714285714`,
		`similarity("", "")`:                                         `1`,
		`similarity("äöü", "äöx")`:                                   `0.6666666666666667`,
		`tokenF1("the cat sat", "a cat sat down")`:                   `0.8`,
		`tokenF1("", "")`:                                            `1`,
		`tokenF1("x", "")`:                                           `0`,
		`rougeL("the cat sat on the mat", "the cat lay on the mat")`: `0.8333333333333334`,
		`bleu("the cat sat on the mat", "the cat sat on the mat")`:   `1`,
		`bleu("dog", "cat")`:                                         `0`,
		`bleu("the cat", "the cat sat on the mat") < 0.2`:            `true`,
		`overlap(["a","b","B"], ["b","c"])`:                          `0.3333333333333333`,
		`overlap([], [])`:                                            `1`,
		`jsonValid("{\"a\":1}")`:                                     `true`,
		"jsonValid(\"```json\\n{\\\"a\\\":1}\\n```\")":               `true`,
		`jsonValid("{a}")`:                                           `false`,
		`jsonValid(outputs)`:                                         `true`,
		`jsonMatches("{\"a\":1}", {"type":"object","required":["a"],"properties":{"a":{"type":"integer"}}})`: `true`,
		`jsonMatches("{\"a\":1}", {"type":"object","required":["b"]})`:                                       `false`,
		`jsonMatches(outputs, {"$ref":"#/$defs/o","$defs":{"o":{"type":"array"}}})`:                          `false`,
		`jsonMatches("no", "{}")`:                                                          `false`,
		`jsonSimilarity({"a":1,"b":[1,2]}, {"a":1,"b":[1,3]})`:                             `0.6666666666666666`,
		`jsonSimilarity("{\"a\":1}", {"a":1})`:                                             `1`,
		`join(jsonDiff({"a":1,"b":{"c":2}}, {"a":1,"b":{"d":2}}), " ")`:                    `"b.c b.d"`,
		`join(map(toolCalls(outputs), .name), ",")`:                                        `"count"`,
		`toolCalls(outputs)[0].arguments.kind`:                                             `"cat"`,
		`join(map(toolCalls(children), .name), ",")`:                                       `"search,count"`,
		`toolCallScore(toolCalls(outputs), [{"name":"count","arguments":{"kind":"cat"}}])`: `1`,
		`toolCallScore(toolCalls(outputs), [{"name":"count","arguments":{"kind":"dog"}}])`: `0.5`,
		`toolCallScore(toolCalls(outputs), [{"name":"other"}])`:                            `0`,
		`toolCallScore(toolCalls(outputs), [])`:                                            `0`,
		`toolCallScore([], [])`:                                                            `1`,
		`trajectory(toolCalls(children), ["search", "count"], "exact")`:                    `true`,
		`trajectory(children, ["count", "search"], "exact")`:                               `false`,
		`trajectory(children, ["count", "search"], "any")`:                                 `true`,
		`trajectory(["a","x","b"], ["a","b"], "order")`:                                    `true`,
		`trajectory(["b","a"], ["a","b"], "order")`:                                        `false`,
		`trajectory(["a"], ["a","b"], "subset")`:                                           `true`,
		`trajectory(["a","c"], ["a","b"], "subset")`:                                       `false`,
		`repeat("ab", 2) + replace("aba", "a", "x")`:                                       `"ababxbx"`,
		`join(uniq(["a","b","a"]))`:                                                        `"ab"`,
		`fromJSON(toJSON({"a":[1,"x"]})).a[1]`:                                             `"x"`,
		`fromBase64(toBase64("hi"))`:                                                       `"hi"`,
	} {
		kind := metric.Float
		switch want[0] {
		case '"':
			kind = metric.String
		case 't', 'f':
			kind = metric.Boolean
		}
		r := run(t, e, kind, criteria, event)
		if !r.Success || string(r.Score) != want {
			t.Errorf("%s = %s (%s), want %s", criteria, r.Score, r.Explanation, want)
		}
	}
	if r := run(t, e, metric.Float, `{"score": 0.5, "explanation": "half"}`, event); r.Explanation != "half" {
		t.Errorf("explanation %q", r.Explanation)
	}
}

// TestNoEvent: a metric may be tried without an event.
func TestNoEvent(t *testing.T) {
	t.Parallel()
	for _, event := range []string{``, `null`, `[1]`, `"text"`, `{}`, `{"outputs":{}}`} {
		if r := run(t, New(Config{}), metric.Boolean, `answer == "" && question == "" && toolCalls(event) == []`, event); !r.Success || string(r.Score) != "true" {
			t.Errorf("%q: %+v", event, r)
		}
	}
}

func TestFailures(t *testing.T) {
	t.Parallel()
	e := New(Config{})
	for _, tt := range []struct {
		criteria string
		kind     metric.Return
		want     evaluation.Failure
		says     string
	}{
		{`duration <`, metric.Boolean, Syntax, "unexpected token EOF"},
		{`nothing > 1`, metric.Boolean, Syntax, "unknown name nothing"},
		{`similarity("a")`, metric.Float, Syntax, "not enough arguments"},
		{`metadata.none.deeper`, metric.Float, Exception, "write ?."},
		{`metadata.none > 1`, metric.Boolean, Exception, "invalid operation"},
		{`trajectory([], [], "odd")`, metric.Boolean, Exception, "must be one of exact, order"},
		{`jsonMatches({}, {"type":"odd"})`, metric.Boolean, Exception, "the schema is invalid"},
		{`jsonMatches({}, {"$ref":"http://127.0.0.1/schema"})`, metric.Boolean, Exception, "its own parts only"},
		{`jsonMatches({}, {"$ref":"#"})`, metric.Boolean, Exception, "refers to itself"},
		{`metadata.none`, metric.Float, Wrong, "gives nil"},
		{`answer`, metric.Float, Wrong, "not a number"},
		{`1`, metric.Boolean, Wrong, "not a boolean"},
		{`1.0/0`, metric.Float, Wrong, "cannot be written down|no score that can be written"},
	} {
		r := run(t, e, tt.kind, tt.criteria, event)
		ok := false
		for _, says := range strings.Split(tt.says, "|") {
			ok = ok || strings.Contains(r.Explanation, says)
		}
		if r.Success || r.Failure != tt.want || r.Score != nil || !ok {
			t.Errorf("%s: %+v, want %s, %q", tt.criteria, r, tt.want, tt.says)
		}
	}
}

// TestHugeResults has expressions within their work whose results would fill the server's memory, as there is one of each event of a task.
func TestHugeResults(t *testing.T) {
	t.Parallel()
	e := New(Config{})
	for criteria, want := range map[string]evaluation.Failure{
		`{"score": "a", "explanation": repeat("ä", 5000000)}`: "",
		`repeat("ä", 1000000)`:                                Wrong,
		`string(int(repeat("1", 5000000) + "x"))`:             Exception,
	} {
		r := run(t, e, metric.String, criteria, event)
		if r.Failure != want || len(r.Score) > maxScore || len(r.Explanation) > evaluate.MaxExplanation+len("…") || !utf8.ValidString(r.Explanation) {
			t.Errorf("%s: failure %q, a score of %d bytes, an explanation of %d", criteria, r.Failure, len(r.Score), len(r.Explanation))
		}
	}
}

// TestHostile holds expressions that would keep a server busy, or fill its memory, were their work
// not counted.
func TestHostile(t *testing.T) {
	t.Parallel()
	e := New(Config{Work: 1_000_000})
	doubled := func(first, step string) string {
		s := "let a0 = " + first + ";"
		for i := range 60 {
			n, m := string(rune('a'+i/10))+string(rune('0'+i%10)), string(rune('a'+(i+1)/10))+string(rune('0'+(i+1)%10))
			s += "let " + m + " = " + strings.ReplaceAll(step, "x", n) + ";"
		}
		return s + "len(g0)"
	}
	long := `{"outputs":{"content":"` + strings.Repeat("ab ", 20_000) + `"},"metadata":{"schema":{"enum":[` + strings.Repeat("0,", 2000) + `1]},"a":` +
		strings.Repeat(`{"a":`, 90) + "{}" + strings.Repeat("}", 90) + "}}"
	for name, criteria := range map[string]string{
		"loops":          `count(1..3000, count(1..3000, true) > 0)`,
		"reduce":         `reduce(1..900000, #acc + #)`,
		"doubled text":   doubled(`"xy"`, `x + x`),
		"doubled list":   doubled(`[1]`, `[x, x]`),
		"doubled object": doubled(`{"k":1}`, `{"k":x,"l":x}`),
		"repeat":         `repeat(repeat("ab", 100000), 100000)`,
		"replace":        `replace(answer, "a", answer)`,
		"join":           `join(1..100000, answer)`,
		"levenshtein":    `levenshtein(answer, upper(answer))`,
		"rouge":          `rougeL(answer, upper(answer) + "x")`,
		"compare":        `count(1..1000, answer == answer + "x")`,
		"matches":        `count(1..1000, answer matches "(a*)*b$")`,
		"large pattern":  `answer matches (repeat("(a|a)?", 500) + "c$") ? 1 : 0`,
		"schema pattern": `jsonMatches({"a": answer}, {"properties": {"a": {"pattern": "(a|a)?(.*a){500}c$"}}}) ? 1 : 0`,
		"in":             `count(1..1000, # in words(answer))`,
		"json":           `count(1..1000, toJSON(outputs) == "")`,
		"parse":          `count(1..1000, fromJSON(toJSON(outputs)) == nil)`,
		"schema":         `jsonMatches(words(answer), {"uniqueItems": true})`,
		"wide schema": `jsonMatches({}, {"$defs":{"a":{"anyOf":[{"$ref":"#/$defs/b"},{"$ref":"#/$defs/b"},{"$ref":"#/$defs/b"},{"$ref":"#/$defs/b"}]},` +
			`"b":{"anyOf":[{"$ref":"#/$defs/c"},{"$ref":"#/$defs/c"},{"$ref":"#/$defs/c"},{"$ref":"#/$defs/c"},{"$ref":"#/$defs/c"},{"$ref":"#/$defs/c"}]},` +
			`"c":{"anyOf":[{"$ref":"#/$defs/d"},{"$ref":"#/$defs/d"},{"$ref":"#/$defs/d"},{"$ref":"#/$defs/d"},{"$ref":"#/$defs/d"},{"$ref":"#/$defs/d"}]},` +
			`"d":{"anyOf":[{"$ref":"#/$defs/e"},{"$ref":"#/$defs/e"},{"$ref":"#/$defs/e"},{"$ref":"#/$defs/e"},{"$ref":"#/$defs/e"},{"$ref":"#/$defs/e"}]},` +
			`"e":{"anyOf":[{"$ref":"#/$defs/f"},{"$ref":"#/$defs/f"},{"$ref":"#/$defs/f"},{"$ref":"#/$defs/f"},{"$ref":"#/$defs/f"},{"$ref":"#/$defs/f"}]},` +
			`"f":{"anyOf":[{"type":"string"},{"type":"array"},{"type":"null"},{"type":"number"},{"type":"boolean"},{"minProperties":1},{"required":["a"]}]}},"$ref":"#/$defs/a"}) ? 1 : 0`,
		"order":     `let longer = answer + "x"; count(1..10000, answer <= longer)`,
		"key":       `count(1..10000, outputs[answer] == nil)`,
		"groups":    `len(groupBy(1..10000, answer))`,
		"sorted":    `len(sortBy(1..10000, answer))`,
		"range":     `let r = 1..10000; count(r, -1 in r)`,
		"pairs":     `let p = toPairs({"a": outputs}); count(1..10000, p == p)`,
		"zones":     `count(1..10000, timezone("Europe/Berlin") == nil)`,
		"dates":     `count(1..10000, date("2024-01-02", "2006-01-02", "Europe/Berlin") == nil)`,
		"methods":   `count(1..10000, let s = now().Format(answer); true)`,
		"path":      `count(1..100, metadata?` + strings.Repeat(".a?", 300) + `.a == nil)`,
		"parts":     `count(1..100, jsonMatches(1, metadata.schema))`,
		"sort":      `len(sortBy(1..900000, -#))`,
		"group":     `len(groupBy(1..900000, #))`,
		"flat":      `len(flatten(map(1..1000, words(answer))))`,
		"calls":     `toolCallScore(map(1..3000, let o = {"name":"a"}; o), map(1..3000, let o = {"name":"a"}; o))`,
		"deep path": `jsonSimilarity(outputs, map(1..100000, outputs))`,
	} {
		r := run(t, e, metric.Float, criteria, long)
		if r.Failure != Work && !(r.Failure == Exception && (strings.Contains(r.Explanation, "memory budget") || strings.Contains(r.Explanation, "100000 parts"))) {
			t.Errorf("%s: %+v", name, r)
		}
		if r := run(t, e, metric.Float, `1 + 1`, event); string(r.Score) != "2" {
			t.Fatalf("after %s: %+v", name, r)
		}
	}
}

func TestCheck(t *testing.T) {
	t.Parallel()
	e := New(Config{})
	if err := e.Check(&metric.Definition{Criteria: "duration < 5"}); err != nil {
		t.Error(err)
	}
	for _, criteria := range []string{"duration <", strings.Repeat("1+", MaxBytes) + "1", strings.Repeat("1+", 20_000) + "1", strings.Repeat("(", 30_000),
		`answer matches "((a{0,30}){0,30}){0,30}"`, `answer matches "` + strings.Repeat("a{1000}", 1000) + `"`, `answer matches "("`, `answer matches 5`} {
		var f *fault.Error
		if err := e.Check(&metric.Definition{Criteria: criteria}); !errors.As(err, &f) || f.Kind != fault.Invalid || f.Field != "criteria" {
			t.Errorf("%.20s…: %v", criteria, err)
		}
	}
}

func TestCallerGone(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	task := evaluate.Task{Metric: &metric.Definition{Criteria: "count(1..100000, true)"}, Events: []json.RawMessage{json.RawMessage(event)}}
	if _, err := New(Config{}).Evaluate(ctx, task); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v", err)
	}
}

func FuzzExpression(f *testing.F) {
	for _, s := range []string{`duration < 2000`, `map(1..10, # * 2)`, `let a = [1]; a + a`, `filter(children, .event_type == "tool")`, `jsonMatches(outputs, {"type":"object"})`,
		`toolCallScore(toolCalls(outputs), [{"name":"x"}])`, `reduce(1..9, #acc + #, 0)`, `metadata?.a?.b ?? "x"`, `if answer == "" { 1 } else { 2 }`, `sortBy(children, .event_name, "desc")`} {
		f.Add(s, event)
	}
	e := New(Config{Work: 100_000})
	f.Fuzz(func(t *testing.T, criteria, event string) {
		if len(criteria) > 2000 || len(event) > 10_000 {
			return
		}
		r := run(t, e, metric.Float, criteria, event)
		if r.Success != (r.Failure == "") || r.Success && r.Score == nil {
			t.Errorf("%+v", r)
		}
	})
}

func BenchmarkExpression(b *testing.B) {
	e := New(Config{})
	for name, criteria := range map[string]string{"threshold": `duration < 2000 && metadata.total_tokens < 500`, "text": `lower(answer) contains "cats"`, "similarity": `similarity(answer, expected)`, "f1": `tokenF1(answer, expected)`} {
		b.Run(name, func(b *testing.B) {
			task := evaluate.Task{Metric: &metric.Definition{Criteria: criteria, Return: metric.Float}, Events: []json.RawMessage{json.RawMessage(event)}}
			for b.Loop() {
				if _, err := e.Evaluate(b.Context(), task); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// What an event and the texts in it take when they are decoded is bounded: 4 MB of small values would take 300 MB.
func TestDecodingIsBounded(t *testing.T) {
	t.Parallel()
	many := "[" + strings.Repeat(`{"":0},`, 600_000) + "0]"
	text, err := json.Marshal(many)
	if err != nil {
		t.Fatal(err)
	}
	hidden := `{"outputs":{"content":` + string(text) + `}}`
	calls := `{"outputs":{"tool_calls":[{"function":{"name":"f","arguments":` + string(text) + `}}]}}`
	for _, tt := range []struct{ criteria, event, want string }{
		{`1`, `{"inputs":{"a":` + many + `}}`, "The event has 1800005 values and names"},
		{`len(fromJSON(outputs.content))`, hidden, "does too much for one event"},
		{`jsonMatches(outputs.content, {"type": "array"})`, hidden, "does too much for one event"},
		{`jsonSimilarity(outputs.content, "[]")`, hidden, "does too much for one event"},
		{`len(toolCalls(outputs.content))`, hidden, "does too much for one event"},
		{`trajectory(outputs.content, [], "any")`, hidden, "does too much for one event"},
		{`len(toolCalls(outputs))`, calls, "does too much for one event"},
	} {
		if r := run(t, New(Config{}), metric.Float, tt.criteria, tt.event); r.Failure != Work || !strings.Contains(r.Explanation, tt.want) {
			t.Errorf("%s: %.200s %s %.200s", tt.criteria, r.Score, r.Failure, r.Explanation)
		}
	}
}

// A text is taken apart into words only if there is work for what they take in memory: 6 MB of signs would take a gigabyte.
func TestWordsAreBounded(t *testing.T) {
	t.Parallel()
	signs := `{"outputs":{"content":"` + strings.Repeat("! ", 3_000_000) + `"}}`
	for _, criteria := range []string{`len(words(answer))`, `len(normalize(answer))`, `tokenF1(answer, "x")`, `bleu(answer, "x")`, `rougeL(answer, "x")`, `overlap(answer, "x")`,
		`overlap([answer], ["x"])`, `len(split(answer, ""))`} {
		if r := run(t, New(Config{}), metric.Float, criteria, signs); r.Failure != Work {
			t.Errorf("%s: %.200s %s %.200s", criteria, r.Score, r.Failure, r.Explanation)
		}
	}
}

// References that lead on to each other are remembered on the way, which of a long chain takes memory by the square of its length.
func TestReferencesAreBounded(t *testing.T) {
	t.Parallel()
	chain := func(n int) string {
		var b strings.Builder
		b.WriteString(`{"metadata":{"schema":{"$ref":"#/$defs/0","$defs":{`)
		for i := range n {
			fmt.Fprintf(&b, `"%d":{"$ref":"#/$defs/%d"},`, i, i+1)
		}
		fmt.Fprintf(&b, `"%d":{"type":"integer"}}}}}`, n)
		return b.String()
	}
	if r := run(t, New(Config{}), metric.Boolean, `jsonMatches(1, metadata.schema)`, chain(50)); string(r.Score) != "true" {
		t.Errorf("50 references: %+v", r)
	}
	if r := run(t, New(Config{}), metric.Boolean, `jsonMatches(1, metadata.schema)`, chain(3000)); r.Failure != Exception || !strings.Contains(r.Explanation, "references of the schema lead on") {
		t.Errorf("3000 references: %+v", r)
	}
}
