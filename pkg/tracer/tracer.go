package tracer

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"

	"github.com/spangrove/spangrove/pkg/client"
)

// scopeName is the instrumentation scope of the spans that this package starts.
const scopeName = "github.com/spangrove/spangrove/pkg/tracer"

// What holds without options.
const (
	// DefaultQueue is for about 60,000 small spans, or the long prompts of some minutes.
	DefaultQueue = 64 << 20
	// DefaultBatch is how many spans go in one request.
	DefaultBatch = 512
	// DefaultDelay is how long a span waits for others to go with it.
	DefaultDelay = time.Second
	// DefaultSource is what SDKs say, too.
	DefaultSource = "dev"
)

// Bounds of what the server and the other side of a connection may ask for.
const (
	batchBytes     = 4 << 20 // of a request, as estimated; the server takes 20 MB
	sessionQueue   = 16 << 20
	callsAtOnce    = 16
	attemptTimeout = 30 * time.Second // of one request
)

// Span limits of the tracer's own provider: OpenTelemetry's default of 128 attributes cuts off
// the messages of a long conversation, which some instrumentations write as an attribute each.
const (
	maxAttributes = 10_000
	maxEvents     = 1_000
)

// Tracer sends what happens in a program to a server. It may be used by many goroutines at once.
// Make it with New, and end it with Shutdown.
type Tracer struct {
	project, source, sessionName string

	sender   sender
	provider *sdktrace.TracerProvider
	borrowed bool // the provider is the program's
	tracer   trace.Tracer

	spans *sendQueue[sdktrace.ReadOnlySpan]
	calls *sendQueue[call]

	mu      sync.Mutex
	told    int64 // losses that Flush has told of
	stopped bool
}

// settings are what options change.
type settings struct {
	project, source, sessionName string
	provider                     *sdktrace.TracerProvider
	providerOptions              []sdktrace.TracerProviderOption
	queue, batch                 int
	delay                        time.Duration
	drop                         bool
	http                         *http.Client
	report                       func(error)
	retries                      client.Retries
}

// Option changes how a tracer works.
type Option func(*settings)

// WithProject names the project in sessions. It is for the record only: the key decides.
func WithProject(name string) Option { return func(s *settings) { s.project = name } }

// WithSource sets where the program runs, such as "production". The default is DefaultSource.
func WithSource(source string) Option { return func(s *settings) { s.source = source } }

// WithSessionName names the sessions that StartSession starts without a name. The default is the
// program's name.
func WithSessionName(name string) Option { return func(s *settings) { s.sessionName = name } }

// WithProvider adds the tracer to a provider that the program has already, whose spans then go to
// the server as well as to where they went. Shutdown takes it off again.
func WithProvider(p *sdktrace.TracerProvider) Option { return func(s *settings) { s.provider = p } }

// WithProviderOptions changes the tracer's own provider: its sampler, its resource. The resource
// else has service.name, the program's name or what OTEL_SERVICE_NAME says.
func WithProviderOptions(o ...sdktrace.TracerProviderOption) Option {
	return func(s *settings) { s.providerOptions = append(s.providerOptions, o...) }
}

// WithQueue bounds the bytes of spans that wait, as their texts count. The default is
// DefaultQueue.
func WithQueue(bytes int) Option { return func(s *settings) { s.queue = bytes } }

// WithDropping lets spans be lost, and counted, when the queue is full. Without it, what ends a
// span waits for room in the queue: nothing is lost, but an outage of the server that is longer
// than the queue stops the program.
func WithDropping() Option { return func(s *settings) { s.drop = true } }

// WithBatch sends so many spans in a request, and the first of them after so long at the latest.
// The defaults are DefaultBatch and DefaultDelay.
func WithBatch(spans int, delay time.Duration) Option {
	return func(s *settings) { s.batch, s.delay = spans, delay }
}

// WithHTTPClient sends the requests through h, for proxies or certificates. Its Timeout is that
// of each attempt; 30 s in the default one.
func WithHTTPClient(h *http.Client) Option { return func(s *settings) { s.http = h } }

// WithErrorHandler sets a function that is told what goes wrong out of sight: an outage when it begins, spans that are
// lost. The default is OpenTelemetry's handler, which logs. f may be called by several goroutines
// at once and must not wait for the tracer.
func WithErrorHandler(f func(error)) Option { return func(s *settings) { s.report = f } }

// New returns a tracer that sends to the server at an address such as http://127.0.0.1:7420, with a
// key that allows at least to ingest. It sends nothing yet: a server that is not there shows later, to
// the error handler.
func New(server, key string, opts ...Option) (*Tracer, error) {
	s := settings{
		source: DefaultSource, sessionName: programName(), queue: DefaultQueue, batch: DefaultBatch, delay: DefaultDelay,
		report: otel.Handle, retries: retries,
	}
	for _, o := range opts {
		o(&s)
	}
	if s.queue < 1 || s.batch < 1 || s.delay < 0 {
		return nil, fmt.Errorf("tracer: queue and batch must be at least 1 and the delay not negative: %d, %d, %s", s.queue, s.batch, s.delay)
	}
	if s.http == nil {
		s.http = newHTTPClient()
	}
	c, err := client.New(server, key, client.WithHTTPClient(s.http), client.WithTimeout(0), client.WithRetries(s.retries),
		client.WithUserAgent("spangrove-go-tracer"))
	if err != nil {
		return nil, fmt.Errorf("tracer: %w", err)
	}
	t := &Tracer{project: s.project, source: s.source, sessionName: s.sessionName, sender: sender{c, s.retries.Max, s.report}}
	x, err := newExporter(t.sender)
	if err != nil {
		return nil, err
	}
	t.spans = &sendQueue[sdktrace.ReadOnlySpan]{what: "spans", send: x.send, limit: s.queue, block: !s.drop,
		batchItems: s.batch, batchBytes: batchBytes, delay: s.delay, report: s.report}
	t.calls = &sendQueue[call]{what: "session starts and updates", send: t.sendCalls, limit: sessionQueue, block: !s.drop,
		batchItems: callsAtOnce, batchBytes: batchBytes, report: s.report}
	if t.provider = s.provider; t.provider == nil {
		if t.provider, err = newProvider(s.providerOptions); err != nil {
			return nil, err
		}
	}
	t.borrowed = s.provider != nil
	t.spans.start()
	t.calls.start()
	t.provider.RegisterSpanProcessor(processor{t})
	t.tracer = t.provider.Tracer(scopeName)
	return t, nil
}

func newProvider(opts []sdktrace.TracerProviderOption) (*sdktrace.TracerProvider, error) {
	res, err := resource.New(context.Background(), resource.WithTelemetrySDK(),
		resource.WithAttributes(attribute.String("service.name", programName())), resource.WithFromEnv())
	if err != nil {
		return nil, fmt.Errorf("tracer: the resource: %w", err)
	}
	limits := sdktrace.NewSpanLimits()
	limits.AttributeCountLimit, limits.AttributeValueLengthLimit = maxAttributes, -1
	limits.EventCountLimit = maxEvents
	return sdktrace.NewTracerProvider(append([]sdktrace.TracerProviderOption{
		sdktrace.WithResource(res), sdktrace.WithRawSpanLimits(limits),
	}, opts...)...), nil
}

// programName returns the name of the program's file.
func programName() string {
	name := filepath.Base(os.Args[0])
	return strings.TrimSuffix(name, filepath.Ext(name))
}

func newHTTPClient() *http.Client {
	t := http.DefaultTransport.(*http.Transport).Clone()
	t.MaxIdleConnsPerHost = callsAtOnce + 1 // and one for spans
	return &http.Client{
		Transport: t, Timeout: attemptTimeout,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}

// Project returns the name of the project that the tracer was given, empty for none.
func (t *Tracer) Project() string { return t.project }

// Provider returns the tracer provider for other instrumentations, so that their spans go to the
// server, below those of this tracer. otel.SetTracerProvider makes it the one of all of them.
func (t *Tracer) Provider() *sdktrace.TracerProvider { return t.provider }

// Counts are numbers of spans, session starts and updates.
type Counts struct {
	Waiting int64 // or under way
	Sent    int64 // and stored, as the server said
	Lost    int64 // refused by the server, dropped from a full queue, or left over at the end
}

// Counts returns how many items are waiting, sent and lost so far.
func (t *Tracer) Counts() Counts {
	a, b := t.spans.counts(), t.calls.counts()
	return Counts{a.Waiting + b.Waiting, a.Sent + b.Sent, a.Lost + b.Lost}
}

// Flush sends what waits and comes back when it is on the server's disk. It is an error if the
// context ends before, though nothing is lost by that, and if anything was lost since the last
// Flush.
func (t *Tracer) Flush(ctx context.Context) error {
	return errors.Join(t.calls.flush(ctx), t.spans.flush(ctx), t.losses())
}

// losses returns an error if there are some that nobody was told of.
func (t *Tracer) losses() error {
	lost := t.Counts().Lost
	t.mu.Lock()
	defer t.mu.Unlock()
	n := lost - t.told
	t.told = lost
	if n == 0 {
		return nil
	}
	return fmt.Errorf("tracer: %d spans, session starts or updates are lost", n)
}

// Shutdown sends what waits and ends the tracer. When the context ends before, what is left is
// lost, which is an error; a context without an end waits for a server that is away. Spans that end
// later are lost, too. A second Shutdown does nothing.
func (t *Tracer) Shutdown(ctx context.Context) error {
	t.mu.Lock()
	stopped := t.stopped
	t.stopped = true
	t.mu.Unlock()
	if stopped {
		return nil
	}
	var err error
	if t.borrowed {
		t.provider.UnregisterSpanProcessor(processor{t})
	} else {
		err = t.provider.Shutdown(ctx)
	}
	t.calls.close(ctx)
	t.spans.close(ctx)
	t.sender.c.CloseIdleConnections()
	return errors.Join(err, t.losses())
}
