package scrub

import (
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
)

func everything(t testing.TB, patterns ...Pattern) *Scrubber {
	t.Helper()
	s, err := New([]string{Secrets, ruleEmail}, patterns)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// lines returns the lines of a file of the corpus that are no comments.
func lines(t testing.TB, name string) (all []string) {
	t.Helper()
	text, err := os.ReadFile("testdata/" + name)
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		if line = strings.TrimSuffix(line, "\n"); line != "" && line[0] != '#' {
			all = append(all, line)
		}
	}
	return all
}

// planted is a text of the corpus with a secret.
type planted struct{ rule, before, secret, after string }

func (p planted) text() string { return p.before + p.secret + p.after }

func corpus(t testing.TB) (all []planted) {
	t.Helper()
	s := everything(t)
	for _, line := range lines(t, "secrets.txt") {
		rule, text, _ := strings.Cut(line, "\t")
		head, tail, ok := strings.Cut(text, "¦")
		if !ok {
			t.Fatalf("no broken bar: %s", line)
		}
		before := head[:len(head)-2]
		whole := head + tail
		out := s.Text("", whole, s.NewCounts())
		after := ""
		if _, end, ok := strings.Cut(out, "[scrubbed:"+rule+"]"); ok && strings.HasSuffix(whole, end) {
			after = end
		}
		all = append(all, planted{rule, before, strings.TrimSuffix(whole[len(before):], after), after})
	}
	return all
}

// TestCorpusScrubbed: each secret goes, in each place where it can stand, and nothing else does.
func TestCorpusScrubbed(t *testing.T) {
	t.Parallel()
	s := everything(t)
	rules := map[string]bool{}
	for _, p := range corpus(t) {
		rules[p.rule] = true
		want := p.before + "[scrubbed:" + p.rule + "]" + p.after
		n := s.NewCounts()
		if got := s.Text("", p.text(), n); got != want {
			t.Errorf("%s\n got %s\nwant %s", p.text(), got, want)
			continue
		}
		for i, count := range n {
			if (count == 1) != (s.names[i] == p.rule) || count > 1 {
				t.Errorf("%s: %d of %s", p.text(), count, s.names[i])
			}
		}
		if again := s.Text("", want, n); again != want {
			t.Errorf("scrubbed again:\n got %s\nwant %s", again, want)
		}
		for name, in := range places {
			text, whole := in(p.text()), in(want)
			if got := s.Text("", text, s.NewCounts()); got != whole && !sameJSON(got, whole) {
				t.Errorf("%s: %s\n got %s\nwant %s", name, text, got, whole)
			}
		}
	}
	for _, rule := range Rules() {
		if !rules[rule] {
			t.Errorf("the corpus has nothing for %s", rule)
		}
	}
}

// places put a text where secrets are found.
var places = map[string]func(string) string{
	"after a line":  func(s string) string { return "first line\n" + s },
	"before a line": func(s string) string { return s + "\nlast line of several words" },
	"within long prose": func(s string) string {
		return strings.Repeat("lorem ipsum ", 50) + s + strings.Repeat(" dolor sit", 50)
	},
	"in JSON":            func(s string) string { return `{"a":[1,{"text":` + quoted(s) + `}],"n":9007199254740993}` },
	"in JSON of Python":  func(s string) string { return "{\n  \"a\": [1, {\"text\": " + quoted("first\n"+s) + "} ]\n}" },
	"in JSON of Go":      func(s string) string { b, _ := json.Marshal(map[string]string{"text": s}); return string(b) },
	"in JSON in JSON":    func(s string) string { return `{"a":` + quoted(`{"b":`+quoted(`["`+"x"+`",`+quoted(s)+`]`)+`}`) + `}` },
	"in JSON, a line on": func(s string) string { return `{"text":` + quoted("first\n"+s+"\nlast") + `}` },
	"in escaped JSON":    func(s string) string { return strings.ReplaceAll(`{"text":`+quoted(s)+`}`, "/", `\/`) },
	"as a key":           func(s string) string { return `{` + quoted(s) + `:1}` },
}

// quoted returns s as a JSON string; as JavaScript and Python write it, not as Go does, which escapes more.
func quoted(s string) string {
	var b strings.Builder
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	_ = e.Encode(s)
	return strings.TrimSuffix(b.String(), "\n")
}

func sameJSON(a, b string) bool {
	var x, y any
	return json.Unmarshal([]byte(a), &x) == nil && json.Unmarshal([]byte(b), &y) == nil && fmt.Sprint(x) == fmt.Sprint(y)
}

// TestCorpusCutOff: JSON that was cut off in the middle, as SDKs do with long attributes, is still scrubbed.
func TestCorpusCutOff(t *testing.T) {
	t.Parallel()
	s := everything(t)
	for _, p := range corpus(t) {
		text := `{"messages":[{"role":"user","content":` + quoted("here:\n"+p.text()+"\nand then some") + `},{"role":"assistant","content":"it was`
		got := s.Text("", text, s.NewCounts())
		inside := strings.Trim(quoted(p.secret), `"`)
		if strings.Contains(got, inside) || !strings.HasSuffix(got, `"it was`) || !strings.HasPrefix(got, `{"messages":[{"role":"user","content":"here:\n`) {
			t.Errorf("%s: %s", p.rule, got)
		}
	}
}

func TestCorpusKept(t *testing.T) {
	t.Parallel()
	s, err := New([]string{Secrets}, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, line := range lines(t, "kept.txt") {
		texts := []string{line, "a line\n" + line, strings.Repeat("some words before ", 9) + line}
		if !strings.Contains(line, `\`) {
			texts = append(texts, `{"content":`+quoted(line)+`}`, `[`+quoted("a line\n"+line)+`]`)
		}
		for _, text := range texts {
			if got := s.Text("", text, s.NewCounts()); got != text {
				t.Errorf("%s\nbecame %s", text, got)
			}
		}
	}
}

// TestEachPosition: the quick pass misses no secret, wherever in a text it begins.
func TestEachPosition(t *testing.T) {
	t.Parallel()
	s := everything(t)
	for _, p := range corpus(t) {
		for shift := range 30 {
			for _, filler := range []string{" ", "a ", "word, ", "é"} {
				before := strings.Repeat(filler, shift) + " "
				want := before + p.before + "[scrubbed:" + p.rule + "]" + p.after
				if got := s.Text("", before+p.text(), s.NewCounts()); got != want {
					t.Fatalf("%d of %q before:\n got %s\nwant %s", shift, filler, got, want)
				}
			}
		}
	}
}

func TestNames(t *testing.T) {
	t.Parallel()
	s := everything(t)
	for _, tt := range []struct{ name, text, want string }{
		{"aws.secret_access_key", "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY", "[scrubbed:aws_secret_key]"},
		{"checksum", "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY", "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY"},
		{"http.request.header.api-key", "0123456789abcdef0123456789abcdef", "[scrubbed:azure]"},
		{"http.request.header.x-api-key", "0123456789abcdef0123456789abcdef", "[scrubbed:api_key]"},
		{"http.request.header.authorization", "Token 0123456789abcdef0123456789abcdef", "Token [scrubbed:api_key]"},
		{"WANDB_API_KEY", "a1b2c3d4e5f60718", "[scrubbed:api_key]"},
		{"wandb_api_key", "a1b2c3d4e5f60718", "a1b2c3d4e5f60718"}, // shorter than what a name that is not in capitals asks for
		{"EXA_API_KEY", "6f1d1f0e-0000-4000-8000-000000000001", "[scrubbed:api_key]"},
		{"session_token", "6f1d1f0e-0000-4000-8000-000000000001", "6f1d1f0e-0000-4000-8000-000000000001"},
		{"token.", "0123456789abcdef0123456789abcdef", "0123456789abcdef0123456789abcdef"},
		{"", `{"env":{"SERPER_API_KEY":"0123456789abcdef0123456789abcdef01234567"},"page_token":"0123456789abcdef0123456789abcdef01234567"}`,
			`{"env":{"SERPER_API_KEY":"[scrubbed:api_key]"},"page_token":"0123456789abcdef0123456789abcdef01234567"}`},
		{"", `{"api_keys":["a1b2c3d4e5f6071829304a5b6c7d8e9f0"]}`, `{"api_keys":["[scrubbed:api_key]"]}`},
		{"etag", "0123456789abcdef0123456789abcdef", "0123456789abcdef0123456789abcdef"},
		{"http.request.header.authorization", "Bearer internationalization2", "Bearer [scrubbed:bearer_token]"},
		{"notes", "Bearer internationalization2", "Bearer internationalization2"},
		{"card", "4111111111111111", "[scrubbed:payment_card]"},
		{"", "4111111111111111", "[scrubbed:payment_card]"},
		{"gen_ai.prompt.0.content", "4111111111111111.", "[scrubbed:payment_card]."},
		{"input.value", "4111111111111111", "[scrubbed:payment_card]"},
		{"value", "4111111111111111", "4111111111111111"},
		{"payment.source", "4111111111111111", "[scrubbed:payment_card]"},
		{"tweet", "4111111111111111", "4111111111111111"},
		{"", `{"content":"4111111111111111","tweet":"4111111111111111"}`, `{"content":"[scrubbed:payment_card]","tweet":"4111111111111111"}`},
		{"", `["4111\u00a01111\u00a01111\u00a01111"]`, `["[scrubbed:payment_card]"]`},
		{"", `["4111\u20111111\u20111111\u20111111", "caf\u00e9 1\u20132"]`, `["[scrubbed:payment_card]", "caf\u00e9 1\u20132"]`},
		{"", `{"text":"4111\u00a01111\u00A01111\u00a01111 or 3782\u2011822463\u201110005 or 4111\u00e91111", "cut`,
			`{"text":"[scrubbed:payment_card] or [scrubbed:payment_card] or 4111\u00e91111", "cut`},
		{"order.id", "4111111111111111", "4111111111111111"},
		{"user_id", "card 4111111111111111", "card [scrubbed:payment_card]"},
		{"", `{"config":{"aws_secret_access_key":"wJalrXUtnFEMI\/K7MDENG\/bPxRfiCYEXAMPLEKEY"}}`, `{"config":{"aws_secret_access_key":"[scrubbed:aws_secret_key]"}}`},
		{"", `{"card_number":4111111111111111,"id":4111111111111111,"pan":[4012888888881881, 7]}`,
			`{"card_number":"[scrubbed:payment_card]","id":4111111111111111,"pan":["[scrubbed:payment_card]", 7]}`},
		{"", `{"ids":["4111111111111111","4012888888881881"],"cards":["4111111111111111"]}`,
			`{"ids":["4111111111111111","4012888888881881"],"cards":["[scrubbed:payment_card]"]}`},
		{"", `{"cookie":"\u0073k-ant-api03-0123456789abcdef"}`, `{"cookie":"[scrubbed:anthropic]"}`},
		{"", `{"url":"https:\/\/a:b@c\/d", "n": 1.0}`, `{"url":"https://[scrubbed:url_credentials]@c/d", "n": 1.0}`},
		{"", `{"ghp_0123456789abcdefghijABCDEFGHIJ01":1,"ghp_1123456789abcdefghijABCDEFGHIJ01":2}`, `{"[scrubbed:github]":1,"[scrubbed:github] 2":2}`},
	} {
		if got := s.Text(tt.name, tt.text, s.NewCounts()); got != tt.want {
			t.Errorf("%s %s\n got %s\nwant %s", tt.name, tt.text, got, tt.want)
		}
	}
}

func TestPatterns(t *testing.T) {
	t.Parallel()
	s, err := New([]string{Off}, []Pattern{{"badge", `ACME/\d{6}`}, {"pin", `PIN (\d{4})`}, {"all", `"quoted"`}})
	if err != nil {
		t.Fatal(err)
	}
	for text, want := range map[string]string{
		"badge ACME/123456, PIN 1234":          "badge [scrubbed:badge], PIN [scrubbed:pin]",
		`{"a":"ACME\/123456"}`:                 `{"a":"[scrubbed:badge]"}`,
		`{"a":"say \"quoted\"","b":[true]}`:    `{"a":"say [scrubbed:all]","b":[true]}`,
		"ghp_0123456789abcdefghijABCDEFGHIJ01": "ghp_0123456789abcdefghijABCDEFGHIJ01",
	} {
		if got := s.Text("", text, s.NewCounts()); got != want {
			t.Errorf("%s\n got %s\nwant %s", text, got, want)
		}
	}
	if got := []string{s.own[0].literal, s.own[1].literal}; !slices.Equal(got, []string{"ACME/", "PIN "}) {
		t.Errorf("literals %q", got)
	}
}

func TestSelection(t *testing.T) {
	t.Parallel()
	for selection, want := range map[string]string{
		"off":                         "[]",
		"":                            "[]",
		"openai, github":              "[github openai]",
		"secrets,-payment_card,email": "email, without payment_card",
		"secrets,-nothing":            `rules: must be one of off, secrets, anthropic`,
		"off,openai":                  "rules: off stands alone",
		"-openai":                     "rules: -openai leaves out a rule of none",
		"all":                         `not "all"`,
	} {
		s, err := New([]string{selection}, nil)
		switch {
		case want == "email, without payment_card":
			if err != nil || !slices.Contains(s.names, ruleEmail) || slices.Contains(s.names, ruleCard) || len(s.names) != len(Rules())-1 {
				t.Errorf("%s: %v", selection, err)
			}
		case err != nil:
			if !strings.Contains(err.Error(), want) {
				t.Errorf("%s: %v, want %s", selection, err, want)
			}
		case fmt.Sprint(s.names) != want:
			t.Errorf("%s: %v, want %s", selection, s.names, want)
		}
	}
	for want, p := range map[string]Pattern{
		"patterns::0::name: must be 1 to 50":       {"Badge", "x"},
		`patterns::0::name: "openai" is the name`:  {"openai", "x"},
		"patterns::0::pattern: is required":        {"a", ""},
		"patterns::0::pattern: error parsing":      {"a", "("},
		"patterns::0::pattern: must match neither": {"a", "x*"},
		"patterns::0::pattern: at most 1000 bytes": {"a", strings.Repeat("x", 1001)},
	} {
		if _, err := New(nil, []Pattern{p}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v: %v, want %s", p, err, want)
		}
	}
}

// FuzzText: JSON stays JSON, what is scrubbed holds nothing more to scrub, and a key anywhere in a text goes.
func FuzzText(f *testing.F) {
	for _, p := range corpus(f) {
		f.Add(p.before, p.after)
		f.Add(`{"a":`+quoted(p.text())+`}`, "")
	}
	for _, line := range lines(f, "kept.txt") {
		f.Add(line, line)
	}
	s := everything(f, Pattern{"own", `x"?y+`})
	key := "sk" + "-ant-api03-0123456789abcdefghijABCDEFGHIJ"
	f.Fuzz(func(t *testing.T, a, b string) {
		for _, text := range []string{a, `{"k":` + quoted(a) + `,` + quoted(b) + `:[` + quoted(b) + `]}`} {
			n := s.NewCounts()
			got := s.Text("", text, n)
			if json.Valid([]byte(text)) && !json.Valid([]byte(got)) {
				t.Fatalf("no longer JSON: %s\nbecame %s", text, got)
			}
			if (slices.Max(n) > 0) != (got != text) {
				t.Fatalf("%q became %q, counted %v", text, got, n)
			}
		}
		text := a + " " + key + " " + b
		if got := s.Text("", text, s.NewCounts()); strings.Contains(got, key) {
			t.Fatalf("%q became %q", text, got)
		}
	})
}

// prose is what a span of 6.7 KB holds that has nothing to hide: messages in JSON, with ids and code.
func prose() string {
	var b strings.Builder
	b.WriteString(`{"messages":[`)
	for i := 0; b.Len() < 6_600; i++ {
		fmt.Fprintf(&b, `{"role":"user","id":"6f1d1f0e-0000-4000-8000-%012d","content":"How do I read a file line by line in Go? I tried bufio.NewScanner(file) on %d lines,\nbut it stops with \"token too long\". See https://pkg.go.dev/bufio#Scanner, please."},`, i, i*1000)
	}
	return b.String() + `{"role":"assistant"}]}`
}

// TestLongTexts scrubs texts of a megabyte that are made so that each secret could have all that is before it looked at again: that takes
// minutes, and what is a pass over the text takes no second.
func TestLongTexts(t *testing.T) {
	t.Parallel()
	s, err := New([]string{"secrets"}, nil)
	if err != nil {
		t.Fatal(err)
	}
	const size = 1 << 20
	for name, text := range map[string]string{
		"cards behind spaces": strings.Repeat(" ", size/2) + strings.Repeat("4111111111111111\n", size/2/17),
		"keys":                strings.Repeat("X_TOKEN=a1b2c3d4e5f6a1b2%", size/25),
		"padded names":        strings.Repeat("X_TOKEN="+strings.Repeat(" ", 500), size/508),
	} {
		n := s.NewCounts()
		if clean := s.Text("", text, n); name == "keys" && strings.Contains(clean, "a1b2") {
			t.Errorf("%s: %d are left", name, strings.Count(clean, "a1b2"))
		}
	}
}

func BenchmarkText(b *testing.B) {
	s, err := New([]string{Secrets}, nil)
	if err != nil {
		b.Fatal(err)
	}
	clean := prose()
	dirty := strings.Replace(clean, "line by line", "with ghp_0123456789abcdefghijABCDEFGHIJ01", 1)
	image := `{"image":"data:image/png;base64,` + strings.Repeat("iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJ", 150) + `"}`
	words := strings.Repeat("Lorem ipsum dolor sit amet, consectetur adipiscing elit, sed do eiusmod tempor. ", 84)
	for name, text := range map[string]string{"words": words, "messages": clean, "image": image, "with a key": dirty} {
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(text)))
			b.ReportAllocs()
			n := s.NewCounts()
			for b.Loop() {
				s.Text("", text, n)
			}
		})
	}
}
