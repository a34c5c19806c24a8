package otlpmap

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/spangrove/spangrove/pkg/event"
	"github.com/spangrove/spangrove/pkg/price"
)

// prices notes what it is asked, and knows the model "m" alone.
type prices struct{ asked []price.Call }

func (p *prices) Cost(c price.Call) (float64, bool) {
	p.asked = append(p.asked, c)
	return 0.25, c.Model == "m" || c.RequestModel == "m"
}

func TestCost(t *testing.T) {
	t.Parallel()
	usage := func(prompt, completion int64) price.Usage { return price.Usage{Prompt: prompt, Completion: completion} }
	for _, tt := range []struct {
		name  string
		attrs map[string]any
		asked []price.Call
		cost  string // and its source
	}{
		{"all there is", map[string]any{
			"gen_ai.operation.name": "chat", "gen_ai.provider.name": "OpenAI", "gen_ai.request.model": "n", "gen_ai.response.model": "m",
			"gen_ai.usage.input_tokens": 100, "gen_ai.usage.output_tokens": 50, "gen_ai.usage.cache_read.input_tokens": 10,
			"gen_ai.usage.cache_creation.input_tokens": 20, "gen_ai.usage.reasoning.output_tokens": 5,
			"llm.token_count.prompt_details.audio": 3, "llm.token_count.completion_details.audio": 4,
		}, []price.Call{{Model: "m", RequestModel: "n", Provider: "OpenAI", Usage: price.Usage{
			Prompt: 100, Completion: 50, CacheRead: 10, CacheWrite: 20, Reasoning: 5, AudioIn: 3, AudioOut: 4,
		}}}, `0.25 "computed"`},
		{"a reported cost", map[string]any{
			"gen_ai.operation.name": "chat", "gen_ai.request.model": "m", "gen_ai.usage.input_tokens": 1, "gen_ai.usage.cost": 0.5,
		}, nil, `0.5 "reported"`},
		{"a reported cost of nothing", map[string]any{
			"gen_ai.operation.name": "chat", "gen_ai.request.model": "m", "gen_ai.usage.input_tokens": 1, "gen_ai.usage.cost": 0.0,
		}, nil, `0.0 "reported"`},
		{"an unknown model", map[string]any{
			"gen_ai.operation.name": "chat", "gen_ai.request.model": "n", "gen_ai.usage.input_tokens": 1,
		}, []price.Call{{Model: "n", Usage: usage(1, 0)}}, " "},
		{"the model in the parameters", map[string]any{
			"openinference.span.kind": "LLM", "llm.invocation_parameters": `{"temperature": 1, "model": "m"}`,
			"llm.token_count.prompt": 1, "llm.token_count.completion": 2,
		}, []price.Call{{Model: "m", Usage: usage(1, 2)}}, `0.25 "computed"`},
		{"the sender's own object", map[string]any{
			"honeyhive_event_type": "model", "honeyhive_config.model": "m", "gen_ai.usage.input_tokens": 1,
		}, []price.Call{{Model: "m", Usage: usage(1, 0)}}, `0.25 "computed"`},
		{"the sender's own tokens", map[string]any{
			"honeyhive_event_type": "model", "honeyhive_config.model": "m", "honeyhive_metadata.input_tokens": 3, "honeyhive_metadata.total_tokens": 5,
		}, []price.Call{{Model: "m", Usage: usage(3, 2)}}, `0.25 "computed"`},
		{"own tokens beside those of an instrumentation", map[string]any{
			"honeyhive_event_type": "model", "honeyhive_config.model": "m", "honeyhive_metadata.prompt_tokens": 3, "gen_ai.usage.input_tokens": 1,
		}, []price.Call{{Model: "m", Usage: usage(1, 0)}}, `0.25 "computed"`},
		{"own tokens that are none", map[string]any{
			"honeyhive_event_type": "model", "honeyhive_config.model": "m", "honeyhive_metadata.prompt_tokens": "many", "honeyhive_metadata.total_tokens": -1,
		}, nil, " "},
		{"own tokens and cost", map[string]any{
			"honeyhive_event_type": "model", "honeyhive_config.model": "m", "honeyhive_metadata.prompt_tokens": 3, "honeyhive_metadata.cost": 0.5,
		}, nil, "0.5 "},
		{"a cached part beside the prompt", map[string]any{
			"gen_ai.operation.name": "chat", "gen_ai.request.model": "m", "gen_ai.usage.input_tokens": 3, "gen_ai.usage.cache_read.input_tokens": 10,
		}, []price.Call{{Model: "m", Usage: price.Usage{Prompt: 13, CacheRead: 10}}}, `0.25 "computed"`},
		{"prompt and total", map[string]any{
			"gen_ai.operation.name": "chat", "gen_ai.request.model": "m", "gen_ai.usage.input_tokens": 3, "gen_ai.usage.total_tokens": 5,
		}, []price.Call{{Model: "m", Usage: usage(3, 2)}}, `0.25 "computed"`},
		{"completion and total", map[string]any{
			"gen_ai.operation.name": "chat", "gen_ai.request.model": "m", "gen_ai.usage.output_tokens": 3, "gen_ai.usage.total_tokens": 5,
		}, []price.Call{{Model: "m", Usage: usage(2, 3)}}, `0.25 "computed"`},
		{"an embedding's total", map[string]any{
			"gen_ai.operation.name": "embeddings", "gen_ai.request.model": "m", "gen_ai.usage.total_tokens": 5,
		}, []price.Call{{Model: "m", Usage: usage(5, 0)}}, `0.25 "computed"`},
		{"completion alone", map[string]any{
			"gen_ai.operation.name": "chat", "gen_ai.request.model": "m", "gen_ai.usage.output_tokens": 3,
		}, nil, " "},
		{"no tokens", map[string]any{"gen_ai.operation.name": "chat", "gen_ai.request.model": "m"}, nil, " "},
		{"an agent", map[string]any{
			"gen_ai.operation.name": "invoke_agent", "gen_ai.request.model": "m", "gen_ai.usage.input_tokens": 3,
		}, nil, " "},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			var p prices
			batch, _ := New(Options{Prices: &p}).Traces(request(spanSpec{id: 1, attrs: tt.attrs}))
			checkEvent(t, &batch.Events[0].Event)
			if d := cmp.Diff(tt.asked, p.asked); d != "" {
				t.Errorf("asked (-want +got):\n%s", d)
			}
			e := &batch.Events[0].Event
			if got := at(e, "metadata.cost") + " " + at(e, "metadata.cost_source"); got != tt.cost {
				t.Errorf("cost %s, want %s", got, tt.cost)
			}
		})
	}
}

// TestWrappersCost: a wrapper's cost repeats that of the call it wraps.
func TestWrappersCost(t *testing.T) {
	t.Parallel()
	call := map[string]any{"gen_ai.operation.name": "chat", "gen_ai.request.model": "m", "gen_ai.usage.input_tokens": 7}
	batch, _ := New(Options{Prices: &prices{}}).Traces(request(spanSpec{id: 2, parent: 1, attrs: call}, spanSpec{id: 1, attrs: call}))
	if e := &batch.Events[0].Event; at(e, "metadata.cost") != "0.25" {
		t.Errorf("inner call: %s", flatEvent(e))
	}
	if e := &batch.Events[1].Event; e.Type != event.TypeChain || at(e, "metadata.cost") != "" || at(e, "metadata.cost_source") != "" ||
		at(e, "metadata.aggregate_usage") != `{"prompt_tokens":7,"cost":0.25,"cost_source":"computed"}` {
		t.Errorf("wrapper: %s", flatEvent(e))
	}
}
