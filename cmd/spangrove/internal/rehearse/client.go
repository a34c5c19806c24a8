package rehearse

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"time"
)

// Bounds of one question.
const (
	askTimeout  = 5 * time.Minute
	answerBytes = 256 << 20
	askTries    = 20 // while the server says that it is busy or that there were too many requests
)

// client asks a server on this machine with one key.
type client struct {
	url, key string
	http     *http.Client
}

// answer is what a server said, ready for comparing.
type answer struct {
	status int
	body   any
	took   time.Duration
}

// ask sends one request. The error is nil whenever the server answered, whatever it said.
func (c *client) ask(ctx context.Context, method, path string, body any) (answer, error) {
	var data []byte
	if body != nil {
		var err error
		if data, err = json.Marshal(body); err != nil {
			return answer{}, err
		}
	}
	for try := 1; ; try++ {
		began := time.Now()
		status, text, wait, err := c.send(ctx, method, path, data)
		if err != nil {
			return answer{}, fmt.Errorf("%s %s: %w", method, path, err)
		}
		if (status == http.StatusTooManyRequests || status == http.StatusServiceUnavailable) && try < askTries {
			select {
			case <-ctx.Done():
				return answer{}, ctx.Err()
			case <-time.After(wait):
			}
			continue
		}
		a := answer{status: status, took: time.Since(began)}
		d := json.NewDecoder(bytes.NewReader(text))
		d.UseNumber()
		if d.Decode(&a.body) != nil || d.Decode(new(any)) != io.EOF {
			a.body = string(text)
		}
		return a, nil
	}
}

func (c *client) send(ctx context.Context, method, path string, data []byte) (status int, text []byte, wait time.Duration, err error) {
	ctx, cancel := context.WithTimeout(ctx, askTimeout)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, method, c.url+path, bytes.NewReader(data))
	if err != nil {
		return 0, nil, 0, err
	}
	req.Header.Set("Authorization", "Bearer "+c.key)
	if data != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	res, err := c.http.Do(req)
	if err != nil {
		return 0, nil, 0, err
	}
	defer func() { _ = res.Body.Close() }()
	text, err = io.ReadAll(io.LimitReader(res.Body, answerBytes+1))
	if err == nil && len(text) > answerBytes {
		err = errors.New("the answer is too large")
	}
	wait = time.Second
	if s, err := strconv.Atoi(res.Header.Get("Retry-After")); err == nil {
		wait = min(time.Duration(s)*time.Second, 10*time.Second)
	}
	return res.StatusCode, text, wait, err
}

// get asks for something that must be there, and decodes it.
func (c *client) get(ctx context.Context, method, path string, body, into any) error {
	a, err := c.ask(ctx, method, path, body)
	if err != nil {
		return err
	}
	data, err := json.Marshal(a.body)
	if err != nil {
		return err
	}
	if a.status/100 != 2 {
		return fmt.Errorf("%s %s: status %d: %s", method, path, a.status, shown(a.body))
	}
	return json.Unmarshal(data, into)
}
