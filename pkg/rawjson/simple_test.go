package rawjson

import (
	"strings"
	"testing"
)

var simpleCases = []struct {
	in   string
	want bool
}{
	{`{"a":[1,-0.5,"x\n\"é",true,false,null,{},[]]}`, true},
	{" [ 1 , 2 ] \n", true},
	{`"` + strings.Repeat("0123456789", 100) + `"`, true},
	{`{"a":1,"a":2}`, false},
	{`{"\n":1}`, false},
	{`"\u0000"`, false},
	{`"\u00e9\u20AC"`, true},
	{`"\ud83d\ude00"`, true},
	{`"\ud83d"`, false},
	{`"\ud83dx\ude00"`, false},
	{`"\ud83d\u0041"`, false},
	{`"\ude00"`, false},
	{`"\u00g0"`, false},
	{`"\u00`, false},
	{`"` + strings.Repeat(`a\"\n`, 50) + `"`, true},
	{`"` + strings.Repeat("a", 63) + "\x1f" + `"`, false},
	{`"\x"`, false},
	{"\"a\x01\"", false},
	{"\"a\x7f\"", true},
	{"\"\xff\"", false},
	{`1e5`, false},
	{`01`, false},
	{`1.`, false},
	{`-`, false},
	{`{"a":1,}`, false},
	{`[1,]`, false},
	{`[1 2]`, false},
	{`{"a" 1}`, false},
	{`{a:1}`, false},
	{`tru`, false},
	{`1 2`, false},
	{``, false},
	{`"abc`, false},
	{strings.Repeat("[", 100) + strings.Repeat("]", 100), true},
	{strings.Repeat("[", 101) + strings.Repeat("]", 101), false},
	{strings.Repeat("9", 301), false},
}

func TestSimple(t *testing.T) {
	t.Parallel()
	for _, tt := range simpleCases {
		if got := simple([]byte(tt.in)); got != tt.want {
			t.Errorf("simple(%.60q) = %v, want %v", tt.in, got, tt.want)
		}
	}
}

// FuzzSimple holds that the quick look never passes what the slow one would not.
func FuzzSimple(f *testing.F) {
	for _, tt := range simpleCases {
		f.Add([]byte(tt.in))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		if !simple(raw) {
			return
		}
		if dirty, err := check(raw); dirty || err != nil {
			t.Fatalf("simple(%q), but check says %v, %v", raw, dirty, err)
		}
	})
}

func BenchmarkClean(b *testing.B) {
	message := `{"role":"user","content":"` + strings.Repeat("lorem ipsum dolor sit ", 45) + `"}`
	prose := `{"role":"user","content":"` + strings.Repeat(`The teal ferry leaves pier four at 09:20.\nThe amber one an hour later, said \"Kévin\". `, 11) + `"}`
	cjk := `{"role":"user","content":"` + strings.Repeat("渡し船は九時二十分に四番桟橋を出ます。", 18) + `"}`
	for name, raw := range map[string]string{
		"prose":   `{"messages":[` + strings.Repeat(prose+",", 3) + prose + `]}`,
		"cjk":     `{"messages":[` + strings.Repeat(cjk+",", 3) + cjk + `]}`,
		"plain":   `{"messages":[` + strings.Repeat(message+",", 3) + message + `]}`,
		"escapes": `{"messages":[` + strings.Repeat(message+",", 3) + message + `,"\u00e9"]}`,
	} {
		b.Run(name, func(b *testing.B) {
			text := []byte(raw)
			b.SetBytes(int64(len(raw)))
			b.ReportAllocs()
			for b.Loop() {
				if _, _, err := Clean(text); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
