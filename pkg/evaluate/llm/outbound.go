package llm

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/netip"
	"strconv"
	"strings"
	"time"

	"github.com/spangrove/spangrove/pkg/egress"
	"github.com/spangrove/spangrove/pkg/rawjson"
)

// maxAnswerBytes bounds what is read of an answer, decompressed. It is far above what a bounded
// number of tokens needs.
const maxAnswerBytes = 2 << 20

// maxStreamBytes is the same for an answer that is streamed, in which every token has an object of its own.
const maxStreamBytes = 16 << 20

// streamed marks the context of a request whose answer is streamed.
type streamed struct{}

// outbound is how providers are asked. It connects where its guard lets it, follows no redirect, and reads no more of an
// answer than its bound.
type outbound struct {
	transport *http.Transport
	guard     egress.Guard
}

// newOutbound returns an outbound; the networks are allowed in addition to public addresses.
func newOutbound(allowed []netip.Prefix) *outbound {
	o := &outbound{guard: egress.Guard{Allowed: allowed}}
	o.transport = o.guard.Transport()
	o.transport.MaxIdleConnsPerHost = maxConcurrency
	return o
}

// errRefused is the cause of all refusals to go on, which no retry changes.
var errRefused = errors.New("refused")

// RoundTrip implements http.RoundTripper. Redirects, and answers with a status of 400 and more, are errors: so the client of
// each API hands on the same error, whatever it would make of the answer.
func (o *outbound) RoundTrip(r *http.Request) (*http.Response, error) {
	res, err := o.transport.RoundTrip(egress.Mark(r))
	if err != nil {
		return nil, err
	}
	most := maxAnswerBytes
	if r.Context().Value(streamed{}) != nil {
		most = maxStreamBytes
	}
	res.Body = &boundedBody{ReadCloser: res.Body, left: most, most: most}
	switch {
	case res.StatusCode >= 300 && res.StatusCode < 400:
		_ = res.Body.Close()
		return nil, fmt.Errorf("%w: the provider answered %d, and redirects are not followed; set the address it points to",
			errRefused, res.StatusCode)
	case res.StatusCode >= 400:
		return nil, statusOf(res)
	}
	return res, nil
}

// statusError is an answer that is an error. Clients of all APIs hand it on as it is.
type statusError struct {
	status  int
	code    string        // the provider's word for it
	message string        // for people
	after   time.Duration // when to try again, at most maxAfter; 0: the provider does not say
}

// maxAfter bounds for how long a provider is left alone, whatever it says: a mistake of its must not stop judges for weeks, and the budgets of
// providers are of a day.
const maxAfter = 24 * time.Hour

func (e *statusError) Error() string {
	s := fmt.Sprintf("answered %d %s", e.status, http.StatusText(e.status))
	if e.message != "" {
		s += ": " + e.message
	}
	return s
}

// temporary reports whether the same call can succeed later.
func (e *statusError) temporary() bool {
	switch e.status {
	case http.StatusTooManyRequests:
		return e.code != "insufficient_quota" // there is no credit left
	case http.StatusRequestTimeout, http.StatusConflict, http.StatusTooEarly:
		return true
	}
	return e.status >= 500 && e.status != http.StatusNotImplemented
}

// maxErrorBytes bounds what is read of an error, maxMessage what of it is shown.
const (
	maxErrorBytes = 64 << 10
	maxMessage    = 500
)

// statusOf reads an error and closes its body. The APIs agree on {"error": {"message", "code" or
// "type" or "status"}}, of which others vary parts.
func statusOf(res *http.Response) *statusError {
	defer func() { _ = res.Body.Close() }()
	e := &statusError{status: res.StatusCode, after: retryAfter(res.Header)}
	defer func() { e.after = min(e.after, maxAfter) }()
	body, err := io.ReadAll(io.LimitReader(res.Body, maxErrorBytes))
	if err != nil {
		return e
	}
	raw, _, err := rawjson.Clean(body)
	if err != nil {
		e.message = cut(strings.TrimSpace(strings.ToValidUTF8(string(body), "\uFFFD")), maxMessage)
		return e
	}
	inner := raw
	if rawjson.KindOf(inner) == '[' { // Gemini, at times
		inner = rawjson.Path(inner, "0")
	}
	if v := rawjson.Get(inner, "error"); v != nil {
		inner = v
	}
	e.message, _ = rawjson.Text(inner)
	for _, name := range []string{"message", "detail", "msg"} {
		if text, ok := rawjson.Text(rawjson.Get(inner, name)); ok && e.message == "" {
			e.message = text
		}
	}
	e.message = cut(e.message, maxMessage)
	for _, name := range []string{"code", "type", "status"} {
		if text, ok := rawjson.Text(rawjson.Get(inner, name)); ok && e.code == "" {
			e.code = text
		}
	}
	for _, detail := range rawjson.Array(rawjson.Get(inner, "details")) { // google.rpc.RetryInfo
		text, _ := rawjson.Text(rawjson.Get(detail, "retryDelay"))
		if d, err := time.ParseDuration(text); err == nil && e.after == 0 {
			e.after = max(d, 0)
		}
	}
	return e
}

// retryAfter reads when to try again: seconds or a date, or the milliseconds that OpenAI sends.
func retryAfter(h http.Header) time.Duration {
	if ms, err := strconv.ParseFloat(h.Get("Retry-After-Ms"), 64); err == nil && ms > 0 && ms < 1e9 {
		return time.Duration(ms * float64(time.Millisecond))
	}
	text := h.Get("Retry-After")
	if s, err := strconv.ParseFloat(text, 64); err == nil && s > 0 && s < 1e6 {
		return time.Duration(s * float64(time.Second))
	}
	if at, err := http.ParseTime(text); err == nil {
		return max(time.Until(at), 0)
	}
	return 0
}

// boundedBody fails once more than most bytes were read.
type boundedBody struct {
	io.ReadCloser
	left, most int
}

// Read implements io.Reader. It reads one byte more than is allowed, to tell an answer of just that length from a
// longer one.
func (b *boundedBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p[:min(len(p), b.left+1)])
	if b.left -= n; b.left < 0 {
		return 0, fmt.Errorf("%w: the answer is longer than %d bytes", errRefused, b.most)
	}
	return n, err
}

// close ends idle connections.
func (o *outbound) close() { o.transport.CloseIdleConnections() }
