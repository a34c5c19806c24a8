package client

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"net/http"
	"strings"
)

// PlaygroundInput is a question to a model, in the form of OpenAI's chat completions. What is empty is left to the project's
// providers.
type PlaygroundInput struct {
	Provider       string              `json:"provider,omitempty"`
	Model          string              `json:"model,omitempty"`
	Messages       []PlaygroundMessage `json:"messages"`
	Tools          []PlaygroundTool    `json:"tools,omitempty"`
	ToolChoice     any                 `json:"tool_choice,omitempty"` // auto, none, required, or an object that names a function
	Parameters     Object              `json:"parameters,omitempty"`  // temperature, top_p, max_tokens, stop, seed and others
	ResponseFormat Object              `json:"response_format,omitempty"`
}

// PlaygroundMessage is one message of the conversation.
type PlaygroundMessage struct {
	Role       string               `json:"role"`              // system, developer, user, assistant or tool
	Content    any                  `json:"content,omitempty"` // a text, or a list of parts: texts and images
	Name       string               `json:"name,omitempty"`
	ToolCalls  []PlaygroundToolCall `json:"tool_calls,omitempty"`   // of the assistant
	ToolCallID string               `json:"tool_call_id,omitempty"` // of a message of a tool
}

// PlaygroundTool is a function that the model may call.
type PlaygroundTool struct {
	Type     string `json:"type"` // function
	Function struct {
		Name        string `json:"name"`
		Description string `json:"description,omitempty"`
		Parameters  any    `json:"parameters,omitempty"` // JSON Schema
		Strict      bool   `json:"strict,omitempty"`
	} `json:"function"`
}

// PlaygroundToolCall is a call of a tool, or of a streamed one what there is more of it.
type PlaygroundToolCall struct {
	Index    int    `json:"index,omitempty"` // of a streamed call, which one it is
	ID       string `json:"id,omitempty"`
	Type     string `json:"type,omitempty"`
	Function struct {
		Name      string `json:"name,omitempty"`
		Arguments string `json:"arguments"` // JSON; pieces of a streamed call are added up
	} `json:"function"`
	Signature string `json:"signature,omitempty"` // goes back as it came
}

// PlaygroundEvent is one piece of an answer: exactly one of its fields is set.
type PlaygroundEvent struct {
	Delta *PlaygroundDelta
	Usage *PlaygroundUsage
	Done  *PlaygroundDone // the answer is whole
}

// PlaygroundDelta is what the model has written since the one before.
type PlaygroundDelta struct {
	Text      string               `json:"text"`
	Reasoning string               `json:"reasoning"`
	ToolCalls []PlaygroundToolCall `json:"tool_calls"`
}

// PlaygroundUsage is what the answer took.
type PlaygroundUsage struct {
	PromptTokens     int64    `json:"prompt_tokens"`
	CompletionTokens int64    `json:"completion_tokens"`
	TotalTokens      int64    `json:"total_tokens"`
	CacheReadTokens  int64    `json:"cache_read_tokens"`
	CacheWriteTokens int64    `json:"cache_write_tokens"`
	ReasoningTokens  int64    `json:"reasoning_tokens"`
	Cost             *float64 `json:"cost"`      // US dollars; nil: the price is not known
	Estimated        bool     `json:"estimated"` // the provider has not told
}

// PlaygroundDone is how the answer ended. Times are milliseconds.
type PlaygroundDone struct {
	Provider         string  `json:"provider"`
	Model            string  `json:"model"`
	FinishReason     string  `json:"finish_reason"`
	Refusal          string  `json:"refusal"`
	Duration         float64 `json:"duration"`
	TimeToFirstToken float64 `json:"time_to_first_token"`
}

// PlaygroundError is why an answer is not whole, or never came.
type PlaygroundError struct {
	Failure   string `json:"failure"` // budget, timeout, provider or server
	Message   string `json:"message"`
	Status    int    `json:"status"` // of the provider's answer; 0: there was none
	Temporary bool   `json:"temporary"`
}

func (e *PlaygroundError) Error() string { return e.Message }

// PlaygroundService is what can be done with models themselves.
type PlaygroundService struct{ c *Client }

// maxPlaygroundLine bounds a line of a stream, in bytes.
const maxPlaygroundLine = 16 << 20

// Run asks a model of the project's providers and gives its answer as it comes. An error ends it: a *PlaygroundError if the
// provider or a budget is the cause, an *Error if the server refuses the request. To stop reading cancels the run. It is not
// begun again by itself, since it costs money.
func (s *PlaygroundService) Run(ctx context.Context, in PlaygroundInput) iter.Seq2[PlaygroundEvent, error] {
	return s.RunJSON(ctx, in)
}

// RunJSON is Run with a body that the caller has as JSON already.
func (s *PlaygroundService) RunJSON(ctx context.Context, body any) iter.Seq2[PlaygroundEvent, error] {
	return func(yield func(PlaygroundEvent, error) bool) {
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		answer, _, err := s.c.stream(ctx, Request{Method: http.MethodPost, Path: "/v1/playground/run", Body: body, Accept: "text/event-stream"})
		if err != nil {
			yield(PlaygroundEvent{}, err)
			return
		}
		defer answer.Close()
		if err := readPlayground(answer, func(e PlaygroundEvent) bool { return yield(e, nil) }); err != nil {
			if ctx.Err() != nil {
				err = context.Cause(ctx)
			}
			var known *PlaygroundError
			if !errors.As(err, &known) {
				err = fmt.Errorf("POST /v1/playground/run: %w", err)
			}
			yield(PlaygroundEvent{}, err)
		}
	}
}

// readPlayground reads a stream to its end, or until tell wants no more.
func readPlayground(answer io.Reader, tell func(PlaygroundEvent) bool) error {
	lines := bufio.NewScanner(answer)
	lines.Buffer(nil, maxPlaygroundLine)
	kind, data := "", ""
	for lines.Scan() {
		field, value, _ := strings.Cut(lines.Text(), ":")
		value = strings.TrimPrefix(value, " ")
		switch {
		case field == "event":
			kind = value
		case field == "data":
			data += value
		case lines.Text() == "" && kind != "":
			e, err := playgroundEvent(kind, data)
			if err != nil {
				return err
			}
			if !tell(e) || e.Done != nil {
				return nil
			}
			kind, data = "", ""
		}
	}
	if err := lines.Err(); err != nil {
		return err
	}
	return io.ErrUnexpectedEOF
}

// playgroundEvent reads one message of a stream. Kinds that this client does not know have no field set.
func playgroundEvent(kind, data string) (e PlaygroundEvent, err error) {
	var to any
	switch kind {
	case "delta":
		e.Delta = &PlaygroundDelta{}
		to = e.Delta
	case "usage":
		e.Usage = &PlaygroundUsage{}
		to = e.Usage
	case "done":
		e.Done = &PlaygroundDone{}
		to = e.Done
	case "error":
		failed := &PlaygroundError{}
		if err := json.Unmarshal([]byte(data), failed); err != nil {
			return e, fmt.Errorf("the answer is not what this client expects: %w", err)
		}
		return e, failed
	default:
		return e, nil
	}
	if err := json.Unmarshal([]byte(data), to); err != nil {
		return e, fmt.Errorf("the answer is not what this client expects: %w", err)
	}
	return e, nil
}
