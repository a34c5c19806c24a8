package client

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"time"

	"google.golang.org/protobuf/encoding/protowire"
)

// Error is an answer other than success. Find it with errors.As:
//
//	var e *client.Error
//	if errors.As(err, &e) && e.Status == http.StatusNotFound { … }
//
// What never got an answer is another error: of the connection, or one that errors.Is finds to
// be context.DeadlineExceeded or context.Canceled.
type Error struct {
	Status     int           // of HTTP
	Code       string        // such as NOT_FOUND; empty if something else than the API answered
	Field      string        // dotted path of the field that breaks a rule, such as events[3].inputs; empty if it is about no field
	Message    string        // without the field
	RetryAfter time.Duration // how long the server asks to wait, 0 if it does not say
}

func (e *Error) Error() string {
	var b strings.Builder
	if e.Field != "" {
		b.WriteString(e.Field + ": ")
	}
	fmt.Fprintf(&b, "%s (%d", e.Message, e.Status)
	if e.Code != "" {
		b.WriteString(" " + e.Code)
	}
	b.WriteByte(')')
	return b.String()
}

// maxErrorBody is how much of an answer is read to find out what is wrong.
const maxErrorBody = 64 << 10

// maxErrorText is how much of an answer that is not the API's is shown.
const maxErrorText = 500

var field = regexp.MustCompile(`^[A-Za-z_$][\w$\-]*(?:\.[\w$\-]+|\[\d+\])*$`)

// readError makes an error of an answer: of the API, of OTLP, or of a proxy in between.
func readError(res *http.Response) *Error {
	text, _ := io.ReadAll(io.LimitReader(res.Body, maxErrorBody)) // what there is of it is good enough
	e := &Error{Status: res.StatusCode, RetryAfter: retryAfter(res.Header.Get("Retry-After"), time.Now())}
	if to := res.Header.Get("Location"); res.StatusCode >= 300 && res.StatusCode < 400 && to != "" {
		e.Message = "the server's address is another one: this one redirects to " + to
		return e
	}
	var body struct {
		Message   string
		ErrorCode string
	}
	if json.Unmarshal(text, &body) == nil && body.Message != "" {
		e.Code, e.Message = body.ErrorCode, body.Message
		if path, rest, ok := strings.Cut(body.Message, ": "); ok && e.Status == http.StatusBadRequest && field.MatchString(path) {
			e.Field, e.Message = path, rest
		}
		return e
	}
	if res.Header.Get("Content-Type") == string(Protobuf) {
		text = statusMessage(text)
	}
	e.Message = strings.TrimSpace(strings.ToValidUTF8(string(text), "�"))
	if r := []rune(e.Message); len(r) > maxErrorText {
		e.Message = string(r[:maxErrorText]) + "…"
	}
	if e.Message == "" {
		e.Message = or(http.StatusText(e.Status), "no explanation")
	}
	return e
}

// statusMessage returns the message of a google.rpc.Status, with which OTLP in protobuf is refused;
// nil if there is none.
func statusMessage(text []byte) []byte {
	for len(text) > 0 {
		number, kind, n := protowire.ConsumeTag(text)
		if n < 0 {
			return nil
		}
		text = text[n:]
		if number == 2 && kind == protowire.BytesType {
			message, _ := protowire.ConsumeBytes(text)
			return message
		}
		if n = protowire.ConsumeFieldValue(number, kind, text); n < 0 {
			return nil
		}
		text = text[n:]
	}
	return nil
}

// retryAfter reads the header: seconds or a date. What is neither, or over, is 0.
func retryAfter(value string, now time.Time) time.Duration {
	if n, err := strconv.ParseInt(value, 10, 32); err == nil {
		return max(0, time.Duration(n)*time.Second)
	}
	if t, err := http.ParseTime(value); err == nil {
		return max(0, t.Sub(now))
	}
	return 0
}
