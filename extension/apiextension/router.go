package apiextension

import (
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/spangrove/spangrove/pkg/fault"
	"github.com/spangrove/spangrove/pkg/wire"
)

// router is a mux whose patterns come and go while it serves. What it cannot route is
// answered in JSON, as all else.
type router struct {
	mu      sync.Mutex
	routes  map[string]http.Handler
	known   []string // served as unavailable while nobody has mounted them
	current atomic.Pointer[http.ServeMux]
}

func newRouter(known []string) *router {
	r := &router{routes: map[string]http.Handler{}, known: known}
	mux, err := r.build()
	if err != nil {
		panic(err) // the patterns are constants of this program
	}
	r.current.Store(mux)
	return r
}

// Mount adds a route. It is an error if the pattern is taken, malformed, or conflicts.
func (r *router) Mount(pattern string, h http.Handler) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if _, taken := r.routes[pattern]; taken {
		return fmt.Errorf("%q is already mounted", pattern)
	}
	r.routes[pattern] = h
	mux, err := r.build()
	if err != nil {
		delete(r.routes, pattern)
		return err
	}
	r.current.Store(mux)
	return nil
}

// Unmount takes a route away; requests under way go on.
func (r *router) Unmount(pattern string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.routes, pattern)
	if mux, err := r.build(); err == nil { // fewer routes do not conflict
		r.current.Store(mux)
	}
}

// build makes a mux of all routes; http.ServeMux can add but not remove.
func (r *router) build() (_ *http.ServeMux, err error) {
	defer func() {
		if p := recover(); p != nil { // how ServeMux refuses a pattern
			err = fmt.Errorf("%v", p)
		}
	}()
	mux := http.NewServeMux()
	for _, pattern := range slices.Sorted(maps.Keys(r.routes)) {
		mux.Handle(pattern, r.routes[pattern])
	}
	for _, pattern := range r.known {
		if _, mounted := r.routes[pattern]; !mounted {
			mux.HandleFunc(pattern, notMounted)
		}
	}
	return mux, nil
}

func notMounted(w http.ResponseWriter, _ *http.Request) {
	wire.WriteError(w, fault.New(fault.Unavailable, "no pipeline takes events at the moment"))
}

// ServeHTTP routes a request. r.Pattern tells the route to those around it.
func (r *router) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	req = oneSlash(req)
	mux := r.current.Load()
	if h, pattern := mux.Handler(req); pattern == "" {
		var found unrouted
		h.ServeHTTP(&found, req)
		found.answer(w, req)
		return
	}
	mux.ServeHTTP(w, req)
}

// oneSlash returns a request whose path has single slashes: an address that ends in a slash, before a path, makes two of them. The mux would
// send the caller on, which clients that do not follow take for a failure.
func oneSlash(req *http.Request) *http.Request {
	escaped := req.URL.EscapedPath()
	if !strings.Contains(escaped, "//") {
		return req
	}
	single := slashes.ReplaceAllString(escaped, "/")
	path, err := url.PathUnescape(single)
	if err != nil {
		return req
	}
	clean := *req
	u := *req.URL
	u.Path, u.RawPath = path, single
	clean.URL = &u
	return &clean
}

var slashes = regexp.MustCompile(`//+`)

// unrouted catches the mux's own plain-text answer to what it cannot route.
type unrouted struct {
	header http.Header
	status int
}

func (u *unrouted) Header() http.Header {
	if u.header == nil {
		u.header = http.Header{}
	}
	return u.header
}

func (u *unrouted) Write(p []byte) (int, error) { return len(p), nil }

func (u *unrouted) WriteHeader(status int) { u.status = status }

// answer writes the mux's verdict, 404 or 405, in JSON. There is no kind of fault for a wrong
// method: no caller's program can meet it twice.
func (u *unrouted) answer(w http.ResponseWriter, req *http.Request) {
	allow := u.Header().Get("Allow")
	if u.status != http.StatusMethodNotAllowed || allow == "" {
		wire.WriteError(w, fault.New(fault.NotFound, "no such path: %s %s", req.Method, shown(req.URL.Path)))
		return
	}
	w.Header().Set("Allow", allow)
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(http.StatusMethodNotAllowed)
	_, _ = fmt.Fprintf(w, `{"statusCode":405,"message":"%s is not possible here; try %s","success":false,"errorCode":"METHOD_NOT_ALLOWED"}`,
		safeMethod(req.Method), allow)
}

// maxShownPath bounds how much of a caller's path an answer repeats.
const maxShownPath = 200

func shown(path string) string {
	path = strings.ToValidUTF8(path, "�")
	if len(path) > maxShownPath {
		path = strings.ToValidUTF8(path[:maxShownPath], "") + "…"
	}
	return path
}

// safeMethod returns the method if it is one of HTTP's own: net/http lets any token through.
func safeMethod(method string) string {
	switch method {
	case http.MethodGet, http.MethodHead, http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete, http.MethodOptions:
		return method
	}
	return "this method"
}
