package client

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"net/http"
	"slices"
)

// Span is one span of an ExportTraceServiceRequest in JSON, with what it stands under there.
type Span struct {
	Resource          json.RawMessage // nil if there is none, as Scope
	ResourceSchemaURL string
	Scope             json.RawMessage
	ScopeSchemaURL    string
	Span              json.RawMessage
}

type (
	wireSpans struct {
		ResourceSpans []resourceSpans `json:"resourceSpans"`
	}
	resourceSpans struct {
		Resource   json.RawMessage `json:"resource,omitempty"`
		ScopeSpans []scopeSpans    `json:"scopeSpans"`
		SchemaURL  string          `json:"schemaUrl,omitempty"`
	}
	scopeSpans struct {
		Scope     json.RawMessage   `json:"scope,omitempty"`
		Spans     []json.RawMessage `json:"spans"`
		SchemaURL string            `json:"schemaUrl,omitempty"`
	}
)

// SplitSpans takes an ExportTraceServiceRequest in JSON apart, so that a large one can be sent in
// several. It refuses members that it does not know, which would be lost.
func SplitSpans(message []byte) ([]Span, error) {
	d := json.NewDecoder(bytes.NewReader(message))
	d.DisallowUnknownFields()
	var m wireSpans
	if err := d.Decode(&m); err != nil {
		return nil, fmt.Errorf("no message of spans: %w", err)
	}
	if _, err := d.Token(); err != io.EOF {
		return nil, errors.New("not a message of spans: there is text after it")
	}
	var list []Span
	for _, r := range m.ResourceSpans {
		for _, s := range r.ScopeSpans {
			for _, span := range s.Spans {
				list = append(list, Span{r.Resource, r.SchemaURL, s.Scope, s.SchemaURL, span})
			}
		}
	}
	return list, nil
}

// JoinSpans makes one ExportTraceServiceRequest in JSON of spans, in their order. What follows
// each other under the same resource and scope stands together.
func JoinSpans(list []Span) ([]byte, error) {
	m := wireSpans{ResourceSpans: []resourceSpans{}}
	for i, s := range list {
		sameResource := i > 0 && bytes.Equal(s.Resource, list[i-1].Resource) && s.ResourceSchemaURL == list[i-1].ResourceSchemaURL
		if !sameResource {
			m.ResourceSpans = append(m.ResourceSpans, resourceSpans{Resource: s.Resource, SchemaURL: s.ResourceSchemaURL})
		}
		r := &m.ResourceSpans[len(m.ResourceSpans)-1]
		if !sameResource || !bytes.Equal(s.Scope, list[i-1].Scope) || s.ScopeSchemaURL != list[i-1].ScopeSchemaURL {
			r.ScopeSpans = append(r.ScopeSpans, scopeSpans{Scope: s.Scope, SchemaURL: s.ScopeSchemaURL})
		}
		scope := &r.ScopeSpans[len(r.ScopeSpans)-1]
		scope.Spans = append(scope.Spans, s.Span)
	}
	return encode(m)
}

// Event returns the event that a span of this server is: its id, and its start in Unix milliseconds.
func (s *Span) Event() (id string, start float64, err error) {
	var span struct {
		Attributes []struct {
			Key   string `json:"key"`
			Value struct {
				Text   string  `json:"stringValue"`
				Number float64 `json:"doubleValue"`
			} `json:"value"`
		} `json:"attributes"`
	}
	if err := json.Unmarshal(s.Span, &span); err != nil {
		return "", 0, err
	}
	for _, a := range span.Attributes {
		switch a.Key {
		case "spangrove.event_id":
			id = a.Value.Text
		case "spangrove.start_time":
			start = a.Value.Number
		}
	}
	if id == "" {
		return "", 0, errors.New("the span names no event")
	}
	return id, start, nil
}

// All walks over all events that a query chooses as spans, newest first, as Events.All does.
// Projections must be empty.
func (s *OTLPService) All(ctx context.Context, q EventQuery) iter.Seq2[Span, error] {
	return walk(q, func(q EventSearch) (*pageOf[Span], error) {
		var message []byte
		h, err := s.c.CallHeader(ctx, Request{Method: http.MethodPost, Path: "/v1/events/otlp", Body: q.ordered(), Repeatable: true}, &message)
		if err != nil {
			return nil, err
		}
		spans, err := SplitSpans(message)
		if err != nil {
			return nil, err
		}
		type placed struct {
			Span
			id    string
			start float64
		}
		list := make([]placed, len(spans))
		for i := range spans {
			list[i].Span = spans[i]
			if list[i].id, list[i].start, err = spans[i].Event(); err != nil {
				return nil, err
			}
		}
		// In a message, they stand by their resource.
		slices.SortStableFunc(list, func(a, b placed) int {
			return cmp.Or(cmp.Compare(b.start, a.start), cmp.Compare(b.id, a.id))
		})
		for i := range list {
			spans[i] = list[i].Span
		}
		return &pageOf[Span]{Events: spans, NextCursor: h.Get("X-Next-Cursor")}, nil
	})
}
