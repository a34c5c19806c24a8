package fakeopenai

import (
	"encoding/json"
	"net/http"
)

// block is one part of an Anthropic message's content.
type block struct {
	Type    string          `json:"type"`
	Text    string          `json:"text"`
	Content json.RawMessage `json:"content"` // of a tool_result: a text, or blocks
}

// conversation returns the messages of an Anthropic request as those of a chat completion: the
// system prompt first, and results of tools as messages of the tool.
func (req *request) conversation() (list []message) {
	if len(req.System) > 0 {
		list = append(list, message{Role: "system", Content: req.System})
	}
	for _, m := range req.Messages {
		var blocks []block
		_ = json.Unmarshal(m.Content, &blocks) // what is no list is a text
		for _, b := range blocks {
			if b.Type == "tool_result" {
				m = message{Role: "tool", Content: b.Content}
			}
		}
		list = append(list, m)
	}
	return list
}

// messages answers as Anthropic's API does.
func messages(w http.ResponseWriter, req *request) {
	for i := range req.Tools {
		req.Tools[i].Parameters = req.Tools[i].InputSchema
	}
	a := reply(req.conversation(), req.Tools, schema{})
	usage := object{
		"input_tokens":                a.prompt - 2,
		"output_tokens":               a.completion,
		"cache_read_input_tokens":     2,
		"cache_creation_input_tokens": 0,
		"service_tier":                "standard",
	}
	stop := "end_turn"
	content := object{"type": "text", "text": a.text}
	if a.tool != "" {
		stop, content = "tool_use", object{"type": "tool_use", "id": "toolu_" + req.id, "name": a.tool, "input": json.RawMessage(a.arguments)}
	}
	answer := object{"id": "msg_" + req.id, "type": "message", "role": "assistant", "model": req.Model, "stop_sequence": nil, "usage": usage}
	if !req.Stream {
		answer["content"], answer["stop_reason"] = []object{content}, stop
		writeJSON(w, http.StatusOK, answer)
		return
	}
	s := newStream(w)
	send := func(name string, fields object) {
		fields["type"] = name
		s.send(name, fields)
	}
	answer["content"], answer["stop_reason"] = []object{}, nil
	send("message_start", object{"message": answer})
	if a.tool != "" {
		content["input"] = object{}
		send("content_block_start", object{"index": 0, "content_block": content})
		send("content_block_delta", object{"index": 0, "delta": object{"type": "input_json_delta", "partial_json": a.arguments}})
	} else {
		send("content_block_start", object{"index": 0, "content_block": object{"type": "text", "text": ""}})
		for _, piece := range pieces(a.text) {
			send("content_block_delta", object{"index": 0, "delta": object{"type": "text_delta", "text": piece}})
		}
	}
	send("content_block_stop", object{"index": 0})
	send("message_delta", object{"delta": object{"stop_reason": stop, "stop_sequence": nil}, "usage": object{"output_tokens": a.completion}})
	send("message_stop", object{})
}
