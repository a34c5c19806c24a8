package otlpmap

import (
	"testing"

	"github.com/spangrove/spangrove/pkg/event"
)

func TestMastra(t *testing.T) {
	t.Parallel()
	const scope = "@mastra/otel"
	checkConventions(t, []conventionCase{
		{name: "messages as they are stored", scope: scope, typ: event.TypeChain,
			attrs: map[string]any{"gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": "Weather", "gen_ai.system_instructions": "Be brief.",
				"mastra.agent_run.input":  `[{"id":"m1","role":"user","createdAt":"2026-01-01T00:00:00.000Z","content":{"format":2,"parts":[{"type":"text","text":"q"}],"content":"q"}}]`,
				"mastra.agent_run.output": `{"text":"a","files":[]}`},
			want: map[string]string{"inputs": `{"chat_history":[{"role":"system","content":"Be brief."},{"role":"user","content":"q","id":"m1","createdAt":"2026-01-01T00:00:00.000Z","format":2}]}`,
				"outputs": `{"text":"a","files":[]}`, "metadata.agent_name": `"Weather"`, "unmapped": ""}},
		{name: "texts", scope: scope, typ: event.TypeChain,
			attrs: map[string]any{"gen_ai.operation.name": "invoke_agent", "mastra.agent_run.input": `["q","more"]`},
			want:  map[string]string{"inputs": `{"chat_history":[{"role":"user","content":"q"},{"role":"user","content":"more"}]}`, "metadata.parse_error": "", "unmapped": ""}},
		{name: "a text", scope: scope, typ: event.TypeChain,
			attrs: map[string]any{"gen_ai.operation.name": "invoke_agent", "mastra.agent_run.input": `q`}, want: map[string]string{"inputs": `{"chat_history":[{"role":"user","content":"q"}]}`}},
		{name: "a model's step", scope: scope, typ: event.TypeChain,
			attrs: map[string]any{"gen_ai.operation.name": "model_step", "mastra.span.type": "model_step", "mastra.model_step.input": `{"messages":[{"role":"user","content":"q"}]}`, "mastra.model_step.output": `{"text":"a"}`},
			want:  map[string]string{"inputs": `{"chat_history":[{"role":"user","content":"q"}]}`, "outputs": `{"text":"a"}`}},
		{name: "an object as an answer", scope: scope, typ: event.TypeModel,
			attrs: map[string]any{"gen_ai.operation.name": "chat", "gen_ai.request.model": "m", "gen_ai.input.messages": `[{"role":"user","content":[{"type":"text","text":"q"},{"type":"file","data":"aGk=","mediaType":"image/png"}]}]`, "gen_ai.output.messages": `{"object":{"n":1}}`, "gen_ai.response.finish_reasons": `["stop"]`},
			want:  map[string]string{"inputs.chat_history.0.content.1": `{"type":"image_url","image_url":{"url":"data:image/png;base64,aGk="}}`, "outputs": `{"object":{"n":1},"finish_reason":"stop"}`, "metadata.parse_error": "", "unmapped": ""}},
	})
}
