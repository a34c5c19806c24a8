package llm

import (
	"net/http"
	"strings"
	"testing"

	"github.com/spangrove/spangrove/pkg/evaluation"
	"github.com/spangrove/spangrove/pkg/metric"
	"github.com/spangrove/spangrove/pkg/provider"
	"github.com/spangrove/spangrove/pkg/rawjson"
)

func anthropicSays(content, stop string) http.HandlerFunc {
	return answer(200, `{"id":"m","type":"message","role":"assistant","model":"claude-3-5-haiku-20241022","content":`+content+`,"stop_reason":"`+stop+`",
		"usage":{"input_tokens":100,"output_tokens":20,"cache_read_input_tokens":10,"cache_creation_input_tokens":5}}`)
}

func geminiSays(candidate string) http.HandlerFunc {
	return answer(200, `{"candidates":[`+candidate+`],"modelVersion":"gemini-2.0-flash","usageMetadata":{"promptTokenCount":100,"candidatesTokenCount":20,"thoughtsTokenCount":7,"totalTokenCount":127}}`)
}

// TestClients asks through the APIs of other types what TestProviderTrouble asks OpenAI's.
func TestClients(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, kind, model string
		answers           []http.HandlerFunc
		want              evaluation.Failure // empty: a score
		says              string
		calls             int
		cost              float64
		path              string
		sent              map[string]string
		header            string
	}{
		// $0.80, $0.08, $1 and $4 a million.
		{"a tool's input", provider.Anthropic, "claude-3-5-haiku-20241022", []http.HandlerFunc{anthropicSays(`[{"type":"tool_use","name":"verdict","input":`+good+`}]`, "tool_use")}, "", "It answers.", 1, 0.0001658, "/v1/messages",
			map[string]string{"model": `"claude-3-5-haiku-20241022"`, "max_tokens": `4096`, "temperature": `0`, "tool_choice.name": `"verdict"`, "tools.0.input_schema.type": `"object"`, "messages.0.role": `"user"`}, "X-Api-Key"},
		{"thoughts and text", provider.Anthropic, "claude-3-5-haiku-20241022", []http.HandlerFunc{anthropicSays(`[{"type":"thinking","thinking":"{}"},{"type":"text","text":`+quote("So: "+good)+`}]`, "end_turn")}, "", "It answers.", 1, 0.0001658, "", nil, ""},
		{"tools refused", provider.Anthropic, "m", []http.HandlerFunc{answer(400, `{"type":"error","error":{"type":"invalid_request_error","message":"tool_choice is not allowed"}}`), anthropicSays(`[{"type":"text","text":`+quote(good)+`}]`, "end_turn")}, "", "", 2, 0.0001658, "", nil, ""},
		{"overloaded", provider.Anthropic, "m", []http.HandlerFunc{answer(529, `{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}`)}, ProviderFailed, "answered 529 : Overloaded.", 5, 0, "", nil, ""},
		{"refusal", provider.Anthropic, "m", []http.HandlerFunc{anthropicSays(`[]`, "refusal")}, Refused, "safeguards", 1, 0, "", nil, ""},
		{"cut", provider.Anthropic, "m", []http.HandlerFunc{anthropicSays(`[{"type":"text","text":"{"}]`, "max_tokens")}, Unparsed, "max_output_tokens", 1, 0, "", nil, ""},
		{"malformed", provider.Anthropic, "m", []http.HandlerFunc{answer(200, `{"content":[`), answer(200, `{}`)}, ProviderFailed, "without content", 5, 0, "", nil, ""},

		// $0.10 and $0.40 a million.
		{"JSON", provider.Gemini, "gemini-2.0-flash", []http.HandlerFunc{geminiSays(`{"content":{"role":"model","parts":[{"text":"hm","thought":true},{"text":` + quote(good) + `}]},"finishReason":"STOP"}`)}, "", "It answers.", 1, 0.0000208,
			"/v1beta/models/gemini-2.0-flash:generateContent",
			map[string]string{"generationConfig.responseMimeType": `"application/json"`, "generationConfig.responseJsonSchema.type": `"object"`, "generationConfig.temperature": `0`, "generationConfig.maxOutputTokens": `4096`}, "X-Goog-Api-Key"},
		{"429 with RetryInfo", provider.Gemini, "m", []http.HandlerFunc{answer(429, `{"error":{"code":429,"message":"Quota","status":"RESOURCE_EXHAUSTED","details":[{"@type":"type.googleapis.com/google.rpc.RetryInfo","retryDelay":"9s"}]}}`),
			geminiSays(`{"content":{"parts":[{"text":` + quote(good) + `}]}}`)}, "", "", 2, 0.0000208, "", nil, ""},
		{"503", provider.Gemini, "m", []http.HandlerFunc{answer(503, `{"error":{"code":503,"message":"The model is overloaded.","status":"UNAVAILABLE"}}`)}, ProviderFailed, "The model is overloaded.", 5, 0, "", nil, ""},
		{"blocked prompt", provider.Gemini, "m", []http.HandlerFunc{answer(200, `{"promptFeedback":{"blockReason":"SAFETY"}}`)}, Refused, "SAFETY", 1, 0, "", nil, ""},
		{"stopped answer", provider.Gemini, "m", []http.HandlerFunc{geminiSays(`{"finishReason":"PROHIBITED_CONTENT"}`)}, Refused, "PROHIBITED_CONTENT", 1, 0, "", nil, ""},
		{"cut", provider.Gemini, "m", []http.HandlerFunc{geminiSays(`{"content":{"parts":[{"text":"{\"expl"}]},"finishReason":"MAX_TOKENS"}`)}, Unparsed, "max_output_tokens", 1, 0, "", nil, ""},
		{"malformed", provider.Gemini, "m", []http.HandlerFunc{answer(200, `[`), answer(200, `{}`)}, ProviderFailed, "without candidates", 5, 0, "", nil, ""},
	} {
		t.Run(tt.kind+" "+tt.name, func(t *testing.T) {
			t.Parallel()
			api := newFake(t, tt.answers...)
			e := newTest(t, Provider{Type: tt.kind, BaseURL: api.URL, APIKey: "secret-key"}, nil)
			r := e.evaluate(t, definition(func(d *metric.Definition) { d.ModelName = &tt.model }))
			if r.Failure != tt.want || !strings.Contains(r.Explanation, tt.says) || tt.want == "" && string(r.Score) != "0.8" {
				t.Errorf("%+v, want %q, %q", r, tt.want, tt.says)
			}
			if api.asked() != tt.calls {
				t.Errorf("%d calls, want %d", api.asked(), tt.calls)
			}
			if tt.want == "" && r.Cost != tt.cost {
				t.Errorf("cost %v, want %v", r.Cost, tt.cost)
			}
			if tt.path != "" && (api.paths[0] != tt.path || api.headers[0].Get(tt.header) != "secret-key") {
				t.Errorf("asked %s with %v", api.paths[0], api.headers[0])
			}
			for path, want := range tt.sent {
				if got := string(rawjson.Path(api.last(), strings.Split(path, ".")...)); got != want {
					t.Errorf("%s was sent as %s, want %s", path, got, want)
				}
			}
		})
	}
}

// TestNoSurprises keeps what belongs to others out of requests.
func TestNoSurprises(t *testing.T) {
	for name, value := range map[string]string{"OPENAI_API_KEY": "env-key", "OPENAI_BASE_URL": "http://127.0.0.1:1", "ANTHROPIC_API_KEY": "env-key", "GOOGLE_API_KEY": "env-key",
		"GOOGLE_GEMINI_BASE_URL": "http://127.0.0.1:1", "GOOGLE_GENAI_USE_VERTEXAI": "true", "HTTP_PROXY": "http://127.0.0.1:1"} {
		t.Setenv(name, value)
	}
	for _, kind := range []string{provider.OpenAI, provider.Anthropic} {
		api := newFake(t, answer(401, `{}`))
		e := newTest(t, Provider{Type: kind, BaseURL: api.URL}, nil)
		e.evaluate(t, definition(nil))
		for name, values := range api.headers[0] {
			if strings.Contains(strings.Join(values, " "), "env-key") {
				t.Errorf("%s: %s %q", kind, name, values)
			}
		}
	}
	if _, err := newGemini(Provider{Type: provider.Gemini, BaseURL: "http://127.0.0.1:1"}, nil); err == nil || !strings.Contains(err.Error(), "api_key: is required") {
		t.Errorf("%v", err)
	}
	for _, model := range []string{"../files", "a?b", "a#b", "a b", "a%2e", strings.Repeat("x", 300)} {
		e := newTest(t, Provider{BaseURL: "http://127.0.0.1:1"}, nil)
		if r := e.evaluate(t, definition(func(d *metric.Definition) { d.ModelName = &model })); r.Failure != evaluation.NoEngine || !strings.Contains(r.Explanation, "is not the name of a model") {
			t.Errorf("%s: %+v", model, r)
		}
	}
}
