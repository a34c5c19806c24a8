package fakeopenai

import "net/http"

func chat(w http.ResponseWriter, req *request) {
	a := reply(req.Messages, req.Tools, req.ResponseFormat.JSONSchema.Schema)
	if req.Model == FixedModel && a.tool == "" && req.ResponseFormat.JSONSchema.Schema.Properties == nil {
		a.text, a.completion = FixedAnswer, words(FixedAnswer)
	}
	head := func(kind string) object {
		return object{"id": "chatcmpl-" + req.id, "object": kind, "created": Created, "model": req.Model + "-2024-07-18",
			"system_fingerprint": "fp_fake", "service_tier": "default"}
	}
	usage := object{
		"prompt_tokens": a.prompt, "completion_tokens": a.completion, "total_tokens": a.prompt + a.completion,
		"prompt_tokens_details":     object{"cached_tokens": 2, "audio_tokens": 0},
		"completion_tokens_details": object{"reasoning_tokens": 0, "audio_tokens": 0},
	}
	call := object{"id": "call_" + req.id, "type": "function", "function": object{"name": a.tool, "arguments": a.arguments}}
	if !req.Stream {
		msg := object{"role": "assistant", "content": a.text, "refusal": nil, "annotations": []any{}}
		if a.tool != "" {
			msg["content"], msg["tool_calls"] = nil, []object{call}
		}
		out := head("chat.completion")
		out["choices"] = []object{{"index": 0, "message": msg, "logprobs": nil, "finish_reason": a.finish()}}
		out["usage"] = usage
		writeJSON(w, http.StatusOK, out)
		return
	}
	s := newStream(w)
	chunk := func(choices []object, usage any) {
		out := head("chat.completion.chunk")
		out["choices"] = choices
		if req.StreamOptions.IncludeUsage {
			out["usage"] = usage
		}
		s.send("", out)
	}
	delta := func(d object, finish any) {
		chunk([]object{{"index": 0, "delta": d, "logprobs": nil, "finish_reason": finish}}, nil)
	}
	delta(object{"role": "assistant", "content": ""}, nil)
	for _, piece := range pieces(a.text) {
		delta(object{"content": piece}, nil)
	}
	if a.tool != "" {
		call["index"] = 0
		delta(object{"tool_calls": []object{call}}, nil)
	}
	delta(object{}, a.finish())
	if req.StreamOptions.IncludeUsage {
		chunk([]object{}, usage)
	}
	s.raw("", "[DONE]")
}
