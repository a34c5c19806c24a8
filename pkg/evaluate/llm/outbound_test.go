package llm

import (
	"context"
	"encoding/json"
	"errors"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"go.opentelemetry.io/collector/config/configopaque"

	"github.com/spangrove/spangrove/pkg/egress"
	"github.com/spangrove/spangrove/pkg/evaluate"
	"github.com/spangrove/spangrove/pkg/evaluation"
	"github.com/spangrove/spangrove/pkg/provider"
)

// TestAddresses asks servers that really listen, by address and by a name that resolves to this
// machine.
func TestAddresses(t *testing.T) {
	t.Parallel()
	api := newFake(t, says(good))
	port := api.URL[strings.LastIndexByte(api.URL, ':')+1:]
	for _, tt := range []struct {
		url     string
		allowed []string
		refused string
	}{
		{"http://127.0.0.1:" + port, []string{"127.0.0.1"}, ""},
		{"http://localhost:" + port, []string{"127.0.0.0/8", "::1"}, ""},
		{"http://127.0.0.1:" + port, nil, "127.0.0.1 is not public"},
		{"http://127.0.0.1:" + port, []string{"127.0.0.2", "10.0.0.0/8"}, "127.0.0.1 is not public"},
		{"http://localhost:" + port, nil, "is not public"},
		{"http://[::ffff:127.0.0.1]:" + port, nil, "127.0.0.1 is not public"},
		{"http://2130706433:" + port, nil, ""}, // 127.0.0.1 to some resolvers; refused, or not found
		{"http://0.0.0.0:" + port, nil, "0.0.0.0 is not public"},
	} {
		networks, err := egress.Networks(tt.allowed)
		if err != nil {
			t.Fatal(err)
		}
		o := newOutbound(networks)
		res, err := (&route{out: o}).client().Get(tt.url)
		if err == nil {
			_ = res.Body.Close()
		}
		o.close()
		switch {
		case tt.allowed == nil && err == nil:
			t.Errorf("%s was reached", tt.url)
		case tt.refused == "" && tt.allowed != nil && err != nil:
			t.Errorf("%s: %v", tt.url, err)
		case tt.refused != "" && (!errors.Is(err, egress.ErrAddress) || !strings.Contains(err.Error(), tt.refused)):
			t.Errorf("%s: %v, want %q", tt.url, err, tt.refused)
		}
	}
}

// TestNobodyIsToldOfTheNetwork asks what leads nowhere, for each reason that there is: the texts are the
// same, and the log has the difference.
func TestNobodyIsToldOfTheNetwork(t *testing.T) {
	t.Parallel()
	closed := httptest.NewServer(nil)
	closed.Close()
	port := closed.URL[strings.LastIndexByte(closed.URL, ':')+1:]
	broken := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		c, _, err := w.(http.Hijacker).Hijack()
		if err == nil {
			_ = c.(*net.TCPConn).SetLinger(0)
			_ = c.Close()
		}
	}))
	defer broken.Close()
	var texts []string
	for what, p := range map[string]struct{ url, resolved string }{
		"no such host":   {"http://nowhere.invalid/v1", ""},
		"nobody there":   {"http://service.internal:" + port + "/v1", "127.0.0.1:" + port},
		"not allowed":    {"http://db.internal:5432/v1", "10.1.2.3:5432"},
		"public, plain":  {"http://public.internal/v1", "93.184.215.14:80"},
		"not even one":   {"http://odd.internal/v1", "odd"},
		"allowed, plain": {"http://metadata.internal/v1", "169.254.169.254:80"},
	} {
		e := newTest(t, Provider{BaseURL: p.url, Model: "m", Retries: -1}, nil)
		if p.resolved != "" { // as if a resolver had said so
			e.named["judge"].route.out.transport.DialContext = func(ctx context.Context, network, _ string) (net.Conn, error) {
				if err := e.outbound.guard.Control(ctx, network, p.resolved, nil); err != nil {
					return nil, &net.OpError{Op: "dial", Err: err}
				}
				return (&net.Dialer{}).DialContext(ctx, network, p.resolved)
			}
		}
		results, err := e.Evaluate(t.Context(), evaluate.Task{Project: e.project, Metric: definition(nil), Events: []json.RawMessage{raw(oneEvent)}})
		if err != nil || results[0].Failure != ProviderFailed || !results[0].Temporary {
			t.Errorf("%s: %+v, %v", what, results, err)
		}
		texts = append(texts, results[0].Explanation)
	}
	slices.Sort(texts)
	if len(slices.Compact(texts)) != 1 {
		t.Errorf("the texts differ: %q", texts)
	}
	e := newTest(t, Provider{BaseURL: broken.URL, Model: "m", Retries: -1}, nil)
	if r := e.evaluate(t, definition(nil)); r.Failure != ProviderFailed || strings.Contains(r.Explanation, "127.0.0.1") {
		t.Errorf("a connection that breaks: %+v", r)
	}
	e = newTest(t, Provider{BaseURL: "http://127.0.0.1:" + port, Model: "m", Retries: -1}, func(c *Config) { c.AllowAddresses = nil })
	if r := e.evaluate(t, definition(nil)); r.Temporary || !strings.Contains(r.Explanation, "SPANGROVE_ALLOW_MODEL_ADDRESSES") {
		t.Errorf("an address that everybody sees: %+v", r)
	}
}

func TestCheckAddress(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		allowed, url string
		want         string
	}{
		{"", "https://api.example.com/v1", ""},
		{"", "https://8.8.8.8/v1", ""},
		{"", "http://8.8.8.8/v1", "base_url: must begin with https://"},
		{"", "http://ollama:11434/v1", "base_url: must begin with https://"},
		{"10.0.0.0/8", "http://ollama:11434/v1", ""},
		{"", "http://127.0.0.1:11434/v1", "base_url: 127.0.0.1 is not on the public Internet; "},
		{"", "https://127.0.0.1:11434/v1", "base_url: 127.0.0.1 is not on the public Internet; "},
		{"", "http://LOCALHOST:11434/v1", "base_url: LOCALHOST is not on the public Internet; "},
		{"", "http://[::1]:11434/v1", "base_url: ::1 is not on the public Internet; "},
		{"", "http://[::ffff:10.0.0.1]:11434/v1", "is not on the public Internet; "},
		{"127.0.0.1", "http://[::1]:11434/v1", "base_url: ::1 is not on the public Internet; "},
		{" 10.0.0.0/8 , ::1,,127.0.0.1", "http://[::1]:11434/v1", ""},
		{"10.0.0.0/8, ::1,127.0.0.1", "http://localhost:11434/v1", ""},
		{"::ffff:10.0.0.1", "http://10.0.0.1/v1", ""},
		{"", "", ""},
	} {
		e := newTest(t, Provider{}, func(c *Config) { c.AllowAddresses = []string{tt.allowed} })
		err := e.CheckAddress(tt.url)
		if (err == nil) != (tt.want == "") || err != nil && (!strings.Contains(err.Error(), tt.want) || !strings.Contains(err.Error(), "SPANGROVE_ALLOW_MODEL_ADDRESSES")) {
			t.Errorf("%s with %q allowed: %v, want %q", tt.url, tt.allowed, err, tt.want)
		}
	}
}

// TestPlain refuses to send a key to public addresses without TLS.
func TestPlain(t *testing.T) {
	t.Parallel()
	o := newOutbound(nil)
	defer o.close()
	var dialled error
	o.transport.DialContext = (&net.Dialer{ControlContext: o.guard.Control}).DialContext
	_, dialled = (&route{out: o}).client().Get("http://93.184.215.14/") //nolint:bodyclose // refused
	if !errors.Is(dialled, egress.ErrAddress) || !strings.Contains(dialled.Error(), "use https://") {
		t.Errorf("%v", dialled)
	}
}

func TestRetryAfter(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, value string
		least, most time.Duration
	}{
		{"Retry-After", "3", 3 * time.Second, 3 * time.Second},
		{"Retry-After", "0.5", 500 * time.Millisecond, 500 * time.Millisecond},
		{"Retry-After-Ms", "20", 20 * time.Millisecond, 20 * time.Millisecond},
		{"Retry-After", time.Now().Add(time.Hour).UTC().Format(http.TimeFormat), 59 * time.Minute, time.Hour},
		{"Retry-After", "Mon, 02 Jan 2006 15:04:05 GMT", 0, 0},
		{"Retry-After", "-1", 0, 0},
		{"Retry-After", "NaN", 0, 0},
		{"Retry-After", "soon", 0, 0},
		{"X", "1", 0, 0},
	} {
		h := http.Header{}
		h.Set(tt.name, tt.value)
		if got := retryAfter(h); got < tt.least || got > tt.most {
			t.Errorf("%s: %s is %s", tt.name, tt.value, got)
		}
	}
}

// client returns an HTTP client that goes through o.
func (o *outbound) client() *http.Client {
	r, err := newRoute(o, Provider{})
	if err != nil {
		panic(err)
	}
	return r.client()
}

// TestGateways: what a gateway wants to know goes with every call, and comes back in no failure.
func TestGateways(t *testing.T) {
	t.Parallel()
	const key, pass = "sk-the-key-of-tests", "the-pass-of-tests"
	for kind, says := range map[string]http.HandlerFunc{
		provider.OpenAI:    says(good),
		provider.Anthropic: anthropicSays(`[{"type":"text","text":`+quote(good)+`}]`, "end_turn"),
		provider.Gemini:    geminiSays(`{"content":{"parts":[{"text":` + quote(good) + `}]}}`),
	} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			var query string
			api := newFake(t, func(w http.ResponseWriter, r *http.Request) {
				query = r.URL.RawQuery
				says(w, r)
			}, answer(401, `{"error":{"message":"`+key+` and Basic `+pass+` are not known here"}}`))
			e := newTest(t, Provider{Type: kind, BaseURL: api.URL + "/team%20a/llm", APIKey: key, Model: "m", Query: map[string]string{"api-version": "2024-10-21"},
				Headers: map[string]configopaque.String{"X-Title": "judges", "gateway-auth": "Basic " + pass}}, nil)
			d := definition(nil)
			if r := e.evaluate(t, d, `{"outputs":{"answer":"one"}}`); !r.Success {
				t.Errorf("%+v", r)
			}
			r := e.evaluate(t, d, `{"outputs":{"answer":"two"}}`)
			if r.Failure != ProviderFailed || !strings.Contains(r.Explanation, "[hidden] and [hidden] are not known") || strings.Contains(r.Explanation, key) {
				t.Errorf("%+v", r)
			}
			h := api.headers[0]
			if h.Get("X-Title") != "judges" || h.Get("Gateway-Auth") != "Basic "+pass || !strings.HasPrefix(api.paths[0], "/team a/llm/") || !strings.Contains(query, "api-version=2024-10-21") {
				t.Errorf("%v, %s, %q", h, api.paths[0], query)
			}
		})
	}
}

// TestProxy: calls go through the proxy that the operator names, if it is where calls may go, and
// through none that the environment names.
func TestProxy(t *testing.T) {
	var asked []string
	proxy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked = append(asked, r.Method+" "+r.RequestURI)
		says(good)(w, r)
	}))
	defer proxy.Close()
	t.Setenv("HTTP_PROXY", "http://192.0.2.1:1")
	t.Setenv("HTTPS_PROXY", "http://192.0.2.1:1")
	ask := func(p Provider, allowed ...string) evaluation.Result {
		e := newTest(t, p, func(c *Config) { c.AllowAddresses = allowed })
		return e.evaluate(t, definition(nil), `{"outputs":{"answer":"x"}}`)
	}
	const address = "http://models.example:8000/v1" // which only the proxy knows
	if r := ask(Provider{BaseURL: address, Model: "m", ProxyURL: proxy.URL, Retries: -1}, "127.0.0.1"); !r.Success || !slices.Equal(asked, []string{"POST " + address + "/chat/completions"}) {
		t.Errorf("%+v; the proxy was asked %q", r, asked)
	}
	if r := ask(Provider{BaseURL: address, Model: "m", ProxyURL: proxy.URL, Retries: -1}); r.Failure != ProviderFailed || !strings.Contains(r.Explanation, "was not reached") || strings.Contains(r.Explanation, "127.0.0.1") {
		t.Errorf("a proxy that is not allowed: %+v", r)
	}
	api := newFake(t, says(good))
	if r := ask(Provider{BaseURL: api.URL, Model: "m", Retries: -1}, "127.0.0.1"); !r.Success || len(asked) != 1 {
		t.Errorf("without a proxy: %+v", r)
	}
}
