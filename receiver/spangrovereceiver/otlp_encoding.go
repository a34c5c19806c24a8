package spangrovereceiver

import (
	"bytes"
	"mime"
	"net/http"

	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"

	"github.com/spangrove/spangrove/pkg/fault"
	"github.com/spangrove/spangrove/pkg/fault/verdict"
	"github.com/spangrove/spangrove/pkg/wire"
)

// encoding is how an OTLP/HTTP body is written; the answer is written the same way.
type encoding string

const (
	encodingProto encoding = "protobuf"
	encodingJSON  encoding = "json"
)

// contentType returns the media type of an answer.
func (e encoding) contentType() string {
	if e == encodingProto {
		return "application/x-protobuf"
	}
	return "application/json"
}

// encodingOf goes by the content type and, if that says neither, by the body: no OTLP message
// in protobuf begins with a brace.
func encodingOf(contentType string, body []byte) encoding {
	mediaType, _, _ := mime.ParseMediaType(contentType)
	switch mediaType {
	case "application/x-protobuf", "application/protobuf", "application/vnd.google.protobuf":
		return encodingProto
	case "application/json":
		return encodingJSON
	}
	if body = bytes.TrimLeft(bytes.TrimPrefix(body, byteOrderMark), " \t\r\n"); len(body) > 0 && body[0] != '{' {
		return encodingProto
	}
	return encodingJSON
}

// byteOrderMark is what some clients put before a text in UTF-8; JSON has no place for it.
var byteOrderMark = []byte("\xef\xbb\xbf")

// exportRequest is any of pdata's export requests.
type exportRequest interface {
	UnmarshalProto([]byte) error
	UnmarshalJSON([]byte) error
}

// exportResponse is any of pdata's export responses.
type exportResponse interface {
	MarshalProto() ([]byte, error)
	MarshalJSON() ([]byte, error)
}

// decodeExport reads an export request, of which admit may have checked the form. Items that cannot be
// decoded are left out; it is an error, fault.Invalid, if what is around them cannot be. Most requests are decoded
// at the first attempt, as a whole. If that fails, each item is tried by itself (partialDecoder), and the request without
// those that failed is decoded once more.
func decodeExport[R exportRequest](fresh func() R, form *requestForm, enc encoding, body []byte, checked bool) (R, rejectedItems, error) {
	if enc == encodingJSON {
		if body = bytes.TrimPrefix(body, byteOrderMark); len(bytes.TrimSpace(body)) == 0 {
			return fresh(), rejectedItems{}, nil
		}
	}
	req, err := decodeWhole(fresh, form, enc, body, checked)
	if err == nil {
		return req, rejectedItems{}, nil
	}
	refused := fault.Wrap(fault.Invalid, err, "the body is not an OTLP request in %s: %v", enc, err)
	s := partialDecoder{form: form, try: func(one []byte) error {
		_, err := decodeWhole(fresh, form, enc, one, false)
		return err
	}}
	rest, copyErr := s.copy(enc, body)
	if copyErr != nil || s.rejected.count == 0 {
		return req, rejectedItems{}, refused
	}
	if req, err = decodeWhole(fresh, form, enc, rest, false); err != nil {
		return req, rejectedItems{}, refused
	}
	return req, s.rejected, nil
}

// decodeWhole reads a request all of which must be right. The depth is checked first, since pdata's decoders have no
// bound of their own. JSON that pdata refuses is tried again without its nulls, see withoutNulls.
func decodeWhole[R exportRequest](fresh func() R, form *requestForm, enc encoding, body []byte, checked bool) (R, error) {
	req := fresh()
	if enc == encodingProto {
		if !checked {
			if err := form.check(body, maxNesting); err != nil {
				return req, err
			}
		}
		return req, req.UnmarshalProto(body)
	}
	if err := checkJSONDepth(body, maxNesting); err != nil {
		return req, err
	}
	if err := req.UnmarshalJSON(body); err == nil {
		return req, nil
	}
	clean, err := withoutNulls(body)
	if err != nil {
		return req, err
	}
	req = fresh()
	return req, req.UnmarshalJSON(clean)
}

// writeOTLP answers with success; answer is nil if there is nothing to say.
func writeOTLP(w http.ResponseWriter, enc encoding, answer exportResponse) {
	var body []byte
	var err error
	switch {
	case enc == encodingProto && answer != nil:
		body, err = answer.MarshalProto()
	case answer != nil:
		body, err = answer.MarshalJSON()
	case enc == encodingJSON:
		body = []byte("{}")
	}
	if err != nil { // never: the answers are ours and hold nothing that cannot be written
		writeOTLPError(w, enc, err)
		return
	}
	w.Header().Set("Content-Type", enc.contentType())
	w.WriteHeader(http.StatusOK)
	_, _ = w.Write(body) // a client that is gone cannot be told
}

// writeOTLPError answers with a google.rpc.Status in the request's encoding, as OTLP wants it. The HTTP status follows from
// the error's kind; OTLP's senders try again after 429, 502, 503 and 504 only.
func writeOTLPError(w http.ResponseWriter, enc encoding, err error) {
	st := verdict.Status(err)
	var body []byte
	var failed error
	if enc == encodingProto {
		body, failed = proto.Marshal(st.Proto())
	} else {
		body, failed = protojson.Marshal(st.Proto())
	}
	if failed != nil {
		wire.WriteError(w, err)
		return
	}
	h := w.Header()
	h.Set("Content-Type", enc.contentType())
	switch kind := fault.Of(err); kind {
	case fault.Unavailable, fault.Limited:
		h.Set("Retry-After", wire.RetryAfter(retryAfter(err)))
	case fault.Unauthorized:
		h.Set("WWW-Authenticate", "Bearer")
	}
	w.WriteHeader(fault.Of(err).Status())
	_, _ = w.Write(body)
}
