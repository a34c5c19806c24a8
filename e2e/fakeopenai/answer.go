package fakeopenai

import (
	"encoding/json"
	"strings"
	"unicode"
)

// message is one message of a conversation.
type message struct {
	Role    string          `json:"role"`
	Content json.RawMessage `json:"content"` // a text, or parts
}

// text returns the message's text, of all its parts.
func (m message) text() string {
	var s string
	if json.Unmarshal(m.Content, &s) == nil {
		return s
	}
	var parts []struct {
		Text string `json:"text"`
	}
	_ = json.Unmarshal(m.Content, &parts) // what is no list has no text
	for _, p := range parts {
		s += p.Text
	}
	return s
}

// tool is a function that the model may call; its fields stand in "function" in
// chat completions and at the top in responses and in messages.
type tool struct {
	definition
	Function *definition `json:"function"`
}

type definition struct {
	Name        string     `json:"name"`
	Parameters  parameters `json:"parameters"`
	InputSchema parameters `json:"input_schema"` // in messages, instead of parameters
}

type parameters struct {
	Required []string `json:"required"`
}

// answer is what the model says: a text, or a call of a tool.
type answer struct {
	text       string
	tool       string // name; "" if it is a text
	arguments  string // JSON
	prompt     int    // tokens
	completion int
}

// finish returns the reason why the answer ended.
func (a answer) finish() string {
	if a.tool != "" {
		return "tool_calls"
	}
	return "stop"
}

// reply answers a conversation.
func reply(messages []message, tools []tool, wanted schema) answer {
	var a answer
	var question, result string
	for _, m := range messages {
		text := m.text()
		a.prompt += 3 + words(text)
		switch m.Role {
		case "user":
			question, result = text, ""
		case "tool":
			result = text
		}
	}
	switch known, ok := answers[question]; {
	case result != "":
		a.text = "The tool says: " + result
	case len(tools) > 0:
		def := tools[0].definition
		if tools[0].Function != nil {
			def = *tools[0].Function
		}
		a.tool, a.arguments, a.completion = def.Name, arguments(def, question), 7
		return a
	case wanted.Properties != nil:
		a.text = verdict(wanted, question)
	case ok:
		a.text = known
	default:
		a.text = "You said: " + question
	}
	a.completion = words(a.text)
	return a
}

// schema is what a structured answer must be: an object.
type schema struct {
	Properties map[string]struct {
		Type string   `json:"type"`
		Enum []string `json:"enum"`
	} `json:"properties"`
}

// verdict returns a structured answer: true, 1, the first of what is allowed, or else the question.
func verdict(s schema, question string) string {
	o := object{}
	for name, p := range s.Properties {
		switch {
		case len(p.Enum) > 0:
			o[name] = p.Enum[0]
		case p.Type == "boolean":
			o[name] = true
		case p.Type == "number" || p.Type == "integer":
			o[name] = 1
		default:
			o[name] = "You said: " + question
		}
	}
	b, err := json.Marshal(o)
	if err != nil {
		panic(err) // texts can be written
	}
	return string(b)
}

func arguments(def definition, question string) string {
	last := ""
	if all := strings.Fields(question); len(all) > 0 {
		last = strings.TrimFunc(all[len(all)-1], unicode.IsPunct)
	}
	args := map[string]string{}
	for _, name := range def.Parameters.Required {
		args[name] = last
	}
	b, err := json.Marshal(args)
	if err != nil {
		panic(err) // texts can be written
	}
	return string(b)
}
