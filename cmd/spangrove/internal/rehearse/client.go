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
func (c *client) ask(ctx context.Context, method, path string, body any) (a answer, err error) {
	var text []byte
	if a.status, text, a.took, err = c.call(ctx, method, path, body); err != nil {
		return a, err
	}
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	if d.Decode(&a.body) != nil || d.Decode(new(any)) != io.EOF {
		a.body = string(text)
	}
	return a, nil
}

// get asks for something that must be there, and decodes it.
func (c *client) get(ctx context.Context, method, path string, body, into any) error {
	status, text, _, err := c.call(ctx, method, path, body)
	if err != nil {
		return err
	}
	if status/100 != 2 {
		return fmt.Errorf("%s %s: status %d: %s", method, path, status, shown(string(text)))
	}
	return json.Unmarshal(text, into)
}

// call sends one request, and again while the server says that it is busy. took is of the last time.
func (c *client) call(ctx context.Context, method, path string, body any) (status int, text []byte, took time.Duration, err error) {
	var data []byte
	if body != nil {
		if data, err = json.Marshal(body); err != nil {
			return 0, nil, 0, err
		}
	}
	for try := 1; ; try++ {
		began := time.Now()
		status, text, wait, err := c.send(ctx, method, path, data)
		if err != nil {
			return 0, nil, 0, fmt.Errorf("%s %s: %w", method, path, err)
		}
		if status != http.StatusTooManyRequests && status != http.StatusServiceUnavailable || try == askTries {
			return status, text, time.Since(began), nil
		}
		select {
		case <-ctx.Done():
			return 0, nil, 0, ctx.Err()
		case <-time.After(wait):
		}
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
