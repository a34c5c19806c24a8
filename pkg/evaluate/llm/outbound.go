package llm

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/spangrove/spangrove/pkg/rawjson"
)

// maxAnswerBytes bounds what is read of an answer, decompressed. It is far above what a bounded
// number of tokens needs.
const maxAnswerBytes = 2 << 20

// outbound is how providers are asked. It connects to public addresses and to those that the
// operator allows, judged by the address that a name has resolved to when the connection is made,
// and sends nothing without TLS to public ones. It follows no redirect, reads no more of an answer
// than its bound, and uses no proxy of the environment, which would connect in its stead.
type outbound struct {
	transport *http.Transport
	allowed   []netip.Prefix
}

// newOutbound makes one; the networks are allowed beside public addresses.
func newOutbound(allowed []netip.Prefix) *outbound {
	o := &outbound{allowed: allowed}
	dialer := &net.Dialer{Timeout: 10 * time.Second, ControlContext: o.control}
	o.transport = &http.Transport{
		DialContext:            dialer.DialContext,
		ForceAttemptHTTP2:      true,
		TLSHandshakeTimeout:    10 * time.Second,
		IdleConnTimeout:        90 * time.Second,
		MaxIdleConnsPerHost:    maxConcurrency,
		MaxResponseHeaderBytes: 1 << 20,
	}
	return o
}

// errRefused is the cause of all refusals to connect or to go on, which no retry changes.
var errRefused = errors.New("refused")

// plain marks the context of a request without TLS.
type plain struct{}

// control judges the address of a connection that is about to be made.
func (o *outbound) control(ctx context.Context, _, address string, _ syscall.RawConn) error {
	ap, err := netip.ParseAddrPort(address)
	if err != nil {
		return fmt.Errorf("%w: %q is no address", errRefused, address)
	}
	a := ap.Addr().Unmap().WithZone("")
	if slices.ContainsFunc(o.allowed, func(n netip.Prefix) bool { return n.Contains(a) }) {
		return nil
	}
	if !public(a) {
		return fmt.Errorf("%w: the address %s is not public, and not in allow_addresses", errRefused, a)
	}
	if ctx.Value(plain{}) != nil {
		return fmt.Errorf("%w: http:// to the public address %s would show the key and the data to others; use https://", errRefused, a)
	}
	return nil
}

// special are the networks that are no part of the public Internet, or that lead back into others,
// beside those that package netip knows (IANA's special-purpose registries).
var special = func() (list []netip.Prefix) {
	for _, s := range []string{
		"0.0.0.0/8", "100.64.0.0/10", "192.0.0.0/24", "192.0.2.0/24", "192.88.99.0/24", "198.18.0.0/15", "198.51.100.0/24", "203.0.113.0/24", "240.0.0.0/4",
		"::/96", "64:ff9b::/96", "64:ff9b:1::/48", "100::/64", "2001::/23", "2001:db8::/32", "2002::/16", "3fff::/20", "5f00::/16", "fec0::/10",
	} {
		list = append(list, netip.MustParsePrefix(s))
	}
	return list
}()

// public says that an address is on the public Internet.
func public(a netip.Addr) bool {
	return a.IsGlobalUnicast() && !a.IsPrivate() && !slices.ContainsFunc(special, func(n netip.Prefix) bool { return n.Contains(a) })
}

// RoundTrip implements http.RoundTripper.
func (o *outbound) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.URL.Scheme != "https" {
		r = r.WithContext(context.WithValue(r.Context(), plain{}, true))
	}
	res, err := o.transport.RoundTrip(r)
	if err != nil {
		return nil, err
	}
	res.Body = &boundedBody{ReadCloser: res.Body, left: maxAnswerBytes}
	switch {
	case res.StatusCode >= 300 && res.StatusCode < 400:
		_ = res.Body.Close()
		return nil, fmt.Errorf("%w: the provider answered %d, and redirects are not followed; set the address it points to", errRefused, res.StatusCode)
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
	after   time.Duration // when to try again; 0: the provider does not say
}

func (e *statusError) Error() string {
	s := fmt.Sprintf("answered %d %s", e.status, http.StatusText(e.status))
	if e.message != "" {
		s += ": " + e.message
	}
	return s
}

// temporary says that the same call can succeed later.
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

// boundedBody fails once more than left bytes were read.
type boundedBody struct {
	io.ReadCloser
	left int
}

func (b *boundedBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p[:min(len(p), b.left+1)])
	if b.left -= n; b.left < 0 {
		return 0, fmt.Errorf("%w: the answer is longer than %d bytes", errRefused, maxAnswerBytes)
	}
	return n, err
}

// close ends idle connections.
func (o *outbound) close() { o.transport.CloseIdleConnections() }
