package client

import (
	"context"
	"io"
	"net/http"
	"net/url"
)

// Encoding is how OpenTelemetry's messages are written.
type Encoding string

// The encodings.
const (
	JSON     Encoding = "application/json"
	Protobuf Encoding = "application/x-protobuf"
)

// OTLPService moves OpenTelemetry's messages in and out: ExportTraceServiceRequest and
// ExportLogsServiceRequest of its protocol. What comes out of one server can be sent to another,
// or to any other back end.
type OTLPService struct{ c *Client }

// Spans is an ExportTraceServiceRequest that is read as it comes. Close it.
type Spans struct {
	io.ReadCloser
	Total int // how many spans, or of a search events, there are on all pages; -1 if the server does not say
}

// Session reads a session as spans, parents first. With the zero page it comes whole, however
// large it is.
func (s *OTLPService) Session(ctx context.Context, id string, e Encoding, p Page) (*Spans, error) {
	return s.spans(ctx, Request{Method: http.MethodGet, Path: path("sessions", id, "otlp"), Query: p.query(url.Values{}), Accept: string(e)})
}

// Event reads an event and what is below it as spans. The id of a session gives the session.
func (s *OTLPService) Event(ctx context.Context, id string, e Encoding, p Page) (*Spans, error) {
	return s.spans(ctx, Request{Method: http.MethodGet, Path: path("events", id, "otlp"), Query: p.query(url.Values{}), Accept: string(e)})
}

// Search reads a page of events as spans. Projections must be empty.
func (s *OTLPService) Search(ctx context.Context, q EventQuery, e Encoding) (*Spans, error) {
	return s.spans(ctx, Request{Method: http.MethodPost, Path: "/v1/events/otlp", Body: q.wire(), Accept: string(e)})
}

func (s *OTLPService) spans(ctx context.Context, r Request) (*Spans, error) {
	r.Repeatable = true
	body, h, err := s.c.stream(ctx, r)
	if err != nil {
		return nil, err
	}
	return &Spans{body, total(h)}, nil
}

// SendSpans sends an ExportTraceServiceRequest and gives the protocol's answer. Spans carry
// their ids, so those that are sent twice are stored once.
func (s *OTLPService) SendSpans(ctx context.Context, message []byte, e Encoding) ([]byte, error) {
	return s.send(ctx, "/v1/traces", message, e)
}

// SendLogs sends an ExportLogsServiceRequest and gives the protocol's answer.
func (s *OTLPService) SendLogs(ctx context.Context, message []byte, e Encoding) ([]byte, error) {
	return s.send(ctx, "/v1/logs", message, e)
}

// SendMetrics sends an ExportMetricsServiceRequest, which the server drops: exporters of all
// signals need an answer.
func (s *OTLPService) SendMetrics(ctx context.Context, message []byte, e Encoding) ([]byte, error) {
	return s.send(ctx, "/opentelemetry/v1/metrics", message, e)
}

func (s *OTLPService) send(ctx context.Context, path string, message []byte, e Encoding) (answer []byte, err error) {
	r := Request{Method: http.MethodPost, Path: path, Body: message, ContentType: string(e), Accept: string(e), Repeatable: true}
	err = s.c.Call(ctx, r, &answer)
	return answer, err
}
