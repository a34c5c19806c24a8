package rawjson

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"
)

func TestClean(t *testing.T) {
	for _, tt := range []struct {
		in, want string
		replaced int
		err      error
	}{
		{in: `{"a":1}`, want: `{"a":1}`},
		{in: "\xef\xbb\xbf {\"a\":1} ", want: `{"a":1}`},
		{in: `{"n":9007199254740993,"f":1.50}`, want: `{"n":9007199254740993,"f":1.50}`},
		{in: `{"a":1,"b":2,"a":3}`, want: `{"a":3,"b":2}`},
		{in: `{"x":{"a":1,"a":{"b":1,"b":2}}}`, want: `{"x":{"a":{"b":2}}}`},
		{in: `"a\u0000b"`, want: "\"a\uFFFDb\"", replaced: 1},
		{in: `"\\u0000"`, want: `"\\u0000"`},
		{in: `{"k\u0000":"\ud800"}`, want: "{\"k\uFFFD\":\"\uFFFD\"}", replaced: 2},
		{in: `"\ud83d\ude00"`, want: `"\ud83d\ude00"`},
		{in: "\"\xff\xfe\"", want: "\"\uFFFD\uFFFD\"", replaced: 2},
		{in: "\"\uFFFD\"", want: "\"\uFFFD\""},
		{in: `1e999`, err: ErrNumber},
		{in: `{"a":[-1e999]}`, err: ErrNumber},
		{in: `1e-999`, err: ErrNumber},
		{in: `0e-999`, want: `0e-999`},
		{in: `{"a":1,"a":1e999}`, err: ErrNumber},
		{in: ``, err: ErrSyntax},
		{in: `{`, err: ErrSyntax},
		{in: `{} {}`, err: ErrSyntax},
		{in: `{'a':1}`, err: ErrSyntax},
		{in: "\"\x00\"", err: ErrSyntax},
		{in: `NaN`, err: ErrSyntax},
		{in: strings.Repeat("[", 101) + strings.Repeat("]", 101), err: ErrDepth},
		{in: strings.Repeat("[", 100) + strings.Repeat("]", 100), want: strings.Repeat("[", 100) + strings.Repeat("]", 100)},
	} {
		got, n, err := Clean([]byte(tt.in))
		if !errors.Is(err, tt.err) || (err != nil) != (tt.err != nil) {
			t.Errorf("Clean(%.60q) error %v, want %v", tt.in, err, tt.err)
			continue
		}
		if string(got) != tt.want || n != tt.replaced {
			t.Errorf("Clean(%.60q) = %s, %d; want %s, %d", tt.in, got, n, tt.want, tt.replaced)
		}
	}
}

func TestMergeAndFill(t *testing.T) {
	for _, tt := range []struct{ base, patch, merged, filled string }{
		{`{"a":1,"b":2}`, `{"b":3,"c":4}`, `{"a":1,"b":3,"c":4}`, `{"a":1,"b":2,"c":4}`},
		{`{"a":1}`, `{"a":null}`, `{"a":null}`, `{"a":1}`},
		{`{"a":null,"b":"","c":{},"d":[]}`, `{"a":1,"b":2,"c":3,"d":4}`, `{"a":1,"b":2,"c":3,"d":4}`, `{"a":1,"b":2,"c":3,"d":4}`},
		{``, `{"a":1}`, `{"a":1}`, `{"a":1}`},
		{`{}`, `{"a":1}`, `{"a":1}`, `{"a":1}`},
		{`{"a":1}`, `{}`, `{"a":1}`, `{"a":1}`},
		{`{"a":{"x":1}}`, `{"a":{"y":2}}`, `{"a":{"y":2}}`, `{"a":{"x":1}}`},
	} {
		if got := Merge(json.RawMessage(tt.base), json.RawMessage(tt.patch)); string(got) != tt.merged {
			t.Errorf("Merge(%s, %s) = %s, want %s", tt.base, tt.patch, got, tt.merged)
		}
		if got := Fill(json.RawMessage(tt.base), json.RawMessage(tt.patch)); string(got) != tt.filled {
			t.Errorf("Fill(%s, %s) = %s, want %s", tt.base, tt.patch, got, tt.filled)
		}
	}
}

func TestPath(t *testing.T) {
	doc := []byte(`{"a":{"b":[10,{"c":"x"}]},"01":1}`)
	for _, tt := range []struct{ path, want string }{
		{"a.b.1.c", `"x"`}, {"a.b.0", `10`}, {"a.b.01", ``}, {"a.b.-1", ``}, {"01", `1`}, {"a.b.2", ``}, {"a.x", ``},
	} {
		if got := Path(doc, strings.Split(tt.path, ".")...); string(got) != tt.want {
			t.Errorf("Path(%s) = %s, want %s", tt.path, got, tt.want)
		}
	}
}

func TestConcat(t *testing.T) {
	for _, tt := range []struct{ a, b, want string }{
		{`{"a":1}`, `{"b":2}`, `{"a":1,"b":2}`}, {``, `{"b":2}`, `{"b":2}`}, {`{"a":1}`, ``, `{"a":1}`}, {`{ }`, `{"b":2}`, `{"b":2}`},
	} {
		if got := Concat(json.RawMessage(tt.a), json.RawMessage(tt.b)); string(got) != tt.want {
			t.Errorf("Concat(%s, %s) = %s, want %s", tt.a, tt.b, got, tt.want)
		}
	}
}

// FuzzClean holds that whatever Clean accepts is JSON that encoding/json accepts too, holds no
// NUL, and is left alone by a second Clean.
func FuzzClean(f *testing.F) {
	for _, s := range []string{`{"a":1,"a":2}`, `"\ud800"`, `[1e308,-0]`, "\"\xff\"", `{"a":{"b":[null,true]}}`} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, in []byte) {
		got, _, err := Clean(in)
		if err != nil {
			return
		}
		if !json.Valid(got) {
			t.Fatalf("Clean(%q) = %q, which is not JSON", in, got)
		}
		again, n, err := Clean(got)
		if err != nil || n != 0 || string(again) != string(got) {
			t.Fatalf("Clean is not idempotent: %q, then %q, %d, %v", got, again, n, err)
		}
	})
}

// FuzzAppendString holds that the quoted text reads back as the text, in the standard library too.
func FuzzAppendString(f *testing.F) {
	for _, s := range []string{"", "plain text, long enough for words", `a"b\c`, "tab\tnewline\n", "\x7f\x1f\x00", "caf\u00e9 \U0001F600", "01234567\"", "0123456\\", "\xff"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		quoted := AppendString(nil, s)
		if want, _ := jsontext.AppendQuote(nil, s); string(quoted) != string(want) {
			t.Fatalf("AppendString(%q) = %s, want %s", s, quoted, want)
		}
		valid, n := ValidText(s)
		if text, m := AppendText([]byte("x"), s); string(text) != "x"+string(AppendString(nil, valid)) || n != m {
			t.Fatalf("AppendText(%q) = %s, %d", s, text, m)
		}
		var back string
		if err := json.Unmarshal(quoted, &back); err != nil {
			t.Fatalf("%q: %v", quoted, err)
		}
		if want := strings.ToValidUTF8(s, "\uFFFD"); utf8.ValidString(s) && back != want {
			t.Fatalf("%q came back as %q", want, back)
		}
		if again, ok := Text(quoted); !ok || again != back {
			t.Fatalf("Text(%q) = %q, want %q", quoted, again, back)
		}
	})
}

func BenchmarkAppendString(b *testing.B) {
	s := strings.Repeat("The quick brown fox jumps over the lazy dog. ", 100)
	buf := make([]byte, 0, 2*len(s))
	b.SetBytes(int64(len(s)))
	for b.Loop() {
		buf = AppendString(buf[:0], s)
	}
}

func TestPrefix(t *testing.T) {
	t.Parallel()
	for _, x := range []struct {
		s    string
		n    int
		want string
	}{{"", 0, ""}, {"abc", 3, "abc"}, {"abc", 2, "ab"}, {"abc", 0, ""}, {"aé", 2, "a"}, {"aé", 3, "aé"}, {"é", 1, ""}} {
		if got := Prefix(x.s, x.n); got != x.want {
			t.Errorf("Prefix(%q, %d) = %q, want %q", x.s, x.n, got, x.want)
		}
	}
}
