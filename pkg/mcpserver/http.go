package mcpserver

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/spangrove/spangrove/pkg/client"
	"github.com/spangrove/spangrove/pkg/rawjson"
)

// maxAnswer bounds the answers of the API that a call over HTTP reads, in bytes.
const maxAnswer = 32 << 20

// maxAnswerValues bounds the values and names in them: decoded, each may take 200 bytes. A session's tree of 20,000 rows has half as many.
const maxAnswerValues = 500_000

// NewHandler returns a handler of the protocol over HTTP, which keeps no sessions: each POST is answered with JSON and forgotten. It asks
// api, a handler of the HTTP API, for whoever the context of a request says it is from. Who may send requests, from where and how large,
// is for those before it to check. panicked is told of calls that panicked.
func NewHandler(version string, api http.Handler, panicked func(v any, stack []byte)) http.Handler {
	server := New(Options{Version: version, Panicked: panicked, Client: func(ctx context.Context) (*client.Client, error) {
		outer, ok := ctx.Value(requestKey{}).(*http.Request)
		if !ok {
			return nil, errors.New("the call came by no request") // cannot be
		}
		return client.New("http://in-process", "",
			client.WithHTTPClient(&http.Client{Transport: &inProcess{api, outer}}),
			client.WithRetries(client.Retries{}), client.WithTimeout(callTimeout), client.WithMaxAnswer(maxAnswer), client.WithUserAgent("spangrove-mcp"))
	}})
	h := mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return server }, &mcp.StreamableHTTPOptions{
		Stateless: true, JSONResponse: true, PropagateRequestCancellation: true,
		MaxRequestBodyBytes:        -1,   // bounded by who calls
		DisableLocalhostProtection: true, // likewise
	})
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h.ServeHTTP(w, r.WithContext(context.WithValue(r.Context(), requestKey{}, r)))
	})
}

type requestKey struct{}

// inProcess sends the requests of a client to a handler, on behalf of whoever sent the outer request: the context of a call has the
// values of that request's context, and ends with it.
type inProcess struct {
	api   http.Handler
	outer *http.Request
}

// RoundTrip implements http.RoundTripper.
func (p *inProcess) RoundTrip(r *http.Request) (res *http.Response, err error) {
	ctx, cancel := context.WithCancel(r.Context())
	defer cancel()
	defer context.AfterFunc(p.outer.Context(), cancel)()
	in := r.Clone(ctx)
	in.RemoteAddr, in.RequestURI, in.Pattern = p.outer.RemoteAddr, r.URL.RequestURI(), ""
	if in.Body == nil {
		in.Body = http.NoBody
	}
	defer in.Body.Close()
	answer := &recorded{header: http.Header{}, room: maxAnswer}
	defer func() {
		if v := recover(); v != nil {
			if v != http.ErrAbortHandler { //nolint:errorlint // it is panicked with as it is
				panic(v)
			}
			res, err = nil, errors.New("the server broke the answer off")
		}
	}()
	p.api.ServeHTTP(answer, in)
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if answer.over {
		return nil, fmt.Errorf("%w, %d bytes", client.ErrTooLarge, maxAnswer)
	}
	// A part of an event is decoded only if it is small (maxDecoded).
	if !strings.Contains(in.URL.Path, "/fields/") && rawjson.CountValues(answer.body.Bytes()) > maxAnswerValues {
		return nil, fmt.Errorf("%w, %d values", client.ErrTooLarge, maxAnswerValues)
	}
	if answer.status == 0 {
		answer.status = http.StatusOK
	}
	return &http.Response{
		Status: http.StatusText(answer.status), StatusCode: answer.status, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: answer.header, Body: io.NopCloser(&answer.body), ContentLength: int64(answer.body.Len()), Request: r,
	}, nil
}

// recorded is an answer in memory, of at most so many bytes.
type recorded struct {
	header http.Header
	status int
	body   bytes.Buffer
	room   int
	over   bool
}

func (r *recorded) Header() http.Header { return r.header }

func (r *recorded) WriteHeader(status int) {
	if r.status == 0 {
		r.status = status
	}
}

func (r *recorded) Write(b []byte) (int, error) {
	r.WriteHeader(http.StatusOK)
	if r.room -= len(b); r.room < 0 {
		r.over = true
		return 0, errors.New("the answer is too large")
	}
	return r.body.Write(b)
}
