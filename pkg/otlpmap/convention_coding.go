package otlpmap

// claudeCodeConvention is Claude Code: its spans, and the log records that Steps makes spans of.
var claudeCodeConvention = definition{
	name:        "claude-code",
	scopes:      []string{"com.anthropic.claude_code"},
	version:     "Claude Code 2.1.197",
	cachedApart: true,
	earlyKinds:  claudeCodeKinds,
	facts:       claudeCodeFacts,
	additions:   claudeCodeRules,
	keys: map[keyList][]string{
		toolNameKeys: {"tool_name"},
	},
}

// claudeCodeKinds are the types of Claude Code's spans. tool.execution and tool.blocked_on_user are parts of a tool's.
var claudeCodeKinds = []kindRule{
	{by: claudeCode, attr: "span.type", is: map[string]spanRole{
		"llm_request": onModel, "tool": onTool, "interaction": onChain, "tool.execution": onChain, "tool.blocked_on_user": onChain, "hook": onChain,
	}},
}

// claudeCodeFacts are counts whose names are too common to be read on other spans than model calls.
var claudeCodeFacts = []rule{
	{claudeCode, "metadata.prompt_tokens", []string{"input_tokens"}, asCount, onModel},
	{claudeCode, "metadata.completion_tokens", []string{"output_tokens"}, asCount, onModel},
	{claudeCode, "metadata.cache_read_input_tokens", []string{"cache_read_tokens"}, asCount, onModel},
	{claudeCode, "metadata.cache_write_input_tokens", []string{"cache_creation_tokens"}, asCount, onModel},
	{claudeCode, "metadata.time_to_first_token_ms", []string{"ttft_ms"}, asNumber, onModel},
}

// claudeCodeRules are the prompt, and what a tool was called with.
var claudeCodeRules = []rule{
	{claudeCode, "inputs.chat_history", []string{"user_prompt"}, asPrompt, onChain},
	{claudeCode, "inputs.command", []string{"full_command"}, asText, onTools},
	{claudeCode, "inputs.file_path", []string{"file_path"}, asText, onTools},
}

// geminiCLIConvention is Gemini CLI, likewise.
var geminiCLIConvention = definition{
	name:      "gemini-cli",
	scopes:    []string{"gemini-cli"},
	version:   "Gemini CLI 0.61.0",
	additions: geminiCLIRules,
	accounts:  []string{"user.email"},
}

var geminiCLIRules = []rule{
	{otelGenAI, "metadata.tool_call_id", []string{"gen_ai.tool.call_id"}, asText, onTools},
}

// codexConvention is Codex.
var codexConvention = definition{
	name:     "codex",
	scopes:   []string{"codex_otel", "codex_exec", "codex_cli_rs"},
	version:  "Codex CLI 0.171.0",
	accounts: []string{"user.account_id", "user.email"},
	keys: map[keyList][]string{
		sessionKeys: {"conversation.id"},
	},
}
