package otlpmap

import (
	"cmp"
	"crypto/sha256"
	"encoding/json"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/plog"
	"go.opentelemetry.io/collector/pdata/ptrace"

	"github.com/spangrove/spangrove/pkg/event"
)

// Coding agents (Claude Code, Codex, Gemini CLI) tell what they do by log records alone: one for each prompt, model call
// and tool call, with the session's key, but mostly without a span. Such a record becomes a span with the GenAI
// attributes, in a trace of its session, and then an event like any other span. The ids are derived from the
// record, so that one that is sent twice stays one event.

// stepRecord says how the records of one name become spans.
type stepRecord struct {
	name string // of the record, see stepName
	role spanRole
	does string // for docs/otlp-mapping.md
	// ids are the attributes that identify the step in its session; without the first of them all that the record has does.
	ids []string
	// prompt is the attribute that all records of one prompt share.
	prompt string
	// attrs are the names that the record's attributes get. Others keep theirs.
	attrs map[string]string
	// when is an attribute of which the record must have one of the values; "": any but blank. Records of the name without
	// it are no steps.
	when       string
	values     []string
	alsoInSpan bool // also if the record has a span
	// joins: the record belongs to the step that another record with the same ids makes, and is read as this record of it.
	joins recordIs
}

// The names that attributes of these records get.
var (
	claudeCall = map[string]string{
		"model": "gen_ai.request.model", "input_tokens": "gen_ai.usage.input_tokens", "cost_usd": "gen_ai.usage.cost", "request_id": "gen_ai.response.id",
		"output_tokens": "gen_ai.usage.output_tokens", "cache_read_tokens": "gen_ai.usage.cache_read.input_tokens",
		"cache_creation_tokens": "gen_ai.usage.cache_creation.input_tokens", "stop_reason": "gen_ai.response.finish_reason",
		"status_code": "http.response.status_code",
	}
	claudeTool = map[string]string{
		"tool_name": "gen_ai.tool.name", "name": "gen_ai.tool.name", "tool_use_id": "gen_ai.tool.call.id",
		"tool_input": "gen_ai.tool.call.arguments", "tool_output": "gen_ai.tool.call.result",
	}
	codexCall = map[string]string{
		"model": "gen_ai.request.model", "input_token_count": "gen_ai.usage.input_tokens", "output_token_count": "gen_ai.usage.output_tokens",
		"cached_token_count": "gen_ai.usage.cache_read.input_tokens", "cache_write_token_count": "gen_ai.usage.cache_creation.input_tokens",
		"ttft_ms": "ai.response.msToFirstChunk", "reasoning_token_count": "gen_ai.usage.reasoning.output_tokens", "tool_token_count": "gen_ai.usage.total_tokens",
	}
	codexTool = map[string]string{
		"tool_name": "gen_ai.tool.name", "call_id": "gen_ai.tool.call.id", "arguments": "gen_ai.tool.call.arguments",
		"output": "gen_ai.tool.call.result", "agent_name": "gen_ai.agent.name",
	}
	geminiCall = map[string]string{
		"model": "gen_ai.request.model", "input_token_count": "gen_ai.usage.input_tokens",
		"cached_content_token_count": "gen_ai.usage.cache_read.input_tokens", "thoughts_token_count": "gen_ai.usage.reasoning.output_tokens",
		"total_token_count": "gen_ai.usage.total_tokens", "finish_reasons": "gen_ai.response.finish_reasons",
		"status_code": "http.response.status_code",
	}
	geminiTool = map[string]string{
		"function_name": "gen_ai.tool.name", "function_args": "gen_ai.tool.call.arguments", "tool_type": "gen_ai.tool.type",
	}
)

// stepRecords are the records that are steps of an agent.
var stepRecords = []stepRecord{
	{name: "claude_code.user_prompt", role: onChain, prompt: "prompt.id", does: "a chain, above what has its `prompt.id`"},
	{name: "claude_code.api_request", role: onModel, prompt: "prompt.id", ids: []string{"request_id"}, attrs: claudeCall, does: "a model call"},
	{name: "claude_code.api_error", role: onModel, prompt: "prompt.id", ids: []string{"event.sequence", "event.timestamp"}, attrs: claudeCall, does: "a model call that failed"},
	{name: "claude_code.tool_result", role: onTool, prompt: "prompt.id", ids: []string{"tool_use_id"}, attrs: claudeTool, does: "a tool call"},
	{name: "claude_code.api_request_body", role: onChain, prompt: "prompt.id", ids: []string{"event.sequence", "event.timestamp"},
		attrs: map[string]string{"body": "input.value"}, does: "a chain with the request's messages (it does not tell of which call)"},
	{name: "claude_code.assistant_response", ids: []string{"request_id"}, joins: choiceRecord,
		attrs: map[string]string{"response": "content"}, does: "the outputs of the model call with its `request_id`"},
	{name: "claude_code.api_response_body", ids: []string{"request_id"}, joins: detailsRecord,
		attrs: map[string]string{"body": "output.value"}, does: "likewise"},
	{name: "claude_code.tool_decision", ids: []string{"tool_use_id"}, joins: otherRecord, does: "`metadata.logs` of the tool call with its `tool_use_id`"},

	{name: "codex.user_prompt", role: onChain, ids: []string{"event.timestamp"}, alsoInSpan: true, does: "a chain"},
	{name: "codex.sse_event", role: onModel, ids: []string{"event.timestamp", "input_token_count", "output_token_count"}, when: "input_token_count",
		attrs: codexCall, alsoInSpan: true, does: "a model call, if it has counts of tokens"},
	{name: "codex.sse_event", role: onModel, ids: []string{"event.timestamp"}, when: "error.message", attrs: codexCall, alsoInSpan: true, does: "a model call that failed, if it has an error"},
	{name: "codex.api_request", role: onModel, ids: []string{"event.timestamp"}, when: "error.message", attrs: codexCall, alsoInSpan: true, does: "likewise"},
	{name: "codex.tool_result", role: onTool, ids: []string{"call_id"}, attrs: codexTool, alsoInSpan: true, does: "a tool call"},

	{name: "gemini_cli.user_prompt", role: onChain, prompt: "prompt_id", does: "a chain, above what has its `prompt_id`"},
	{name: "gemini_cli.api_response", role: onModel, prompt: "prompt_id", ids: []string{"event.timestamp"}, attrs: geminiCall,
		does: "a model call"},
	{name: "gemini_cli.api_error", role: onModel, prompt: "prompt_id", ids: []string{"event.timestamp"}, attrs: geminiCall, alsoInSpan: true,
		does: "a model call that failed"},
	{name: detailsEvent, ids: []string{"event.timestamp"}, when: "gen_ai.provider.name", values: []string{"gcp.gen_ai", "gcp.gemini", "gcp.vertex_ai", "gcp.vertex.agent"},
		joins: detailsRecord, does: "of Gemini CLI, without a span: the settings and messages of its model call"},
	{name: "gemini_cli.tool_call", role: onTool, prompt: "prompt_id", ids: []string{"event.timestamp", "function_name", "function_args"}, attrs: geminiTool, does: "a tool call"},
}

// agentPrefixes begin the names of the records of agents.
var agentPrefixes = []string{"claude_code.", "codex.", "gemini_cli."}

// stepName returns the name of an agent's record, "" of any other. EventName comes last: Rust's SDK has a place in the
// source there.
func stepName(src plog.LogRecord) string {
	name := textOf(src.Attributes(), "event.name")
	body := ""
	if src.Body().Type() == pcommon.ValueTypeStr {
		body = src.Body().Str()
	}
	if name == detailsEvent && textOf(src.Attributes(), "event.timestamp") != "" {
		return name
	}
	for _, s := range [...]string{name, body, src.EventName()} {
		for _, p := range agentPrefixes {
			// Claude Code has the whole name in the body, without spaces as a line of a log would have.
			if strings.HasPrefix(s, p) && !strings.Contains(s, " ") {
				return s
			}
		}
	}
	return ""
}

// isStepName reports whether all records of a record's name are about steps of an agent.
func isStepName(src plog.LogRecord) bool {
	name := stepName(src)
	return name != "" && slices.ContainsFunc(stepRecords, func(s stepRecord) bool { return s.name == name && s.when == "" })
}

// stepOf returns what a record is a step of: its row, and the key of its session; nil if it is none. ofResource is the session that the
// record's resource names.
func stepOf(src plog.LogRecord, ofResource string) (*stepRecord, string) {
	name := stepName(src)
	if name == "" {
		return nil, ""
	}
	attrs := src.Attributes()
	session := sessionIn(src, ofResource)
	if session == "" {
		return nil, ""
	}
	spanless := src.TraceID().IsEmpty() || src.SpanID().IsEmpty()
	for i := range stepRecords {
		s := &stepRecords[i]
		if s.name != name || !spanless && !s.alsoInSpan {
			continue
		}
		if s.when != "" {
			v, ok := attrs.Get(s.when)
			if !ok || blank(v) || s.values != nil && !slices.Contains(s.values, v.AsString()) {
				continue
			}
		}
		return s, session
	}
	return nil, ""
}

// agentSessionKeys are the attributes, of a record or of its resource, that name the session of an agent's step.
var agentSessionKeys = [...]string{"session.id", "conversation.id"}

// sessionIn returns the session that a record names, or else its resource, "" for none.
func sessionIn(src plog.LogRecord, ofResource string) string {
	for _, k := range agentSessionKeys {
		if session := textOf(src.Attributes(), k); session != "" {
			return session
		}
	}
	return ofResource
}

// AgentSession returns the session that a resource names for the steps of an agent, "" for none. It is asked for once for all records.
func AgentSession(resource pcommon.Resource) string {
	for _, k := range agentSessionKeys {
		if session := sharedSession(resource.Attributes(), k); session != "" {
			return session
		}
	}
	return ""
}

// IsStep reports whether a log record becomes an event of its own (see Mapper.Steps), or belongs to one that does. It
// needs no span. agents is the AgentSession of its resource.
func IsStep(src plog.LogRecord, agents string) bool {
	s, _ := stepOf(src, agents)
	return s != nil
}

// Steps maps the log records of a request that are steps of an agent to events. Logs maps the others.
func (m *Mapper) Steps(ld plog.Logs) event.Batch {
	td := ptrace.NewTraces()
	inSpans := callsInSpans(ld)
	for _, rl := range ld.ResourceLogs().All() {
		var rs ptrace.ResourceSpans
		opened, agents := false, AgentSession(rl.Resource())
		for _, sl := range rl.ScopeLogs().All() {
			var spans ptrace.SpanSlice
			inScope := false
			for _, src := range sl.LogRecords().All() {
				s, session := stepOf(src, agents)
				if s == nil || s.joins != plainRecord {
					continue
				}
				if !opened {
					rs, opened = td.ResourceSpans().AppendEmpty(), true
					rl.Resource().CopyTo(rs.Resource())
				}
				if !inScope {
					ss := rs.ScopeSpans().AppendEmpty()
					sl.Scope().CopyTo(ss.Scope())
					spans, inScope = ss.Spans(), true
				}
				to := spans.AppendEmpty()
				s.span(src, session, to)
				if inSpans[to.SpanID()] {
					to.Attributes().PutStr("gen_ai.operation.name", "chain")
				}
			}
		}
	}
	if td.ResourceSpans().Len() == 0 {
		return event.Batch{}
	}
	batch, _ := m.Traces(td)
	return batch
}

// callsInSpans returns the ids of the model calls that spans tell as well, with their counts. Gemini CLI from 0.36 on has a span
// around each request; the details of a call have its messages only if the spans have them and the counts, too, and
// auth_type, which releases without spans do not send there. It sees one request of log records: a call whose details come in
// another one than its answer's record, which is logged right before, counts twice.
func callsInSpans(ld plog.Logs) map[pcommon.SpanID]bool {
	told := map[pcommon.SpanID]bool{}
	for _, rl := range ld.ResourceLogs().All() {
		agents := AgentSession(rl.Resource())
		for _, sl := range rl.ScopeLogs().All() {
			for _, src := range sl.LogRecords().All() {
				s, session := stepOf(src, agents)
				if s == nil || s.name != detailsEvent || textOf(src.Attributes(), "auth_type") == "" {
					continue
				}
				for _, k := range [...]string{"gen_ai.input.messages", "gen_ai.output.messages"} {
					if has(src.Attributes(), k) {
						told[s.spanID(src, session)] = true
					}
				}
			}
		}
	}
	return told
}

// traceOf returns the trace of a session's steps.
func traceOf(session string) pcommon.TraceID {
	sum := sha256.Sum256([]byte("session\x00" + session))
	return pcommon.TraceID(sum[:16])
}

// spanIDOf returns the id of a step by what identifies it in its session.
func spanIDOf(parts ...string) pcommon.SpanID {
	sum := sha256.Sum256([]byte(strings.Join(parts, "\x00")))
	return pcommon.SpanID(sum[:8])
}

// spanID returns the id of the step that a record is, or that it joins. Claude Code's and Codex's calls have
// ids; what has none is known by its time.
func (s *stepRecord) spanID(src plog.LogRecord, session string) pcommon.SpanID {
	attrs := src.Attributes()
	parts := []string{session}
	// Times and sequences tell only records of one name apart. Gemini CLI's details have the time of its answer's record.
	if len(s.ids) > 0 && strings.HasPrefix(s.ids[0], "event.") && s.name != detailsEvent && s.name != "gemini_cli.api_response" {
		parts = append(parts, s.name)
	}
	if len(s.ids) == 0 && s.prompt != "" {
		if id := textOf(attrs, s.prompt); id != "" {
			return spanIDOf(session, s.prompt, id)
		}
	}
	for i, k := range s.ids {
		v, ok := attrs.Get(k)
		switch {
		case ok && !blank(v):
			parts = append(parts, k, v.AsString())
		case i == 0: // all that the record has
			all, _ := json.Marshal(attrs.AsRaw()) //nolint:errchkjson // two records that cannot be told apart are one
			parts = append(parts, s.name, strconv.FormatInt(recordTime(src).UnixNano(), 10), string(all))
			return spanIDOf(parts...)
		}
	}
	if len(s.ids) == 0 {
		parts = append(parts, s.name, strconv.FormatInt(recordTime(src).UnixNano(), 10))
	}
	return spanIDOf(parts...)
}

// recordTime returns when a record was made: its time, or the text that agents have of it, or when it was observed.
func recordTime(src plog.LogRecord) time.Time {
	if t := src.Timestamp(); t != 0 {
		return t.AsTime()
	}
	if t, err := time.Parse(time.RFC3339, textOf(src.Attributes(), "event.timestamp")); err == nil && t.Unix() > 0 && t.Before(time.Unix(math.MaxInt64/int64(time.Second), 0)) {
		return t
	}
	return src.ObservedTimestamp().AsTime()
}

// span writes the step as a span. A record comes at the end of what it tells, which took duration_ms.
func (s *stepRecord) span(src plog.LogRecord, session string, to ptrace.Span) {
	attrs := src.Attributes()
	to.SetTraceID(traceOf(session))
	to.SetSpanID(s.spanID(src, session))
	to.SetName(s.name)
	if s.name == "codex.sse_event" {
		to.SetName("codex." + cmp.Or(textOf(attrs, "event.kind"), "sse_event"))
	}
	if s.prompt != "" && len(s.ids) > 0 {
		if id := textOf(attrs, s.prompt); id != "" {
			to.SetParentSpanID(spanIDOf(session, s.prompt, id))
		}
	}
	end := recordTime(src)
	took := 0.0
	if v, ok := attrs.Get("duration_ms"); ok {
		took, _ = strconv.ParseFloat(v.AsString(), 64)
	}
	nanos := float64(end.UnixNano())
	to.SetEndTimestamp(pcommon.NewTimestampFromTime(end))
	to.SetStartTimestamp(to.EndTimestamp())
	if took *= float64(time.Millisecond); took > 0 && took < nanos { // not NaN, nor before 1970
		to.SetStartTimestamp(to.EndTimestamp() - pcommon.Timestamp(took))
	}

	// All are copied at once, since to put in one looks at all that are there.
	out := to.Attributes()
	attrs.CopyTo(out)
	out.RemoveIf(func(k string, v pcommon.Value) bool {
		return k == "event.name" || k == "event.timestamp" || k == "duration_ms" || blank(v) ||
			(k == "session.id" || k == "conversation.id") && v.AsString() == session
	})
	looked := map[string]bool{}
	for from := range attrs.All() {
		name := s.attrs[from]
		if name == "" || looked[from] {
			continue
		}
		looked[from] = true
		if v, ok := out.Get(from); ok && !has(out, name) {
			moved := pcommon.NewValueEmpty()
			v.MoveTo(moved)
			out.Remove(from)
			moved.MoveTo(out.PutEmpty(name))
		}
	}
	out.PutStr("session.id", session)
	switch s.role {
	case onModel:
		out.PutStr("gen_ai.operation.name", "chat")
		s.call(attrs, out)
	case onTool:
		out.PutStr("gen_ai.operation.name", "execute_tool")
		// Without the details of tools Claude Code tells only these.
		if v, ok := attrs.Get("tool_parameters"); ok {
			if _, ok := out.Get("gen_ai.tool.call.arguments"); !ok {
				v.CopyTo(out.PutEmpty("gen_ai.tool.call.arguments"))
				out.Remove("tool_parameters")
			}
		}
	default:
		if v, ok := out.Get("prompt"); ok && v.Type() == pcommon.ValueTypeStr {
			text, _ := json.Marshal([]map[string]string{{"role": "user", "content": v.Str()}}) //nolint:errchkjson // texts only
			out.Remove("prompt")
			out.PutStr("gen_ai.input.messages", string(text))
		}
	}
	s.failure(attrs, out, to.Status())
}

// has reports whether a map has a key.
func has(m pcommon.Map, key string) bool {
	_, ok := m.Get(key)
	return ok
}

// call writes the counts of a model call in the way of the GenAI conventions: Gemini's answer comes without its
// thoughts.
func (s *stepRecord) call(attrs, out pcommon.Map) {
	number := func(k string) (n int64, ok bool) {
		if v, has := attrs.Get(k); has {
			n, ok = countOf(v)
		}
		return n, ok
	}
	switch {
	case strings.HasPrefix(s.name, "claude_code."):
		out.PutStr("gen_ai.provider.name", "anthropic")
	case strings.HasPrefix(s.name, "gemini_cli."):
		out.PutStr("gen_ai.provider.name", "gcp.gen_ai")
		if n, ok := number("output_token_count"); ok {
			thoughts, _ := number("thoughts_token_count")
			out.Remove("output_token_count")
			out.PutInt("gen_ai.usage.output_tokens", n+thoughts)
		}
		if text := textOf(attrs, "response_text"); text != "" {
			if geminiChunks(text, out) {
				out.Remove("response_text")
			}
		}
	}
}

// failure writes the error of a step that failed: one that says so, or a model call that has an error.
func (s *stepRecord) failure(attrs, out pcommon.Map, status ptrace.Status) {
	text := ""
	for _, k := range [...]string{"error.message", "error"} {
		if v, ok := attrs.Get(k); ok && text == "" && !blank(v) {
			text = v.AsString()
		}
	}
	failed := s.role == onModel && text != ""
	if v, ok := attrs.Get("success"); ok && v.AsString() == "false" {
		failed = true
	}
	if !failed {
		return
	}
	status.SetCode(ptrace.StatusCodeError)
	if text == "" {
		text = cmp.Or(textOf(out, "gen_ai.tool.name"), s.name) + " failed"
	}
	status.SetMessage(text)
	for _, k := range [...]string{"error", "error.message"} {
		if v, ok := out.Get(k); ok && v.AsString() == text {
			out.Remove(k)
		}
	}
}

// joined returns the record as one of the step that it belongs to, with that step's ids.
func (s *stepRecord) joined(src plog.LogRecord, session string) plog.LogRecord {
	to := plog.NewLogRecord()
	src.CopyTo(to)
	to.SetTraceID(traceOf(session))
	to.SetSpanID(s.spanID(src, session))
	to.SetTimestamp(pcommon.NewTimestampFromTime(recordTime(src)))
	attrs := to.Attributes()
	for from, name := range s.attrs {
		if v, ok := attrs.Get(from); ok {
			v.CopyTo(attrs.PutEmpty(name))
			attrs.Remove(from)
		}
	}
	if s.joins == otherRecord {
		return to
	}
	// The body is the record's name, and what its step has, and every record has, needs no second place.
	to.Body().SetEmptyMap()
	for _, k := range append([]string{"event.timestamp", "event.sequence", "prompt.id", "model", "query_source", "terminal.type"}, s.ids...) {
		attrs.Remove(k)
	}
	return to
}
