package main

import (
	"bytes"
	"compress/gzip"
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"

	"go.opentelemetry.io/collector/pdata/ptrace"
	"go.opentelemetry.io/collector/pdata/ptrace/ptraceotlp"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	gzipenc "google.golang.org/grpc/encoding/gzip"
	"google.golang.org/grpc/metadata"
)

// sender sends batches to a server.
type sender interface {
	// send returns how many spans the server said it did not take.
	send(ctx context.Context, b batch) (rejected int64, bytes int, err error)
}

// retryable is an error that may go away.
type retryable struct{ error }

type grpcSender struct {
	c       ptraceotlp.GRPCClient
	g       *SpanGenerator
	headers metadata.MD
	gzip    bool
}

func (s *grpcSender) send(ctx context.Context, b batch) (int64, int, error) {
	rejected, err := s.export(ctx, s.g.OTLP(b.spans))
	return rejected, 0, err
}

// export sends one request and returns how many of its spans the server said it did not take.
func (s *grpcSender) export(ctx context.Context, spans ptrace.Traces) (int64, error) {
	req := ptraceotlp.NewExportRequestFromTraces(spans)
	if len(s.headers) > 0 {
		ctx = metadata.NewOutgoingContext(ctx, s.headers)
	}
	var options []grpc.CallOption
	if s.gzip {
		options = append(options, grpc.UseCompressor(gzipenc.Name))
	}
	resp, err := s.c.Export(ctx, req, options...)
	if err != nil {
		text := err.Error()
		for _, code := range []string{"Unavailable", "ResourceExhausted", "Aborted", "DeadlineExceeded"} {
			if strings.Contains(text, code) {
				return 0, retryable{err}
			}
		}
		return 0, err
	}
	return resp.PartialSuccess().RejectedSpans(), nil
}

type httpSender struct {
	c   *http.Client
	g   *SpanGenerator
	o   *LoadOpts
	url string
	buf bytes.Buffer
}

func (s *httpSender) post(ctx context.Context, url, contentType string, body []byte) ([]byte, error) {
	encoding := ""
	if s.o.Gzip {
		s.buf.Reset()
		w, _ := gzip.NewWriterLevel(&s.buf, gzip.BestSpeed)
		w.Write(body)
		w.Close()
		body, encoding = s.buf.Bytes(), "gzip"
	}
	req, err := http.NewRequestWithContext(ctx, "POST", url, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	req.Header.Set("Content-Type", contentType)
	if encoding != "" {
		req.Header.Set("Content-Encoding", encoding)
	}
	if s.o.Token != "" {
		req.Header.Set("Authorization", "Bearer "+s.o.Token)
	}
	resp, err := s.c.Do(req)
	if err != nil {
		return nil, retryable{err}
	}
	defer resp.Body.Close()
	answer, err := io.ReadAll(resp.Body)
	if err != nil {
		return nil, retryable{err}
	}
	if resp.StatusCode/100 != 2 {
		err = fmt.Errorf("HTTP %d: %.160s", resp.StatusCode, answer)
		switch resp.StatusCode {
		case 429, 502, 503, 504:
			err = retryable{err}
		}
		return nil, err
	}
	return answer, nil
}

func (s *httpSender) send(ctx context.Context, b batch) (int64, int, error) {
	body, err := ptraceotlp.NewExportRequestFromTraces(s.g.OTLP(b.spans)).MarshalProto()
	if err != nil {
		return 0, 0, err
	}
	answer, err := s.post(ctx, s.url, "application/x-protobuf", body)
	if err != nil {
		return 0, len(body), err
	}
	resp := ptraceotlp.NewExportResponse()
	if len(answer) > 0 && resp.UnmarshalProto(answer) == nil {
		return resp.PartialSuccess().RejectedSpans(), len(body), nil
	}
	return 0, len(body), nil
}

// newGRPCSender returns a sender over gRPC, and a function that closes its connection.
func newGRPCSender(g *SpanGenerator, o *LoadOpts) (*grpcSender, func(), error) {
	conn, err := grpc.NewClient(o.Endpoint, grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithDefaultCallOptions(grpc.MaxCallSendMsgSize(256<<20)))
	if err != nil {
		return nil, nil, err
	}
	headers := metadata.MD{}
	if o.Token != "" {
		headers.Set("authorization", "Bearer "+o.Token)
	}
	s := &grpcSender{c: ptraceotlp.NewGRPCClient(conn), g: g, headers: headers, gzip: o.Gzip}
	return s, func() { conn.Close() }, nil
}

// newSender returns a sender, and a function that closes its connections.
func newSender(g *SpanGenerator, o *LoadOpts) (sender, func(), error) {
	switch o.Mode {
	case "otlp-grpc":
		s, closeSender, err := newGRPCSender(g, o)
		return s, closeSender, err
	case "otlp-http":
		transport := &http.Transport{MaxIdleConnsPerHost: 2, DisableCompression: true, WriteBufferSize: 128 << 10}
		s := &httpSender{c: &http.Client{Transport: transport, Timeout: o.Timeout}, g: g, o: o}
		s.url = strings.TrimRight(o.Endpoint, "/")
		if !strings.Contains(s.url, "/v1/traces") {
			s.url += "/v1/traces"
		}
		return s, transport.CloseIdleConnections, nil
	}
	return nil, nil, fmt.Errorf("unknown mode %q", o.Mode)
}
