package fakeopenai

import (
	"encoding/json"
	"fmt"
	"hash/fnv"
	"io"
	"net/http"
	"strings"
)

// BrokenModel answers every request with an error.
const BrokenModel = "broken"

// BrokenMessage is that error's message.
const BrokenMessage = "You exceeded your current quota."

// FixedModel answers every conversation with FixedAnswer: HoneyHive's own tests expect that of it.
const (
	FixedModel  = "deterministic/default/default"
	FixedAnswer = "This is a mock explanation. Rating: [[5]]"
)

// Created is when every answer was made, Unix seconds.
const Created = 1790000000

// answers are the texts of the assistant, by the last user message.
var answers = map[string]string{
	"What is the capital of Portugal?": "Lisbon.",
	"Count to three.":                  "One, two, three.",
}

// object is a JSON object under construction.
type object = map[string]any

// Handler serves the API below /v1.
func Handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("POST /v1/chat/completions", serve(chat))
	mux.HandleFunc("POST /v1/responses", serve(responses))
	mux.HandleFunc("POST /v1/embeddings", serve(embeddings))
	mux.HandleFunc("POST /v1/messages", serve(messages))
	mux.HandleFunc("GET /v1/models", func(w http.ResponseWriter, _ *http.Request) {
		writeJSON(w, http.StatusOK, object{"object": "list", "data": []object{
			{"id": "gpt-4o-mini", "object": "model", "created": Created, "owned_by": "system"},
			{"id": "text-embedding-3-small", "object": "model", "created": Created, "owned_by": "system"},
		}})
	})
	return mux
}

// request is what any of the operations may be asked.
type request struct {
	Model         string    `json:"model"`
	Messages      []message `json:"messages"`
	Tools         []tool    `json:"tools"`
	Stream        bool      `json:"stream"`
	StreamOptions struct {
		IncludeUsage bool `json:"include_usage"`
	} `json:"stream_options"`
	ResponseFormat struct {
		JSONSchema struct {
			Schema schema `json:"schema"`
		} `json:"json_schema"`
	} `json:"response_format"`
	Input          json.RawMessage `json:"input"`        // embeddings, responses
	Instructions   string          `json:"instructions"` // responses
	EncodingFormat string          `json:"encoding_format"`
	System         json.RawMessage `json:"system"` // messages: a text, or parts

	id string // of the answer: a digest of the body
}

func serve(operation func(w http.ResponseWriter, req *request)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		var req request
		if err == nil {
			err = json.Unmarshal(body, &req)
		}
		switch {
		case err != nil:
			fail(w, http.StatusBadRequest, "invalid_request_error", err.Error())
		case r.Header.Get("Authorization") == "" && r.Header.Get("X-Api-Key") == "":
			fail(w, http.StatusUnauthorized, "invalid_request_error", "You didn't provide an API key.")
		case req.Model == BrokenModel:
			fail(w, http.StatusTooManyRequests, "insufficient_quota", BrokenMessage)
		default:
			h := fnv.New64a()
			_, _ = h.Write(body)
			req.id = fmt.Sprintf("%016x", h.Sum64())
			operation(w, &req)
		}
	}
}

func fail(w http.ResponseWriter, status int, code, msg string) {
	writeJSON(w, status, object{"error": object{"message": msg, "type": code, "param": nil, "code": code}})
}

func writeJSON(w http.ResponseWriter, status int, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(v) // a caller who has gone needs no answer
}

// stream sends server-sent events.
type stream struct{ w http.ResponseWriter }

func newStream(w http.ResponseWriter) stream {
	w.Header().Set("Content-Type", "text/event-stream")
	return stream{w}
}

// send sends one event; without a name it has data only.
func (s stream) send(name string, data any) {
	b, err := json.Marshal(data)
	if err != nil {
		panic(err) // the objects are ours
	}
	s.raw(name, string(b))
}

func (s stream) raw(name, data string) {
	if name != "" {
		fmt.Fprintf(s.w, "event: %s\n", name)
	}
	fmt.Fprintf(s.w, "data: %s\n\n", data)
	if f, ok := s.w.(http.Flusher); ok {
		f.Flush()
	}
}

// words counts the tokens of a text.
func words(text string) int { return len(strings.Fields(text)) }

// pieces cuts a text into its words, each with the space before it.
func pieces(text string) []string {
	var out []string
	for i, word := range strings.Fields(text) {
		if i > 0 {
			word = " " + word
		}
		out = append(out, word)
	}
	return out
}
