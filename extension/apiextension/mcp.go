package apiextension

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strings"

	"go.uber.org/zap"

	"github.com/spangrove/spangrove/pkg/fault"
	"github.com/spangrove/spangrove/pkg/ingress"
	"github.com/spangrove/spangrove/pkg/limit"
	"github.com/spangrove/spangrove/pkg/mcpserver"
	"github.com/spangrove/spangrove/pkg/project"
	"github.com/spangrove/spangrove/pkg/rawjson"
	"github.com/spangrove/spangrove/pkg/wire"
)

// mcpPath is where the Model Context Protocol is served over HTTP.
const mcpPath = "/mcp"

// maxMCPBody bounds a message of the protocol, in bytes: more than the datapoints that one call adds.
const maxMCPBody = mcpserver.MaxMessage

// The SDK decodes the arguments of a call into values of Go before it knows whether they fit the tool. A value of two bytes takes up to 200
// there, with the copies that are made of it.
const (
	maxMCPValues   = 100_000
	mcpValueMemory = 256
)

// newMCP returns the handler of mcpPath. It asks the routes of the API in the name of its caller, so that these check the scope. hasKeys
// says that callers have been authenticated.
func (e *apiExtension) newMCP(hasKeys bool) http.Handler {
	protocol := mcpserver.NewHandler(e.set.BuildInfo.Version, e.router, func(v any, stack []byte) {
		e.set.Logger.Error("handler panicked", zap.String("route", mcpPath), zap.String("panic", fmt.Sprint(v)), zap.ByteString("stack", stack))
	})
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		refuse := func(err error) {
			who, _ := project.IdentityFrom(r.Context())
			ingress.Refused(w)
			wire.WriteError(w, err)
			e.note(who.Project.PublicID, r, who.KeyPrefix, err)
		}
		if r.Method != http.MethodPost { // clients try GET to find out whether there is a stream
			answer := unrouted{header: http.Header{"Allow": {http.MethodPost}}, status: http.StatusMethodNotAllowed}
			answer.answer(w, r)
			return
		}
		if err := checkOrigin(r, e.allowedOrigins(), hasKeys); err != nil {
			refuse(err)
			return
		}
		body, release, err := e.readMCP(r)
		defer release()
		if err != nil {
			refuse(err)
			return
		}
		in := r.Clone(r.Context())
		in.Body, in.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
		protocol.ServeHTTP(w, in)
	})
}

// readMCP reads a message within the budget of its project, which also pays for decoding it. The body is one that Open made, so that the
// budget pays for its decompression.
func (e *apiExtension) readMCP(r *http.Request) (body []byte, release func(), err error) {
	who, _ := project.IdentityFrom(r.Context())
	hold := e.budget.Hold(who.Project.PublicID)
	release = hold.Release
	opened, ok := r.Body.(*ingress.Body)
	if !ok {
		return nil, release, errors.New("the body of a message is not bounded")
	}
	most := min(maxMCPBody, e.cfg.HTTP.MaxRequestBodySize)
	opened.Bound(most)
	body, err = hold.ReadAll(opened, r.ContentLength)
	var known *fault.Error
	switch {
	case fault.Of(err) == fault.TooLarge:
		return nil, release, fault.New(fault.TooLarge, "the message is larger than %d bytes", most)
	case errors.As(err, &known):
		return nil, release, err
	case err != nil:
		return nil, release, fault.Wrap(fault.Invalid, err, "the body cannot be read: it ends early or is not in the encoding it names")
	}
	limit.Charge(r.Context(), len(body))
	if trimmed := bytes.TrimLeft(body, " \t\r\n"); len(trimmed) > 0 && trimmed[0] == '[' {
		return nil, release, fault.New(fault.Invalid, "a request has one message, not an array of them: the protocol has no batches since 2025-06-18")
	}
	values := rawjson.CountValues(body)
	if values > maxMCPValues {
		return nil, release, fault.New(fault.TooLarge, "the message holds %d values and names; at most %d are allowed", values, maxMCPValues)
	}
	return body, release, hold.TakeUpToShare(int64(values) * mcpValueMemory)
}

// allowedOrigins returns the patterns of the CORS settings.
func (e *apiExtension) allowedOrigins() []string {
	if cors := e.cfg.HTTP.CORS.Get(); cors != nil {
		return cors.AllowedOrigins
	}
	return nil
}

// checkOrigin refuses requests that a page of another site has caused: of an origin other than the server's and those that its CORS
// settings allow. On a server without keys also those that arrive on a loopback address under another name, by which a page could have its
// own name lead here (DNS rebinding): with keys, such a page has none.
func checkOrigin(r *http.Request, allowed []string, hasKeys bool) error {
	if origin := r.Header.Get("Origin"); origin != "" {
		u, err := url.Parse(origin)
		if (err != nil || u.Host != r.Host) && !slices.ContainsFunc(allowed, func(pattern string) bool { return matchesOrigin(pattern, origin) }) {
			return errCrossOrigin
		}
	}
	if hasKeys {
		return nil
	}
	local, ok := r.Context().Value(http.LocalAddrContextKey).(net.Addr)
	if ok && isLoopback(local.String()) && !isLoopback(r.Host) {
		return fault.New(fault.Forbidden, "the host of this server is 127.0.0.1, [::1] or localhost, not %q", shown(r.Host))
	}
	return nil
}

// matchesOrigin reports whether a pattern of the CORS settings, in which * is any text, matches an origin.
func matchesOrigin(pattern, origin string) bool {
	before, after, wild := strings.Cut(strings.ToLower(pattern), "*")
	origin = strings.ToLower(origin)
	if !wild {
		return before == origin
	}
	return len(origin) >= len(before)+len(after) && strings.HasPrefix(origin, before) && strings.HasSuffix(origin, after)
}

// isLoopback reports whether a host, with or without a port, is this machine.
func isLoopback(host string) bool {
	if h, _, err := net.SplitHostPort(host); err == nil {
		host = h
	}
	host = strings.Trim(host, "[]")
	if strings.EqualFold(host, "localhost") {
		return true
	}
	ip, err := netip.ParseAddr(host)
	return err == nil && ip.Unmap().IsLoopback()
}
