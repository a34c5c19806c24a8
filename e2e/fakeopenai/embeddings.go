package fakeopenai

import (
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"math"
	"net/http"
)

// Dimensions is the length of every vector: one for each byte that there is.
const Dimensions = 256

// embeddings gives each text the vector of its bytes' counts.
func embeddings(w http.ResponseWriter, req *request) {
	var texts []string
	if json.Unmarshal(req.Input, &texts) != nil {
		var one string
		if err := json.Unmarshal(req.Input, &one); err != nil {
			fail(w, http.StatusBadRequest, "invalid_request_error", "input is neither a text nor a list of texts")
			return
		}
		texts = []string{one}
	}
	tokens := 0
	data := make([]object, len(texts))
	for i, text := range texts {
		tokens += words(text)
		var vector [Dimensions]float32
		for _, c := range []byte(text) {
			vector[c] += 0.125
		}
		data[i] = object{"object": "embedding", "index": i, "embedding": vector}
		if req.EncodingFormat == "base64" {
			var b []byte
			for _, v := range vector {
				b = binary.LittleEndian.AppendUint32(b, math.Float32bits(v))
			}
			data[i]["embedding"] = base64.StdEncoding.EncodeToString(b)
		}
	}
	writeJSON(w, http.StatusOK, object{"object": "list", "data": data, "model": req.Model,
		"usage": object{"prompt_tokens": tokens, "total_tokens": tokens}})
}
