package pyliteral

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/spangrove/spangrove/pkg/rawjson"
)

func TestJSON(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ in, want string }{
		{`{'audio': 0, 'cache_read': 4}`, `{"audio":0,"cache_read":4}`},
		{`[{'a': None, 'b': True, 'c': False}]`, `[{"a":null,"b":true,"c":false}]`},
		{`('x', 1)`, `["x",1]`}, {`('x',)`, `["x"]`}, {`()`, `[]`}, {`[1, ]`, `[1]`}, {` { } `, `{}`},
		{`{'it': "it's", "q": 'say "hi"'}`, `{"it":"it's","q":"say \"hi\""}`},
		{`['a\nb', 'c\\d', '\x41\u00e9\U0001F600', '\q']`, "[\"a\\nb\",\"c\\\\d\",\"Aé😀\",\"\\\\q\"]"},
		{`[b'x', u'y', r'\d', 'a' 'b']`, `["x","y","\\d","ab"]`},
		{`[r'\'', r'\\', r'\\d', r"\'"]`, `["\\'","\\\\","\\\\d","\\'"]`}, {`[r'\']`, ""},
		{`{1: 'a', None: 'b', 2.5: 'c'}`, `{"1":"a","null":"b","2.5":"c"}`},
		{`[1e-05, -3, 0.5, 123456789012345678901234567890]`, `[1e-05,-3,0.5,123456789012345678901234567890]`},
		{`[nan, inf, -inf]`, `["NaN","Infinity","-Infinity"]`},
		{"[ 1\n,\t2 ]", `[1,2]`},
		// What is no literal, or no container, is left alone.
		{"", ""}, {"None", ""}, {"'x'", ""}, {"{'a'}", ""}, {"{1, 2}", ""}, {"(1)", ""}, {"[1 2]", ""}, {"[,]", ""}, {"[1,,2]", ""}, {"{'a': 1", ""}, {"['a", ""}, {"['\\", ""},
		{"[<Foo object at 0x7f>]", ""}, {"{'a': Foo(b=1)}", ""}, {"{'a': datetime.datetime(2026, 1, 1)}", ""}, {"[01]", ""}, {"[1_000]", ""}, {"[None1]", ""}, {"[1] x", ""}, {`['\x4']`, ""}, {`{(1,): 2}`, ""},
		{strings.Repeat("[", 5000), ""}, {strings.Repeat("[", 5000) + strings.Repeat("]", 5000), ""}, {"[" + strings.Repeat("1,", MaxBytes/2) + "1]", ""},
	} {
		got, ok := JSON(tt.in)
		if !ok {
			got = nil
		}
		if string(got) != tt.want || ok != (tt.want != "") {
			t.Errorf("JSON(%.60q) = %s, %v; want %s", tt.in, got, ok, tt.want)
		}
	}
}

// FuzzJSON holds that a Python literal becomes JSON that a store takes, or is given up.
func FuzzJSON(f *testing.F) {
	for _, s := range []string{`{'a': 1, 'b': [None, True, -0.5e-3], "c": ('x',), 'd': 'it\'s', 1: b'\x00', 'e': 'a' "b", 'f': r'\n'}`, `((), [[],], {},)`, `{'a'}`, `[1 2]`, "['\u00e9\\U0001F600']", `{'n': nan, 'i': -inf}`} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		raw, ok := JSON(s)
		if !ok {
			return
		}
		if _, n, err := rawjson.Clean(raw); err != nil {
			t.Fatalf("%q became %q: %v", s, raw, err)
		} else if n > 0 && !strings.ContainsAny(s, "\\\x00") && utf8.ValidString(s) {
			t.Fatalf("%q became %q, which is not clean", s, raw)
		}
	})
}
