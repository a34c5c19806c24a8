package webui

import (
	"compress/gzip"
	"io"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"
	"testing/fstest"
)

func ask(t *testing.T, h *Handler, method, path string, headers ...string) *httptest.ResponseRecorder {
	t.Helper()
	r := httptest.NewRequestWithContext(t.Context(), method, path, nil)
	for i := 0; i < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	if !h.Serves(r) {
		t.Fatalf("%s %s is not for the pages", method, path)
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w
}

func TestDocument(t *testing.T) {
	t.Parallel()
	h := New()
	w := ask(t, h, "GET", "/")
	if w.Code != http.StatusOK || w.Header().Get("Content-Type") != "text/html; charset=utf-8" || w.Header().Get("Cache-Control") != "no-cache" {
		t.Errorf("status %d, headers %v", w.Code, w.Header())
	}
	if w.Header().Get("Content-Security-Policy") != Policy || w.Header().Get("X-Content-Type-Options") != "nosniff" {
		t.Errorf("headers %v", w.Header())
	}
	// All that the document names is there, by a relative address, and may be kept for good.
	names := regexp.MustCompile(`(?:src|href)="([^"]+)"`).FindAllStringSubmatch(w.Body.String(), -1)
	if len(names) < 4 {
		t.Fatalf("the document names %d files", len(names))
	}
	for _, name := range names {
		if strings.HasPrefix(name[1], "/") || strings.Contains(name[1], ":") {
			t.Errorf("%s would leave the prefix of a proxy", name[1])
		}
		f := ask(t, h, "GET", "/"+name[1])
		if f.Code != http.StatusOK || f.Header().Get("Cache-Control") != "public, max-age=31536000, immutable" || f.Body.Len() == 0 {
			t.Errorf("%s: status %d, %d bytes, headers %v", name[1], f.Code, f.Body.Len(), f.Header())
		}
	}
}

func TestFiles(t *testing.T) {
	t.Parallel()
	text := strings.Repeat("text ", 100)
	h, err := newHandler(fstest.MapFS{
		"index.html": {Data: []byte(`<script src="ui/{hash}/app.js">`)},
		"app.js":     {Data: []byte(text)},
		"app.js.br":  {Data: []byte("shorter")},
		"tiny.css":   {Data: []byte("a{}")},
	})
	if err != nil {
		t.Fatal(err)
	}
	path := "/ui/" + h.hash + "/app.js"
	plain := ask(t, h, "GET", path)
	if plain.Body.String() != text || plain.Header().Get("Content-Encoding") != "" || plain.Header().Get("Vary") != "Accept-Encoding" {
		t.Errorf("plain: %d bytes, headers %v", plain.Body.Len(), plain.Header())
	}
	shortest := ask(t, h, "GET", path, "Accept-Encoding", "gzip, deflate, br, zstd")
	if shortest.Body.String() != "shorter" || shortest.Header().Get("Content-Encoding") != "br" {
		t.Errorf("Brotli: %q, headers %v", shortest.Body, shortest.Header())
	}
	packed := ask(t, h, "GET", path, "Accept-Encoding", "br;q=0, gzip;q=0.5")
	r, err := gzip.NewReader(packed.Body)
	if err != nil {
		t.Fatal(err)
	}
	if raw, err := io.ReadAll(r); err != nil || string(raw) != text || packed.Header().Get("Content-Encoding") != "gzip" {
		t.Errorf("gzip: %q, %v, headers %v", raw, err, packed.Header())
	}
	tags := map[string]bool{}
	for _, w := range []*httptest.ResponseRecorder{plain, packed, shortest} {
		tags[w.Header().Get("ETag")] = true
	}
	if len(tags) != 3 {
		t.Errorf("the three forms have the ETags %v", tags)
	}
	if w := ask(t, h, "GET", path+".br"); w.Code != http.StatusNotFound {
		t.Errorf("the compressed form alone: status %d", w.Code)
	}
	if w := ask(t, h, "GET", path, "Accept-Encoding", "gzip;q=0"); w.Header().Get("Content-Encoding") != "" {
		t.Error("gzip was refused, and is sent")
	}
	if w := ask(t, h, "GET", path, "If-None-Match", plain.Header().Get("ETag")); w.Code != http.StatusNotModified || w.Body.Len() > 0 {
		t.Errorf("known already: status %d, %d bytes", w.Code, w.Body.Len())
	}
	if w := ask(t, h, "HEAD", path); w.Code != http.StatusOK || w.Body.Len() > 0 {
		t.Errorf("HEAD: status %d, %d bytes", w.Code, w.Body.Len())
	}
	if w := ask(t, h, "GET", "/ui/"+h.hash+"/tiny.css", "Accept-Encoding", "gzip"); w.Header().Get("Content-Encoding") != "" || w.Body.String() != "a{}" {
		t.Errorf("what gzip makes longer goes as it is: headers %v", w.Header())
	}
	// A page of another version may go on, but keeps nothing.
	if w := ask(t, h, "GET", "/ui/0123/app.js"); w.Code != http.StatusOK || w.Header().Get("Cache-Control") != "no-cache" {
		t.Errorf("another version: status %d, headers %v", w.Code, w.Header())
	}
	for _, path := range []string{"/ui/", "/ui/x/none.js", "/ui/x/index.html", "/ui/x/../app.js", "/ui/x/y/app.js"} {
		if w := ask(t, h, "GET", path); w.Code != http.StatusNotFound {
			t.Errorf("%s: status %d", path, w.Code)
		}
	}
}

func TestServes(t *testing.T) {
	t.Parallel()
	h := New()
	for request, want := range map[string]bool{
		"GET /": true, "HEAD /": true, "GET /ui/x/app.js": true, "POST /": false, "GET /v1/events": false, "GET /uis": false, "GET /sessions/x": false,
	} {
		method, path, _ := strings.Cut(request, " ")
		if got := h.Serves(httptest.NewRequestWithContext(t.Context(), method, path, nil)); got != want {
			t.Errorf("%s: %t", request, got)
		}
	}
}
