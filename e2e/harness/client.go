package harness

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"testing"
	"time"
)

// Client calls the HTTP API with one key.
type Client struct {
	URL  string // without a slash at its end
	Key  string
	http *http.Client
}

// NewClient returns a client of the server at url.
func NewClient(url, key string) *Client {
	return &Client{URL: url, Key: key, http: &http.Client{
		Timeout:   60 * time.Second,
		Transport: &http.Transport{MaxIdleConnsPerHost: 16},
	}}
}

// Event is an event as the API shows it; its numbers are [json.Number], digit for digit.
type Event = map[string]any

// Filter is one condition of an export or a search.
type Filter struct {
	Field    string `json:"field"`
	Operator string `json:"operator"`
	Value    any    `json:"value"`
	Type     string `json:"type"`
}

// Send makes one request; path may be a whole URL. The error is nil whenever
// the server answered.
func (c *Client) Send(ctx context.Context, method, path, contentType string, body []byte) (status int, answer []byte, err error) {
	url := path
	if len(path) > 0 && path[0] == '/' {
		url = c.URL + path
	}
	req, err := http.NewRequestWithContext(ctx, method, url, bytes.NewReader(body))
	if err != nil {
		return 0, nil, err
	}
	if contentType != "" {
		req.Header.Set("Content-Type", contentType)
	}
	if c.Key != "" {
		req.Header.Set("Authorization", "Bearer "+c.Key)
	}
	resp, err := c.http.Do(req)
	if err != nil {
		return 0, nil, err
	}
	defer resp.Body.Close()
	answer, err = io.ReadAll(resp.Body)
	return resp.StatusCode, answer, err
}

// JSON makes one request with a JSON body (none if in is nil) and decodes the
// answer into out, unless that is nil. A status other than 200 is an error.
func (c *Client) JSON(ctx context.Context, method, path string, in, out any) error {
	var body []byte
	contentType := ""
	if in != nil {
		b, err := json.Marshal(in)
		if err != nil {
			return err
		}
		body, contentType = b, "application/json"
	}
	status, answer, err := c.Send(ctx, method, path, contentType, body)
	if err != nil {
		return err
	}
	if status != http.StatusOK {
		return fmt.Errorf("%s %s: status %d: %.500s", method, path, status, answer)
	}
	if out == nil {
		return nil
	}
	d := json.NewDecoder(bytes.NewReader(answer))
	d.UseNumber()
	return d.Decode(out)
}

// Must is JSON that fails the test on an error.
func (c *Client) Must(t *testing.T, method, path string, in, out any) {
	t.Helper()
	if err := c.JSON(t.Context(), method, path, in, out); err != nil {
		t.Fatal(err)
	}
}

const exportPage = 1000 // the largest page

// Export reads all events that pass the filters, page by page.
func (c *Client) Export(ctx context.Context, filters ...Filter) ([]Event, error) {
	if filters == nil {
		filters = []Filter{}
	}
	var all []Event
	for page := 1; ; page++ {
		var got struct {
			Events []Event `json:"events"`
			Total  int     `json:"totalEvents"`
		}
		in := map[string]any{"filters": filters, "limit": exportPage, "page": page}
		if err := c.JSON(ctx, http.MethodPost, "/v1/events/export", in, &got); err != nil {
			return nil, err
		}
		all = append(all, got.Events...)
		if len(all) == got.Total {
			return all, nil
		}
		if len(got.Events) == 0 {
			return nil, fmt.Errorf("export gave %d events and says that there are %d", len(all), got.Total)
		}
	}
}

// Session reads all events of a session, the session event among them.
func (c *Client) Session(t *testing.T, id string) []Event {
	t.Helper()
	evs, err := c.Export(t.Context(), Is("session_id", id))
	if err != nil {
		t.Fatal(err)
	}
	return evs
}

// Is returns the filter for a text that is exactly value.
func Is(field, value string) Filter {
	return Filter{Field: field, Operator: "is", Value: value, Type: "string"}
}

// Event reads one event by id. The answer for a session holds its event as well.
func (c *Client) Event(ctx context.Context, id string) (Event, error) {
	var got struct {
		Event Event `json:"event"`
	}
	err := c.JSON(ctx, http.MethodGet, "/v1/events/"+id, nil, &got)
	if err == nil && got.Event == nil {
		err = fmt.Errorf("GET /v1/events/%s: no key \"event\" in the answer", id)
	}
	return got.Event, err
}
