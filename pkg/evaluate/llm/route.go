package llm

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
)

// route is the way to one endpoint: what is added to every call to it, and its proxy if it has one.
type route struct {
	out     *outbound
	headers map[string]string
	query   url.Values
	secrets *strings.Replacer // takes what must not be shown out of errors
}

// newRoute returns the way to a provider. One with a proxy has connections of its own, since a transport has one proxy.
func newRoute(o *outbound, cfg Provider) (*route, error) {
	r := &route{out: o, headers: map[string]string{}, query: url.Values{}}
	var hidden []string
	hide := func(secret string) {
		if len(secret) >= minSecret {
			hidden = append(hidden, secret, "[hidden]")
		}
	}
	hide(string(cfg.APIKey))
	for name, value := range cfg.Headers {
		r.headers[name] = string(value)
		hide(string(value))
	}
	for name, value := range cfg.Query {
		r.query.Set(name, value)
	}
	r.secrets = strings.NewReplacer(hidden...)
	if cfg.ProxyURL != "" {
		proxy, err := url.Parse(cfg.ProxyURL)
		if err != nil {
			return nil, fmt.Errorf("proxy_url: %w", err)
		}
		r.out = newOutbound(o.guard.Allowed)
		r.out.transport.Proxy = http.ProxyURL(proxy)
	}
	return r, nil
}

// minSecret is how long a value must be to be taken out of texts: shorter ones are words.
const minSecret = 8

// client returns an HTTP client that goes this way.
func (r *route) client() *http.Client {
	return &http.Client{Transport: r, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
}

// RoundTrip implements http.RoundTripper. It adds the provider's headers and parameters to a copy of the request, which it may
// not change itself.
func (r *route) RoundTrip(req *http.Request) (*http.Response, error) {
	req = req.Clone(req.Context())
	for name, value := range r.headers {
		req.Header.Set(name, value)
	}
	if len(r.query) > 0 {
		query := req.URL.Query()
		for name := range r.query {
			query.Set(name, r.query.Get(name))
		}
		req.URL.RawQuery = query.Encode()
	}
	res, err := r.out.RoundTrip(req)
	var status *statusError
	if errors.As(err, &status) { // some repeat the key that they do not accept
		status.message = r.secrets.Replace(status.message)
	}
	return res, err
}
