package client

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"
)

// Client talks to one server with one key, whose project all calls are about. It may be used by
// many goroutines at once. Make it with New.
type Client struct {
	Sessions       *SessionService
	Events         *EventService
	Datasets       *DatasetService
	Datapoints     *DatapointService
	Configurations *ConfigurationService
	Metrics        *MetricService
	Evaluations    *EvaluationService
	Backfills      *BackfillService
	Tools          *ToolService
	Providers      *ProviderService
	Playground     *PlaygroundService
	Runs           *RunService
	Charts         *ChartService
	Views          *ViewService
	Comments       *CommentService
	Dashboards     *DashboardService
	Deletions      *DeletionService
	Alerts         *AlertService
	Queues         *QueueService
	Projects       *ProjectService
	Keys           *KeyService
	Audit          *AuditService
	OTLP           *OTLPService

	server    string // without a slash at its end
	key       string
	http      *http.Client
	timeout   time.Duration
	retries   Retries
	userAgent string
	maxAnswer int64
	warn      func(Warning)
}

// Retries say how often and how patiently a call is tried again; see the package's
// documentation for when it is.
type Retries struct {
	Count int           // attempts after the first; 0: none
	Base  time.Duration // upper bound of the first wait, doubled at each further one
	Max   time.Duration // longest wait; a server that asks for more than this ends the call
}

// What holds without options.
const (
	DefaultTimeout   = 30 * time.Second
	DefaultUserAgent = "spangrove-go"
	// DefaultMaxAnswer is for a page of 1000 events of 256 KiB each.
	DefaultMaxAnswer = 256 << 20
	// LargeField is the size in bytes of a field's JSON from which on there is a warning.
	LargeField = 1 << 20
)

// DefaultRetries let a call outlast a restart of the server.
var DefaultRetries = Retries{Count: 4, Base: 500 * time.Millisecond, Max: 10 * time.Second}

// Option changes how a client works.
type Option func(*Client) error

// WithTimeout bounds a call with all its attempts and the waits between them; of an answer that
// is streamed, until it begins. 0 means no bound but the context's. The default is 30 s.
func WithTimeout(d time.Duration) Option {
	return func(c *Client) error {
		if d < 0 {
			return fmt.Errorf("client: the timeout %s is negative", d)
		}
		c.timeout = d
		return nil
	}
}

// WithHTTPClient sends the requests through h, for proxies, certificates or tests. Its Timeout
// counts for each attempt besides WithTimeout; redirects are followed only if it has a
// CheckRedirect.
func WithHTTPClient(h *http.Client) Option {
	return func(c *Client) error {
		if h == nil {
			return fmt.Errorf("client: the HTTP client is nil")
		}
		own := *h
		c.http = &own
		return nil
	}
}

// WithRetries replaces DefaultRetries.
func WithRetries(r Retries) Option {
	return func(c *Client) error {
		if r.Count < 0 || r.Base < 0 || r.Max < 0 {
			return fmt.Errorf("client: retries must not be negative: %+v", r)
		}
		c.retries = r
		return nil
	}
}

// WithUserAgent names the program in the User-Agent header.
func WithUserAgent(name string) Option {
	return func(c *Client) error { c.userAgent = name; return nil }
}

// WithMaxAnswer bounds the bytes of an answer that is read into memory; a larger one fails with
// ErrTooLarge. What is streamed has no bound.
func WithMaxAnswer(bytes int64) Option {
	return func(c *Client) error {
		if bytes < 1 {
			return fmt.Errorf("client: the largest answer must have a byte, not %d", bytes)
		}
		c.maxAnswer = bytes
		return nil
	}
}

// New returns a client of the server at an address such as http://127.0.0.1:7420. A path in the
// address stands before those of the API. The key may be empty for a server without keys. New
// sends nothing.
func New(server, key string, opts ...Option) (*Client, error) {
	u, err := url.Parse(strings.TrimSpace(server))
	if err != nil {
		var e *url.Error
		if errors.As(err, &e) { // without the address, which may have a password in it
			err = e.Err
		}
		return nil, fmt.Errorf("client: the server's address is not of the form http://host:port: %w", err)
	}
	switch wrong := u.Scheme != "http" && u.Scheme != "https" || u.Host == ""; {
	case wrong && strings.Contains(server, "@"): // as above
		return nil, errors.New("client: the server's address is not of the form http://host:port")
	case wrong:
		return nil, fmt.Errorf("client: the server's address %q is not of the form http://host:port", server)
	}
	if u.User != nil || u.RawQuery != "" || u.Fragment != "" {
		return nil, fmt.Errorf("client: the server's address %q must have no user, query or fragment", u.Redacted())
	}
	if strings.ContainsAny(key, "\r\n") {
		return nil, fmt.Errorf("client: the key has a line break in it")
	}
	c := &Client{
		server:    strings.TrimRight(u.String(), "/"),
		key:       key,
		timeout:   DefaultTimeout,
		retries:   DefaultRetries,
		userAgent: DefaultUserAgent,
		maxAnswer: DefaultMaxAnswer,
		warn:      logWarning,
		http:      &http.Client{Transport: newTransport()},
	}
	for _, o := range opts {
		if err := o(c); err != nil {
			return nil, err
		}
	}
	if c.http.CheckRedirect == nil {
		c.http.CheckRedirect = stay
	}
	c.Sessions = &SessionService{c}
	c.Events = &EventService{c}
	c.Datasets = &DatasetService{c}
	c.Datapoints = &DatapointService{c}
	c.Configurations = &ConfigurationService{c}
	c.Metrics = &MetricService{c}
	c.Evaluations = &EvaluationService{c}
	c.Backfills = &BackfillService{c}
	c.Tools = &ToolService{c}
	c.Providers = &ProviderService{c}
	c.Playground = &PlaygroundService{c}
	c.Runs = &RunService{c}
	c.Charts = &ChartService{c: c}
	c.Views = &ViewService{c}
	c.Comments = &CommentService{c}
	c.Dashboards = &DashboardService{c}
	c.Deletions = &DeletionService{c}
	c.Alerts = &AlertService{c}
	c.Queues = &QueueService{c}
	c.Projects = &ProjectService{c}
	c.Keys = &KeyService{c}
	c.Audit = &AuditService{c}
	c.OTLP = &OTLPService{c}
	return c, nil
}

// newTransport returns net/http's own with more idle connections, since all of them are to one host.
// If the program has put another in its place, that one is taken as it is.
func newTransport() http.RoundTripper {
	t, ok := http.DefaultTransport.(*http.Transport)
	if !ok {
		return http.DefaultTransport
	}
	t = t.Clone()
	t.MaxIdleConnsPerHost = t.MaxIdleConns
	return t
}

// stay follows no redirect: a POST would arrive as a GET. It is shown as an error that names the
// right address.
func stay(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }

// Server returns the address that New was given, without a slash at its end.
func (c *Client) Server() string { return c.server }

// CloseIdleConnections closes the connections that no call uses at the moment.
func (c *Client) CloseIdleConnections() { c.http.CloseIdleConnections() }
