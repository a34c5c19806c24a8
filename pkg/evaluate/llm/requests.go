package llm

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"net/http"

	"github.com/spangrove/spangrove/pkg/rawjson"
)

// What the clients written here share: Anthropic's and Gemini's own would make the program larger by more than all
// of this package. Statuses of 400 and more, retries and bounds are c's work (see outbound.go).

// postJSON sends ask as JSON.
func postJSON(ctx context.Context, c *http.Client, url string, ask any, header map[string]string) (*http.Response, error) {
	body, err := json.Marshal(ask)
	if err != nil {
		return nil, fmt.Errorf("write the request: %w", err)
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, url, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	req.Header.Set("Content-Type", "application/json")
	for name, value := range header {
		req.Header.Set(name, value)
	}
	return c.Do(req)
}

// readJSON reads the body of an answer into v and closes it.
func readJSON(res *http.Response, v any) error {
	defer func() { _ = res.Body.Close() }()
	body, err := io.ReadAll(res.Body)
	if err == nil {
		err = json.Unmarshal(body, v)
	}
	if err != nil {
		return fmt.Errorf("read the answer: %w", err)
	}
	return nil
}

// maxPieceValues bounds the values and names of JSON in a piece of a streamed answer, each of which may take a hundred times its bytes when
// it is decoded.
const maxPieceValues = 100_000

// readPiece reads a piece of a streamed answer into v.
func readPiece(data []byte, v any) error {
	if n := rawjson.CountValues(data); n > maxPieceValues {
		return fmt.Errorf("%w: a piece of the answer has %d values, more than %d", errRefused, n, maxPieceValues)
	}
	if err := json.Unmarshal(data, v); err != nil {
		return fmt.Errorf("read a piece of the answer: %w", err)
	}
	return nil
}

// pieces yields the data of server-sent events, each read as a T, until the stream ends or fails, and closes it.
func pieces[T any](res *http.Response) iter.Seq2[*T, error] {
	return func(yield func(*T, error) bool) {
		defer func() { _ = res.Body.Close() }()
		if !tellsStream(res.Header) {
			yield(nil, errors.New("an answer that is not a stream"))
			return
		}
		lines := bufio.NewScanner(res.Body)
		lines.Buffer(nil, maxStreamBytes)
		for lines.Scan() {
			data, ok := bytes.CutPrefix(lines.Bytes(), []byte("data:"))
			if !ok {
				continue
			}
			piece := new(T)
			if err := readPiece(data, piece); err != nil {
				yield(nil, err)
				return
			}
			if !yield(piece, nil) {
				return
			}
		}
		if err := lines.Err(); err != nil {
			yield(nil, err)
		}
	}
}
