package fakeopenai

import (
	"encoding/json"
	"net/http"
)

// conversation reads the input of the Responses API: a text, or a list of
// messages, calls and outputs of calls.
func conversation(req *request) []message {
	var all []message
	if req.Instructions != "" {
		all = append(all, message{"system", quote(req.Instructions)})
	}
	var items []struct {
		message
		Type   string          `json:"type"`
		Output json.RawMessage `json:"output"`
	}
	if json.Unmarshal(req.Input, &items) != nil {
		return append(all, message{"user", req.Input})
	}
	for _, item := range items {
		switch {
		case item.Type == "function_call_output":
			all = append(all, message{"tool", item.Output})
		case item.Role != "":
			all = append(all, item.message)
		}
	}
	return all
}

func quote(s string) json.RawMessage {
	b, err := json.Marshal(s)
	if err != nil {
		panic(err) // texts can be written
	}
	return b
}

func responses(w http.ResponseWriter, req *request) {
	a := reply(conversation(req), req.Tools, schema{})
	part := object{"type": "output_text", "text": a.text, "annotations": []any{}}
	item := object{"type": "message", "id": "msg_" + req.id, "status": "completed", "role": "assistant", "content": []object{part}}
	if a.tool != "" {
		item = object{"type": "function_call", "id": "fc_" + req.id, "call_id": "call_" + req.id, "status": "completed",
			"name": a.tool, "arguments": a.arguments}
	}
	resp := func(status string, output []object, usage any) object {
		return object{
			"id": "resp_" + req.id, "object": "response", "created_at": Created, "status": status, "model": req.Model + "-2024-07-18",
			"output": output, "usage": usage, "error": nil, "incomplete_details": nil, "instructions": nil, "metadata": object{},
			"parallel_tool_calls": true, "temperature": 1, "top_p": 1, "tool_choice": "auto", "tools": []any{},
		}
	}
	done := resp("completed", []object{item}, object{
		"input_tokens": a.prompt, "output_tokens": a.completion, "total_tokens": a.prompt + a.completion,
		"input_tokens_details": object{"cached_tokens": 2}, "output_tokens_details": object{"reasoning_tokens": 0},
	})
	if !req.Stream {
		writeJSON(w, http.StatusOK, done)
		return
	}
	s, n := newStream(w), 0
	send := func(kind string, more object) {
		more["type"], more["sequence_number"] = kind, n
		n++
		s.send(kind, more)
	}
	at := func(more object) object {
		more["item_id"], more["output_index"] = item["id"], 0
		return more
	}
	send("response.created", object{"response": resp("in_progress", []object{}, nil)})
	started := object{}
	for k, v := range item {
		started[k] = v
	}
	started["status"] = "in_progress"
	if a.tool != "" {
		started["arguments"] = ""
		send("response.output_item.added", object{"output_index": 0, "item": started})
		send("response.function_call_arguments.delta", at(object{"delta": a.arguments}))
		send("response.function_call_arguments.done", at(object{"arguments": a.arguments}))
	} else {
		started["content"] = []any{}
		send("response.output_item.added", object{"output_index": 0, "item": started})
		empty := object{"type": "output_text", "text": "", "annotations": []any{}}
		send("response.content_part.added", at(object{"content_index": 0, "part": empty}))
		for _, piece := range pieces(a.text) {
			send("response.output_text.delta", at(object{"content_index": 0, "delta": piece, "logprobs": []any{}}))
		}
		send("response.output_text.done", at(object{"content_index": 0, "text": a.text, "logprobs": []any{}}))
		send("response.content_part.done", at(object{"content_index": 0, "part": part}))
	}
	send("response.output_item.done", object{"output_index": 0, "item": item})
	send("response.completed", object{"response": done})
}
