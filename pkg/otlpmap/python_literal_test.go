package otlpmap

import (
	"strings"
	"testing"
)

func TestPythonLiteral(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ in, want string }{
		{`{'audio': 0, 'cache_read': 4}`, `{"audio":0,"cache_read":4}`},
		{`[{'a': None, 'b': True, 'c': False}]`, `[{"a":null,"b":true,"c":false}]`},
		{`('x', 1)`, `["x",1]`}, {`('x',)`, `["x"]`}, {`()`, `[]`}, {`[1, ]`, `[1]`}, {` { } `, `{}`},
		{`{'it': "it's", "q": 'say "hi"'}`, `{"it":"it's","q":"say \"hi\""}`},
		{`['a\nb', 'c\\d', '\x41\u00e9\U0001F600', '\q']`, "[\"a\\nb\",\"c\\\\d\",\"Aé😀\",\"\\\\q\"]"},
		{`[b'x', u'y', r'\d', 'a' 'b']`, `["x","y","\\d","ab"]`},
		{`{1: 'a', None: 'b', 2.5: 'c'}`, `{"1":"a","null":"b","2.5":"c"}`},
		{`[1e-05, -3, 0.5, 123456789012345678901234567890]`, `[1e-05,-3,0.5,123456789012345678901234567890]`},
		{`[nan, inf, -inf]`, `["NaN","Infinity","-Infinity"]`},
		{"[ 1\n,\t2 ]", `[1,2]`},
		// What is no literal, or no container, is left alone.
		{"", ""}, {"None", ""}, {"'x'", ""}, {"{'a'}", ""}, {"{1, 2}", ""}, {"(1)", ""}, {"[1 2]", ""}, {"[,]", ""}, {"[1,,2]", ""}, {"{'a': 1", ""}, {"['a", ""}, {"['\\", ""},
		{"[<Foo object at 0x7f>]", ""}, {"{'a': Foo(b=1)}", ""}, {"{'a': datetime.datetime(2026, 1, 1)}", ""}, {"[01]", ""}, {"[1_000]", ""}, {"[None1]", ""}, {"[1] x", ""}, {`['\x4']`, ""}, {`{(1,): 2}`, ""},
		{strings.Repeat("[", 5000), ""}, {strings.Repeat("[", 5000) + strings.Repeat("]", 5000), ""}, {"[" + strings.Repeat("1,", maxPythonLiteral/2) + "1]", ""},
	} {
		got, ok := pythonLiteralJSON(tt.in)
		if !ok {
			got = nil
		}
		if string(got) != tt.want || ok != (tt.want != "") {
			t.Errorf("reprJSON(%.60q) = %s, %v; want %s", tt.in, got, ok, tt.want)
		}
	}
}
