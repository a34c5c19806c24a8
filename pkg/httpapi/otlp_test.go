package httpapi_test

import (
	"net/http"
	"net/http/httptest"
	"testing"

	"go.opentelemetry.io/collector/pdata/ptrace/ptraceotlp"
)

// TestOTLPFormats: the parameter decides, then the first encoding that the caller accepts.
func TestOTLPFormats(t *testing.T) {
	t.Parallel()
	h := stored(t)
	const proto, plain = "application/x-protobuf", "application/json"
	for _, tt := range []struct{ query, accept, want string }{
		{"", "", plain},
		{"", "*/*", plain},
		{"", "text/html", plain},
		{"", "application/x-protobuf", proto},
		{"", "text/html, application/protobuf;q=0.5, application/json", proto},
		{"", "application/x-protobuf;q=0, application/json", plain},
		{"", ";;, application/x-protobuf", proto},
		{"?format=proto", "application/json", proto},
		{"?format=json", "application/x-protobuf", plain},
	} {
		w := httptest.NewRecorder()
		r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/v1/sessions/"+sessionID.String()+"/otlp"+tt.query, nil)
		r.Header.Set("Accept", tt.accept)
		h.ServeHTTP(w, r)
		if got := w.Header().Get("Content-Type"); got != tt.want || w.Code != http.StatusOK || w.Header().Get("X-Total-Count") != "6" {
			t.Errorf("%q, Accept %q: %d, %s, want %s", tt.query, tt.accept, w.Code, got, tt.want)
		}
		req := ptraceotlp.NewExportRequest()
		read := req.UnmarshalJSON
		if tt.want == proto {
			read = req.UnmarshalProto
		}
		if err := read(w.Body.Bytes()); err != nil || req.Traces().SpanCount() != 6 {
			t.Errorf("%q, Accept %q: %d spans, %v", tt.query, tt.accept, req.Traces().SpanCount(), err)
		}
	}
}
