package cli

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/rivo/uniseg"
	"github.com/spf13/cobra"
)

// TestExamples checks that each command has examples, whose flags and arguments it takes.
func TestExamples(t *testing.T) {
	root := &cobra.Command{Use: "spangrove"}
	Add(root, nil)
	var walk func(cmd *cobra.Command)
	walk = func(cmd *cobra.Command) {
		for _, sub := range cmd.Commands() {
			walk(sub)
		}
		if cmd == root || cmd.HasSubCommands() {
			return
		}
		examples := strings.ReplaceAll(cmd.Example, "\\\n", " ")
		own := 0
		for line := range strings.Lines(examples) {
			_, call, ok := strings.Cut(line, cmd.CommandPath()+" ")
			if !ok && !strings.HasSuffix(strings.TrimRight(line, ")\n"), cmd.CommandPath()) {
				t.Errorf("%s: the example %q is of another command", cmd.CommandPath(), line)
				continue
			}
			own++
			args := words(strings.TrimSuffix(strings.TrimRight(call, "\n"), ")"))
			if err := cmd.ParseFlags(args); err != nil {
				t.Errorf("%q: %v", line, err)
			} else if err := cmd.ValidateArgs(cmd.Flags().Args()); err != nil {
				t.Errorf("%q: %v", line, err)
			}
		}
		if own == 0 {
			t.Errorf("%s has no example", cmd.CommandPath())
		}
	}
	walk(root)
}

// words splits a line as a shell does that knows only single quotes; what a pipe leads to is left out.
func words(line string) []string {
	var out []string
	for i, part := range strings.Split(line, "'") {
		if i%2 == 1 {
			out = append(out, part)
			continue
		}
		before, _, piped := strings.Cut(part, " | ")
		out = append(out, strings.Fields(before)...)
		if piped {
			break
		}
	}
	return out
}

func TestTableFits(t *testing.T) {
	t.Parallel()
	tab := table{columns: []column{{title: "id", path: "id", whole: true}, {title: "name", path: "name"}, {title: "n", path: "n", right: true}, {title: "text", path: "text"}}}
	for _, item := range []string{
		`{"id": "0192f0a4-7c1e-7aaa-8bbb-1234567890ab", "name": "short", "n": 10.50, "text": "something that is rather long"}`,
		`{"id": "0192f0a4-7c1e-7aaa-8bbb-1234567890ac", "name": "検索する検索する", "n": 1e300, "text": "a\tb\u001b[31m\u202e"}`,
		`{"id": "0192f0a4-7c1e-7aaa-8bbb-1234567890ad", "name": "👩‍👩‍👧👩‍👩‍👧", "text": {"a": 1.0}}`,
	} {
		tab.add(json.RawMessage(item))
	}
	for width := range 140 {
		var out strings.Builder
		if err := tab.write(&output{results: &out, width: width}); err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(out.String()) {
			if w := uniseg.StringWidth(strings.TrimSuffix(line, "\n")); width > 0 && w > width {
				t.Errorf("%d columns in a terminal of %d: %q", w, width, line)
			}
		}
	}
	var out strings.Builder
	if err := tab.write(&output{results: &out}); err != nil {
		t.Fatal(err)
	}
	want := `ID                                    NAME                  N  TEXT
0192f0a4-7c1e-7aaa-8bbb-1234567890ab  short             10.50  something that is rather long
0192f0a4-7c1e-7aaa-8bbb-1234567890ac  検索する検索する  1e300  a b [31m
0192f0a4-7c1e-7aaa-8bbb-1234567890ad  👩‍👩‍👧👩‍👩‍👧                  -  {"a":1.0}
`
	if diff := cmp.Diff(want, out.String()); diff != "" {
		t.Errorf("table (-want +got):\n%s", diff)
	}
}

// TestYAML goes from JSON to YAML and back: the same text.
func TestYAML(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		`{"z":1,"a":[1.50,-0,1e300,12345678901234567890.10,100000000000000000000000000],"t":true,"n":null,"e":{},"l":[]}`,
		`{"":"","yes":"yes","true":"true","number":"1.0","null":"null","date":"2026-01-01","lines":"a\nb\n","quote":"\"","tab":"\t","merge":"<<","<<":1}`,
		`[]`, `"text"`, `12`, `null`,
	} {
		var out strings.Builder
		o := &output{results: &out, format: formatYAML}
		if err := o.one(json.RawMessage(text)); err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		back, err := fromYAML([]byte(out.String()))
		if err != nil {
			t.Errorf("%s\n%s: %v", text, &out, err)
		} else if string(back) != text {
			t.Errorf("%s\nbecame\n%s\nand that\n%s", text, &out, back)
		}
	}
	for in, want := range map[string]string{
		"a: 0x10\nb: +1\nc: .5\nd: 1_000\ne: True\nf: ~": `{"a":16,"b":1,"c":0.5,"d":1000,"e":true,"f":null}`,
		"a: &x {b: 1}\nc: *x":                            `{"a":{"b":1},"c":{"b":1}}`,
		"2026-01-01":                                     `"2026-01-01"`,
		"# nothing":                                      `null`,
		"a: &a [x,x,x]\nb: &b [*a,*a]\nc: [*b,*b]\n1: 2\n": `{"a":["x","x","x"],"b":[["x","x","x"],["x","x","x"]],"c":[[["x","x","x"],["x","x","x"]],[["x","x","x"],["x","x","x"]]],"1":2}`,
	} {
		got, err := fromYAML([]byte(in))
		if err != nil || string(got) != want {
			t.Errorf("%q: %s, %v, want %s", in, got, err, want)
		}
	}
	bomb := "a: &a [1,1,1,1,1,1,1,1,1,1]\n"
	for c := 'b'; c <= 'i'; c++ {
		bomb += strings.ReplaceAll("N: &N [*P,*P,*P,*P,*P,*P,*P,*P,*P,*P]\n", "N", string(c))
		bomb = strings.ReplaceAll(bomb, "P", string(c-1))
	}
	for _, in := range []string{"a: .inf", "? [a]\n: 1", "a: [", bomb} {
		if got, err := fromYAML([]byte(in)); err == nil {
			t.Errorf("%.40q: %.80s", in, got)
		}
	}
}

func TestTimeout(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]time.Duration{"30s": 30 * time.Second, "30.0": 30 * time.Second, "2m": 2 * time.Minute, "0": 0, "0.5": 500 * time.Millisecond} {
		if got, err := parseTimeout(text); got != want || err != nil {
			t.Errorf("%s: %s, %v", text, got, err)
		}
	}
	for _, text := range []string{"", "-1", "-1s", "soon", "NaN", "1e30", "Inf"} {
		if got, err := parseTimeout(text); err == nil {
			t.Errorf("%q: %s", text, got)
		}
	}
}

func TestExpiry(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	for text, want := range map[string]string{"90d": "2026-04-01T00:00:00Z", "12h": "2026-01-01T12:00:00Z", "2026-02-03": "2026-02-03"} {
		if got, err := expiry(text, now); got != want || err != nil {
			t.Errorf("%s: %s, %v", text, got, err)
		}
	}
	for _, text := range []string{"", "1M", "99999999999999999999d", "9999999w"} {
		if got, err := expiry(text, now); err == nil {
			t.Errorf("%q: %s", text, got)
		}
	}
}

func TestMask(t *testing.T) {
	t.Parallel()
	for key, want := range map[string]string{"": "(none)", "0123456789012345": "****", "sg_0123456789abcdefghijklmnopqrstuvwxyz": "sg_…wxyz"} {
		if got := mask(key); got != want {
			t.Errorf("%q: %s, want %s", key, got, want)
		}
	}
}
