package llm

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/spangrove/spangrove/pkg/fault"
	"github.com/spangrove/spangrove/pkg/playground"
	"github.com/spangrove/spangrove/pkg/price"
	"github.com/spangrove/spangrove/pkg/provider"
	"github.com/spangrove/spangrove/pkg/rawjson"
)

// streams answers with server-sent events, one a line.
func streams(lines string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream; charset=utf-8")
		for line := range strings.Lines(strings.TrimSpace(lines)) {
			_, _ = fmt.Fprintf(w, "data: %s\n\n", strings.TrimSpace(line)) // the client may have gone
			_ = http.NewResponseController(w).Flush()
		}
	}
}

func userAsks(change func(*playground.Request)) *playground.Request {
	q := &playground.Request{Model: "gpt-4o-mini", Messages: []playground.Message{
		{Role: playground.System, Parts: []playground.Part{{Text: "Be brief."}}},
		{Role: playground.User, Parts: []playground.Part{{Text: "Oslo?"}}},
	}}
	if change != nil {
		change(q)
	}
	return q
}

// chatTold asks and gives all that is told, deltas put together; times are left out.
func (e *testEngine) chatTold(t *testing.T, q *playground.Request) (whole playground.Delta, rest []playground.Event, err error) {
	t.Helper()
	err = e.Chat(t.Context(), e.project, q, func(ev playground.Event) error {
		if ev.Delta == nil {
			if ev.Done != nil {
				ev.Done.Duration, ev.Done.FirstToken = 0, 0
			}
			rest = append(rest, ev)
			return nil
		}
		whole.Text += ev.Delta.Text
		whole.Reasoning += ev.Delta.Reasoning
		for _, c := range ev.Delta.Calls {
			if c.Index == len(whole.Calls) {
				whole.Calls = append(whole.Calls, c)
				continue
			}
			whole.Calls[c.Index].Arguments += c.Arguments
		}
		return nil
	})
	return whole, rest, err
}

const (
	openaiText = `{"model":"gpt-4o-mini-2024-07-18","choices":[{"index":0,"delta":{"role":"assistant","content":""},"finish_reason":null}]}
		{"model":"gpt-4o-mini-2024-07-18","choices":[{"index":0,"delta":{"reasoning_content":"Hm."},"finish_reason":null}]}
		{"model":"gpt-4o-mini-2024-07-18","choices":[{"index":0,"delta":{"reasoning":"So."},"finish_reason":null}]}
		{"model":"gpt-4o-mini-2024-07-18","choices":[{"index":0,"delta":{"content":"It "},"finish_reason":null}]}
		{"model":"gpt-4o-mini-2024-07-18","choices":[{"index":0,"delta":{"content":"rains."},"finish_reason":"stop"}]}
		{"model":"gpt-4o-mini-2024-07-18","choices":[],"usage":{"prompt_tokens":100,"completion_tokens":20,"total_tokens":120,"prompt_tokens_details":{"cached_tokens":10},"completion_tokens_details":{"reasoning_tokens":5}}}
		[DONE]`
	openaiCall = `{"model":"m","choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"id":"c1","type":"function","function":{"name":"weather","arguments":"{\"ci"}}]}}]}
		{"model":"m","choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"function":{"arguments":"ty\":1}"}}]},"finish_reason":"tool_calls"}]}
		[DONE]`
	anthropicText = `{"type":"message_start","message":{"model":"claude-3-5-haiku-20241022","usage":{"input_tokens":100,"output_tokens":1,"cache_read_input_tokens":10,"cache_creation_input_tokens":5}}}
		{"type":"ping"}
		{"type":"content_block_start","index":0,"content_block":{"type":"thinking","thinking":""}}
		{"type":"content_block_delta","index":0,"delta":{"type":"thinking_delta","thinking":"Hm."}}
		{"type":"content_block_start","index":1,"content_block":{"type":"text","text":""}}
		{"type":"content_block_delta","index":1,"delta":{"type":"text_delta","text":"It rains."}}
		{"type":"content_block_start","index":2,"content_block":{"type":"tool_use","id":"t1","name":"weather","input":{}}}
		{"type":"content_block_delta","index":2,"delta":{"type":"input_json_delta","partial_json":"{\"city\":"}}
		{"type":"content_block_delta","index":2,"delta":{"type":"input_json_delta","partial_json":"1}"}}
		{"type":"message_delta","delta":{"stop_reason":"tool_use"},"usage":{"output_tokens":20}}
		{"type":"message_stop"}`
	geminiText = `{"candidates":[{"content":{"role":"model","parts":[{"text":"Hm.","thought":true},{"text":"It "}]}}],"modelVersion":"gemini-2.0-flash"}
		{"candidates":[{"content":{"role":"model","parts":[{"text":"rains."},{"functionCall":{"name":"weather","args":{"city":1}},"thoughtSignature":"AQI="}]},"finishReason":"STOP"}],"modelVersion":"gemini-2.0-flash","usageMetadata":{"promptTokenCount":100,"candidatesTokenCount":13,"thoughtsTokenCount":7,"totalTokenCount":120}}`
)

// TestAnthropicUsage has the tokens of an answer told in pieces, as Anthropic and others who speak its API tell them.
func TestAnthropicUsage(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, begin, end string
		want             price.Usage
	}{
		{"Anthropic's", `{"input_tokens":100,"output_tokens":1,"cache_read_input_tokens":10}`, `{"output_tokens":20}`, price.Usage{Prompt: 110, Completion: 20, CacheRead: 10}},
		{"all again at the end", `{"input_tokens":100,"output_tokens":1}`, `{"input_tokens":100,"output_tokens":20}`, price.Usage{Prompt: 100, Completion: 20}},
		{"all at the end", `{"input_tokens":0,"output_tokens":0}`, `{"input_tokens":100,"output_tokens":20,"cache_read_input_tokens":10}`, price.Usage{Prompt: 110, Completion: 20, CacheRead: 10}},
		{"all at the begin", `{"input_tokens":100,"output_tokens":20}`, `null`, price.Usage{Prompt: 100, Completion: 20}},
	} {
		var r reply
		s := anthropicStream{reply: &r, calls: map[int]int{}}
		for _, text := range []string{`{"type":"message_start","message":{"usage":` + tt.begin + `}}`, `{"type":"message_delta","delta":{"stop_reason":"end_turn"},"usage":` + tt.end + `}`} {
			var e anthropicEvent
			if err := json.Unmarshal([]byte(text), &e); err != nil {
				t.Fatal(err)
			}
			if err := s.take(&e); err != nil {
				t.Fatal(err)
			}
		}
		if diff := cmp.Diff(tt.want, r.usage); diff != "" {
			t.Errorf("%s (-want +got)\n%s", tt.name, diff)
		}
	}
}

// TestChat streams through each API and looks at what is told and what was sent.
func TestChat(t *testing.T) {
	t.Parallel()
	half, seven := 0.5, int64(7)
	conversation := userAsks(func(q *playground.Request) {
		q.Messages = append(q.Messages,
			playground.Message{Role: playground.Assistant, Calls: []playground.ToolCall{{ID: "c1", Name: "weather", Arguments: `{"city":1}`, Signature: "AQI="}}},
			playground.Message{Role: playground.ToolRole, CallID: "c1", Parts: []playground.Part{{Text: "rain"}}},
			playground.Message{Role: playground.User, Parts: []playground.Part{{Text: "And this?"}, {ImageURL: "data:image/png;base64,AQI="}}})
		q.Tools = []playground.Tool{{Name: "weather", Description: "Tells it.", Parameters: json.RawMessage(`{"type":"object","properties":{"city":{"type":"number"}}}`)}}
		q.Choice = playground.Choice{Mode: playground.ChoiceTool, Tool: "weather"}
		q.Temperature, q.MaxTokens, q.Stop = &half, &seven, []string{"END"}
	})
	call := func(id, signature string) []playground.CallDelta {
		return []playground.CallDelta{{ToolCall: playground.ToolCall{ID: id, Name: "weather", Arguments: `{"city":1}`, Signature: signature}}}
	}
	for _, tt := range []struct {
		name, kind, answer, path string
		ask                      *playground.Request
		want                     playground.Delta
		usage                    playground.Usage
		done                     playground.Done
		sent                     map[string]string
	}{
		{"text", provider.OpenAI, openaiText, "/chat/completions", userAsks(nil),
			playground.Delta{Text: "It rains.", Reasoning: "Hm.So."},
			playground.Usage{Prompt: 100, Completion: 20, CacheRead: 10, Reasoning: 5, USD: 0.00002625, Priced: true},
			playground.Done{Model: "gpt-4o-mini-2024-07-18", Finish: "stop"},
			map[string]string{"stream": `true`, "stream_options.include_usage": `true`, "max_tokens": `4096`, "temperature": "", "tools": "", "messages.0.content": `"Be brief."`}},
		{"call", provider.OpenAI, openaiCall, "/chat/completions", conversation,
			playground.Delta{Calls: call("c1", "")},
			playground.Usage{Prompt: 60, Completion: 6, USD: 1.26e-05, Priced: true, Estimated: true},
			playground.Done{Model: "m", Finish: "tool_calls"},
			map[string]string{"temperature": `0.5`, "max_tokens": `7`, "stop.0": `"END"`, "tool_choice.function.name": `"weather"`,
				"tools.0.function.parameters.properties.city.type": `"number"`, "messages.2.tool_calls.0.function.arguments": `"{\"city\":1}"`,
				"messages.3.tool_call_id": `"c1"`, "messages.4.content.1.image_url.url": `"data:image/png;base64,AQI="`}},
		{"conversation", provider.Anthropic, anthropicText, "/v1/messages", conversation,
			playground.Delta{Text: "It rains.", Reasoning: "Hm.", Calls: call("t1", "")},
			playground.Usage{Prompt: 115, Completion: 20, CacheRead: 10, CacheWrite: 5, USD: 0.0001658, Priced: true},
			playground.Done{Model: "claude-3-5-haiku-20241022", Finish: "tool_calls"},
			map[string]string{"stream": `true`, "system": `"Be brief."`, "max_tokens": `7`, "temperature": `0.5`, "stop_sequences.0": `"END"`, "tool_choice.name": `"weather"`,
				"messages.1.content.0.input": `{"city":1}`, "messages.2.content.0.tool_use_id": `"c1"`, "messages.2.content.2.source.media_type": `"image/png"`, "messages.3": ""}},
		{"conversation", provider.Gemini, geminiText, "/v1beta/models/gpt-4o-mini:streamGenerateContent", conversation,
			playground.Delta{Text: "It rains.", Reasoning: "Hm.", Calls: call("call_1", "AQI=")},
			playground.Usage{Prompt: 100, Completion: 20, Reasoning: 7, USD: 0.000018, Priced: true},
			playground.Done{Model: "gemini-2.0-flash", Finish: "tool_calls"},
			map[string]string{"generationConfig.maxOutputTokens": `7`, "generationConfig.stopSequences.0": `"END"`, "contents.1.parts.0.functionCall.args": `{"city":1}`,
				"contents.1.parts.0.thoughtSignature": `"AQI="`, "contents.2.parts.0.functionResponse.name": `"weather"`, "contents.2.parts.2.inlineData.mimeType": `"image/png"`,
				"toolConfig.functionCallingConfig.mode": `"ANY"`, "systemInstruction.parts.0.text": `"Be brief."`}},
	} {
		t.Run(tt.kind+" "+tt.name, func(t *testing.T) {
			t.Parallel()
			api := newFake(t, streams(tt.answer))
			e := newTest(t, Provider{Type: tt.kind, BaseURL: api.URL, APIKey: "secret-key"}, nil)
			whole, rest, err := e.chatTold(t, tt.ask)
			if err != nil {
				t.Fatal(err)
			}
			tt.done.Provider = "judge"
			if diff := cmp.Diff(tt.want, whole); diff != "" {
				t.Errorf("deltas (-want +got)\n%s", diff)
			}
			if diff := cmp.Diff([]playground.Event{{Usage: &tt.usage}, {Done: &tt.done}}, rest); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
			if api.paths[0] != tt.path {
				t.Errorf("asked %s", api.paths[0])
			}
			for path, want := range tt.sent {
				if got := string(rawjson.Path(api.last(), strings.Split(path, ".")...)); got != want {
					t.Errorf("%s was sent as %s, want %s", path, got, want)
				}
			}
			if spent := e.named["judge"].budget.spent; spent != tt.usage.USD {
				t.Errorf("the budget counts %v, want %v", spent, tt.usage.USD)
			}
		})
	}
}

// TestChatTrouble: what goes wrong is told in words, with the provider's status, and once something was told nothing is asked again.
func TestChatTrouble(t *testing.T) {
	t.Parallel()
	broken := strings.Join(strings.SplitAfter(openaiText, "\n")[:4], "")
	for _, tt := range []struct {
		name    string
		cfg     Provider
		ask     *playground.Request
		answers []http.HandlerFunc
		says    string
		status  int
		kind    string
		calls   int
	}{
		{"a key that is not accepted", Provider{}, nil, []http.HandlerFunc{answer(401, `{"error":{"message":"Incorrect API key provided: secret-key"}}`)},
			"The provider judge answered 401 Unauthorized: Incorrect API key provided: [hidden].", 401, "provider", 1},
		{"too many, then well", Provider{}, nil, []http.HandlerFunc{answer(429, `{}`, "Retry-After: 3"), streams(openaiText)}, "", 0, "", 2},
		{"unknown stream_options", Provider{}, nil, []http.HandlerFunc{answer(400, `{"error":{"message":"unknown field stream_options"}}`), streams(openaiText)}, "", 0, "", 2},
		{"another name of the bound", Provider{}, nil, []http.HandlerFunc{answer(400, `{"error":{"message":"use max_completion_tokens"}}`), streams(openaiText)}, "", 0, "", 2},
		{"no stream", Provider{Retries: -1}, nil, []http.HandlerFunc{says("It rains.")}, "an answer that is not a stream", 0, "provider", 1},
		{"an end before the answer's", Provider{}, nil, []http.HandlerFunc{streams(broken)}, "broke its answer off: it ended before the answer was whole", 0, "provider", 1},
		{"an error inside", Provider{}, nil, []http.HandlerFunc{streams(broken + `{"error":{"message":"Overloaded, secret-key"}}`)},
			"broke its answer off: Overloaded, [hidden].", 0, "provider", 1},
		{"an error inside Gemini's", Provider{Type: provider.Gemini}, nil, []http.HandlerFunc{streams(geminiText[:strings.Index(geminiText, "\n")] + `
			{"error":{"code":503,"message":"The model is overloaded, secret-key","status":"UNAVAILABLE"}}`)}, "broke its answer off: The model is overloaded, [hidden].", 0, "provider", 1},
		{"an end before Gemini's", Provider{Type: provider.Gemini}, nil, []http.HandlerFunc{streams(geminiText[:strings.Index(geminiText, "\n")])},
			"broke its answer off: it ended before the answer was whole", 0, "provider", 1},
		{"a piece of many values", Provider{}, nil, []http.HandlerFunc{streams(broken + `{"choices":[{"delta":{"tool_calls":[` + strings.Repeat("{},", 200_000) + `{}]}}]}`)},
			"a piece of the answer has 400009 values, more than 100000.", 0, "provider", 1},
		{"a piece of many parts of Gemini's", Provider{Type: provider.Gemini}, nil,
			[]http.HandlerFunc{streams(`{"candidates":[{"content":{"parts":[` + strings.Repeat("{},", 200_000) + `{}]}}]}`)},
			"was not asked: a piece of the answer has 400009 values, more than 100000.", 0, "provider", 1},
		{"a prompt that Gemini blocks", Provider{Type: provider.Gemini}, nil, []http.HandlerFunc{streams(`{"promptFeedback":{"blockReason":"SAFETY"}}`)}, "", 0, "", 1},
		{"silence", Provider{Timeout: 20 * time.Millisecond}, nil, []http.HandlerFunc{func(w http.ResponseWriter, r *http.Request) {
			streams(broken)(w, r)
			<-r.Context().Done()
		}}, "sent nothing more for 20ms", 0, "timeout", 1},
		{"nothing at all", Provider{Deadline: 20 * time.Millisecond}, nil, []http.HandlerFunc{func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }},
			"gave no answer within 20ms", 0, "timeout", 1},
		{"no budget", Provider{DailyBudgetUSD: 1e-9}, nil, []http.HandlerFunc{streams(openaiText)}, "budget of the provider judge for today is used up", 0, "budget", 0},
		{"a setting that the library does not send", Provider{}, userAsks(func(q *playground.Request) { q.Model, q.TopP = "o1-mini", new(float64); *q.TopP = 0.5 }),
			[]http.HandlerFunc{answer(400, `{"error":{"message":"max_tokens"}}`), streams(openaiText)}, "was not asked: this model has beta-limitations", 0, "provider", 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			api := newFake(t, tt.answers...)
			tt.cfg.BaseURL, tt.cfg.APIKey = api.URL, "secret-key"
			e := newTest(t, tt.cfg, nil)
			if tt.ask == nil {
				tt.ask = userAsks(nil)
			}
			_, rest, err := e.chatTold(t, tt.ask)
			if err != nil {
				t.Fatal(err)
			}
			last := rest[len(rest)-1]
			switch {
			case tt.says == "" && last.Done == nil, tt.says != "" && last.Error == nil:
				t.Fatalf("%+v %+v", last.Done, last.Error)
			case tt.says != "" && (!strings.Contains(last.Error.Message, tt.says) || last.Error.Status != tt.status || last.Error.Kind != tt.kind):
				t.Errorf("%+v", last.Error)
			}
			if api.asked() != tt.calls {
				t.Errorf("%d calls, want %d", api.asked(), tt.calls)
			}
		})
	}
}

// TestChatInvalid: a request that no call could mend is the caller's error.
func TestChatInvalid(t *testing.T) {
	t.Parallel()
	n := int64(40_000)
	seed := int64(1)
	for _, tt := range []struct {
		kind   string
		change func(*playground.Request)
		says   string
	}{
		{provider.OpenAI, func(q *playground.Request) { q.Provider = "other" }, `The request's provider "other" is not set up; must be one of judge.`},
		{provider.OpenAI, func(q *playground.Request) { q.Model = "" }, "The request has no model"},
		{provider.OpenAI, func(q *playground.Request) { q.Model = "../x" }, "is not the name of a model"},
		{provider.OpenAI, func(q *playground.Request) { q.MaxTokens = &n }, "parameters.max_tokens: must be at most 32768"},
		{provider.Anthropic, func(q *playground.Request) { q.Seed = &seed }, "parameters.seed: Anthropic's API has no such setting"},
		{provider.Anthropic, func(q *playground.Request) { q.Format.Type = playground.FormatObject }, "response_format.type: must be text"},
		{provider.Gemini, func(q *playground.Request) { q.ReasoningEffort = "low" }, "parameters.reasoning_effort: Gemini's API"},
		{provider.Gemini, func(q *playground.Request) {
			q.Messages[1].Parts = append(q.Messages[1].Parts, playground.Part{ImageURL: "https://example.com/a.png"})
		}, "messages[1].content[1].image_url.url: must be a data: URL"},
		{provider.Anthropic, func(q *playground.Request) {
			q.Messages = append(q.Messages, playground.Message{Role: playground.Assistant, Calls: []playground.ToolCall{{ID: "a", Name: "f", Arguments: "[1]"}}})
		}, "messages[2].tool_calls[0].function.arguments: must be a JSON object"},
	} {
		e := newTest(t, Provider{Type: tt.kind, BaseURL: "http://127.0.0.1:1", APIKey: "secret-key"}, nil)
		_, _, err := e.chatTold(t, userAsks(tt.change))
		var f *fault.Error
		if !errors.As(err, &f) || f.Kind != fault.Invalid || !strings.Contains(f.Message(), tt.says) {
			t.Errorf("%v, want %q", err, tt.says)
		}
	}
}

// TestChatLeft: who leaves while the model writes has spent what came until then.
func TestChatLeft(t *testing.T) {
	t.Parallel()
	gone := make(chan struct{})
	api := newFake(t, func(w http.ResponseWriter, r *http.Request) {
		streams(strings.Join(strings.SplitAfter(openaiText, "\n")[:5], ""))(w, r)
		<-r.Context().Done()
		close(gone)
	})
	e := newTest(t, Provider{BaseURL: api.URL}, nil)
	ctx, leave := context.WithCancel(t.Context())
	text := ""
	err := e.Chat(ctx, e.project, userAsks(nil), func(ev playground.Event) error {
		if text += ev.Delta.Text; text == "It rains." {
			leave()
		}
		return nil
	})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
	<-gone
	// 14 bytes and the roles are asked, 15 bytes with the thoughts came: tokens of 3 bytes at $0.15 and $0.60 a million.
	b := &e.named["judge"].budget
	if want := float64(tokensOf(userAsks(nil).Bytes()))*0.15e-6 + 5*0.6e-6; b.spent < want*0.999 || b.spent > want*1.001 || b.held != 0 || b.underWay != 0 {
		t.Errorf("spent %v, want %v; held %v", b.spent, want, b.held)
	}
}
