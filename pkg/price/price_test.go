package price

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/spangrove/spangrove/pkg/fault"
)

func TestBuiltIn(t *testing.T) {
	t.Parallel()
	s := BuiltIn()
	if s.Models < 3000 || s.Name == "" || s.Version == "" || len(s.Date) != len("2026-11-21") || s.Licence != "MIT" {
		t.Errorf("source %+v", s)
	}
	if !strings.Contains(Licence, "MIT License") {
		t.Error("the licence is not there")
	}
	table := builtIn()
	if len(table.start) != s.Models {
		t.Fatalf("%d lines, want %d", len(table.start), s.Models)
	}
	before := ""
	for i := range table.start {
		name, rest := table.line(i)
		if name <= before || name != strings.ToLower(name) {
			t.Errorf("line %d: %q is out of order after %q", i, name, before)
		}
		before = name
		_, r, ok := parseLine(rest)
		if !ok || !r.base[input].known && !r.base[output].known {
			t.Errorf("%s: cannot be read: %q", name, rest)
		}
		if _, got, ok := table.find(name); !ok || !cmp.Equal(got, r, cmp.AllowUnexported(Rates{}, tier{}, rate{})) {
			t.Errorf("%s is not found", name)
		}
		for n, at := range r.tiers {
			if n > 0 && at.above <= r.tiers[n-1].above {
				t.Errorf("%s: tiers out of order", name)
			}
		}
	}
	for _, name := range []string{"", "a", "gpt-4o-min", "gpt-4o-minj", "\xff"} {
		if _, _, ok := table.find(name); ok {
			t.Errorf("%q is found", name)
		}
	}
}

func TestCost(t *testing.T) {
	t.Parallel()
	use := func(prompt, completion int64) Usage { return Usage{Prompt: prompt, Completion: completion} }
	const none = -1.0
	for _, tt := range []struct {
		name string
		call Call
		want float64
	}{
		// The figure that LiteLLM and genai-prices give too.
		{"the reference", Call{Model: "gpt-4o-mini", Usage: Usage{Prompt: 23, CacheRead: 4, Completion: 8}}, 7.95e-06},
		{"without a cache", Call{Model: "gpt-4o-mini", Usage: use(23, 8)}, 8.25e-06},
		{"any case", Call{Model: " GPT-4o-Mini ", Usage: use(23, 8)}, 8.25e-06},
		{"a snapshot in the table", Call{Model: "gpt-4o-2024-05-13", Usage: use(1000, 0)}, 0.005},
		{"a snapshot that is not", Call{Model: "gpt-4o-mini-2031-01-01", Usage: use(23, 8)}, 8.25e-06},
		{"a snapshot without dashes", Call{Model: "claude-sonnet-4-5-20310101", Usage: use(1000, 0)}, 0.003},
		{"a version of Vertex", Call{Model: "claude-sonnet-4-5@20310101", Usage: use(1000, 0)}, 0.003},
		{"a path", Call{Model: "models/gemini-2.5-flash", Provider: "google", Usage: use(1000, 0)}, 0.0003},
		{"a long path", Call{Model: "projects/p/locations/l/publishers/google/models/gemini-2.5-flash", Usage: use(1000, 0)}, 0.0003},
		{"below its provider", Call{Model: "openai/gpt-oss-120b", Provider: "groq", Usage: use(1000, 1000)}, 0.00075},
		{"below its provider's API", Call{Model: "openai/gpt-oss-120b", Provider: "groq.chat", Usage: use(1000, 1000)}, 0.00075},
		{"only below a provider", Call{Model: "openai/gpt-oss-120b", Usage: use(1000, 1000)}, none},
		{"Bedrock", Call{Model: "anthropic.claude-sonnet-4-5-20250929-v1:0", Provider: "aws.bedrock", Usage: use(1000, 0)}, 0.003},
		{"Bedrock in a region of the table", Call{Model: "us.anthropic.claude-sonnet-4-5-20250929-v1:0", Usage: use(1000, 0)}, 0.0033},
		{"Bedrock in another region", Call{Model: "mx.anthropic.claude-sonnet-4-5-20250929-v1:0", Usage: use(1000, 0)}, 0.003},
		{"Bedrock, a later release", Call{Model: "apac.anthropic.claude-sonnet-4-5-20310101-v2:0", Usage: use(1000, 0)}, 0.003},
		{"Bedrock's ARN", Call{Model: "arn:aws:bedrock:us-east-1::foundation-model/anthropic.claude-sonnet-4-5-20250929-v1:0", Usage: use(1000, 0)}, 0.003},
		{"Azure", Call{Model: "gpt-4o-mini", Provider: "azure.ai.openai", Usage: use(23, 8)}, 8.25e-06},
		{"the provider in the name", Call{Model: "openai/gpt-4o-mini", Usage: use(23, 8)}, 8.25e-06},
		{"the provider in the name, with a colon", Call{Model: "openai:gpt-4o-mini", Usage: use(23, 8)}, 8.25e-06},
		{"another provider in the name", Call{Model: "mine/gpt-4o-mini", Usage: use(23, 8)}, none},
		{"a fine-tuned model", Call{Model: "ft:gpt-4o-mini-2024-07-18:me::abc", Usage: use(1000, 1000)}, 0.0015},
		{"the model asked for", Call{Model: "deployment-7", RequestModel: "gpt-4o-mini", Usage: use(23, 8)}, 8.25e-06},
		{"the model that answered", Call{Model: "gpt-4o-mini", RequestModel: "gpt-4o", Usage: use(23, 8)}, 8.25e-06},
		{"an embedding", Call{Model: "text-embedding-3-small", Usage: use(1000, 0)}, 2e-05},
		{"above 200k", Call{Model: "gemini-2.5-pro", Provider: "google", Usage: use(200_001, 10)}, 0.5001525 + 0},
		{"at 200k", Call{Model: "gemini-2.5-pro", Provider: "google", Usage: use(200_000, 10)}, 0.2501},
		{"by steps", Call{Model: "qwen-flash", Provider: "dashscope", Usage: use(300_000, 0)}, 0.075},
		{"a free model", Call{Model: "llama3", Provider: "ollama", Usage: use(23, 8)}, 0},
		{"no tokens", Call{Model: "gpt-4o-mini"}, none},
		{"negative tokens", Call{Model: "gpt-4o-mini", Usage: use(-1, -1)}, none},
		{"unknown", Call{Model: "gpt-4o-minimal", Usage: use(23, 8)}, none},
		{"no model", Call{Usage: use(23, 8)}, none},
		{"a very long name", Call{Model: strings.Repeat("gpt", 1000), Usage: use(23, 8)}, none},
		{"nothing but what is cut off", Call{Model: "-2024-01-01", RequestModel: "models/", Provider: ".", Usage: use(1, 1)}, none},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			b := New()
			for range 2 { // the second answer is remembered
				got, ok := b.Cost(tt.call)
				if !ok {
					got = none
				}
				if got != tt.want {
					t.Errorf("got %v, want %v", got, tt.want)
				}
			}
		})
	}
}

func TestRates(t *testing.T) {
	t.Parallel()
	const none = -1.0
	for _, tt := range []struct {
		prices string
		usage  Usage
		want   float64
	}{
		{`{"input":1,"output":10}`, Usage{Prompt: 100, Completion: 10}, 0.0002},
		{`{"input":1,"output":10}`, Usage{Prompt: 100, CacheRead: 40, CacheWrite: 60, Completion: 10, Reasoning: 4}, 0.0002},
		{`{"input":1,"output":10,"cache_read":0.5,"cache_write":2}`, Usage{Prompt: 100, CacheRead: 40, CacheWrite: 50}, 0.00013},
		{`{"input":1,"output":10,"reasoning":20}`, Usage{Completion: 10, Reasoning: 4}, 0.00014},
		{`{"input":1,"output":10,"audio_input":5,"audio_output":50}`, Usage{Prompt: 10, AudioIn: 4, Completion: 10, AudioOut: 2}, 0.000206},
		{`{"input":1,"output":10}`, Usage{Prompt: 1, CacheRead: 5}, 5e-06},
		{`{"input":1}`, Usage{Prompt: 100}, 0.0001},
		{`{"input":1}`, Usage{Prompt: 100, Completion: 1}, none},
		{`{"output":1}`, Usage{Prompt: 100, Completion: 1}, none},
		{`{"input":0,"output":0}`, Usage{Prompt: 100, Completion: 1}, 0},
		{`{"input":1,"output":2,"tiers":[{"above":20,"input":3},{"above":10,"input":2,"output":4}]}`, Usage{Prompt: 10, Completion: 1}, 1.2e-05},
		{`{"input":1,"output":2,"tiers":[{"above":20,"input":3},{"above":10,"input":2,"output":4}]}`, Usage{Prompt: 11, Completion: 1}, 2.6e-05},
		{`{"input":1,"output":2,"tiers":[{"above":20,"input":3},{"above":10,"input":2,"output":4}]}`, Usage{Prompt: 21, Completion: 1}, 6.7e-05},
		{`{"input":1e8,"output":1e8}`, Usage{Prompt: 1 << 62, Completion: 1 << 62}, 9.22337203685e+20},
		{`{"input":1,"output":1}`, Usage{Prompt: 1<<63 - 1, CacheRead: -1 << 63}, 9.22337203685e+12},
	} {
		r, err := simple([]byte(tt.prices))
		if err != nil {
			t.Errorf("%s: %v", tt.prices, err)
			continue
		}
		got, ok := r.Cost(tt.usage)
		if !ok {
			got = none
		}
		if got != tt.want {
			t.Errorf("%s of %+v: got %v, want %v", tt.prices, tt.usage, got, tt.want)
		}
	}
}

func TestOwnPrices(t *testing.T) {
	t.Parallel()
	b, err := Parse([]byte(`{
		"GPT-4o": {"input": 1, "output": "2"},
		"azure/gpt-4o-mini": {"input": 100, "output": 100},
		"o3": null,
		"house-model": {"input": 0, "output": 0}}`))
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		call Call
		want float64
		ok   bool
	}{
		{Call{Model: "gpt-4o"}, 0.000102, true},
		{Call{Model: "gpt-4o-2024-05-13"}, 0.000102, true},
		{Call{Model: "azure-thing", RequestModel: "gpt-4o"}, 0.000102, true},
		{Call{Model: "gpt-4o-mini"}, 1.56e-05, true},
		{Call{Model: "gpt-4o-mini", Provider: "azure"}, 0.0101, true},
		{Call{Model: "o3"}, 0, false},
		{Call{Model: "house-model"}, 0, true},
		{Call{Model: "other"}, 0, false},
	} {
		tt.call.Usage = Usage{Prompt: 100, Completion: 1}
		if got, ok := b.Cost(tt.call); got != tt.want || ok != tt.ok {
			t.Errorf("%+v: got %v, %v, want %v, %v", tt.call, got, ok, tt.want, tt.ok)
		}
	}
}

func TestLiteLLMsListAsOwnPrices(t *testing.T) {
	t.Parallel()
	list, err := os.ReadFile(filepath.Join("testdata", "litellm.json"))
	if err != nil {
		t.Fatal(err)
	}
	b, err := Parse(list)
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		model string
		u     Usage
		want  float64
		ok    bool
	}{
		{"plain", Usage{Prompt: 100, Completion: 10, CacheRead: 50, Reasoning: 5}, 0.00012, true},
		{"hit", Usage{Prompt: 100, CacheRead: 100}, 1e-05, true},
		{"above", Usage{Prompt: 200_000}, 0.2, true},
		{"above", Usage{Prompt: 200_001, CacheRead: 1}, 0.4000001, true},
		{"steps", Usage{Prompt: 1000}, 0.001, true},
		{"steps", Usage{Prompt: 256_001}, 0.512002, true},
		{"image", Usage{Prompt: 100}, 0, false},
		{"free", Usage{Prompt: 100}, 0, true},
	} {
		if got, ok := b.Cost(Call{Model: "test-" + tt.model, Usage: tt.u}); got != tt.want || ok != tt.ok {
			t.Errorf("%s of %+v: got %v, %v, want %v, %v", tt.model, tt.u, got, ok, tt.want, tt.ok)
		}
	}
	lines, n, err := Pack(list)
	if err != nil || n != 5 {
		t.Fatalf("packed %d models, %v", n, err)
	}
	want := "test-above\t\t1 - 0.5\t200000\t2 - 0.1\n" +
		"test-free\tollama\t0 0\n" +
		"test-hit\t\t1 1 0.1\n" +
		"test-plain\topenai\t1 4 0.5 - 5\n" +
		"test-steps\t\t1 - 0.1\t256000\t2\n"
	if d := cmp.Diff(want, string(lines)); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
}

func TestMistakesInAFile(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ file, want string }{
		{``, "must be a JSON object of models and their prices"},
		{`[]`, "must be a JSON object of models and their prices"},
		{`null`, "must be a JSON object of models and their prices"},
		{`{"m": {"input": 1,}}`, "invalid character '}' looking for beginning of object key string at byte 19"},
		{`{"m": 3}`, `model "m": must be an object of prices, or null`},
		{`{"m": {}}`, `model "m": has neither input nor output`},
		{`{"m": {"input": -1}}`, `model "m": input must be US dollars per million tokens, 0 to 100000000`},
		{`{"m": {"input": "free"}}`, `model "m": input must be US dollars per million tokens`},
		{`{"m": {"input": 1, "outptu": 1}}`, `model "m": outptu is unknown; must be one of input, output, cache_read`},
		{`{"m": {"input": 1, "tiers": {}}}`, `model "m": tiers must be an array of at most 16 objects`},
		{`{"m": {"input": 1, "tiers": [{"input": 2}]}}`, `model "m": tiers[0].above must be a number of tokens`},
		{`{"m": {"input": 1, "tiers": [{"above": 5, "x": 2}]}}`, `model "m": tiers[0].x is unknown`},
		{`{"": {"input": 1}}`, `model "": a name has 1 to 256 bytes`},
		{strings.Repeat(" ", MaxFileBytes+1), "the file is larger than 16777216 bytes"},
	} {
		_, err := Parse([]byte(tt.file))
		var f *fault.Error
		if !errors.As(err, &f) || f.Kind != fault.Invalid || !strings.Contains(f.Message(), tt.want) || strings.Contains(f.Message(), "\n") {
			t.Errorf("%.40s: got %v, want %q", tt.file, err, tt.want)
		}
	}
}

func TestManyAtOnce(t *testing.T) {
	t.Parallel()
	b := New()
	var all sync.WaitGroup
	for g := range 8 {
		all.Go(func() {
			for i := range 2 * keepFound {
				if usd, ok := b.Cost(Call{Model: "gpt-4o-mini", Usage: Usage{Prompt: 23, CacheRead: 4, Completion: 8}}); !ok || usd != 7.95e-06 {
					t.Errorf("got %v, %v", usd, ok)
				}
				if _, ok := b.Cost(Call{Model: fmt.Sprint("unknown-", g, i), Usage: Usage{Prompt: 1}}); ok {
					t.Error("an unknown model has a price")
				}
			}
		})
	}
	all.Wait()
	if n := len(b.found); n > keepFound {
		t.Errorf("%d answers are remembered", n)
	}
}

func TestTableIsSmall(t *testing.T) {
	var before, after runtime.MemStats
	builtIn()
	runtime.GC()
	runtime.ReadMemStats(&before)
	table := newTable(strings.Clone(builtIn().text))
	runtime.GC()
	runtime.ReadMemStats(&after)
	if grown := int64(after.HeapAlloc) - int64(before.HeapAlloc); grown > 1<<19 {
		t.Errorf("the table takes %d bytes", grown)
	}
	runtime.KeepAlive(table)
}

func FuzzParse(f *testing.F) {
	f.Add(`{"m":{"input":1,"output":2,"tiers":[{"above":5,"input":2}]},"n":null}`, "m", "openai", int64(5), int64(7))
	f.Add(`{"sample_spec":{},"m":{"input_cost_per_token":1e-6,"tiered_pricing":[{"range":[0,1]}]}}`, "arn:x/m", "google.", int64(5), int64(7))
	f.Fuzz(func(t *testing.T, file, model, provider string, prompt, completion int64) {
		b, err := Parse([]byte(file))
		if err != nil {
			if fault.Of(err) != fault.Invalid {
				t.Fatalf("not the file's fault: %v", err)
			}
			b = New()
		}
		usd, ok := b.Cost(Call{Model: model, RequestModel: file, Provider: provider,
			Usage: Usage{Prompt: prompt, Completion: completion, CacheRead: completion, Reasoning: prompt}})
		if usd < 0 || usd != usd || !ok && usd != 0 {
			t.Fatalf("cost %v, %v", usd, ok)
		}
	})
}

func BenchmarkCost(b *testing.B) {
	book := New()
	call := Call{Model: "gpt-4o-mini", Provider: "openai", Usage: Usage{Prompt: 23, CacheRead: 4, Completion: 8}}
	b.ReportAllocs()
	for b.Loop() {
		book.Cost(call)
	}
}
