package e2e

import "github.com/spangrove/spangrove/e2e/fakeopenai"

// message is an entry of a chat history.
type message map[string]any

var weatherCall = message{"id": "call", "name": "get_weather", "arguments": message{"city": "Oslo"}}

// typedCall is weatherCall as those show it who send what OpenAI answered.
var typedCall = message{"id": "call", "type": "function", "name": "get_weather", "arguments": message{"city": "Oslo"}}

// vectors is what is kept of the embeddings' vectors.
var vectors = message{"count": 2, "dimension": fakeopenai.Dimensions}

// toolHistory returns the conversation after the tool has answered; name is the tool's
// if its message tells that.
func toolHistory(name string, call message) []message {
	answered := message{"role": "tool", "content": "21 degrees in Oslo", "tool_call_id": "call"}
	if name != "" {
		answered["name"] = name
	}
	return []message{
		{"role": "user", "content": "What is the weather in Oslo?"},
		{"role": "assistant", "content": nil, "tool_calls": []message{call}},
		answered,
	}
}

// modelCall is a model call of a program and what must be shown of it.
type modelCall struct {
	name  string
	facts facts
}

// calls are the model calls of every program, in their order, with what any
// instrumentation must show of them. openai_calls.py and vercel.mjs make them,
// package fakeopenai answers.
var calls = []modelCall{
	{"chat", facts{
		"config.model": "gpt-4o-mini-2024-07-18", "config.provider": "openai",
		"config.temperature": 0.2, "config.max_tokens": 50,
		"inputs.chat_history": []message{
			{"role": "system", "content": "You are terse."},
			{"role": "user", "content": "What is the capital of Portugal?"},
		},
		"outputs.role": "assistant", "outputs.content": "Lisbon.", "outputs.finish_reason": "stop", "error": nil,
		"metadata.prompt_tokens": 15, "metadata.completion_tokens": 1, "metadata.total_tokens": 16,
		"metadata.cache_read_input_tokens": 2,
		"metadata.cost":                    2.7e-6, "metadata.cost_source": "computed",
	}},
	{"stream", facts{
		"config.model":        "gpt-4o-mini-2024-07-18",
		"inputs.chat_history": []message{{"role": "user", "content": "Count to three."}},
		"outputs.content":     "One, two, three.", "outputs.finish_reason": "stop", "error": nil,
		"metadata.prompt_tokens": 6, "metadata.completion_tokens": 3, "metadata.total_tokens": 9,
		"metadata.cache_read_input_tokens": 2,
	}},
	{"tool call", facts{
		"inputs.chat_history":   []message{{"role": "user", "content": "What is the weather in Oslo?"}},
		"outputs.tool_calls":    []message{weatherCall},
		"outputs.finish_reason": "tool_calls", "error": nil,
		"config.tools.0.name": "get_weather", "config.tools.0.parameters.required": []string{"city"},
		"metadata.prompt_tokens": 9, "metadata.completion_tokens": 7,
	}},
	{"tool answer", facts{
		"inputs.chat_history": toolHistory("", weatherCall),
		"outputs.content":     "The tool says: 21 degrees in Oslo", "outputs.tool_calls": nil, "error": nil,
		"metadata.prompt_tokens": 19, "metadata.completion_tokens": 7,
	}},
	{"error", facts{
		"config.model":        "broken",
		"inputs.chat_history": []message{{"role": "user", "content": "Hello?"}},
		"error":               "Error code: 429 - You exceeded your current quota.",
		"outputs.content":     nil, "metadata.prompt_tokens": nil, "metadata.cost": nil,
	}},
	{"embeddings", facts{
		"config.model":             "text-embedding-3-small",
		"inputs.texts":             []string{"red apples", "green pears"},
		"outputs.data.0.embedding": nil, // long vectors are not kept
		"error":                    nil,
		"metadata.prompt_tokens":   4, "metadata.completion_tokens": nil,
	}},
	{"responses", facts{
		"config.model": "gpt-4o-mini-2024-07-18",
		"inputs.chat_history": []message{
			{"role": "system", "content": "You are terse."},
			{"role": "user", "content": "What is the capital of Portugal?"},
		},
		"outputs.role": "assistant", "outputs.content": "Lisbon.", "error": nil,
		"metadata.prompt_tokens": 15, "metadata.completion_tokens": 1, "metadata.total_tokens": 16,
		"metadata.cache_read_input_tokens": 2,
	}},
}

// anthropicCalls are those of anthropic_calls.py.
var anthropicCalls = []modelCall{
	{"chat", facts{
		"config.model": "claude-opus-4-8",
		"inputs.chat_history": []message{
			{"role": "system", "content": "You are terse."},
			{"role": "user", "content": "What is the capital of Portugal?"},
		},
		"outputs.role": "assistant", "outputs.content": "Lisbon.", "error": nil,
		"metadata.prompt_tokens": 15, "metadata.completion_tokens": 1, "metadata.total_tokens": 16,
	}},
	{"stream", facts{
		"inputs.chat_history": []message{{"role": "user", "content": "Count to three."}},
		"outputs.content":     "One, two, three.", "error": nil, "metadata.prompt_tokens": 6,
	}},
	{"tool call", facts{
		"inputs.chat_history":       []message{{"role": "user", "content": "What is the weather in Oslo?"}},
		"outputs.tool_calls.0.name": "get_weather", "config.tools.0.name": "get_weather",
		"metadata.prompt_tokens": 9, "metadata.completion_tokens": 7,
	}},
	{"tool answer", facts{
		"outputs.content": "The tool says: 21 degrees in Oslo", "outputs.tool_calls": nil, "error": nil,
		"metadata.prompt_tokens": 19, "metadata.completion_tokens": 7,
	}},
	{"error", facts{
		"config.model": "broken", "inputs.chat_history": []message{{"role": "user", "content": "Hello?"}},
		"outputs.content": nil, "metadata.prompt_tokens": nil, "metadata.cost": nil,
	}},
	{"stream helper", facts{
		"inputs.chat_history": []message{{"role": "user", "content": "Count to three."}},
		"outputs.content":     "One, two, three.", "error": nil, "metadata.prompt_tokens": 6,
	}},
}

// llamaIndexCalls are those of llama_index_calls.py.
var llamaIndexCalls = []modelCall{
	{"chat", facts{
		"config.model": "gpt-4o-mini", "config.provider": "openai", // it does not send the temperature
		"inputs.chat_history": []message{
			{"role": "system", "content": "You are terse."},
			{"role": "user", "content": "What is the capital of Portugal?"},
		},
		"outputs.role": "assistant", "outputs.content": "Lisbon.", "outputs.finish_reason": "stop", "error": nil,
		"metadata.prompt_tokens": 15, "metadata.completion_tokens": 1, "metadata.total_tokens": 16,
	}},
	{"stream", facts{
		"inputs.chat_history": []message{{"role": "user", "content": "Count to three."}},
		"outputs.content":     "One, two, three.", "error": nil,
	}},
	{"tool call", facts{
		"inputs.chat_history":       []message{{"role": "user", "content": "What is the weather in Oslo?"}},
		"outputs.tool_calls.0.name": "get_weather", "outputs.finish_reason": "tool_calls", "config.tools.0.name": "get_weather",
		"metadata.prompt_tokens": 9, "metadata.completion_tokens": 7,
	}},
	{"error", facts{
		"inputs.chat_history": []message{{"role": "user", "content": "Hello?"}},
		"outputs.content":     nil, "metadata.prompt_tokens": nil, "metadata.cost": nil,
	}},
}

// pythonTree returns the tree of instrumented.py under an instrumentation that makes
// one span a call.
func pythonTree(chat, broken, embed, responses string) string {
	return `chain program
	chain ask
		model ` + chat + `
	chain ask streaming
		model ` + chat + `
	chain ask with tool
		model ` + chat + `
		tool get_weather
		model ` + chat + `
	chain ask broken
		model ` + broken + `
	chain embed
		model ` + embed + `
	chain ask responses` + responses
}

var programs = []program{
	{
		name: "OpenTelemetry openai-v2", argv: instrumented("venv-openai-v2", "openai_v2"),
		protocol: "http/protobuf", endpoint: otlpPort, prompt: 53, completion: 18, // it does not see responses
		tree: pythonTree("chat gpt-4o-mini", "chat broken", "embeddings text-embedding-3-small", ""),
		facts: map[string]facts{
			"all":         {"metadata.cache_read_input_tokens": nil}, // it does not send them
			"chat":        {"metadata.cost": 2.85e-6},
			"error":       {"error": "Error code: 429 - {'error': {'code': 'insufficient_quota', 'message': 'You exceeded your current quota.', 'param': None, 'type': 'insufficient_quota'}}"},
			"embeddings":  {"inputs.texts": nil},
			"tool call":   {"outputs.tool_calls": []message{typedCall}, "config.tools.0.name": nil, "config.tools.0.parameters.required": nil},
			"tool answer": {"inputs.chat_history": toolHistory("", typedCall)},
		},
	},
	{
		name: "OpenTelemetry openai-v2, newest conventions", argv: instrumented("venv-openai-v2", "openai_v2_details"),
		protocol: "grpc", endpoint: grpcPort, prompt: 53, completion: 18,
		tree: pythonTree("chat gpt-4o-mini", "chat broken", "embeddings text-embedding-3-small", ""),
		facts: map[string]facts{
			"all":        {"metadata.cache_read_input_tokens": nil}, // it does not send them
			"chat":       {"metadata.cost": 2.85e-6},
			"error":      {"error": "Error code: 429 - {'error': {'code': 'insufficient_quota', 'message': 'You exceeded your current quota.', 'param': None, 'type': 'insufficient_quota'}}"},
			"embeddings": {"inputs.texts": nil},
			"tool call":  {"config.tools.0.name": nil, "config.tools.0.parameters.required": nil},
		},
	},
	{
		name: "OpenTelemetry genai-openai", argv: instrumented("venv", "genai_openai"),
		protocol: "grpc", endpoint: grpcPort, prompt: 68, completion: 19,
		tree: pythonTree("chat gpt-4o-mini", "chat broken", "embeddings text-embedding-3-small", "\n\t\tmodel chat gpt-4o-mini"),
		facts: map[string]facts{
			"embeddings": {"inputs.texts": nil}, // it does not send them
		},
	},
	{
		name: "OpenLLMetry", argv: instrumented("venv", "openllmetry"),
		protocol: "http/protobuf", endpoint: apiPort, prompt: 68, completion: 19,
		tree: pythonTree("openai.chat", "openai.chat", "openai.embeddings", "\n\t\tmodel openai.response"),
	},
	{
		name: "OpenInference", argv: instrumented("venv", "openinference"),
		protocol: "http/protobuf", endpoint: apiBelow, prompt: 68, completion: 19,
		tree: pythonTree("ChatCompletion", "ChatCompletion", "CreateEmbeddings", "\n\t\tmodel Response"),
		facts: map[string]facts{
			"error":      {"error": "RateLimitError: Error code: 429 - You exceeded your current quota."},
			"embeddings": {"metadata.embedding": vectors},
		},
	},
	{
		name: "HoneyHive", argv: instrumented("venv", "honeyhive"),
		protocol: "http/json", endpoint: apiPort, prompt: 68, completion: 19,
		tree: pythonTree("ChatCompletion", "ChatCompletion", "CreateEmbeddings", "\n\t\tmodel Response"),
		facts: map[string]facts{
			"error":      {"error": "RateLimitError: Error code: 429 - You exceeded your current quota."},
			"embeddings": {"metadata.embedding": vectors},
		},
	},
	{
		name: "Vercel AI SDK 6", argv: vercel("6"),
		protocol: "http/json", endpoint: otlpPort, prompt: 68, completion: 19,
		tree: `chain program
	chain ask
		chain capital
			model ai.generateText.doGenerate
	chain ask streaming
		chain count
			model ai.streamText.doStream
	chain ask with tool
		chain weather
			model ai.generateText.doGenerate
			tool get_weather
			model ai.generateText.doGenerate
	chain ask broken
		chain broken
			model ai.generateText.doGenerate
	chain embed
		chain fruit
			model ai.embedMany.doEmbed
	chain ask responses
		chain responses
			model ai.generateText.doGenerate`,
		facts: map[string]facts{
			"tool call":   {"outputs.finish_reason": "tool-calls"},
			"tool answer": {"inputs.chat_history": toolHistory("get_weather", weatherCall)},
			"error":       {"error": "You exceeded your current quota."},
			"embeddings":  {"metadata.embedding": vectors},
		},
	},
	{
		name: "Vercel AI SDK 7", argv: vercel("7"),
		protocol: "http/json", endpoint: apiPort, prompt: 68, completion: 19,
		tree: `chain program
	chain ask
		chain invoke_agent gpt-4o-mini
			chain step 1
				model chat gpt-4o-mini
	chain ask streaming
		chain invoke_agent gpt-4o-mini
			chain step 1
				model chat gpt-4o-mini
	chain ask with tool
		chain invoke_agent gpt-4o-mini
			chain step 1
				model chat gpt-4o-mini
				tool get_weather
			chain step 2
				model chat gpt-4o-mini
	chain ask broken
		chain invoke_agent broken
			chain step 1
				model chat broken
	chain embed
		chain embeddings text-embedding-3-small
			model embeddings text-embedding-3-small
	chain ask responses
		chain invoke_agent gpt-4o-mini
			chain step 1
				model chat gpt-4o-mini`,
		facts: map[string]facts{
			"error":      {"error": "You exceeded your current quota."},
			"embeddings": {"inputs.texts": nil}, // it does not send them
		},
	},
	{
		name: "Anthropic's client and OpenInference", argv: anthropicClient("openinference"), calls: anthropicCalls,
		protocol: "http/protobuf", endpoint: otlpPort, prompt: 55, completion: 21,
		tree: `chain program
	chain ask
		model messages.create
			chain anthropic.messages.create
	chain ask streaming
		model messages.create
			chain anthropic.messages.create
	chain ask with tool
		model messages.create
			chain anthropic.messages.create
		model messages.create
			chain anthropic.messages.create
	chain ask broken
		model messages.create
			chain anthropic.messages.create
	chain ask by stream helper
		model messages.stream
		model anthropic.messages.create`,
	},
	{
		name: "Anthropic's client and OpenLLMetry", argv: anthropicClient("openllmetry"), calls: anthropicCalls,
		protocol: "http/protobuf", endpoint: otlpPort, prompt: 55, completion: 27, // it counts those of streams twice
		tree: `chain program
	chain ask
		model anthropic.chat
		model anthropic.messages.create
	chain ask streaming
		model anthropic.chat
		model anthropic.messages.create
	chain ask with tool
		model anthropic.chat
		model anthropic.messages.create
		model anthropic.chat
		model anthropic.messages.create
	chain ask broken
		model anthropic.chat
		model anthropic.messages.create
	chain ask by stream helper
		model anthropic.chat
		model anthropic.messages.create`,
	},
	{
		name: "LlamaIndex and OpenInference", argv: llamaIndex, calls: llamaIndexCalls,
		protocol: "http/protobuf", endpoint: otlpPort, prompt: 24, completion: 8, // it does not send those of streams
		tree: `chain program
	chain ask
		model OpenAI.chat
	chain ask streaming
		model OpenAI.stream_chat
	chain ask with tool
		chain OpenAI.predict_and_call
			chain OpenAI._prepare_chat_with_tools
			model OpenAI.chat
			tool get_weather
				tool get_weather
	chain ask broken
		model OpenAI.chat`,
	},
}
