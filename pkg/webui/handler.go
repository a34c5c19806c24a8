package webui

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"fmt"
	"io/fs"
	"mime"
	"net/http"
	"path"
	"strconv"
	"strings"
)

//go:embed dist
var dist embed.FS

// Policy is the Content-Security-Policy of the pages: they load and run nothing but the server's own files, and no
// text ever becomes HTML or a script. The one policy of Trusted Types, workers, lets nothing pass but the addresses of the
// server's own workers.
const Policy = "default-src 'none'; script-src 'self'; style-src 'self'; font-src 'self'; img-src 'self' data: blob:; " +
	"media-src 'self' data: blob:; connect-src 'self'; worker-src 'self'; base-uri 'none'; form-action 'self'; " +
	"frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types workers"

// Handler serves the pages: the one document at /, and its files at /ui/{hash}/{name}, where the hash is of all files
// together. So a browser keeps a file for good, and a new version of the server has new addresses. All addresses in the
// pages are relative: they work under any path prefix of a proxy. A Handler is made by New.
type Handler struct {
	hash  string
	files map[string]file // by name
}

// file is one file in the forms in which it is sent. Those that would not be smaller than plain are nil.
type file struct {
	plain, gzipped, brotli []byte
	contentType            string
}

// New returns a handler of the embedded pages.
func New() *Handler {
	sub, err := fs.Sub(dist, "dist")
	if err != nil {
		panic(err) // the directory is embedded
	}
	h, err := newHandler(sub)
	if err != nil {
		panic(err)
	}
	return h
}

// newHandler reads all files of a directory.
func newHandler(dir fs.FS) (*Handler, error) {
	entries, err := fs.ReadDir(dir, ".")
	if err != nil {
		return nil, err
	}
	h := &Handler{files: map[string]file{}}
	sum := sha256.New()
	for _, e := range entries { // sorted by name
		if e.Name() == "case.js" || e.Name() == "case.css" {
			continue // of files that this program writes (WriteCase); no page loads them
		}
		data, err := fs.ReadFile(dir, e.Name())
		if err != nil {
			return nil, err
		}
		sum.Write([]byte(e.Name()))
		sum.Write(data)
		of, compressed := strings.CutSuffix(e.Name(), ".br")
		if !compressed {
			h.files[e.Name()] = newFile(e.Name(), data)
			continue
		}
		f, ok := h.files[of] // NAME.br comes after NAME
		if !ok {
			return nil, fmt.Errorf("%s is of no file", e.Name())
		}
		f.brotli = data
		h.files[of] = f
	}
	h.hash = hex.EncodeToString(sum.Sum(nil))[:16]
	index := h.files["index.html"].plain
	h.files["index.html"] = newFile("index.html", bytes.ReplaceAll(index, []byte("{hash}"), []byte(h.hash)))
	return h, nil
}

func newFile(name string, data []byte) file {
	f := file{plain: data, contentType: mime.TypeByExtension(path.Ext(name))}
	switch path.Ext(name) { // not by what the machine's own tables say
	case ".html":
		f.contentType = "text/html; charset=utf-8"
	case ".js":
		f.contentType = "text/javascript; charset=utf-8"
	case ".css":
		f.contentType = "text/css; charset=utf-8"
	case ".woff2":
		f.contentType = "font/woff2"
	}
	var b bytes.Buffer
	w, _ := gzip.NewWriterLevel(&b, gzip.BestCompression) // the level is valid
	_, _ = w.Write(data)                                  // to memory
	_ = w.Close()
	if b.Len() < len(data) {
		f.gzipped = b.Bytes()
	}
	return f
}

// Serves reports whether a request is one for the pages, which need no key: they hold nothing of a project.
func (h *Handler) Serves(r *http.Request) bool {
	return (r.Method == http.MethodGet || r.Method == http.MethodHead) &&
		(r.URL.Path == "/" || strings.HasPrefix(r.URL.Path, "/ui/"))
}

// ServeHTTP implements http.Handler.
func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	setHeaders(w.Header())
	if r.URL.Path == "/" {
		w.Header().Set("Cache-Control", "no-cache")
		h.send(w, r, h.files["index.html"], h.hash)
		return
	}
	hash, name, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, "/ui/"), "/")
	f, ok := h.files[name]
	if !ok || name == "index.html" {
		http.NotFound(w, r)
		return
	}
	if hash == h.hash {
		w.Header().Set("Cache-Control", "public, max-age=31536000, immutable")
	} else { // a page of another version of the server: it may have this file, but must not keep it
		w.Header().Set("Cache-Control", "no-cache")
	}
	h.send(w, r, f, h.hash)
}

// send writes a file in the smallest form that the client takes. Their ETags differ, as RFC 9110, section 8.8.3.3, requires.
func (h *Handler) send(w http.ResponseWriter, r *http.Request, f file, tag string) {
	header := w.Header()
	header.Set("Content-Type", f.contentType)
	header.Set("Vary", "Accept-Encoding")
	data, encoding := f.plain, ""
	accept := r.Header.Get("Accept-Encoding")
	switch {
	case f.brotli != nil && accepts(accept, "br"): // browsers ask for it over TLS and of their own machine
		data, encoding = f.brotli, "br"
	case f.gzipped != nil && accepts(accept, "gzip"):
		data, encoding = f.gzipped, "gzip"
	}
	if encoding != "" {
		tag += "-" + encoding
		header.Set("Content-Encoding", encoding)
	}
	etag := `"` + tag + `"`
	header.Set("ETag", etag)
	if r.Header.Get("If-None-Match") == etag {
		w.WriteHeader(http.StatusNotModified)
		return
	}
	header.Set("Content-Length", strconv.Itoa(len(data)))
	w.WriteHeader(http.StatusOK)
	if r.Method != http.MethodHead {
		_, _ = w.Write(data) // a client that is gone cannot be told
	}
}

// accepts reports whether an Accept-Encoding header names a content coding without refusing it.
func accepts(accept, coding string) bool {
	for part := range strings.SplitSeq(accept, ",") {
		name, parameter, _ := strings.Cut(part, ";")
		if strings.EqualFold(strings.TrimSpace(name), coding) {
			q, found := strings.CutPrefix(strings.TrimSpace(parameter), "q=")
			weight, err := strconv.ParseFloat(q, 64)
			return !found || err == nil && weight > 0
		}
	}
	return false
}

// setHeaders sets what all answers of the pages have.
func setHeaders(h http.Header) {
	h.Set("Content-Security-Policy", Policy)
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("Cross-Origin-Opener-Policy", "same-origin")
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
}
