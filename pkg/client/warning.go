package client

import (
	"encoding/json"
	"log/slog"
)

// Warning is about a field that is larger than LargeField. It is sent all the same; searches and
// trees with it are slow, and a request over 20 MB is refused.
type Warning struct {
	ID    string // of the event or session
	Field string // such as inputs
	Bytes int    // of its JSON
}

// WithWarnings sends warnings to f instead of to slog's default logger. f may be called by many
// goroutines at once.
func WithWarnings(f func(Warning)) Option {
	return func(c *Client) error {
		if f == nil {
			f = func(Warning) {}
		}
		c.warn = f
		return nil
	}
}

func logWarning(w Warning) {
	slog.Warn("a field of an event is over 1 MB", "event_id", w.ID, "field", w.Field, "bytes", w.Bytes)
}

// record returns the JSON of an event or session to be sent, with a warning of each large field.
func (c *Client) record(id string, v any) (json.RawMessage, error) {
	text, err := encode(v)
	if err != nil || len(text) <= LargeField {
		return text, err
	}
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(text, &fields); err != nil {
		return nil, err
	}
	for name, value := range fields {
		if len(value) > LargeField {
			c.warn(Warning{ID: id, Field: name, Bytes: len(value)})
		}
	}
	return text, nil
}
